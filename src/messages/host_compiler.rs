use crate::host_compiler::limits::{Limits, Make, Misfit, first_with};
use crate::host_compiler::selection::MissingHostCompiler;
use crate::host_compiler::{AlternativeCompiler, HostCompilerCheck, HostCompilerFault};
use crate::model::CompilerChoice;
use crate::{Finding, FindingId, Severity};

impl HostCompilerFault<'_> {
    pub fn finding(&self) -> Finding {
        let unsupported = FindingId::HostCompilerUnsupported;
        match self {
            HostCompilerFault::Unsupported(check, misfit, is_checked) => {
                let (compiler, cuda, accepted) = (check.described(), check.cuda, check.accepted());
                let headline = format!("{compiler} is {misfit} than {cuda} supports ({accepted})");
                let severity = Severity::error_if(*is_checked);
                let first = first_with(check.compiler.make, check.compiler.number());
                let first = first.filter(|_| *misfit == Misfit::Newer);
                check
                    .add_origin(Finding::new(unsupported, severity, headline))
                    .help(check.supported_compiler(*misfit))
                    .helps(first.map(|first| {
                        let first = first.short();
                        format!("upgrade to CUDA {first} or later, which supports this compiler")
                    }))
                    .help("set CUDNN_GUARD_ALLOW=host-compiler-unsupported to try it anyway")
            }
            HostCompilerFault::Replaced(check, misfit, by) => {
                let program = by.program.display();
                let (compiler, cuda) = (check.described(), check.cuda);
                let finding = unsupported.warning(format!(
                    "{compiler} is {misfit} than {cuda} supports, so `{program}` compiles the kernels"
                ));
                let help = format!("set NVCC_CCBIN={program} to choose that compiler explicitly");
                check.add_origin(finding).help(help)
            }
            HostCompilerFault::Headers(header, names, glibc, cuda) => {
                let (glibc, header) = (glibc.short(), header.display());
                let fixed = if names.contains(&"rsqrt") {
                    "13.2"
                } else {
                    "13.0"
                };
                let names = names.join("`, `");
                FindingId::HostHeadersIncompatible.error(format!(
                    "the headers of glibc {glibc} and {cuda} contradict each other, so no kernel compiles"
                ))
                .with("CUDA", format!("`{names}` without `noexcept`: {header}"))
                .with("glibc", format!("`{names}` with `noexcept`, for every compiler"))
                .help(format!("upgrade to CUDA {fixed} or later, whose headers are compatible with this glibc"))
                .help("build in a container with a glibc older than 2.41, such as Debian 12 or Ubuntu 24.04")
                .help("add `noexcept (true)` to these functions and their `float` variants in that header, if you can edit it")
            }
            HostCompilerFault::NvccItself(variable, name, version) => {
                let (by, help) = match variable {
                    Some(variable) => (
                        variable.as_str(),
                        format!("set {variable} to a C++ compiler, such as `g++`, or unset it"),
                    ),
                    None => (
                        "the nvcc argument `-ccbin`",
                        "set `-ccbin` to a C++ compiler, such as `g++`, or remove it".to_string(),
                    ),
                };
                FindingId::ConfigInvalid.error(format!(
                    "{by} sets nvcc's host compiler to `{name}`, which is nvcc itself and would start itself endlessly"
                ))
                .with("output", version)
                .help(help)
            }
            #[cfg(feature = "cli")]
            HostCompilerFault::NotStarted(nvcc, output, missing) => {
                let headline = format!("`{}` cannot start its host compiler", nvcc.display());
                let finding = unsupported.warning(headline).help(missing.help());
                finding.with("nvcc says", output.trim_end())
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
                    CompilerChoice::Flag => format!("pass `-ccbin={program}` instead"),
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
                    "install `clang-{last}` or a g++ that {} supports, and set NVCC_CCBIN to its path",
                    self.cuda
                )
            }
            ([], Make::Msvc) => {
                let (first, above) = self.limits.msvc.unwrap_or_default();
                let toolset = |number: u32| format!("14.{:02}", number % 100);
                let toolset = match misfit {
                    Misfit::Newer => format!("an MSVC toolset older than {}", toolset(above)),
                    Misfit::Older => format!("MSVC toolset {} or later", toolset(first)),
                };
                format!(
                    "install {toolset} with the Visual Studio Installer, and build in a prompt in which you \
                 ran `vcvarsall.bat x64 -vcvars_ver=14.x` for it"
                )
            }
        }
    }

    /// Adds the origin of the compiler and of the limits, and the alternatives.
    fn add_origin(&self, finding: Finding) -> Finding {
        let named = match self.choice {
            CompilerChoice::Variable(variable, name) => format!("{}={name}", variable.name()),
            CompilerChoice::Flag => "the nvcc argument `-ccbin`".to_string(),
            CompilerChoice::Unset => "default: the first that nvcc finds on PATH".to_string(),
        };
        let limit = match &self.compiler.host_config {
            Some(header) => header.display().to_string(),
            None => format!("NVIDIA's header of {}", self.cuda),
        };
        let alternative =
            |one: &AlternativeCompiler| format!("{} in {}", one.version, one.program.display());
        finding
            .with("set by", named)
            .with("limits", limit)
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
        known.unwrap_or_else(|| "another version".to_string())
    }
}

/// The help for an nvcc that cannot start gcc.
pub const NO_GCC: &str =
    "install g++, or set NVCC_CCBIN to its path: nvcc cannot start its host compiler";

impl MissingHostCompiler<'_> {
    pub fn help(&self) -> String {
        match (self.is_cl, &self.choice) {
            (true, CompilerChoice::Unset) => "install Visual Studio's C++ tools, which nvcc requires on Windows: `winget install \
                 Microsoft.VisualStudio.2022.BuildTools --override \"--passive --add Microsoft.VisualStudio.Workload.VCTools \
                 --includeRecommended\"`"
                .into(),
            (true, CompilerChoice::Variable(variable, name)) => format!(
                "set {}, which is `{name}`, to the path of Visual Studio's `cl.exe`, or unset it: nvcc on Windows \
                 supports no other compiler",
                self.env.spelling(*variable)
            ),
            (true, CompilerChoice::Flag) => "set `-ccbin` to the path of Visual Studio's `cl.exe`, or remove it: nvcc on Windows supports no \
                                     other compiler"
                .into(),
            (false, CompilerChoice::Variable(variable, name)) => format!(
                "set {} to an existing compiler, or unset it: there is no compiler `{name}`",
                self.env.spelling(*variable)
            ),
            (false, CompilerChoice::Flag) => "correct `-ccbin` in build.rs, NVCC_PREPEND_FLAGS or NVCC_APPEND_FLAGS: that compiler does not \
                                      exist"
                .into(),
            // The compilers in Debian's packages are named so.
            (false, CompilerChoice::Unset) => match self.cross_gcc {
                Some(name) => format!(
                    "install `{name}` (Debian, Ubuntu: `sudo apt install g++-{}`), or set NVCC_CCBIN to another \
                     compiler for that architecture: nvcc cannot start it",
                    name.trim_end_matches("-g++")
                ),
                None => NO_GCC.into(),
            },
        }
    }
}
