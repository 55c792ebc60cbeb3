//! Kernel files, and what is made of them.

use crate::kernels::InvalidCall;
use crate::kernels::inputs::sources::InvalidSources;
use crate::kernels::link::archive::FailedArchive;
use crate::kernels::min_capability::TargetsBelowMinimum;
use crate::kernels::product::OnlyPtx;
use crate::kernels::product::module::InvalidModule;
use crate::kernels::target_flags::TargetFlag;
use crate::model::chosen_by::ChosenBy;
use crate::model::text::joined;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;

impl InvalidCall<'_> {
    pub fn finding(&self) -> Finding {
        let (summary, help) = match self {
            InvalidCall::LibraryName(name) => (
                format!("{name:?} cannot be the name of a library"),
                "name it with letters, digits and `_`, as in `.compile(\"kernels\")`".to_string(),
            ),
            InvalidCall::LinkedLibrary { name, method } => (
                format!(
                    "the library `{name}` is linked, and `.{method}(..)` is for files that a program loads"
                ),
                format!(
                    "take `.{method}(..)` out of build.rs, or end the call in `.ptx()`, `.fatbin()` or `.cubin()`"
                ),
            ),
            InvalidCall::NoOutDir => (
                "OUT_DIR is not set, and kernels are written there".to_string(),
                "call this from a build script".to_string(),
            ),
        };
        Finding::error(FindingId::ConfigInvalid, summary).help(help)
    }
}

impl InvalidSources<'_> {
    pub fn finding(&self) -> Finding {
        let path_help = "correct the path in build.rs: it is relative to the package";
        let (summary, help) = match self {
            InvalidSources::Missing(path) => (
                format!("`{}` is not there, which build.rs compiles", path.display()),
                path_help,
            ),
            InvalidSources::MissingWatched(path) => (
                format!("`{}` is not there, which build.rs watches", path.display()),
                path_help,
            ),
            InvalidSources::NoMatch(pattern) => (
                format!("`{pattern}` matches no file"),
                "correct the pattern in build.rs: it is relative to the package",
            ),
            InvalidSources::None => (
                "no kernel is named, and build.rs compiles kernels".to_string(),
                "name them: `.kernels().files(\"src/kernels/*.cu\")`",
            ),
            InvalidSources::AllExcluded => (
                "no kernel is left to compile: `exclude` leaves out every file that `files` names"
                    .to_string(),
                "correct the patterns of `exclude` in build.rs",
            ),
        };
        Finding::error(FindingId::ConfigInvalid, summary).help(help)
    }
}

impl TargetFlag {
    pub fn finding(&self) -> Finding {
        let TargetFlag(flag) = self;
        let summary =
            format!("the flag `{flag}` chooses GPU targets, which are `archs` to cudnn-guard");
        Finding::error(FindingId::ConfigInvalid, summary).help(format!(
            "take it out of the flags in build.rs, and call `.archs([{flag:?}])`"
        ))
    }
}

impl TargetsBelowMinimum {
    pub fn finding(&self) -> Finding {
        let id = FindingId::KernelsNotCoveringGpu;
        let (minimum, lost) = (self.minimum, joined(&self.lost, ", "));
        if self.are_all {
            let summary = format!(
                "these kernels need compute capability {minimum}, and there are only {lost} to compile for"
            );
            return Finding::error(id, summary)
                .with("chosen by", self.chosen_by)
                .help(format!(
                    "set CUDNN_GUARD_ARCHS={}, and run the program on such a GPU or a newer one",
                    minimum.number()
                ))
                .help("or switch the feature off that these kernels belong to");
        }
        let summary = format!(
            "these kernels need compute capability {minimum} and are not compiled for {lost}"
        );
        let finding = match self.chosen_by {
            // Nobody wrote that list.
            ChosenBy::Default => Finding::note(id, summary),
            _ => Finding::warning(id, summary),
        };
        finding.with("chosen by", self.chosen_by)
    }
}

impl OnlyPtx<'_> {
    pub fn finding(&self) -> Finding {
        let targets = self.targets.iter().map(|one| one.target);
        let number = targets.clone().next().map(|one| one.capability.number());
        let summary = format!(
            "a cubin holds machine code, and there is only PTX to compile for: {}",
            joined(targets, ", ")
        );
        Finding::error(FindingId::ConfigInvalid, summary)
            .with("chosen by", self.chosen_by)
            .help(format!(
                "set CUDNN_GUARD_ARCHS={} for machine code",
                number.unwrap_or_default()
            ))
            .help("or call `.ptx()` or `.fatbin()` in build.rs, which take PTX")
    }
}

impl InvalidModule<'_> {
    pub fn finding(&self) -> Finding {
        let (summary, help) = match self {
            InvalidModule::Name(name) => (
                format!("{name:?} cannot be the name of a module of kernels"),
                "name it with letters, digits and `_`, as in `.module(\"ptx\")`",
            ),
            InvalidModule::SameConstant {
                module,
                constant,
                sources: [first, second],
            } => (
                format!(
                    "`{}` and `{}` would both be `{constant}` in the module `{module}`",
                    first.display(),
                    second.display()
                ),
                "rename one of the two files, or compile it in a call with another module",
            ),
        };
        Finding::error(FindingId::ConfigInvalid, summary).help(help)
    }
}

impl FailedArchive<'_> {
    pub fn finding(&self) -> Finding {
        let summary = format!("cannot put the objects of `{}` into a library", self.name);
        Finding::error(FindingId::IoError, summary)
            .with("reason", &self.error)
            .help("install an archiver: `ar` of binutils, or name one in the variable AR")
    }
}
