use crate::host_compiler::compiler_choice::{Choice, MissingHostCompiler};
use crate::host_compiler::limits::{Limits, Make, Misfit, first_with};
use crate::host_compiler::{AlternativeCompiler, HostCompilerCheck, HostCompilerFault};
use crate::{Finding, FindingId, Severity};

impl HostCompilerFault<'_> {
    pub fn finding(&self) -> Finding {
        let unsupported = FindingId::HostCompilerUnsupported;
        match self {
            HostCompilerFault::Unsupported(check, misfit, is_checked) => {
                let (compiler, cuda, accepted) = (check.described(), check.cuda, check.accepted());
                let headline =
                    format!("{compiler} is {misfit} than {cuda} accepts, which is {accepted}");
                let severity = Severity::error_if(*is_checked);
                let mut finding = Finding::new(unsupported, severity, headline);
                finding = check
                    .add_origin(finding)
                    .help(check.supported_compiler(*misfit));
                let first = first_with(check.compiler.make, check.compiler.number());
                if let (Some(first), Misfit::Newer) = (first, misfit) {
                    let first = first.short();
                    finding = finding.help(format!(
                        "install CUDA {first}, the first toolkit that accepts this compiler"
                    ));
                }
                finding
                    .help("set CUDNN_GUARD_ALLOW=host-compiler-unsupported to try it all the same")
            }
            HostCompilerFault::Replaced(check, misfit, by) => {
                let program = by.program.display();
                let (compiler, cuda) = (check.described(), check.cuda);
                let headline = format!(
                    "{compiler} is {misfit} than {cuda} accepts, so `{program}` compiles the kernels"
                );
                let finding = Finding::warning(unsupported, headline);
                check.add_origin(finding).help(format!(
                    "set NVCC_CCBIN={program} to make that your own choice"
                ))
            }
            // It never stops a build, since sources that use little of the library compile.
            HostCompilerFault::Libstdcxx11(check) => {
                let (compiler, cuda) = (check.described(), check.cuda);
                let headline =
                    format!("{compiler} brings a C++ library that {cuda} cannot compile wholly");
                let seen = "std_function.h:435:145: error: parameter packs not expanded with '...'";
                Finding::warning(unsupported, headline)
                    .with("seen as", seen)
                    .help("install `g++-10`, and set NVCC_CCBIN=/usr/bin/g++-10")
                    .help("take CUDA 11.6 or newer")
            }
            HostCompilerFault::Headers(header, names, glibc, cuda) => {
                let (glibc, header) = (glibc.short(), header.display());
                let fixed = match names.contains(&"rsqrt") {
                    true => "13.2",
                    false => "13.0",
                };
                let names = names.join("`, `");
                let headline = format!(
                    "the headers of glibc {glibc} and of {cuda} contradict each other, so that no kernel compiles"
                );
                Finding::error(FindingId::HostHeadersIncompatible, headline)
                    .with("in CUDA", format!("`{names}` without `noexcept`: {header}"))
                    .with("in glibc", format!("`{names}` with `noexcept`, whichever compiler reads them"))
                    .help(format!("install CUDA {fixed} or newer, whose headers fit this glibc"))
                    .help("build in a container whose glibc is older than 2.41: Debian 12, Ubuntu 24.04")
                    .help("write `noexcept (true)` behind these functions and their `float` forms in that header, if you may change it")
            }
            HostCompilerFault::NvccItself {
                variable,
                name,
                release,
            } => {
                let (by, help) = match variable {
                    Some(variable) => (
                        variable.as_str(),
                        format!("set {variable} to a C++ compiler, `g++` for example, or unset it"),
                    ),
                    None => (
                        "an argument of nvcc, `-ccbin`,",
                        "name a C++ compiler there, `g++` for example, or leave it out".to_string(),
                    ),
                };
                let headline = format!(
                    "{by} names `{name}` as nvcc's host compiler, and that is nvcc again, which would start itself without end"
                );
                Finding::error(FindingId::ConfigInvalid, headline)
                    .with("it says", release)
                    .help(help)
            }
            #[cfg(feature = "cli")]
            HostCompilerFault::NotStarted(nvcc, output, missing) => {
                let headline = format!("`{}` cannot start its host compiler", nvcc.display());
                Finding::warning(unsupported, headline)
                    .help(missing.help())
                    .with("nvcc says", output.trim_end())
            }
        }
    }
}

