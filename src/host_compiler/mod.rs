//! The compiler that nvcc takes for the host code, and whether the CUDA takes it.

pub mod ask;
pub mod compiler_choice;
pub mod headers;
pub mod limits;

#[cfg(test)]
mod tests;

use crate::host_compiler::compiler_choice::Choice;
use crate::host_compiler::limits::{Limits, Make, Misfit, first_with};
use crate::model::text::joined;
use crate::model::text::pattern::{Pattern, pattern};
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use std::path::{Path, PathBuf};

/// A source that nvcc gives to its host compiler to preprocess. So it is answered by the compiler that will compile,
/// with the headers that it will read: through wrappers, nvcc.profile, a sysroot, and what the variables of nvcc add.
/// The compilers of other makers, which call themselves gcc or clang too, say nothing.
pub const QUESTION: &str = "\
#define __CUDA_INCLUDE_COMPILER_INTERNAL_HEADERS__
#if defined(__has_include)
#if __has_include(<crt/host_config.h>)
#include <crt/host_config.h>
#endif
#if __has_include(<features.h>)
#include <features.h>
#endif
#endif
#if !defined(__GRCO_CLANG_COMPILER__) && !defined(__INTEL_CLANG_COMPILER) && !defined(__INTEL_COMPILER) \\
    && !defined(__PGIC__) && !defined(__NVCOMPILER) && !defined(__HORIZON__) && !defined(__ibmxl_vrm__)
cudnn_guard_gcc __GNUC__ __GNUC_MINOR__ __GNUC_PATCHLEVEL__
cudnn_guard_clang __clang_major__ __clang_minor__ __clang_patchlevel__
cudnn_guard_msvc _MSC_VER
#endif
cudnn_guard_glibc __GLIBC__ __GLIBC_MINOR__
cudnn_guard_end
";

/// What the host compiler says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCompiler {
    /// Whose it is.
    pub make: Make,
    /// Its release; of Microsoft's, 19.44 for 1944.
    pub release: Version,
    /// The C library whose headers it reads, if that is glibc.
    pub glibc: Option<Version>,
    /// The `crt/host_config.h` that it reads, with the limits of the CUDA.
    pub host_config: Option<PathBuf>,
}

impl HostCompiler {
    /// The number that CUDA looks at.
    pub fn number(&self) -> u32 {
        match self.make {
            Make::Msvc => self.release.major * 100 + self.release.minor,
            _ => self.release.major,
        }
    }

    /// `gcc 15.1.0`
    pub fn named(&self) -> String {
        match self.make {
            Make::Gcc => format!("gcc {}", self.release),
            Make::Clang => format!("clang {}", self.release),
            Make::Msvc => format!("cl {}", self.release.short()),
        }
    }
}

/// Reads the preprocessed question.
pub fn parse_answer(text: &str) -> Option<HostCompiler> {
    let says = |name: &str| -> Vec<u32> {
        let tag = format!("cudnn_guard_{name}");
        // What comes of a macro of a system header stands in a line of its own, after one that says so.
        let mut numbers = None;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            for word in line.split_whitespace() {
                match (&mut numbers, word.parse()) {
                    (None, _) if word == tag => numbers = Some(Vec::new()),
                    (Some(numbers), Ok(number)) => numbers.push(number),
                    (Some(_), Err(_)) => return numbers.unwrap_or_default(),
                    (None, _) => {}
                }
            }
        }
        numbers.unwrap_or_default()
    };
    let (make, release) = match (&says("gcc")[..], &says("clang")[..], &says("msvc")[..]) {
        (_, [major, minor, patch], _) => (Make::Clang, Version::new(*major, *minor, *patch)),
        (_, _, [number]) => (Make::Msvc, Version::new(number / 100, number % 100, 0)),
        ([major, minor, patch], ..) => (Make::Gcc, Version::new(*major, *minor, *patch)),
        _ => return None,
    };
    let glibc = match &says("glibc")[..] {
        [major, minor] => Some(Version::new(*major, *minor, 0)),
        _ => None,
    };
    Some(HostCompiler {
        make,
        release,
        glibc,
        host_config: text.lines().find_map(host_config),
    })
}

