//! The host compiler and its headers.

use crate::host_compiler::ask::NvccAsHostCompiler;
use crate::host_compiler::compiler_choice::{Choice, MissingHostCompiler};
use crate::host_compiler::headers::ContradictingHeaders;
use crate::host_compiler::limits::{Limits, Make, Misfit, first_with};
use crate::host_compiler::{AlternativeCompiler, HostCompilerCheck, IncompatibleCompiler};
#[cfg(feature = "cli")]
use crate::kernels::host_compiler_check::UnstartedCompiler;
use crate::runtime::facts::finding::Finding;
#[cfg(feature = "cli")]
use crate::runtime::facts::finding::Severity;
use crate::runtime::facts::finding_id::FindingId;

impl IncompatibleCompiler<'_> {
    /// Returns the finding about the compiler of this check.
    pub fn finding(&self, check: &HostCompilerCheck) -> Finding {
        let id = FindingId::HostCompilerUnsupported;
        let compiler = format!(
            "{} at `{}`",
            check.compiler.named(),
            check.program.display()
        );
        let cuda = check.cuda;
        match self {
            IncompatibleCompiler::Unsupported { misfit, is_checked } => {
                let headline = format!(
                    "{compiler} is {misfit} than {cuda} accepts, which is {}",
                    accepted(check)
                );
                let mut finding = match is_checked {
                    true => Finding::error(id, headline),
                    false => Finding::warning(id, headline),
                };
                finding = with_origin(finding, check).help(supported_compiler(check, *misfit));
                let first = first_with(check.compiler.make, check.compiler.number());
                if let (Some(first), Misfit::Newer) = (first, misfit) {
                    finding = finding.help(format!(
                        "or install CUDA {}, the first toolkit that accepts this compiler",
                        first.short()
                    ));
                }
                finding.help(
                    "or set CUDNN_GUARD_ALLOW=host-compiler-unsupported to try it all the same",
                )
            }
            IncompatibleCompiler::Replaced { misfit, by } => {
                let program = by.program.display();
                let headline = format!(
                    "{compiler} is {misfit} than {cuda} accepts, so `{program}` compiles the kernels"
                );
                with_origin(Finding::warning(id, headline), check).help(format!(
                    "set NVCC_CCBIN={program} to make that your own choice"
                ))
            }
            // It never stops a build: sources that include little of the library compile.
            IncompatibleCompiler::Libstdcxx11 => Finding::warning(
                id,
                format!("{compiler} brings a C++ library that {cuda} cannot compile wholly"),
            )
            .with(
                "seen as",
                "std_function.h:435:145: error: parameter packs not expanded with '...'",
            )
            .help("install `g++-10`, and set NVCC_CCBIN=/usr/bin/g++-10")
            .help("or take CUDA 11.6 or newer"),
        }
    }
}

