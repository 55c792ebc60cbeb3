//! What is wrong with the variables that ask for a place.

use crate::choice::findings::CheckContext;
use crate::choice::message_format::{contents, found_via};
use crate::model::candidate::{Candidate, Cudnn};
use crate::model::environment::{Names, Variable};
use crate::model::kind::Kind;
use crate::model::obstacle::Obstacle;
use crate::model::platform::Os;
use crate::model::rejection::Rejection;
use crate::model::text::joined;
use crate::reading::Scan;
use crate::reading::unusable_variables::Unusable;
use crate::runtime::facts::allowed::Allowed;
use crate::runtime::facts::finding::{Finding, quoted};
use crate::runtime::facts::finding_id::FindingId;
use crate::search::search_step::{Place, Step};
use crate::system::files;
use std::path::{Path, PathBuf};

/// Returns `true` if a variable asks for something of this kind in a place where nothing is, and none before it asks for
/// a place where there is something.
pub fn is_blocked(steps: &[Step], scan: &Scan, kind: Kind) -> bool {
    unusable_variables(steps, scan, kind).any(|(_, before)| before.is_none())
}

/// Returns the variables that ask for something of this kind in a place where nothing is, each with what a variable
/// before it asks for and has found.
fn unusable_variables<'a>(
    steps: &'a [Step],
    scan: &'a Scan,
    kind: Kind,
) -> impl Iterator<Item = (&'a Unusable, Option<&'a Candidate>)> {
    let place = |variable| steps.iter().position(|step| step.request == Some(variable));
    let wished = |candidate: &&Candidate| candidate.kind() == kind && candidate.request.is_some();
    let first = scan.candidates.iter().find(wished);
    let asks = move |unusable: &&Unusable| {
        let mut steps = steps.iter();
        steps.any(|step| step.request == Some(unusable.variable) && step.kind == kind)
    };
    scan.unusable.iter().filter(asks).map(move |unusable| {
        let before = first.filter(|first| first.request.and_then(place) < place(unusable.variable));
        (unusable, before)
    })
}

