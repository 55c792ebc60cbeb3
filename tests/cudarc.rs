//! A real program with the real cudarc, which loads cuDNN after the guard: cudarc uses the same file that the guard
//! checked.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    reason = "tests make files and run programs"
)]

mod support;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use support::{Ran, built, cargo, consumers, fresh, program, repository, run, simulator};

fn build() {
    run(&mut cargo(consumers(), &["build", "-p", "with-cudarc"])).exits_with(0);
}

/// Builds the libraries of a simulated installation of this version for a test.
fn simulated(test: &str, cudnn: (u32, u32, u32)) -> PathBuf {
    let (major, minor, patch) = cudnn;
    let into = fresh(&format!("cudarc-{test}-{major}.{minor}.{patch}"));
    simulator::build("cc", cudnn, &into).unwrap();
    into
}

/// Links to the libraries of an installation. `libcudnn.so.9=libcudnn.so` renames a library, and `libcudnn.so=` leaves
/// it out.
fn farm(name: &str, of: &Path, renamed: &[&str]) -> PathBuf {
    let farm = fresh(name);
    for entry in fs::read_dir(of).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let mut others = renamed.iter().filter_map(|pair| pair.split_once('='));
        let other = others.find(|(from, _)| *from == name);
        let name = other.map_or(&*name, |(_, to)| to);
        if name.starts_with("libcudnn") {
            symlink(entry.path(), farm.join(name)).unwrap();
        }
    }
    farm
}

/// The result of a run with a guard that only warns.
struct CaseResult {
    ran: Ran,
    report: Value,
}

impl CaseResult {
    fn of(dirs: &[&Path], arguments: &[&str]) -> Self {
        let report = fresh("cudarc-report").join("json");
        let dirs = std::env::join_paths(dirs).unwrap();
        let mut command = program(built("with-cudarc"));
        command.args(arguments).env("LD_LIBRARY_PATH", dirs);
        command
            .env("CUDNN_GUARD", "warn")
            .env("CUDNN_GUARD_REPORT", &report);
        let ran = run(&mut command);
        let text = fs::read_to_string(report).unwrap_or_else(|_| panic!("{}", ran.text()));
        let report = serde_json::from_str(&text).unwrap();
        Self { ran, report }
    }

    /// Checks that cudarc and the guard used this file of this version, and that the guard reported these ids.
    #[track_caller]
    fn uses(self, file: &Path, release: &str, ids: &[&str]) -> Self {
        let text = self.ran.text();
        assert_eq!(self.ran.code, Some(0), "{text}");
        assert_eq!(
            self.report["loaded"]["path"].as_str(),
            file.to_str(),
            "{text}"
        );
        assert_eq!(self.report["loaded"]["version"], release, "{text}");
        let ending = format!(" in {}\n", file.canonicalize().unwrap().display());
        assert!(
            self.ran.stdout.ends_with(&ending),
            "no {ending:?} at the end of\n{text}"
        );
        let findings = self.report["findings"].as_array().unwrap().iter();
        let found: Vec<&str> = findings.map(|one| one["id"].as_str().unwrap()).collect();
        assert_eq!(found, ids, "{text}");
        self
    }

    /// Checks cudarc's version number. After a pass, cudarc uses the sub-libraries that the guard checked.
    #[track_caller]
    fn answers(self, number: u32) {
        let line = format!("cudarc {} has cuDNN {number} in ", in_lock());
        self.ran.says(&line);
    }

    /// Checks that cudarc finds no cuDNN and panics, after the guard has reported the problem.
    #[track_caller]
    fn finds_none(self, headline: &str) {
        let text = self.ran.text();
        assert_eq!(self.ran.code, Some(101), "{text}");
        assert_eq!(self.report["loaded"], Value::Null, "{text}");
        let stderr = &self.ran.stderr;
        let reported = stderr.find(headline);
        let panicked = stderr.find("Unable to dynamically load the \"cudnn\" shared library");
        assert!(reported.is_some() && reported < panicked, "{text}");
    }
}