/// Returns the help that names a compiler which CUDA accepts.
fn supported_compiler(check: &HostCompilerCheck, misfit: Misfit) -> String {
    match (check.rivals, check.compiler.make) {
        ([best, ..], _) => {
            let program = best.program.display();
            match check.choice {
                Choice::Flag => format!("name it instead: `-ccbin={program}`"),
                _ => format!("set NVCC_CCBIN={program}"),
            }
        }
        ([], Make::Gcc) => {
            let last = check.limits.gcc.unwrap_or_default();
            format!(
                "install `g++-{last}` (Debian, Ubuntu), `gcc{last}` (Arch) or `gcc{last}-c++` (Fedora, openSUSE), \
                 and set NVCC_CCBIN to its path"
            )
        }
        ([], Make::Clang) => {
            let last = check.limits.clang.unwrap_or_default().saturating_sub(1);
            format!(
                "install `clang-{last}` or a g++ that {} accepts, and set NVCC_CCBIN to its path",
                check.cuda
            )
        }
        ([], Make::Msvc) => {
            let (first, above) = check.limits.msvc.unwrap_or_default();
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

/// Adds the origin of the compiler and of the limits, and the compilers in its place.
fn with_origin(finding: Finding, check: &HostCompilerCheck) -> Finding {
    let named = match check.choice {
        Choice::Variable(variable, name) => format!("{}={name}", variable.name()),
        Choice::Flag => "an argument of nvcc, `-ccbin`".to_string(),
        Choice::Nobody => "nobody: the first that nvcc finds on PATH".to_string(),
    };
    let limit = match &check.compiler.host_config {
        Some(header) => header.display().to_string(),
        None => format!("NVIDIA's own header of {}", check.cuda),
    };
    let rival = |one: &AlternativeCompiler| format!("{} in {}", one.release, one.program.display());
    finding
        .with("named by", named)
        .with("limit in", limit)
        .with_lines("also found", check.rivals.iter().map(rival))
}

/// Returns the accepted releases: `gcc 14 or older`.
fn accepted(check: &HostCompilerCheck) -> String {
    let Limits { gcc, clang, msvc } = check.limits;
    let cl = |number: u32| format!("{}.{:02}", number / 100, number % 100);
    let older = |name: &str, last: u32| format!("{name} {last} or older");
    let known = match check.compiler.make {
        Make::Gcc => gcc.map(|last| older("gcc", last)),
        Make::Clang => clang.map(|above| older("clang", above.saturating_sub(1))),
        Make::Msvc => msvc
            .map(|(first, above)| format!("cl {} to {}", cl(first), cl(above.saturating_sub(1)))),
    };
    known.unwrap_or_else(|| "another".to_string())
}

impl ContradictingHeaders<'_> {
    pub fn finding(&self) -> Finding {
        let (glibc, cuda) = (self.glibc.short(), self.cuda);
        let names = self.names.join("`, `");
        let fixed = match self.names.contains(&"rsqrt") {
            true => "13.2",
            false => "13.0",
        };
        Finding::error(
            FindingId::HostHeadersIncompatible,
            format!("the headers of glibc {glibc} and of {cuda} contradict each other, so that no kernel compiles"),
        )
        .with("in CUDA", format!("`{names}` without `noexcept`: {}", self.header.display()))
        .with("in glibc", format!("`{names}` with `noexcept`, whichever compiler reads them"))
        .help(format!("install CUDA {fixed} or newer, whose headers fit this glibc"))
        .help("or build in a container whose glibc is older than 2.41: Debian 12, Ubuntu 24.04")
        .help("or write `noexcept (true)` behind these functions and their `float` forms in that header, if you may change it")
    }
}

impl NvccAsHostCompiler {
    pub fn finding(&self) -> Finding {
        let (who, name) = (&self.named_by, &self.name);
        let headline = format!(
            "{who} names `{name}` as nvcc's host compiler, and that is nvcc again, which would start itself without end"
        );
        let help = match self.is_flag {
            true => "name a C++ compiler there, `g++` for example, or leave it out".to_string(),
            false => format!("set {who} to a C++ compiler, `g++` for example, or unset it"),
        };
        Finding::error(FindingId::ConfigInvalid, headline)
            .with("it says", &self.release)
            .help(help)
    }
}

/// Help for an nvcc that cannot start gcc.
pub const NO_GCC: &str =
    "install g++, or set NVCC_CCBIN to it: nvcc cannot start its host compiler";

impl MissingHostCompiler<'_> {
    /// Returns what to do about it.
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
            // Debian's packages have such names.
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

#[cfg(feature = "cli")]
impl UnstartedCompiler<'_> {
    pub fn finding(&self) -> Finding {
        let headline = format!("`{}` cannot start its host compiler", self.nvcc.display());
        Finding::warning(FindingId::HostCompilerUnsupported, headline)
            .help(self.missing.help())
            .with("nvcc says", self.said.trim_end())
    }
}

#[cfg(feature = "cli")]
impl Finding {
    /// Returns the finding as a warning: it stops only a build that compiles kernels.
    pub fn until_kernels_compile(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }
}