impl CheckContext<'_> {
    /// Returns what was noticed about one kind, and the fault that leaves the build without it. A variable that leads
    /// nowhere is the fault, and the search adds none, unless one before it leads to something.
    pub fn verdict(&self, kind: Kind, allowed: &Allowed) -> (Vec<Finding>, Option<Finding>) {
        let mut noticed = self.disagreements(kind);
        let mut fault = None;
        for (unusable, before) in unusable_variables(self.steps, self.scan, kind) {
            match before {
                Some(_) => noticed.push(self.unusable(unusable)),
                None => noticed.extend(fault.replace(self.unusable(unusable))),
            }
        }
        if fault
            .as_ref()
            .is_none_or(|fault| allowed.contains(fault.id.as_str()))
        {
            noticed.extend(fault);
            fault = self.fault(kind);
        }
        (noticed, fault)
    }

    /// Returns the finding for a variable that names a place where nothing is.
    fn unusable(&self, unusable: &Unusable) -> Finding {
        let (variable, exists) = (unusable.variable, unusable.exists);
        let (name, value) = (self.env.spelling(variable), self.value(variable));
        let asking = || (self.steps.iter()).filter(|step| step.request == Some(variable));
        let asks = |kind| asking().any(|step| step.kind == kind);
        let asks_nvcc = asking().any(|step| matches!(step.place, Place::Nvcc(_)));
        let is_bare_name = asks_nvcc && !value.contains(['/', '\\']);
        let archive = unusable.archive.as_deref();
        let value_path = PathBuf::from(&value);
        let obstacle = match unusable.reason.is_some() || is_bare_name {
            true => None,
            false => unusable.obstacle.as_ref(),
        };
        let lack = match (asks(Kind::Toolkit), asks(Kind::Cudnn)) {
            _ if unusable.host_compiler.is_some() => "which cannot start its host compiler",
            _ if unusable.reason.is_some() => "which does not answer as nvcc does",
            _ if is_bare_name => "which is in no directory of PATH",
            _ if asks_nvcc && exists => "which is no program",
            _ if !exists => "which does not exist",
            _ if archive == Some(&*value_path) => "an archive that nobody unpacked",
            _ if archive.is_some() => "which holds an archive that nobody unpacked",
            (true, true) => "which holds neither a CUDA toolkit nor a cuDNN",
            (true, _) => "which holds no CUDA toolkit",
            _ => "which holds no cuDNN",
        };
        let cpu = &self.platform.cpu;
        let foreign = unusable.foreign.join(" and ");
        let is_foreign = asks(Kind::Toolkit) && !foreign.is_empty();
        let what = match obstacle {
            None if is_foreign => {
                format!("a CUDA toolkit for {foreign} alone, and this build is for {cpu}")
            }
            Some(obstacle) => format!("and {obstacle}"),
            None => lack.to_string(),
        };
        let mut finding = self.set_to(variable, &what);
        match &unusable.reason {
            Some(reason) => {
                finding = finding.with("reason", &reason.summary);
                finding.evidence.extend(reason.evidence.iter().cloned());
            }
            None if is_bare_name => {
                finding = finding.with_lines("looked at", asking().map(Step::whereabouts));
            }
            None if obstacle.is_some() => {}
            None => {
                // A link leads the usual names to what is for another processor.
                let missed = asking().flat_map(|step| step.wanted(self.platform));
                let missed = missed.filter(|path| !files::exists(path));
                let missed = files::dedup(missed);
                finding = finding.with_lines("missed", missed.iter().map(|path| path.display()));
            }
        }
        if let Some(help) = &unusable.host_compiler {
            return finding.help(help);
        }
        let help = match (obstacle, archive) {
            (Some(obstacle), _) if obstacle.is_closed() => obstacle.help(false),
            (Some(_), _) => format!("set {name} to a directory that is there"),
            _ if is_foreign => format!("set {name} to a CUDA toolkit for {cpu}"),
            (_, Some(archive)) => unpack(archive, &value_path, &name),
            (None, None) => {
                let kind = match asks(Kind::Cudnn) {
                    true => Kind::Cudnn,
                    false => Kind::Toolkit,
                };
                let nearby = unusable
                    .nearby
                    .clone()
                    .or_else(|| self.elsewhere(variable, kind));
                self.correction(variable, kind, exists, nearby.as_deref())
            }
        };
        self.help_or_unset(finding, help, variable)
    }

    /// Returns the directory that this variable could name in place of its own, of what was found otherwise.
    fn elsewhere(&self, variable: Variable, kind: Kind) -> Option<PathBuf> {
        let mut found = self.scan.candidates.iter();
        let other = found.find(|one| is_passed_over(one, kind))?;
        match variable.names() == Some(Names::CudnnHeaders) {
            true => other.cudnn()?.include_dir.clone(),
            false => Some(other.root().to_path_buf()),
        }
    }

    /// Returns the finding for a variable that names a path which cannot be passed on.
    pub fn unfit(&self, variable: Variable, what: &str) -> Finding {
        let name = self.env.spelling(variable);
        let finding = self.set_to(variable, &format!("{what}, which cargo cannot be told"));
        finding.help(format!(
            "make a link to that directory under a plain name, and set {name} to the link"
        ))
    }

    /// Returns the finding for a variable that names a place whose library is there and cannot be used.
    pub fn obstructed(&self, variable: Variable, obstacle: &Obstacle, cudnn: &Cudnn) -> Finding {
        let finding = self.set_to(variable, &format!("and {obstacle}"));
        self.help_or_unset(
            finding,
            obstacle.help(cudnn.files.unlinked.is_some()),
            variable,
        )
    }

    /// Returns the finding for a variable that names headers without a library.
    pub fn no_library(&self, variable: Variable) -> Finding {
        let mut missed: Vec<PathBuf> = Vec::new();
        for step in self.steps {
            if step.request == Some(variable) && step.kind == Kind::Cudnn {
                missed.extend(step.wanted(self.platform));
            }
        }
        missed.retain(|path| !path.ends_with("cudnn.h"));
        let finding = self.set_to(variable, "which holds no cuDNN library");
        let finding = finding.with(
            "missed",
            joined(missed.iter().map(|path| path.display()), "\n"),
        );
        let help = match variable.names() == Some(Names::CudnnHeaders) {
            // It is right already.
            true => {
                "set CUDNN_LIB_DIR to the directory that holds libcudnn.so or libcudnn.so.9".into()
            }
            false => self.correction(variable, Kind::Cudnn, true, None),
        };
        self.help_or_unset(finding, help, variable)
    }

    fn set_to(&self, variable: Variable, what: &str) -> Finding {
        let (name, value) = (self.env.spelling(variable), self.value(variable));
        let headline = format!("`{name}` is set to `{value}`, {what}");
        Finding::error(FindingId::VariableUnusable, headline)
    }

    fn help_or_unset(&self, finding: Finding, help: String, variable: Variable) -> Finding {
        let name = self.env.spelling(variable);
        finding.help(help).help(format!(
            "or unset {name}, so that the usual places are searched"
        ))
    }

    /// Returns what this variable is to be set to.
    fn correction(
        &self,
        variable: Variable,
        kind: Kind,
        exists: bool,
        nearby: Option<&Path>,
    ) -> String {
        let name = self.env.spelling(variable);
        let misspelt = misspelt(&self.value(variable), &name, self.platform.os);
        let contents = contents(kind, self.platform.os, self.requirements.of(kind));
        let file = match self.platform.os {
            Os::Windows => "cudnn.lib",
            _ => "libcudnn.so or libcudnn.so.9",
        };
        match (variable.names(), nearby) {
            _ if !exists && misspelt.is_some() => misspelt.unwrap_or_default(),
            (Some(Names::Nvcc), _) => format!("set {name} to the whole path of nvcc"),
            (Some(Names::Fetched), _) => self.fetch(&format!("into {name}")),
            (Some(Names::CudnnHeaders), Some(dir)) => {
                format!("set {name} to `{}`, which holds cudnn.h", dir.display())
            }
            (Some(Names::CudnnHeaders), None) => {
                format!("set {name} to the directory that holds cudnn.h")
            }
            _ if variable == Variable::CudnnLibrary => format!("set {name} to the file {file}"),
            (Some(Names::CudnnLibrary), _) => {
                format!("set {name} to the directory that holds {file}")
            }
            (_, Some(dir)) => {
                let product = kind.product();
                format!("set {name} to `{}`, which holds a {product}", dir.display())
            }
            (_, None) => format!("set {name} to the directory that holds {contents}"),
        }
    }

    /// Returns the warnings that a variable asks for something else than the one before it.
    fn disagreements(&self, kind: Kind) -> Vec<Finding> {
        let asked =
            |candidate: &&Candidate| candidate.kind() == kind && candidate.request.is_some();
        let mut asked = self.scan.candidates.iter().filter(asked);
        let Some(first) = asked.next() else {
            return Vec::new();
        };
        let mut findings: Vec<Finding> = Vec::new();
        for other in asked {
            let same = matches!(other.rejected, Some(Rejection::SameAs(_)));
            // The headers of the one go with the libraries of the other.
            let header = |one: &Candidate| one.cudnn()?.header.clone();
            let together = header(first).is_some() && header(first) == header(other);
            if same || together || other.request == first.request {
                continue;
            }
            let (taken, left, product) = (&first.via, &other.via, kind.product());
            let headline =
                format!("{taken} and {left} name different {product}s; that of {taken} is taken");
            findings.push(
                Finding::warning(FindingId::VariablesDisagree, headline)
                    .with("taken", found_via(first))
                    .with("left out", found_via(other))
                    .help(format!("unset {left}, or let both name the same directory")),
            );
        }
        findings
    }

    fn value(&self, variable: Variable) -> String {
        let value = self.env.get(variable).unwrap_or_default();
        value.to_string_lossy().into_owned()
    }
}