/// The headers that were read for the answer, each once.
pub fn headers(text: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = text.lines().filter_map(header).collect();
    found.sort();
    found.dedup();
    found
}

fn host_config(line: &str) -> Option<PathBuf> {
    let path = header(line)?;
    let text = path.to_string_lossy().replace('\\', "/");
    text.ends_with("/crt/host_config.h").then_some(path)
}

/// The file in `# 1 "/cuda/include/crt/host_config.h" 1` or `#line 1 "C:\\CUDA\\include\\crt/host_config.h"`.
fn header(line: &str) -> Option<PathBuf> {
    // What nvcc shows begins with `#$`.
    let line = line.strip_prefix("# ").or(line.strip_prefix("#line "))?;
    let path = line.split('"').nth(1)?;
    Some(PathBuf::from(path.replace("\\\\", "\\")))
}

/// The program in the last command that `nvcc -v` shows, `#$ "/usr/bin"/g++-12 -D__CUDA_ARCH_LIST__=750 -E`, and the
/// PATH that nvcc looks for it in, where it shows one.
pub fn parse_command(text: &str) -> Option<(String, Option<String>)> {
    // What sets a variable is no command.
    static WORD: Pattern = Pattern::new(|| pattern(r#"^#\$ (?:[A-Z_]+=|((?:"[^"]*"|[^" \t])+))"#));
    let (mut program, mut path) = (None, None);
    // On Windows it writes the arguments into a file first, and removes that in the end.
    let around = |line: &&str| {
        let mut words = ["#$ resource file ", "#$ erase "].into_iter();
        words.any(|word| line.starts_with(word))
    };
    for line in text.lines().filter(|line| !around(line)) {
        path = line.strip_prefix("#$ PATH=").map(String::from).or(path);
        let word = WORD.captures(line).and_then(|found| found.get(1));
        program = word.map(|word| word.as_str().replace('"', "")).or(program);
    }
    Some((program?, path))
}

/// A compiler that is installed and would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlternativeCompiler {
    /// Its program: `/usr/bin/g++-12`.
    pub program: PathBuf,
    /// Its release, as it says.
    pub release: String,
}

/// What is known where kernels are going to be compiled.
#[derive(Clone, Copy, Debug)]
pub struct HostCompilerCheck<'a> {
    /// The compiler that nvcc takes.
    pub compiler: &'a HostCompiler,
    /// Its program.
    pub program: &'a Path,
    /// Who named it.
    pub choice: &'a Choice,
    /// `CUDA 12.9`
    pub cuda: &'a str,
    /// What that takes.
    pub limits: &'a Limits,
    /// What else is installed and would do, the newest first.
    pub rivals: &'a [AlternativeCompiler],
}