impl HostCompilerCheck<'_> {
    fn described(&self) -> String {
        format!("{} at `{}`", self.compiler.named(), self.program.display())
    }

    fn supported_compiler(&self, misfit: Misfit) -> String {
        match (self.alternatives, self.compiler.make) {
            ([best, ..], _) => {
                let program = best.program.display();
                match self.choice {
                    Choice::Flag => format!("name it instead: `-ccbin={program}`"),
                    _ => format!("set NVCC_CCBIN={program}"),
                }
            }
            ([], Make::Gcc) => {
                let last = self.limits.gcc.unwrap_or_default();
                format!(
                    "install `g++-{last}` (Debian, Ubuntu), `gcc{last}` (Arch) or `gcc{last}-c++` (Fedora, openSUSE), \
                 and set NVCC_CCBIN to its path"
                )
            }
            ([], Make::Clang) => {
                let last = self.limits.clang.unwrap_or_default().saturating_sub(1);
                format!(
                    "install `clang-{last}` or a g++ that {} accepts, and set NVCC_CCBIN to its path",
                    self.cuda
                )
            }
            ([], Make::Msvc) => {
                let (first, above) = self.limits.msvc.unwrap_or_default();
                let toolset = |number: u32| format!("14.{:02}", number % 100);
                let (which, toolset) = match misfit {
                    Misfit::Newer => ("older than", toolset(above)),
                    Misfit::Older => ("not older than", toolset(first)),
                };
                format!(
                    "add an MSVC toolset {which} {toolset} with the Visual Studio Installer, and build in a prompt that \
                 `vcvarsall.bat x64 -vcvars_ver=14.x` opens with it"
                )
            }
        }
    }

    /// Adds the origin of the compiler and of the limits, and the alternatives.
    fn add_origin(&self, finding: Finding) -> Finding {
        let named = match self.choice {
            Choice::Variable(variable, name) => format!("{}={name}", variable.name()),
            Choice::Flag => "an argument of nvcc, `-ccbin`".to_string(),
            Choice::Nobody => "nobody: the first that nvcc finds on PATH".to_string(),
        };
        let limit = match &self.compiler.host_config {
            Some(header) => header.display().to_string(),
            None => format!("NVIDIA's own header of {}", self.cuda),
        };
        let alternative =
            |one: &AlternativeCompiler| format!("{} in {}", one.release, one.program.display());
        finding
            .with("named by", named)
            .with("limit in", limit)
            .with_lines("also found", self.alternatives.iter().map(alternative))
    }

    /// Returns the supported versions: `gcc 14 or older`.
    fn accepted(&self) -> String {
        let Limits { gcc, clang, msvc } = self.limits;
        let cl = |number: u32| format!("{}.{:02}", number / 100, number % 100);
        let older = |name: &str, last: u32| format!("{name} {last} or older");
        let known = match self.compiler.make {
            Make::Gcc => gcc.map(|last| older("gcc", last)),
            Make::Clang => clang.map(|above| older("clang", above.saturating_sub(1))),
            Make::Msvc => msvc.map(|(first, above)| {
                format!("cl {} to {}", cl(first), cl(above.saturating_sub(1)))
            }),
        };
        known.unwrap_or_else(|| "another".to_string())
    }
}

/// The help for an nvcc that cannot start gcc.
pub const NO_GCC: &str =
    "install g++, or set NVCC_CCBIN to it: nvcc cannot start its host compiler";

impl MissingHostCompiler<'_> {
    pub fn help(&self) -> String {
        match (self.is_cl, &self.choice) {
            (true, Choice::Nobody) => "install Visual Studio's C++ tools, without which nvcc on Windows compiles nothing: `winget install \
                 Microsoft.VisualStudio.2022.BuildTools --override \"--passive --add Microsoft.VisualStudio.Workload.VCTools \
                 --includeRecommended\"`"
                .into(),
            (true, Choice::Variable(variable, name)) => format!(
                "set {} to the path of Visual Studio's `cl.exe`, or unset it: nvcc on Windows takes no other compiler, and \
                 it names `{name}`",
                self.env.spelling(*variable)
            ),
            (true, Choice::Flag) => "name Visual Studio's `cl.exe` by its path in `-ccbin`, or leave that out: nvcc on Windows takes \
                                     no other compiler"
                .into(),
            (false, Choice::Variable(variable, name)) => format!(
                "set {} to a compiler that is there, or unset it: it names `{name}`",
                self.env.spelling(*variable)
            ),
            (false, Choice::Flag) => "correct the `-ccbin` that nvcc is given in build.rs, NVCC_PREPEND_FLAGS or NVCC_APPEND_FLAGS: \
                                      there is no such compiler"
                .into(),
            // The compilers in Debian's packages are named so.
            (false, Choice::Nobody) => match self.cross_gcc {
                Some(name) => format!(
                    "install `{name}`, on Debian and Ubuntu with `sudo apt install g++-{}`, or set NVCC_CCBIN to \
                     another compiler for that processor: nvcc cannot start it",
                    name.trim_end_matches("-g++")
                ),
                None => NO_GCC.into(),
            },
        }
    }
}