/// What unpacks an archive, and what the variable has to name then: `value` is the archive or its directory.
fn unpack(archive: &Path, value: &Path, name: &str) -> String {
    let dir = archive.parent().unwrap_or(archive);
    let file = archive.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".tar.xz", ".txz", ".tar.gz", ".tgz", ".zip", ".whl"];
    let stem = ends
        .iter()
        .find_map(|end| Some((*end, file.strip_suffix(end)?)));
    let (archive_word, into) = (
        quoted(&archive.to_string_lossy()),
        quoted(&dir.to_string_lossy()),
    );
    let (command, inside) = match stem {
        Some((".whl", _)) => ("unzip", dir.join("nvidia/cudnn")),
        Some((".zip", stem)) => ("unzip", dir.join(stem)),
        Some((_, stem)) => ("tar", dir.join(stem)),
        None => return format!("install it, `sudo apt install {archive_word}`, and unset {name}"),
    };
    let command = match command {
        "unzip" => format!("unzip {archive_word} -d {into}"),
        _ => format!("tar -xf {archive_word} -C {into}"),
    };
    match value == archive || inside.ends_with("nvidia/cudnn") {
        true => format!(
            "unpack it, `{command}`, and set {name} to `{}`",
            inside.display()
        ),
        false => format!("unpack it: `{command}`"),
    }
}

