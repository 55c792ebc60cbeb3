//! The consumer `circumstances`, which does what its arguments name, and simulated cuDNNs for it.

use super::{Ran, built, cargo, consumers, fresh, program, run, scratch, simulated};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Returns the program, built.
pub fn circumstances() -> PathBuf {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        run(&mut cargo(consumers(), &["build", "-p", "circumstances"])).exits_with(0);
    });
    built("circumstances")
}

/// Returns a simulated installation, created once for all tests of a file. No test changes it: see [`copy`].
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

/// Returns a directory with a copy of these files. Links stay links.
pub fn copy(name: &str, from: &Path) -> PathBuf {
    let into = fresh(&format!("{}-{name}", env!("CARGO_CRATE_NAME")));
    simulated::copy(from, &into);
    into
}

/// Compiles this C code into a shared library.
pub fn library(code: &str, into: &Path) {
    let source = into.with_extension("c");
    std::fs::write(&source, code).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]);
    run(compiler.arg(into).arg(&source)).exits_with(0);
}

/// Returns a command for the program with these acts, which finds libraries in these directories.
pub fn command(acts: &[&str], folders: &[PathBuf]) -> Command {
    let mut command = program(circumstances());
    command
        .args(acts)
        .env("LD_LIBRARY_PATH", std::env::join_paths(folders).unwrap());
    command
}

/// Runs the program with these acts on the simulated 9.14 with a GPU.
pub fn do_all(acts: &[&str], variables: &[(&str, &str)]) -> Ran {
    let tree = installed((9, 14, 0));
    let mut command = command(acts, &[tree.join("lib64"), tree.join("driver")]);
    run(command.envs(variables.iter().copied()))
}

/// Waits for a program whose output fits into its pipes, and kills it after this time. Returns also how long it took.
pub fn end_of(mut child: Child, limit: Duration) -> (Ran, Duration) {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() && began.elapsed() < limit {
        sleep(Duration::from_millis(2));
    }
    let took = began.elapsed();
    let _ = child.kill();
    (Ran::new(&child.wait_with_output().unwrap()), took)
}

/// Returns the processes of these lines of SIM_CALLS, in turn. A process that calls again after another one occurs
/// again.
pub fn turns(calls: &[String]) -> Vec<u32> {
    let by = calls.iter().map(|call| call.rsplit_once(' ').unwrap().1);
    let mut turns: Vec<u32> = by.map(|process| process.parse().unwrap()).collect();
    turns.dedup();
    turns
}
