//! The host compiler of nvcc, and whether CUDA supports it.

pub mod headers;
pub mod limits;
pub mod msvc_preprocessor;
pub mod query;
pub mod selection;

#[cfg(test)]
mod tests;

#[cfg(feature = "cli")]
use crate::host_compiler::selection::MissingHostCompiler;
pub use limits::{Limits, Make, Misfit};
pub use query::{cross_compiler, nvcc_itself};

use crate::model::CompilerChoice;
use crate::model::target_list::add;
use crate::model::text::pattern::{Pattern, pattern};
use crate::runtime::facts::Version;
use std::path::{Path, PathBuf};

/// A source that nvcc has its host compiler preprocess. The answer is therefore from the compiler and the headers that
/// the build will use, after wrappers, nvcc.profile, a sysroot and nvcc's variables. Other vendors' compilers, which
/// also define the macros of gcc or clang, give no answer.
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

/// A host compiler, as its macros describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCompiler {
    pub make: Make,
    /// Its version: 19.44 for Microsoft's 1944.
    pub version: Version,
    /// The glibc whose headers it reads, if any.
    pub glibc: Option<Version>,
    /// The `crt/host_config.h` that it reads, with the limits of CUDA.
    pub host_config: Option<PathBuf>,
}

impl HostCompiler {
    /// Returns the number that CUDA checks.
    pub fn number(&self) -> u32 {
        match self.make {
            Make::Msvc => self.version.major * 100 + self.version.minor,
            _ => self.version.major,
        }
    }

    /// Returns its name for messages: `gcc 15.1.0`.
    pub fn named(&self) -> String {
        match self.make {
            Make::Gcc => format!("gcc {}", self.version),
            Make::Clang => format!("clang {}", self.version),
            Make::Msvc => format!("cl {}", self.version.short()),
        }
    }
}

/// Parses the preprocessed [`QUESTION`].
pub fn parse_answer(text: &str) -> Option<HostCompiler> {
    // The expansion of a macro from a system header is on a separate line, after a line marker.
    let mut words = String::from(" ");
    for line in text.lines() {
        if !line.starts_with('#') {
            words = words + line + " ";
        }
    }
    let says = |name: &str| {
        let mut numbers: Vec<u32> = Vec::new();
        let tag = format!(" cudnn_guard_{name} ");
        let (_, rest) = words.split_once(&*tag).unwrap_or_default();
        for word in rest.split_whitespace() {
            let Ok(number) = word.parse() else { break };
            numbers.push(number);
        }
        numbers
    };
    let (make, version) = match (&says("gcc")[..], &says("clang")[..], &says("msvc")[..]) {
        (_, [major, minor, patch], _) => (Make::Clang, Version::new(*major, *minor, *patch)),
        (_, _, [number]) => (Make::Msvc, Version::new(number / 100, number % 100, 0)),
        ([major, minor, patch], ..) => (Make::Gcc, Version::new(*major, *minor, *patch)),
        _ => return None,
    };
    let is_host_config = |path: &&PathBuf| {
        let text = path.to_string_lossy().replace('\\', "/");
        text.ends_with("/crt/host_config.h")
    };
    let glibc = match &says("glibc")[..] {
        [major, minor] => Some(Version::new(*major, *minor, 0)),
        _ => None,
    };
    Some(HostCompiler {
        make,
        version,
        glibc,
        host_config: headers(text).iter().find(is_host_config).cloned(),
    })
}

/// Returns the headers in the preprocessed text, each once.
pub fn headers(text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let headers = text.lines().filter_map(header);
    headers.for_each(|header| add(&mut found, header));
    found
}

/// Returns the file in `# 1 "/cuda/include/crt/host_config.h" 1` or `#line 1 "C:\\CUDA\\include\\crt/host_config.h"`.
fn header(line: &str) -> Option<PathBuf> {
    // The commands that nvcc prints begin with `#$`.
    let line = line.strip_prefix("# ").or(line.strip_prefix("#line "))?;
    let path = line.split('"').nth(1)?;
    Some(PathBuf::from(path.replace("\\\\", "\\")))
}

