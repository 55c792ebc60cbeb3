//! Kernel files and the compiled results.

use crate::kernels::InvalidRequest;
use crate::messages::phrases::suggestion;
use crate::model::{ChosenBy, joined};
use crate::{Finding, FindingId, Severity};
use std::path::Path;

impl InvalidRequest<'_> {
    pub fn finding(&self) -> Finding {
        let invalid = |summary: &str| FindingId::ConfigInvalid.error(summary);
        match self {
            InvalidRequest::LibraryName(name) => {
                invalid(&format!("{name:?} is not a valid library name"))
                    .help("use only letters, digits and `_`, as in `.compile(\"kernels\")`")
            }
            InvalidRequest::LinkedLibrary(name, method) => invalid(&format!(
                "`.{method}(..)` is only for files that a program loads, but the library `{name}` is linked"
            ))
            .help(format!("remove `.{method}(..)` from build.rs"))
            .help("end the call with `.ptx()`, `.fatbin()` or `.cubin()`"),
            InvalidRequest::ModuleName(name) => {
                invalid(&format!("{name:?} is not a valid name for a module of kernels"))
                    .help("use only letters, digits and `_`, as in `.module(\"ptx\")`")
            }
            InvalidRequest::SameConstant(module, constant, [first, second]) => invalid(&format!(
                "`{}` and `{}` would both become `{constant}` in the module `{module}`",
                first.display(),
                second.display()
            ))
            .help("rename one of the files, or compile it in a call with another module"),
            InvalidRequest::MissingPath(path, is_compiled, near) => {
                let path = path.display();
                let what = if *is_compiled { "kernel source" } else { "watched path" };
                invalid(&format!("{what} `{path}` does not exist"))
                    .helps(suggestion(near.as_ref().map(|path| path.display())))
                    .help("correct the path in build.rs: it is relative to the package")
            }
            InvalidRequest::Directory(path) => {
                invalid(&format!("kernel source `{}` is a directory", path.display()))
                    .help(format!("select the files in it: `.files({:?})`", path.join("*.cu")))
            }
            InvalidRequest::NoMatch(pattern, near) => invalid(&format!("`{pattern}` matches no file"))
                .helps(suggestion(near.as_ref().map(|path| path.display())))
                .help("correct the pattern in build.rs: it is relative to the package"),
            InvalidRequest::NoSource => invalid("build.rs compiles kernels but does not specify any files")
                .help("specify the files: `.kernels().files(\"src/kernels/*.cu\")`"),
            InvalidRequest::AllExcluded => {
                invalid("no kernels are left to compile: `exclude` matches every file that `files` selects")
                    .help("correct the patterns of `exclude` in build.rs")
            }
            InvalidRequest::TargetFlag(flag) => {
                invalid(&format!("the flag `{flag}` selects GPU targets, which have to be set with `.archs(..)`"))
                    .help(format!("remove the flag from build.rs, and call `.archs([{flag:?}])`"))
            }
            InvalidRequest::TargetFlagInVariable(variable, flag) => {
                let name = variable.name();
                FindingId::ConfigInvalid.warning(format!(
                    "{name} contains `{flag}`, so nvcc also compiles for targets that are not in the list of this build"
                ))
                .help(format!("remove `{flag}` from {name}, and set CUDNN_GUARD_ARCHS=\"{flag}\""))
            }
            InvalidRequest::OnlyPtx(targets, chosen_by) => {
                let all = joined(targets.iter().map(|one| one.target), ", ");
                let number = targets.first().map(|one| one.target.capability.number());
                invalid(&format!("a cubin contains machine code, but all targets are PTX: {all}"))
                    .with("chosen by", chosen_by)
                    .help(format!("set CUDNN_GUARD_ARCHS={} to compile machine code", number.unwrap_or_default()))
                    .help("call `.ptx()` or `.fatbin()` in build.rs, which accept PTX")
            }
            InvalidRequest::BelowMinimum(minimum, lost, chosen_by, true) => FindingId::KernelsNotCoveringGpu.error(format!(
                "these kernels require compute capability {minimum}, but the only targets are {}",
                joined(lost, ", ")
            ))
            .with("chosen by", chosen_by)
            .help(format!(
                "set CUDNN_GUARD_ARCHS={}, and run the program on a GPU of that or a higher capability",
                minimum.number()
            ))
            .help("disable the feature that these kernels belong to"),
            InvalidRequest::BelowMinimum(minimum, lost, chosen_by, false) => {
                let headline = format!(
                    "these kernels require compute capability {minimum} and are not compiled for {}",
                    joined(lost, ", ")
                );
                let severity = match chosen_by {
                    // The default list is not the user's mistake.
                    ChosenBy::Default => Severity::Note,
                    _ => Severity::Warning,
                };
                Finding::new(FindingId::KernelsNotCoveringGpu, severity, headline).with("chosen by", chosen_by)
            }
            InvalidRequest::OutputTwice(path) => {
                let file = Path::new(path.file_name().unwrap_or_default()).display();
                let help = match path.extension().is_some_and(|kind| kind == "a" || kind == "rs") {
                    true => "give the second library or module another name",
                    false => "create a second source file with another name that defines the macros and includes the first one",
                };
                invalid(&format!("build.rs builds `{file}` twice with different sources or options"))
                    .help(help)
                    .help("pass all sources in one call, which keeps files with the same name apart")
            }
            InvalidRequest::NoOutDir => invalid("cannot write compiled kernels: OUT_DIR is not set")
                .help("call this function from a build script"),
        }
    }
}
