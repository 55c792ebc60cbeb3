//! `cudnn-guard doctor --fix`: runs `cudnn-guard fetch` if that fixes an error.

use crate::choice::not_found::FetchOptions;
use crate::cli::fetch::{self, check::command_text};
use crate::cli::terminal::{columns, show, show_on_stderr};
use crate::model::environment::Variable;
use crate::model::kind::Kind;
use crate::model::platform::Os;
use crate::report::Report;
use crate::report::layout::wrapped;
use crate::runtime::facts::finding::printable;
use crate::toolchain::Toolchain;
use crate::{FindingId, Severity};
use std::io::{self, IsTerminal};
use std::path::Path;

/// The result of `--fix`.
pub enum Outcome {
    /// There was nothing to fix, or the answer was no.
    Unchanged,
    Fixed,
    Failed,
}

/// A `fetch`, with a line for each of its effects.
struct Fix {
    arguments: Vec<String>,
    effects: Vec<String>,
}

/// The kind that has to be fetched to fix an error.
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

/// Shows the fix, asks, and runs it.
pub fn fix(toolchain: &Toolchain, report: &Report, is_agreed: bool) -> Outcome {
    let Some(fix) = Fix::find(toolchain, report) else {
        show("\nnothing to fix with `cudnn-guard fetch`\n");
        return Outcome::Unchanged;
    };
    show("\n--fix will\n");
    for effect in &fix.effects {
        show(format!("  {}\n", wrapped(effect, 4, columns())));
    }
    let has_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    match (is_agreed, has_terminal) {
        (false, false) => {
            show_on_stderr(
                "nothing was changed: there is no terminal to ask on\n  = help: add `--yes`\n",
            );
            return Outcome::Failed;
        }
        (false, true) if !answers_yes() => return Outcome::Unchanged,
        _ => {}
    }
    let arguments =
        fetch::command().get_matches_from([vec!["fetch".into()], fix.arguments].concat());
    match fetch::succeeds(&arguments) {
        true => Outcome::Fixed,
        false => Outcome::Failed,
    }
}

fn answers_yes() -> bool {
    show("Do this? [y/N] ");
    let mut answer = String::new();
    let _ = io::stdin().read_line(&mut answer);
    ["y", "yes"].contains(&&*answer.trim().to_ascii_lowercase())
}

impl Fix {
    fn find(toolchain: &Toolchain, report: &Report) -> Option<Self> {
        if toolchain.host.platform.os == Os::Other {
            return None;
        }
        let home = fetch::home().ok()?;
        Self::install(toolchain, report, &home).or_else(|| Self::repair(&home))
    }

    /// Returns the `fetch` whose CUDA and cuDNN a build chooses instead of the ones in the errors.
    fn install(toolchain: &Toolchain, report: &Report, home: &Path) -> Option<Self> {
        let errors = report.findings().iter();
        let errors = errors.filter(|one| one.severity == Severity::Error);
        let ids: Vec<FindingId> = errors.map(|one| one.id).collect();
        // A build does not search elsewhere for what a variable names.
        let is_named = |kind: Kind| {
            let named = |name: &Variable| *name != Variable::GuardHome;
            let mut of_kind = toolchain.candidates.iter().filter(|one| one.kind() == kind);
            of_kind.any(|one| one.request.as_ref().is_some_and(named))
        };
        let mut kinds = ids.iter().filter_map(|id| kind_to_fetch(*id));
        let is_installed = fetch::is_installed(home);
        let is_home_empty = toolchain.host.env.get(Variable::GuardHome).is_some()
            && ids.contains(&FindingId::VariableUnusable)
            && !is_installed;
        if !kinds.any(|kind| !is_named(kind)) && !is_home_empty {
            return None;
        }
        let toolkit = toolchain.cuda_version();
        let toolkit = toolkit.filter(|_| !ids.contains(&FindingId::CudaRequirementUnmet));
        let options = FetchOptions::new(&toolchain.requirements, toolkit);
        let mut arguments = Vec::new();
        for (name, value) in [("--cuda", options.cuda), ("--cudnn", options.cudnn)] {
            if let Some(value) = value {
                arguments.extend([name.to_string(), value]);
            }
        }
        // Without a version, `fetch` keeps the installed one.
        if arguments.is_empty() && is_installed {
            return None;
        }
        let mut fix = Self::new("download CUDA and cuDNN into", home, arguments);
        let is_default = fetch::default_home().is_some_and(|default| default == home);
        if !is_default && Path::new("Cargo.toml").is_file() {
            fix.arguments.push("--write-config".into());
            let command = "cudnn-guard fetch --write-config";
            let effect = format!("add its variables to `.cargo/config.toml`: `{command}`");
            fix.effects.push(effect);
        }
        Some(fix)
    }

    fn repair(home: &Path) -> Option<Self> {
        let arguments = fetch::repair(home)?;
        Some(Self::new(
            "repair the files and links of `cudnn-guard fetch` in",
            home,
            arguments,
        ))
    }

    fn new(verb: &str, home: &Path, arguments: Vec<String>) -> Self {
        let command = command_text(&arguments);
        let effect = format!("{verb} `{}`: `{command}`", home.display());
        Self {
            arguments,
            effects: vec![printable(&effect)],
        }
    }
}