/// Returns the program in the last command that `nvcc -v` prints, `#$ "/usr/bin"/g++-12 -D__CUDA_ARCH_LIST__=750 -E`,
/// and the PATH that nvcc searches for it, if printed.
pub fn parse_command(text: &str) -> Option<(String, Option<String>)> {
    // A line that sets a variable is not a command.
    static WORD: Pattern = Pattern::new(|| pattern(r#"^#\$ (?:[A-Z_]+=|((?:"[^"]*"|[^" \t])+))"#));
    let (mut program, mut path) = (None, None);
    // On Windows, nvcc writes the arguments into a file before the command and erases the file after it.
    let is_argument_file =
        |line: &str| line.starts_with("#$ resource file ") || line.starts_with("#$ erase ");
    for line in text.lines() {
        if is_argument_file(line) {
            continue;
        }
        path = line.strip_prefix("#$ PATH=").map(String::from).or(path);
        let word = WORD.captures(line).and_then(|found| found.get(1));
        program = word.map(|word| word.as_str().replace('"', "")).or(program);
    }
    Some((program?, path))
}

/// An installed compiler that CUDA supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlternativeCompiler {
    /// The path of the program: `/usr/bin/g++-12`.
    pub program: PathBuf,
    /// Its version, as it prints it.
    pub version: String,
}

/// The facts about a host compiler that a finding reports.
#[derive(Clone, Copy, Debug)]
pub struct HostCompilerCheck<'a> {
    pub compiler: &'a HostCompiler,
    pub program: &'a Path,
    /// The origin of its name.
    pub choice: &'a CompilerChoice,
    /// The CUDA for messages: `CUDA 12.9`.
    pub cuda: &'a str,
    pub limits: &'a Limits,
    /// The supported alternatives, the newest first.
    pub alternatives: &'a [AlternativeCompiler],
}

/// A host compiler that nvcc cannot use, or only in part.
pub enum HostCompilerFault<'a> {
    /// A version that CUDA does not support. `false` if a flag makes nvcc accept it.
    Unsupported(HostCompilerCheck<'a>, Misfit, bool),
    /// A version that CUDA does not support, and the compiler that is used instead.
    Replaced(HostCompilerCheck<'a>, Misfit, &'a AlternativeCompiler),
    /// A header of CUDA and the functions that it and this glibc declare differently.
    Headers(&'a Path, &'a [&'static str], Version, &'a str),
    /// nvcc itself as the host compiler, which would start itself endlessly: the variable that names it, unless an
    /// argument of nvcc does, its name, and the line of its output with the version.
    NvccItself(Option<String>, String, String),
    /// A compiler that this nvcc cannot start, with the output of nvcc.
    #[cfg(feature = "cli")]
    NotStarted(&'a Path, String, MissingHostCompiler<'a>),
}

/// A limit above the number of gcc majors that any toolkit supports.
const MOST_ALTERNATIVES: u32 = 20;

/// Returns the names of possible alternatives to `program`, the newest first: `aarch64-linux-gnu-g++-12` for
/// `aarch64-linux-gnu-g++`.
pub fn alternative_names(program: &Path, limits: &Limits) -> Vec<String> {
    let file = program.file_name().unwrap_or_default().to_string_lossy();
    let prefix = ["g++", "gcc", "c++", "cc"].iter().find_map(|name| {
        let prefix = file.get(..file.rfind(name)?)?;
        (prefix.is_empty() || prefix.ends_with('-')).then_some(prefix)
    });
    let prefix = prefix.unwrap_or_default();
    let last = limits.gcc.unwrap_or_default();
    // A damaged header may contain any number.
    let first = last.saturating_sub(MOST_ALTERNATIVES - 1).max(5);
    let mut names = Vec::new();
    for major in (first..=last).rev() {
        names.push(format!("{prefix}g++-{major}"));
    }
    names
}