/// Returns the cudarc version in this repository's lock file, which the consumers use too.
fn in_lock() -> String {
    let lock = fs::read_to_string(repository().join("Cargo.lock")).unwrap();
    let (_, after) = lock
        .split_once("name = \"cudarc\"\nversion = \"")
        .expect("cudarc is in Cargo.lock");
    after.split('"').next().unwrap().to_string()
}

/// With and without SONAME, one or two directories, another major version, nothing, and a cudarc that opened
/// cuDNN first.
#[test]
fn the_guard_checks_the_file_that_cudarc_uses() {
    build();
    let (new, old, eight) = (
        simulated("judged", (9, 14, 0)),
        simulated("judged", (9, 10, 2)),
        simulated("judged", (8, 9, 7)),
    );
    let driver = &*new.join("driver");
    let with =
        |dirs: &[&Path], arguments: &[&str]| CaseResult::of(&[dirs, &[driver]].concat(), arguments);
    let (whole, old, eight) = (new.join("lib64"), old.join("lib64"), eight.join("lib64"));

    // The names as in a -dev package, and as in a wheel.
    with(&[&whole], &[])
        .uses(&whole.join("libcudnn.so"), "9.14.0", &[])
        .answers(91400);
    let wheel = farm("cudarc-wheel", &whole, &["libcudnn.so="]);
    let only = wheel.join("libcudnn.so.9");
    with(&[&wheel], &[]).uses(&only, "9.14.0", &[]);

    // `libcudnn.so` is used first, whichever directory it is in.
    let mismatch = ["cudnn-version-mismatch"];
    with(&[&wheel, &old], &[]).uses(&old.join("libcudnn.so"), "9.10.2", &mismatch);
    let eight = farm("cudarc-eight", &eight, &["libcudnn.so="]);
    with(&[&eight, &wheel], &[])
        .uses(&only, "9.14.0", &[])
        .answers(91400);

    // A cuDNN that cudarc has already opened is checked.
    let first = with(&[&wheel], &["first"]).uses(&only, "9.14.0", &[]);
    assert!(first.ran.stdout.starts_with("first 91400\n"));

    // A missing cuDNN is a fault on a machine with a GPU.
    let nothing = "cannot load `libcudnn.so` or any other name that cudarc 0.";
    with(&[], &[]).finds_none(nothing);
    let denied = run(program(built("with-cudarc")).env("LD_LIBRARY_PATH", driver));
    let denied = denied.exits_with(78).says(nothing);
    assert_eq!(denied.stdout, "");
}

/// An application as its author wrote it, after `init --write` in its directory.
#[test]
fn init_guards_an_application_that_uses_cudarc() {
    let dir = fresh("cudarc-init");
    let manifest = format!(
        "[package]\nname = \"cudarc-init\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         cudarc = {{ version = \"0.19\", default-features = false, features = [\"std\", \"cudnn\", \
         \"fallback-dynamic-loading\", \"cuda-12080\"] }}\n\n\
         [workspace]\n\n[patch.crates-io]\ncudnn-guard = {{ path = {:?} }}\n",
        repository()
    );
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    fs::copy(repository().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    fs::create_dir(dir.join("src")).unwrap();
    let main =
        "fn main() {\n    println!(\"cuDNN {}\", cudarc::cudnn::result::get_version());\n}\n";
    fs::write(dir.join("src/main.rs"), main).unwrap();
    let mut init = program(env!("CARGO_BIN_EXE_cudnn-guard"));
    run(init.args(["init", "--write"]).current_dir(&dir)).exits_with(0);
    run(&mut cargo(&dir, &["build"])).exits_with(0);
    for (release, code, expected) in [
        ((9, 14, 0), 0, "cuDNN 91400\n"),
        ((8, 9, 7), 78, "[cudnn-version-mismatch]"),
    ] {
        let tree = simulated("init", release);
        let path = std::env::join_paths([tree.join("lib64"), tree.join("driver")]).unwrap();
        let mut guarded = program(support::target().join("debug/cudarc-init"));
        run(guarded.env("LD_LIBRARY_PATH", path))
            .exits_with(code)
            .says(expected);
    }
}
