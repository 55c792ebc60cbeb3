//! The configured host compiler, and how it is passed to nvcc.

use crate::model::{CompilerChoice, Environment, Os, Platform, Variable};
use crate::toolkit::all_flags;
use std::ffi::{OsStr, OsString};

/// nvcc's message on Windows if it finds no compiler.
pub const NO_CL: &str = "Cannot find compiler 'cl.exe' in PATH";

/// Returns the choice in NVCC_CCBIN (nvcc's own variable), CUDAHOSTCXX (CMake's) or CXX. A CXX with more than a program
/// (`ccache g++`, `g++ -m64`) is skipped, because nvcc cannot start it.
pub fn choice(env: &Environment, flags: &[String]) -> CompilerChoice {
    if flag(flags, env).is_some() {
        return CompilerChoice::Flag;
    }
    for variable in [Variable::NvccCcbin, Variable::CudaHostCxx, Variable::Cxx] {
        match env.get(variable).and_then(OsStr::to_str) {
            Some(name) if variable != Variable::Cxx || !name.contains(char::is_whitespace) => {
                return CompilerChoice::Variable(variable, name.to_string());
            }
            _ => {}
        }
    }
    CompilerChoice::Unset
}

/// Returns the value of nvcc's `-ccbin`, which may be a separate argument. Empty if it is missing.
pub fn flag(flags: &[String], env: &Environment) -> Option<String> {
    let all = all_flags(flags, env);
    let mut words = all.iter().map(|word| word.trim_start_matches('-'));
    let is_it = |word: &str| matches!(word, "ccbin" | "compiler-bindir");
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((name, value)) if is_it(name) => return Some(value.to_string()),
            None if is_it(word) => return Some(words.next().unwrap_or_default().to_string()),
            _ => {}
        }
    }
    None
}

/// A host compiler that nvcc cannot start.
pub struct MissingHostCompiler<'a> {
    /// `true` if nvcc for Windows searched for `cl.exe`.
    pub is_cl: bool,
    /// The origin of its name.
    pub choice: CompilerChoice,
    pub env: &'a Environment,
    /// The program, if it is a g++ cross compiler.
    pub cross_gcc: Option<&'a str>,
}

/// Returns the fault if nvcc reported that it cannot start its host compiler.
pub fn missing<'a>(
    output: &'a str,
    choice: &CompilerChoice,
    env: &'a Environment,
) -> Option<MissingHostCompiler<'a>> {
    let is_cl = output.contains(NO_CL);
    if !is_cl && !output.contains("Failed to preprocess host compiler properties") {
        return None;
    }
    let mut lines = output.lines();
    let program = lines.find_map(|line| line.strip_suffix(": No such file or directory"));
    Some(MissingHostCompiler {
        is_cl,
        choice: choice.clone(),
        env,
        cross_gcc: program.filter(|name| name.ends_with("-g++")),
    })
}

/// Returns the choice for an nvcc that is queried about itself and gets only nvcc's own variables.
pub fn choice_of_nvcc(env: &Environment) -> CompilerChoice {
    match (choice(env, &[]), env.get(Variable::NvccCcbin)) {
        (CompilerChoice::Variable(..), None) => CompilerChoice::Unset,
        (choice, _) => choice,
    }
}

/// Returns the `-ccbin` for nvcc: the compiler in a variable. On Windows, it is also the compiler found by default,
/// because nvcc itself searches only PATH for `cl.exe`.
pub fn ccbin(
    choice: &CompilerChoice,
    platform: &Platform,
    found: impl FnOnce(&str) -> (Option<String>, Vec<(OsString, OsString)>),
) -> (Option<String>, Vec<(OsString, OsString)>) {
    match choice {
        CompilerChoice::Variable(_, name) => (Some(name.clone()), Vec::new()),
        CompilerChoice::Unset if platform.os == Os::Windows => found(&platform.cpu),
        _ => (None, Vec::new()),
    }
}
