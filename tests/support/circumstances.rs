//! The consumer `circumstances`, which does what its arguments say, and simulated cuDNNs for it.

use super::{Ran, built, cargo, consumers, fresh, program, run, scratch, simulated};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, Once, PoisonError};

/// The program, built.
pub fn circumstances() -> PathBuf {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        run(&mut cargo(consumers(), &["build", "-p", "circumstances"])).exits_with(0);
    });
    built("circumstances")
}

/// A simulated installation, made once for all tests of a file. Nobody changes it: see [`copy`].
pub fn installed((major, minor, patch): (u32, u32, u32)) -> PathBuf {
    static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let name = format!("{}-{major}.{minor}.{patch}", env!("CARGO_CRATE_NAME"));
    let into = scratch(&name);
    if !made.contains(&into) {
        simulated::install((major, minor, patch), &[], &fresh(&name));
        made.push(into.clone());
    }
    into
}

/// A folder with a copy of these files, links as links.
pub fn copy(name: &str, from: &Path) -> PathBuf {
    let into = fresh(&format!("{}-{name}", env!("CARGO_CRATE_NAME")));
    simulated::copy(from, &into);
    into
}

/// A shared library of this C code.
pub fn library(code: &str, into: &Path) {
    let source = into.with_extension("c");
    std::fs::write(&source, code).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]);
    run(compiler.arg(into).arg(&source)).exits_with(0);
}

/// The program with these acts, which finds libraries in these folders.
pub fn command(acts: &[&str], folders: &[PathBuf]) -> Command {
    let mut command = program(circumstances());
    command
        .args(acts)
        .env("LD_LIBRARY_PATH", std::env::join_paths(folders).unwrap());
    command
}

/// The same on the simulated 9.14 with a GPU, run.
pub fn do_all(acts: &[&str], variables: &[(&str, &str)]) -> Ran {
    let tree = installed((9, 14, 0));
    let mut command = command(acts, &[tree.join("lib64"), tree.join("driver")]);
    run(command.envs(variables.iter().copied()))
}

/// The processes behind these lines of SIM_CALLS, in turn: one that others asked in between stands there again.
pub fn turns(calls: &[String]) -> Vec<u32> {
    let by = calls.iter().map(|call| call.rsplit_once(' ').unwrap().1);
    let mut turns: Vec<u32> = by.map(|process| process.parse().unwrap()).collect();
    turns.dedup();
    turns
}
