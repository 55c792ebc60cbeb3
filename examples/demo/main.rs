//! `cargo demo`: builds a program with the guard in it and runs it, on this machine's CUDA and cuDNN or on simulated ones.
//! `cargo demo --broken` starts it on five broken cuDNNs.
//!
//! ```text
//! target/demo/
//!   created-by-cargo-demo  the marker, without which the demo does not use the directory
//!   simulator/             the simulated cuDNN and GPU
//!   older/, broken/        for `--broken`: an older cuDNN, and an incompatible copy
//!   consumers/             small programs
//!   target/                cargo's output
//!   report.json            the guard's report
//! ```
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "an example touches the machine"
)]

mod broken;
#[path = "../../tests/support/consumer.rs"]
mod consumer;
mod directory;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/support/simulator.rs"]
mod simulator;

use cudnn_guard::{Config, FindingId, Toolchain, Verdict};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;
use std::{env, fs, io};

/// Exit codes: 0 for pass and unknown, 1 for fail, 2 for an invalid command line.
fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let is_broken = arguments == ["--broken"];
    if !is_broken && !arguments.is_empty() {
        eprintln!("Usage: cargo demo [--broken]");
        return ExitCode::from(2);
    }
    println!("This demo builds and runs an example program. The first run takes minutes.\n");
    let done = if is_broken { demo_broken() } else { demo() };
    match done {
        Ok((verdict, of_what)) => {
            println!("\nverdict: {verdict} ({of_what})");
            ExitCode::from(u8::from(verdict == Verdict::Fail))
        }
        Err(error) => {
            eprintln!("\n{error}");
            println!("\nverdict: fail (the demo could not run)");
            ExitCode::from(1)
        }
    }
}

