//! Kernel files and the compiled results.

use crate::kernels::InvalidRequest;
use crate::kernels::min_capability::TargetsBelowMinimum;
use crate::kernels::target_flags::TargetsInVariable;
use crate::model::chosen_by::ChosenBy;
use crate::model::text::joined;
use crate::runtime::facts::finding::quoted;
use crate::{Finding, FindingId};

impl InvalidRequest<'_> {
    pub fn finding(&self) -> Finding {
        let invalid = |summary: &str| Finding::error(FindingId::ConfigInvalid, summary);
        match self {
            InvalidRequest::LibraryName(name) => {
                invalid(&format!("{name:?} cannot be the name of a library"))
                    .help("name it with letters, digits and `_`, as in `.compile(\"kernels\")`")
            }
            InvalidRequest::LinkedLibrary(name, method) => invalid(&format!(
                "the library `{name}` is linked, and `.{method}(..)` is for files that a program loads"
            ))
            .help(format!(
                "take `.{method}(..)` out of build.rs, or end the call in `.ptx()`, `.fatbin()` or `.cubin()`"
            )),
            InvalidRequest::ModuleName(name) => {
                invalid(&format!("{name:?} cannot be the name of a module of kernels"))
                    .help("name it with letters, digits and `_`, as in `.module(\"ptx\")`")
            }
            InvalidRequest::SameConstant(module, constant, [first, second]) => invalid(&format!(
                "`{}` and `{}` would both be `{constant}` in the module `{module}`",
                first.display(),
                second.display()
            ))
            .help("rename one of the two files, or compile it in a call with another module"),
            InvalidRequest::MissingPath(path, is_compiled) => {
                let path = path.display();
                let verb = if *is_compiled { "compiles" } else { "watches" };
                invalid(&format!("`{path}` is not there, which build.rs {verb}"))
                    .help("correct the path in build.rs: it is relative to the package")
            }
            InvalidRequest::NoMatch(pattern) => invalid(&format!("`{pattern}` matches no file"))
                .help("correct the pattern in build.rs: it is relative to the package"),
            InvalidRequest::NoMatchForOptions(pattern) => {
                invalid(&format!("`{}` of `for_files` matches none of the kernels", pattern.display()))
                    .help("correct the pattern in build.rs, or name the file with `files`")
            }
            InvalidRequest::NoSource => invalid("no kernel is named, and build.rs compiles kernels")
                .help("name them: `.kernels().files(\"src/kernels/*.cu\")`"),
            InvalidRequest::AllExcluded => {
                invalid("no kernel is left to compile: `exclude` leaves out every file that `files` names")
                    .help("correct the patterns of `exclude` in build.rs")
            }
            InvalidRequest::NoCutlass(searched, is_named, home) => {
                let home = home.as_ref().map(|home| quoted(&home.to_string_lossy()).to_string());
                let to = home.map_or(String::new(), |home| format!(" --to {home}"));
                let fetch = format!("run `cudnn-guard fetch --with cutlass{to}`");
                let set = "set CUTLASS_PATH to the directory that contains `include/cutlass/cutlass.h`";
                let finding = match is_named {
                    true => invalid("CUTLASS_PATH names a directory without `include/cutlass/cutlass.h`")
                        .help(set)
                        .help(format!("unset it, and {fetch}")),
                    false => invalid("build.rs compiles kernels with CUTLASS, and its headers are not installed")
                        .help(fetch)
                        .help(set),
                };
                finding.with_lines("searched", searched.iter().map(|dir| dir.display()))
            }
            InvalidRequest::TargetFlag(flag) => {
                invalid(&format!("the flag `{flag}` chooses GPU targets, which are `archs` to cudnn-guard"))
                    .help(format!("remove it from the flags in build.rs, and call `.archs([{flag:?}])`"))
            }
            InvalidRequest::OnlyPtx(targets, chosen_by) => {
                let all = joined(targets.iter().map(|one| one.target), ", ");
                let number = targets.first().map(|one| one.target.capability.number());
                invalid(&format!("a cubin holds machine code, and there is only PTX to compile for: {all}"))
                    .with("chosen by", chosen_by)
                    .help(format!("set CUDNN_GUARD_ARCHS={} for machine code", number.unwrap_or_default()))
                    .help("call `.ptx()` or `.fatbin()` in build.rs, which take PTX")
            }
            InvalidRequest::NoOutDir => invalid("OUT_DIR is not set, and kernels are written there")
                .help("call this from a build script"),
        }
    }
}

impl TargetsInVariable {
    pub fn finding(&self) -> Finding {
        let (name, flag) = (self.variable.name(), &self.flag);
        let headline = format!(
            "{name} contains `{flag}`, so nvcc also compiles for targets outside of the list of this build"
        );
        Finding::warning(FindingId::ConfigInvalid, headline).help(format!(
            "remove `{flag}` from {name}, and set CUDNN_GUARD_ARCHS=\"{flag}\""
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
                .help("switch the feature off that these kernels belong to");
        }
        let summary = format!(
            "these kernels need compute capability {minimum} and are not compiled for {lost}"
        );
        let finding = match self.chosen_by {
            // The default list is not the user's mistake.
            ChosenBy::Default => Finding::note(id, summary),
            _ => Finding::warning(id, summary),
        };
        finding.with("chosen by", self.chosen_by)
    }
}