/// What to do about a value that a shell would have changed, or that is no path of one directory here.
fn misspelt(value: &str, name: &str, os: Os) -> Option<String> {
    let quoted = |quote: char| value.starts_with(quote) && value.ends_with(quote);
    // CMake's lists have a semicolon everywhere.
    let list: &[char] = match os {
        Os::Windows => &[';'],
        _ => &[':', ';'],
    };
    Some(if value.starts_with('~') {
        format!("write the path in {name} out: only a shell puts your home in place of `~`")
    } else if value.contains('$') {
        format!("write the path in {name} out: only a shell puts a variable's value in its place")
    } else if quoted('"') || quoted('\'') {
        format!("set {name} without the quotation marks, which are part of its value")
    } else if value.trim() != value {
        format!("take the blanks around the path out of {name}")
    } else if os != Os::Windows && is_windows(value) {
        format!("set {name} to a directory of this system: that is one of Windows")
    } else if value.contains(list) {
        format!("set {name} to one directory: it is no list")
    } else {
        return None;
    })
}

/// `C:\Program Files\…`
fn is_windows(value: &str) -> bool {
    matches!(value.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic())
}

/// Whether it would serve in place of what a variable asks for.
fn is_passed_over(candidate: &Candidate, kind: Kind) -> bool {
    let is_sound = matches!(
        candidate.rejected,
        None | Some(Rejection::AnotherPlaceAsked)
    );
    candidate.kind() == kind && is_sound && !candidate.chosen && candidate.request.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CFG-03: what a shell would have taken away stands in `.env` files, in cargo's `[env]` and in what `set` makes.
    #[test]
    fn what_is_wrong_with_a_path_that_is_not_there() {
        let unquoted = "set CUDA_HOME without the quotation marks, which are part of its value";
        let one = "set CUDA_HOME to one directory: it is no list";
        let own = "set CUDA_HOME to a directory of this system: that is one of Windows";
        for (value, on_linux, on_windows) in [
            ("\"/cuda\"", Some(unquoted), Some(unquoted)),
            ("'/cuda'", Some(unquoted), Some(unquoted)),
            ("/a:/b", Some(one), None),
            ("/a;/b", Some(one), Some(one)),
            (r"C:\CUDA", Some(own), None),
            (r"C:\a;D:\b", Some(own), Some(one)),
            ("D:/CUDA", Some(own), None),
            ("/cuda", None, None),
            ("/the cuda", None, None),
            ("\"/cuda", None, None),
        ] {
            let told = |os| misspelt(value, "CUDA_HOME", os);
            assert_eq!(told(Os::Linux).as_deref(), on_linux, "{value}");
            assert_eq!(told(Os::Windows).as_deref(), on_windows, "{value}");
        }
        for (value, begins) in [
            (" /cuda", "take the blanks around the path out of CUDA_HOME"),
            ("/cuda ", "take the blanks around the path out of CUDA_HOME"),
            ("~/cuda", "write the path in CUDA_HOME out: "),
            ("${HOME}/cuda", "write the path in CUDA_HOME out: "),
        ] {
            let told = misspelt(value, "CUDA_HOME", Os::Linux).unwrap();
            assert!(told.starts_with(begins), "{value}: {told}");
        }
    }
}