/// An installation of CUDA and cuDNN for a consumer.
#[derive(Clone)]
struct Stack {
    consumer: &'static str,
    /// Variables for the build. If there are any, the machine's own variables about CUDA are hidden.
    build: Vec<(&'static str, String)>,
    /// Directories that the program's loader searches first.
    library_path: Vec<PathBuf>,
    name: &'static str,
}

/// Runs the demo. Returns the verdict and the name of the stack.
fn demo() -> Result<(Verdict, &'static str), String> {
    let work = make_work_dir()?;
    let stack = match present() {
        Ok(stack) => stack,
        Err(reason) => {
            println!(
                "{reason}: running on a\nsimulated cuDNN and a simulated GPU, which compute on the CPU.\n"
            );
            simulated(&work)?
        }
    };
    let program = build(&work, &stack)?;
    Ok((start(&work, &stack, &program)?, stack.name))
}

fn demo_broken() -> Result<(Verdict, &'static str), String> {
    let work = make_work_dir()?;
    println!("Building a program with a simulated cuDNN, and starting it on five broken ones.\n");
    let stack = simulated(&work)?;
    let program = build(&work, &stack)?;
    let verdict = broken::run(&work, &stack, &program)?;
    Ok((verdict, "the guard has to stop the program on all five"))
}

/// Creates `demo` in cargo's target directory, which contains this program in `debug/examples`, and writes the consumers
/// into it.
fn make_work_dir() -> Result<PathBuf, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let target = program.ancestors().nth(3).unwrap_or(Path::new("target"));
    let work = target.join("demo");
    directory::create(&work)?;
    consumer::stage(repository(), &work.join("consumers"))
        .map_err(|error| format!("cannot write to `{}`: {error}", work.display()))?;
    Ok(work)
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the installed CUDA and cuDNN, or the reason why they cannot be used.
fn present() -> Result<Stack, String> {
    let toolchain = survey(&[]);
    let report = toolchain.report();
    let json: Value = serde_json::from_str(&report.to_json()).unwrap_or_default();
    let is_complete = json["toolkit"].is_object() && json["cudnn"].is_object();
    if is_complete && report.verdict() != Verdict::Fail {
        println!("Running on this machine's CUDA and cuDNN.\n\n{report:#80}");
        // Without nvcc, as in wheels for CUDA 11 and 12, the program opens cuDNN at run time.
        return Ok(Stack {
            consumer: if json["toolkit"]["nvcc"].is_string() {
                "kernel"
            } else {
                "application"
            },
            build: Vec::new(),
            library_path: toolchain.link_dirs(),
            name: "on this machine's CUDA and cuDNN",
        });
    }
    let findings = report.findings();
    let missing = [FindingId::CudaNotFound, FindingId::CudnnNotFound];
    if findings.iter().all(|finding| missing.contains(&finding.id)) {
        return Err("No CUDA installation with cuDNN was found on this machine".to_string());
    }
    for finding in findings {
        println!("{finding}\n");
    }
    Err("The installed CUDA and cuDNN cannot be used".to_string())
}

/// Builds the simulated cuDNN and GPU, which compute on the CPU.
fn simulated(work: &Path) -> Result<Stack, String> {
    println!("  compiling the simulator");
    let root = work.join("simulator");
    simulator::build("cc", (9, 14, 0), &root)?;
    let home = root.display().to_string();
    let build = vec![("CUDA_HOME", home.clone()), ("CUDNN_PATH", home)];
    println!("{:#80}", survey(&build).report());
    Ok(Stack {
        consumer: "application",
        build,
        library_path: vec![root.join("lib64"), root.join("driver")],
        name: "simulated: says nothing about this machine's GPU",
    })
}

/// Returns the variables of this machine that would override those of a stack or contradict them.
fn hidden(variables: &[(&str, String)]) -> Vec<String> {
    let is_about_cuda = |name: &String| {
        ["CUDA", "CUDNN", "NVCC"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    };
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let hidden = names.filter(|name| !variables.is_empty() && is_about_cuda(name));
    hidden.collect()
}

fn survey(variables: &[(&'static str, String)]) -> Toolchain {
    Config::new()
        .cuda(">=0")
        .cudnn(">=0")
        // An empty value counts as unset.
        .envs(hidden(variables).into_iter().map(|name| (name, "")))
        .envs(variables.iter().cloned())
        .survey()
}

/// Builds the consumer. Its dependencies were downloaded before this program was built.
fn build(work: &Path, stack: &Stack) -> Result<PathBuf, String> {
    let name = stack.consumer;
    let target = work.join("target");
    let manifest = work.join("consumers").join(name).join("Cargo.toml");
    println!("  building {name} with cargo");
    let began = Instant::now();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(&cargo);
    command
        .args(["build", "--offline", "--manifest-path"])
        .arg(&manifest)
        .arg("--target-dir")
        .arg(&target)
        .current_dir(repository())
        .env_remove("CARGO_BUILD_TARGET");
    for name in hidden(&stack.build) {
        command.env_remove(name);
    }
    command.envs(stack.build.iter().cloned());
    let status = command.status().map_err(not_started(Path::new(&cargo)))?;
    if !status.success() {
        return Err(format!("failed to build `{}`", manifest.display()));
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("  ✓ {:<9} {name} in {seconds:.1} s", "built");
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    Ok(target.join("debug").join(file))
}

fn command_on(stack: &Stack, program: &Path) -> Result<Command, String> {
    let mut command = Command::new(program);
    if !stack.library_path.is_empty() {
        let before = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let before = env::split_paths(&before).filter(|dir| !dir.as_os_str().is_empty());
        let path = env::join_paths(stack.library_path.iter().cloned().chain(before))
            .map_err(|error| error.to_string())?;
        command.env("LD_LIBRARY_PATH", path);
    }
    Ok(command)
}

/// Runs the program on this terminal and reads its verdict from the guard's report.
fn start(work: &Path, stack: &Stack, program: &Path) -> Result<Verdict, String> {
    println!("  ✓ {:<9} {}\n", "started", program.display());
    let report = work.join("report.json");
    let _ = fs::remove_file(&report);
    let mut command = command_on(stack, program)?;
    let status = command.env("CUDNN_GUARD_REPORT", &report).status();
    if !status.map_err(not_started(program))?.success() {
        return Ok(Verdict::Fail);
    }
    let text = fs::read_to_string(&report).unwrap_or_default();
    let report: Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(match report["verdict"].as_str() {
        Some("pass") => Verdict::Pass,
        Some("fail") => Verdict::Fail,
        _ => Verdict::Unknown,
    })
}

fn not_started(program: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("cannot start `{}`: {error}", program.display())
}
