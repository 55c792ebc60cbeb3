//! Invalid configurations in build scripts and variables.

use crate::toolchain::ToolchainFault;
use crate::toolchain::findings::ConfigFault;
use crate::toolchain::output_registry::OutputConflict;
use crate::{Finding, FindingId, Severity};
use std::path::Path;

impl ConfigFault<'_> {
    pub fn finding(&self) -> Finding {
        match self {
            Self::AllowedId(id) => Finding::error(
                FindingId::ConfigInvalid,
                format!("`.allow({id:?})` names no finding"),
            )
            .help("copy the id from the brackets behind the headline that is to pass"),
            Self::NoRoot(path) => no_root(path, "does not exist"),
            Self::RootFile(path) => no_root(path, "is not a directory"),
            Self::Deadline(name, value) => Finding::error(
                FindingId::VariableUnusable,
                format!("{name}={value:?} is not a number of seconds above 0"),
            )
            .help(format!("set it to seconds, as in {name}=60, or unset it")),
            Self::NarrowTarget(triple, instead) => Finding::error(
                FindingId::PlatformUnsupported,
                format!(
                    "this build is for {triple}, a 32-bit system, and CUDA and cuDNN exist for 64-bit ones only"
                ),
            )
            .help(format!("build for {instead}"))
            .help("call `.optional()` in build.rs, to build without"),
        }
    }
}

fn no_root(path: &Path, what: &str) -> Finding {
    let headline = format!("the root `{}` {what}", path.display());
    Finding::error(FindingId::ConfigInvalid, headline)
        .help("name a directory that holds usr/ of the system to look at")
}

impl Finding {
    /// Adds that the variable, which is unusable for the toolkit, does not point to a cuDNN either.
    pub(crate) fn with_no_cudnn(self) -> Self {
        let searched = "was looked for there too, and found nowhere else";
        self.with("cuDNN", searched)
    }

    /// Prepends the help that fixes a version skew through these variables of the headers and the libraries.
    pub(crate) fn explain_skew(&mut self, variables: &[String]) {
        let names = variables.join(" and ");
        let help = format!("let {names} name the headers and the libraries of one release");
        if let Some(first) = self.help.first_mut() {
            *first = help;
        }
    }

    /// Makes missing sub-libraries an error, since programs that run here fail at their first convolution.
    pub(crate) fn stop_at_missing_parts(&mut self) {
        if self.id == FindingId::PartsMissing {
            self.severity = Severity::Error;
        }
    }
}

impl ToolchainFault<'_> {
    pub fn finding(&self) -> Finding {
        match self {
            Self::NoToolkit => Finding::error(FindingId::CudaNotFound, "no CUDA toolkit was found"),
            Self::Shown(lines) => Finding::error(
                FindingId::ConfigInvalid,
                "`CUDNN_GUARD_PRINT` is set, so this build stops to show what was found",
            )
            .with("found", lines.join("\n"))
            .help("unset CUDNN_GUARD_PRINT to build"),
        }
    }
}

impl OutputConflict<'_> {
    pub fn finding(&self) -> Finding {
        let error = |headline: String| Finding::error(FindingId::ConfigInvalid, headline);
        match self {
            Self::Ways(file, source) => {
                let (file, source) = (file.display(), source.display());
                error(format!(
                    "build.rs makes `{file}` of `{source}` twice, and not in the same way"
                ))
                .help("make a second file under another name, which defines the macros and includes this one")
            }
            Self::Sources(file, first, second) => error(format!(
                "build.rs makes `{}` of `{}`, and then again of `{}`",
                file.display(),
                first.display(),
                second.display()
            ))
            .help("name both files in one call, which keeps equal names apart"),
            Self::Product(kind, name) => error(format!(
                "build.rs makes the {kind} `{name}` twice, and not in the same way"
            ))
            .help(format!(
                "name all its files in one call, or give the second {kind} another name"
            )),
        }
    }
}