impl HostCompilerCheck<'_> {
    /// Returns the finding that the compiler cannot be taken.
    pub fn unsupported(&self, misfit: Misfit, severity: Severity) -> Finding {
        let mut finding = Finding::new(
            FindingId::HostCompilerUnsupported,
            severity,
            format!(
                "{} at `{}` is {misfit} than {} accepts, which is {}",
                self.compiler.named(),
                self.program.display(),
                self.cuda,
                self.takes()
            ),
        );
        finding = self.evidence(finding);
        match (self.rivals, self.compiler.make) {
            ([best, ..], _) => {
                let program = best.program.display();
                finding = finding.help(match self.choice {
                    Choice::Flag => format!("name it instead: `-ccbin={program}`"),
                    _ => format!("set NVCC_CCBIN={program}"),
                });
            }
            ([], Make::Gcc) => {
                let last = self.limits.gcc.unwrap_or_default();
                finding = finding.help(format!(
                    "install `g++-{last}` (Debian, Ubuntu), `gcc{last}` (Arch) or `gcc{last}-c++` (Fedora, openSUSE), \
                     and set NVCC_CCBIN to its path"
                ));
            }
            ([], Make::Clang) => {
                let last = self.limits.clang.unwrap_or_default().saturating_sub(1);
                finding = finding.help(format!(
                    "install `clang-{last}` or a g++ that {} accepts, and set NVCC_CCBIN to its path",
                    self.cuda
                ));
            }
            ([], Make::Msvc) => {
                let (first, above) = self.limits.msvc.unwrap_or_default();
                let toolset = |number: u32| format!("14.{:02}", number % 100);
                let (which, toolset) = match misfit {
                    Misfit::Newer => ("older than", toolset(above)),
                    Misfit::Older => ("not older than", toolset(first)),
                };
                finding = finding.help(format!(
                    "add an MSVC toolset {which} {toolset} with the Visual Studio Installer, and build in a prompt that \
                     `vcvarsall.bat x64 -vcvars_ver=14.x` opens with it"
                ));
            }
        }
        let first = first_with(self.compiler.make, self.compiler.number());
        if let (Some(first), Misfit::Newer) = (first, misfit) {
            let first = first.short();
            finding = finding.help(format!(
                "or install CUDA {first}, the first toolkit that accepts this compiler"
            ));
        }
        finding.help("or set CUDNN_GUARD_ALLOW=host-compiler-unsupported to try it all the same")
    }

    /// The compiler is not taken, and another one compiles.
    pub fn replaced(&self, misfit: Misfit, by: &AlternativeCompiler) -> Finding {
        let program = by.program.display();
        let finding = Finding::warning(
            FindingId::HostCompilerUnsupported,
            format!(
                "{} at `{}` is {misfit} than {} accepts, so `{program}` compiles the kernels",
                self.compiler.named(),
                self.program.display(),
                self.cuda
            ),
        );
        self.evidence(finding).help(format!(
            "set NVCC_CCBIN={program} to make that your own choice"
        ))
    }

    /// A pair that the header lets pass and that fails on much of C++'s library. It never stops a build: sources that
    /// include little of it compile.
    pub fn known_bad(&self, release: Version) -> Option<Finding> {
        let old = release < Version::new(11, 6, 0);
        if self.compiler.make != Make::Gcc || self.compiler.number() != 11 || !old {
            return None;
        }
        let finding = Finding::warning(
            FindingId::HostCompilerUnsupported,
            format!(
                "{} at `{}` brings a C++ library that {} cannot compile wholly",
                self.compiler.named(),
                self.program.display(),
                self.cuda
            ),
        )
        .with(
            "seen as",
            "std_function.h:435:145: error: parameter packs not expanded with '...'",
        );
        Some(
            finding
                .help("install `g++-10`, and set NVCC_CCBIN=/usr/bin/g++-10")
                .help("or take CUDA 11.6 or newer"),
        )
    }

    fn evidence(&self, finding: Finding) -> Finding {
        let named = match self.choice {
            Choice::Variable(variable, name) => format!("{}={name}", variable.name()),
            Choice::Flag => "an argument of nvcc, `-ccbin`".to_string(),
            Choice::Nobody => "nobody: the first that nvcc finds on PATH".to_string(),
        };
        let limit = match &self.compiler.host_config {
            Some(header) => header.display().to_string(),
            None => format!("NVIDIA's own header of {}", self.cuda),
        };
        let finding = finding.with("named by", named).with("limit in", limit);
        if self.rivals.is_empty() {
            return finding;
        }
        let rival =
            |one: &AlternativeCompiler| format!("{} in {}", one.release, one.program.display());
        finding.with("also found", joined(self.rivals.iter().map(rival), "\n"))
    }

    /// `gcc 14 or older`
    fn takes(&self) -> String {
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

/// More than any toolkit takes majors of gcc.
const MOST_ALTERNATIVES: usize = 20;

/// The names of compilers that would do beside `program`, the newest first: `aarch64-linux-gnu-g++-12` beside
/// `aarch64-linux-gnu-g++`.
pub fn alternative_names(program: &Path, limits: &Limits) -> Vec<String> {
    let file = program.file_name().unwrap_or_default().to_string_lossy();
    let prefix = ["g++", "gcc", "c++", "cc"].iter().find_map(|name| {
        let prefix = file.get(..file.rfind(name)?)?;
        (prefix.is_empty() || prefix.ends_with('-')).then_some(prefix)
    });
    let last = limits.gcc.unwrap_or_default();
    // A damaged header may claim any number.
    let names = (5..=last).rev().take(MOST_ALTERNATIVES);
    names
        .map(|major| format!("{}g++-{major}", prefix.unwrap_or_default()))
        .collect()
}
