//! What is wrong with the variables that ask for a place.

use crate::choice::findings::Situation;
use crate::choice::message_format::{found_via, landmark, link_file};
use crate::choice::select_pair::kind_of;
use crate::model::candidate::Candidate;
use crate::model::environment::Variable;
use crate::model::platform::Os;
use crate::model::rejection::Rejection;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::search::search_step::{Kind, Place, Step};
use std::path::{Path, PathBuf};

impl Situation<'_> {
    /// A variable that names a place where nothing is.
    pub fn unusable(
        &self,
        variable: Variable,
        (exists, forbidden): (bool, bool),
        nearby: Option<&Path>,
        reason: Option<&Finding>,
    ) -> Finding {
        let steps: Vec<&Step> = self
            .steps
            .iter()
            .filter(|step| step.wish == Some(variable))
            .collect();
        let asks_nvcc = steps
            .iter()
            .any(|step| matches!(step.place, Place::Nvcc(_)));
        let toolkit = steps.iter().any(|step| step.kind == Kind::Toolkit);
        let cudnn = steps.iter().any(|step| step.kind == Kind::Cudnn);
        let lack = match (toolkit, cudnn) {
            _ if reason.is_some() => "which does not answer as nvcc does",
            _ if asks_nvcc && !self.value(variable).contains(['/', '\\']) => {
                "which is in no directory of PATH"
            }
            _ if asks_nvcc && exists => "which is no program",
            _ if forbidden => "where this user may not look",
            _ if !exists => "which does not exist",
            (true, true) => "which holds neither a CUDA toolkit nor a cuDNN",
            (true, _) => "which holds no CUDA toolkit",
            _ => "which holds no cuDNN",
        };
        let mut missed: Vec<PathBuf> = Vec::new();
        for path in steps.iter().flat_map(|step| step.wanted(self.platform)) {
            if !missed.contains(&path) {
                missed.push(path);
            }
        }
        let mut finding = Finding::error(
            FindingId::VariableUnusable,
            format!(
                "`{}` is set to `{}`, {lack}",
                self.env.spelling(variable),
                self.value(variable)
            ),
        );
        match reason {
            Some(reason) => {
                finding = finding.with("reason", &reason.summary);
                finding.evidence.extend(reason.evidence.iter().cloned());
            }
            None if asks_nvcc && !self.value(variable).contains(['/', '\\']) => {
                let path: Vec<String> = steps.iter().map(|step| step.whereabouts()).collect();
                finding = finding.with("looked at", path.join("\n"));
            }
            None if forbidden => {}
            None => finding = finding.with("missed", lines(&missed)),
        }
        if forbidden {
            let name = self.env.spelling(variable);
            return finding
                .help("let this user look there: `ls -ld` of each directory above shows who may")
                .help(format!(
                    "or set {name} to a directory that this user may read"
                ));
        }
        self.mend(
            finding,
            variable,
            if toolkit && !cudnn {
                Kind::Toolkit
            } else {
                Kind::Cudnn
            },
            exists,
            nearby,
        )
    }

    /// A variable that names a path which cannot be passed on.
    pub fn unfit(&self, variable: Variable, what: &str) -> Finding {
        let name = self.env.spelling(variable);
        let headline = format!(
            "`{name}` is set to `{}`, {what}, which cargo cannot be told",
            self.value(variable)
        );
        Finding::error(FindingId::VariableUnusable, headline).help(format!(
            "make a link to that directory under a plain name, and set {name} to the link"
        ))
    }

    /// A variable that names headers without a library.
    pub fn no_library(&self, variable: Variable) -> Finding {
        let steps = self
            .steps
            .iter()
            .filter(|step| step.wish == Some(variable) && step.kind == Kind::Cudnn);
        let mut missed: Vec<PathBuf> = steps.flat_map(|step| step.wanted(self.platform)).collect();
        missed.retain(|path| !path.ends_with("cudnn.h"));
        let headline = format!(
            "`{}` is set to `{}`, which holds no cuDNN library",
            self.env.spelling(variable),
            self.value(variable)
        );
        let finding =
            Finding::error(FindingId::VariableUnusable, headline).with("missed", lines(&missed));
        self.mend(finding, variable, Kind::Cudnn, true, None)
    }

    fn mend(
        &self,
        finding: Finding,
        variable: Variable,
        kind: Kind,
        exists: bool,
        nearby: Option<&Path>,
    ) -> Finding {
        let name = self.env.spelling(variable);
        let misspelt = misspelt(&self.value(variable), &name, self.platform.os);
        let help = match variable {
            _ if !exists && misspelt.is_some() => misspelt.unwrap_or_default(),
            Variable::Nvcc | Variable::CudaCxx => format!("set {name} to the whole path of nvcc"),
            Variable::GuardHome => {
                format!(
                    "run `cudnn-guard fetch` (from `cargo install cudnn-guard --features cli`), which installs CUDA \
                     and cuDNN into {name}"
                )
            }
            Variable::CudnnIncludeDir | Variable::CudnnIncludePath => match nearby {
                Some(dir) => format!("set {name} to `{}`, which holds cudnn.h", dir.display()),
                None => format!("set {name} to the directory that holds cudnn.h"),
            },
            Variable::CudnnLibrary => {
                format!("set {name} to the file {}", link_file(self.platform.os))
            }
            Variable::CudnnLibDir | Variable::CudnnLib | Variable::CudnnLibraryPath => {
                format!(
                    "set {name} to the directory that holds {}",
                    link_file(self.platform.os)
                )
            }
            _ => match nearby {
                Some(dir) => format!("set {name} to `{}`, which holds one", dir.display()),
                None => format!(
                    "set {name} to the directory that holds {}",
                    landmark(kind, self.platform.os).1
                ),
            },
        };
        finding.help(help).help(format!(
            "or unset {name}, so that the usual places are searched"
        ))
    }

    /// That a variable asks for something else than the one before it.
    pub fn disagreements(&self, kind: Kind) -> Vec<Finding> {
        let asked = |candidate: &&Candidate| kind_of(candidate) == kind && candidate.wish.is_some();
        let mut asked = self.candidates.iter().filter(asked);
        let Some(first) = asked.next() else {
            return Vec::new();
        };
        let mut findings: Vec<Finding> = Vec::new();
        for other in asked {
            let same = matches!(other.rejected, Some(Rejection::SameAs(_)));
            if same || other.wish == first.wish {
                continue;
            }
            let headline = format!(
                "{} and {} name different {}; that of {} is taken",
                first.via,
                other.via,
                if kind == Kind::Toolkit {
                    "CUDA toolkits"
                } else {
                    "cuDNNs"
                },
                first.via
            );
            findings.push(
                Finding::warning(FindingId::VariablesDisagree, headline)
                    .with("taken", found_via(first))
                    .with("left out", found_via(other))
                    .help(format!(
                        "unset {}, or let both name the same directory",
                        other.via
                    )),
            );
        }
        findings
    }

    /// That a variable names a place where nothing is, while one before it names a good one.
    pub fn idle(&self, variable: Variable, first: &Candidate) -> Finding {
        let headline = format!(
            "`{}` is set to `{}`, where nothing is; that of {} is taken",
            self.env.spelling(variable),
            self.value(variable),
            first.via
        );
        Finding::warning(FindingId::VariablesDisagree, headline)
            .with("taken", found_via(first))
            .help(format!(
                "unset {}, or let both name the same directory",
                self.env.spelling(variable)
            ))
    }

    fn value(&self, variable: Variable) -> String {
        self.env
            .get(variable)
            .map(|value| value.to_string_lossy().into_owned())
            .unwrap_or_default()
    }
}

/// What to do about a value that a shell would have changed, or that is no path of one directory here.
fn misspelt(value: &str, name: &str, os: Os) -> Option<String> {
    let quoted = |quote: char| value.starts_with(quote) && value.ends_with(quote);
    // CMake's lists have a semicolon everywhere.
    let list: &[char] = if os == Os::Windows {
        &[';']
    } else {
        &[':', ';']
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

fn lines(paths: &[PathBuf]) -> String {
    let lines: Vec<String> = paths
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .collect();
    lines.join("\n")
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
