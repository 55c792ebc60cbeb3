//! Which compiler nvcc is to take for host code: who named it, and what nvcc is told of it.

use crate::model::environment::{Environment, Variable};
use crate::model::platform::{Os, Platform};
use crate::toolkit::nvcc_command::all_flags;
use std::ffi::OsString;
use std::path::PathBuf;

/// What nvcc says on Windows where it finds none.
pub const NO_CL: &str = "Cannot find compiler 'cl.exe' in PATH";

/// Who named the compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A variable names this one, which nvcc is told.
    Variable(Variable, String),
    /// An argument of nvcc itself: in build.rs, or in NVCC_PREPEND_FLAGS or NVCC_APPEND_FLAGS.
    Flag,
    /// Nobody: nvcc takes `gcc`, or `cl.exe`, from PATH.
    Nobody,
}

/// Microsoft's compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisualStudio {
    /// Its program.
    pub cl: PathBuf,
    /// PATH, LIB and INCLUDE as it needs them; none in a developer prompt, which has them.
    pub env: Vec<(OsString, OsString)>,
}

/// NVCC_CCBIN, which nvcc knows, CUDAHOSTCXX, which CMake knows, else CXX, unless that is more than a program
/// (`ccache g++`, `g++ -m64`), which nvcc cannot start.
pub fn choice(env: &Environment, flags: &[String]) -> Choice {
    if flag(flags, env).is_some() {
        return Choice::Flag;
    }
    let named = |variable| Some((variable, env.get(variable)?.to_str()?));
    let single = |(_, name): &(Variable, &str)| !name.contains(char::is_whitespace);
    named(Variable::NvccCcbin)
        .or_else(|| named(Variable::CudaHostCxx))
        .or_else(|| named(Variable::Cxx).filter(single))
        .map_or(Choice::Nobody, |(variable, name)| {
            Choice::Variable(variable, name.to_string())
        })
}

/// The compiler that nvcc is given in its arguments, `-ccbin=g++-12` or in two words; empty where nothing follows.
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
    /// `true` if nvcc for Windows searched `cl.exe`.
    pub is_cl: bool,
    /// The origin of its name.
    pub choice: Choice,
    /// The environment that nvcc ran in.
    pub env: &'a Environment,
    /// The program, if it is the g++ for another processor.
    pub cross_gcc: Option<&'a str>,
}

/// Returns the fault if nvcc printed that it cannot start its host compiler.
pub fn missing<'a>(
    said: &'a str,
    choice: &Choice,
    env: &'a Environment,
) -> Option<MissingHostCompiler<'a>> {
    let is_cl = said.contains(NO_CL);
    if !is_cl && !said.contains("Failed to preprocess host compiler properties") {
        return None;
    }
    let mut lines = said.lines();
    let program = lines.find_map(|line| line.strip_suffix(": No such file or directory"));
    Some(MissingHostCompiler {
        is_cl,
        choice: choice.clone(),
        env,
        cross_gcc: program.filter(|name| name.ends_with("-g++")),
    })
}

/// Who named it to an nvcc that is asked about itself: other variables than its own are not passed on to it.
pub fn choice_of_nvcc(env: &Environment) -> Choice {
    match (choice(env, &[]), env.get(Variable::NvccCcbin)) {
        (Choice::Variable(..), None) => Choice::Nobody,
        (choice, _) => choice,
    }
}

/// What has to be told to nvcc: the compiler that a variable names; on Windows also the one that was found where
/// nobody named one, since nvcc itself looks for `cl.exe` on PATH alone.
pub fn ccbin(
    choice: &Choice,
    platform: &Platform,
    found: impl FnOnce(&str) -> Option<VisualStudio>,
) -> (Option<String>, Vec<(OsString, OsString)>) {
    match choice {
        Choice::Variable(_, name) => (Some(name.clone()), Vec::new()),
        Choice::Nobody if platform.os == Os::Windows => match found(&platform.cpu) {
            Some(found) => (Some(found.cl.to_string_lossy().into_owned()), found.env),
            None => (None, Vec::new()),
        },
        _ => (None, Vec::new()),
    }
}
