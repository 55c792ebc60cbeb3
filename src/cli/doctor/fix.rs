//! `cudnn-guard doctor --fix`: runs `cudnn-guard fetch` if that fixes an error.

use crate::choice::not_found::FetchOptions;
use crate::cli::fetch::{self, check::command_text, project};
use crate::cli::terminal::{columns, show, show_on_stderr};
use crate::model::environment::Variable;
use crate::model::kind::Kind;
use crate::model::platform::Os;
use crate::model::text::joined;
use crate::report::ToolchainReport;
use crate::report::layout::wrapped;
use crate::runtime::facts::finding::printable;
use crate::toolchain::Toolchain;
use crate::{FindingId, Severity, Verdict};
use std::io::{self, IsTerminal};
use std::path::Path;

/// The result of `--fix`.
pub enum Outcome {
    /// There was nothing to fix, or the answer was no.
    Unchanged,
    Fixed,
    Failed,
}

/// Shows what `fetch` would fix, asks, and runs it.
pub fn fix(toolchain: &Toolchain, report: &ToolchainReport, is_agreed: bool) -> Outcome {
    let home = fetch::home().ok();
    let download = home
        .as_ref()
        .and_then(|home| arguments_for(toolchain, report, home));
    let is_download = download.is_some();
    let arguments = download.or_else(|| fetch::repair(home.as_ref()?));
    let (Some(home), Some(mut arguments)) = (home, arguments) else {
        show(match report.verdict() == Verdict::Fail {
            true => "\n`cudnn-guard fetch` cannot fix these errors\n",
            false => "\nnothing to fix\n",
        });
        return Outcome::Unchanged;
    };
    let (shown, command) = (home.display(), command_text(&arguments));
    let verb = match is_download {
        true => "download CUDA and cuDNN into",
        false => "repair the files and links of `cudnn-guard fetch` in",
    };
    let mut effects = vec![format!("{verb} `{shown}`: `{command}`")];
    let is_default = fetch::default_home().as_ref() == Some(&home);
    if is_download && !is_default && Path::new("Cargo.toml").is_file() {
        arguments.push("--write-config".into());
        let command = "cudnn-guard fetch --write-config";
        effects.push(format!(
            "add its variables to `.cargo/config.toml`: `{command}`"
        ));
    }
    show("\ncudnn-guard will:\n");
    for effect in effects {
        show(format!(
            "  {}\n",
            wrapped(&printable(&effect), 4, columns())
        ));
    }
    let has_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if !is_agreed && !has_terminal {
        show_on_stderr(
            "nothing was changed: cudnn-guard cannot ask, because this is not a terminal\n  \
             = help: run the same command with `--yes`\n",
        );
        return Outcome::Failed;
    }
    if !is_agreed && !is_answered_yes() {
        return Outcome::Unchanged;
    }
    arguments.insert(0, "fetch".into());
    match fetch::succeeds(&fetch::command().get_matches_from(arguments), !is_download) {
        true => Outcome::Fixed,
        false => Outcome::Failed,
    }
}

fn is_answered_yes() -> bool {
    show("Proceed? [y/N] ");
    let mut answer = String::new();
    let _ = io::stdin().read_line(&mut answer);
    ["y", "yes"].contains(&&*answer.trim().to_ascii_lowercase())
}

/// Returns the arguments of `fetch` that install a CUDA and a cuDNN that a build chooses instead of those in the errors.
fn arguments_for(
    toolchain: &Toolchain,
    report: &ToolchainReport,
    home: &Path,
) -> Option<Vec<String>> {
    let errors = report.findings().iter();
    let errors = errors.filter(|one| one.severity == Severity::Error);
    let ids: Vec<FindingId> = errors.map(|one| one.id).collect();
    // A build does not search elsewhere for what a variable names.
    let is_named = |kind: Kind| {
        let named = |name: Variable| name != Variable::GuardHome;
        let mut candidates = toolchain.candidates.iter();
        candidates.any(|one| one.kind() == kind && one.request.is_some_and(named))
    };
    let is_installed = fetch::is_installed(home);
    let has_home = toolchain.host.env.get(Variable::GuardHome).is_some();
    let is_fixed = |id: &FindingId| match id {
        FindingId::VariableUnusable => has_home && !is_installed,
        id => kind_to_fetch(*id).is_some_and(|kind| !is_named(kind)),
    };
    if toolchain.host.platform.os == Os::Other || !ids.iter().any(is_fixed) {
        return None;
    }
    let toolkit = toolchain.cuda_version();
    let toolkit = toolkit.filter(|_| !ids.contains(&FindingId::CudaRequirementUnmet));
    let options = FetchOptions::new(&toolchain.requirements, toolkit);
    let mut arguments = Vec::new();
    for (name, value) in [("--cuda", options.cuda), ("--cudnn", options.cudnn)] {
        arguments.extend(value.into_iter().flat_map(|value| [name.into(), value]));
    }
    // Without a version, `fetch` keeps the installed one.
    let is_fixable = !arguments.is_empty() || !is_installed;
    let libraries = is_fixable.then(|| project::libraries(Path::new(".")))?;
    if !libraries.is_empty() {
        arguments.extend(["--with".into(), joined(libraries.keys(), ",")]);
    }
    Some(arguments)
}

/// Returns the kind to fetch to fix an error.
fn kind_to_fetch(id: FindingId) -> Option<Kind> {
    match id {
        FindingId::CudaNotFound | FindingId::CudaRequirementUnmet => Some(Kind::Toolkit),
        FindingId::CudnnNotFound
        | FindingId::CudnnHeadersMissing
        | FindingId::CudnnRequirementUnmet
        | FindingId::CudaFlavourMismatch
        | FindingId::WrongArchitecture => Some(Kind::Cudnn),
        _ => None,
    }
}
