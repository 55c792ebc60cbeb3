//! `cudnn-guard demo`: builds a program with the guard in it and runs it.
//!
//! ```text
//! target/demo/           in a clone of the repository, or in CARGO_TARGET_DIR; installed, ~/.cache/cudnn-guard/demo
//!   simulator/           the simulated cuDNN and GPU
//!   older/, broken/      for `--broken`: an older cuDNN, and an incompatible copy
//!   consumers/           small programs
//!   target/              cargo's output
//!   report.json          the guard's report
//! ```

mod broken;
pub mod place;

use crate::cli::demo::place::CONSUMERS;
use crate::cli::doctor::ANY;
use crate::cli::simulation::simulator;
use crate::cli::terminal::{columns, flag, option, show, show_on_stderr, show_wrapped};
use crate::cli::{fetch, terminal};
use crate::model::environment::Variable;
use crate::model::text::joined;
use crate::{Config, FindingId, ToolchainReport, Verdict};
use clap::{ArgMatches, Command as Cli, value_parser};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;
use std::{env, fs, io};

pub fn command() -> Cli {
    Cli::new("demo")
        .about("Build and run an example program with the guard, on real or simulated CUDA")
        .after_help("Examples:\n  cudnn-guard demo\n  cudnn-guard demo --broken")
        .arg(
            flag("real", "Fetch NVIDIA's CUDA and cuDNN first, and use them")
                .conflicts_with("broken"),
        )
        .arg(flag(
            "broken",
            "Show the guard's messages for five broken installations (simulated)",
        ))
        .arg(
            option(
                "dir",
                "DIR",
                "Working directory [default: `demo` in cargo's target directory in a clone, else the user cache directory]",
            )
            .value_parser(value_parser!(PathBuf)),
        )
}

/// Builds and runs the demo. Exit codes: 0 for pass and unknown, 1 for fail.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let dir = arguments.get_one::<PathBuf>("dir");
    show_wrapped("This demo builds and runs an example program. The first run takes minutes.\n\n");
    let done = if arguments.get_flag("broken") {
        demo_broken(dir)
    } else {
        demo(dir, arguments.get_flag("real"))
    };
    match done {
        Ok((verdict, of_what)) => {
            show(format!("\nverdict: {verdict} ({of_what})\n"));
            terminal::exit(verdict)
        }
        Err(error) => {
            show_on_stderr(format!("\n{error}\n"));
            show("\nverdict: fail (the demo could not run)\n");
            ExitCode::from(1)
        }
    }
}

/// An installation of CUDA and cuDNN for a consumer.
#[derive(Clone)]
struct Stack {
    consumer: &'static str,
    /// Variables for the build. If there are any, the machine's own variables that name an installation are hidden.
    build: Vec<(&'static str, String)>,
    /// Directories that the program's loader searches first.
    library_path: Vec<PathBuf>,
    name: &'static str,
}

/// Runs the demo. Returns the verdict and the name of the stack.
fn demo(dir: Option<&PathBuf>, real: bool) -> Result<(Verdict, &'static str), String> {
    let work = place::make(dir)?;
    let stack = if real {
        fetched()?
    } else {
        match present() {
            Ok(stack) => stack,
            Err(reason) => {
                show_wrapped(format!(
                    "{reason}: running on a simulated cuDNN and a simulated GPU, which compute on the CPU.\n\n"
                ));
                simulated(&work)?
            }
        }
    };
    let program = build(&work, &stack)?;
    Ok((start(&work, &stack, &program)?, stack.name))
}

fn demo_broken(dir: Option<&PathBuf>) -> Result<(Verdict, &'static str), String> {
    let work = place::make(dir)?;
    show_wrapped(
        "Building a program with a simulated cuDNN, and starting it on five broken ones.\n\n",
    );
    let stack = simulated(&work)?;
    let program = build(&work, &stack)?;
    let verdict = broken::run(&work, &stack, &program)?;
    Ok((verdict, "the guard has to stop the program on all five"))
}

/// Returns NVIDIA's files, fetched if necessary.
fn fetched() -> Result<Stack, String> {
    show_wrapped(
        "Fetching NVIDIA's CUDA and cuDNN, unless they are installed, and running on them.\n\n",
    );
    let installed = fetch::home()
        .and_then(|home| fetch::fetch(&home, fetch::choice::Choice::default()))
        .map_err(|finding| finding.to_string())?;
    let build = installed.variables();
    let report = survey(&build);
    show(format!("\n{report:#0$}\n", columns()));
    if !report.is_complete() {
        return Err(joined(report.findings(), "\n\n"));
    }
    Ok(Stack {
        consumer: consumer_for(&report),
        build,
        library_path: Vec::new(),
        name: "on NVIDIA's own files",
    })
}

/// Returns the installed CUDA and cuDNN, or the reason why they cannot be used.
fn present() -> Result<Stack, String> {
    let report = survey(&[]);
    if report.is_complete() && report.verdict() != Verdict::Fail {
        show(format!(
            "Running on this machine's CUDA and cuDNN.\n\n{report:#0$}\n",
            columns()
        ));
        return Ok(Stack {
            consumer: consumer_for(&report),
            build: Vec::new(),
            library_path: report.library_dirs(),
            name: "on this machine's CUDA and cuDNN",
        });
    }
    let findings = report.findings();
    let missing = [FindingId::CudaNotFound, FindingId::CudnnNotFound];
    if findings.iter().all(|finding| missing.contains(&finding.id)) {
        return Err("No CUDA installation with cuDNN was found on this machine".to_string());
    }
    let findings = joined(findings, "\n\n");
    Err(format!(
        "{findings}\n\nThe installed CUDA and cuDNN cannot be used"
    ))
}

/// Builds the simulated cuDNN and GPU, which compute on the CPU.
fn simulated(work: &Path) -> Result<Stack, String> {
    show("  compiling the simulator\n");
    let root = work.join("simulator");
    simulator::build("cc", (9, 14, 0), &root)?;
    let home = root.display().to_string();
    let build = vec![("CUDA_HOME", home.clone()), ("CUDNN_PATH", home)];
    show(format!("{:#1$}\n", survey(&build), columns()));
    Ok(Stack {
        consumer: "application",
        build,
        library_path: vec![root.join("lib64"), root.join("driver")],
        name: "simulated: says nothing about this machine's GPU",
    })
}

/// Returns the consumer with a kernel and a linked cuDNN. Without nvcc, as in wheels for CUDA 11 and 12, returns the
/// one that opens cuDNN at run time.
fn consumer_for(report: &ToolchainReport) -> &'static str {
    match report.toolkit.as_ref().and_then(|one| one.nvcc.as_ref()) {
        Some(_) => "kernel",
        None => "application",
    }
}

/// Returns the variables of this machine that would override those of a stack or contradict them.
fn hidden(variables: &[(&str, String)]) -> impl Iterator<Item = &'static str> {
    let has_own = !variables.is_empty();
    let all = Variable::ALL.iter();
    let hidden = all.filter(move |variable| has_own && variable.names().is_some());
    hidden.map(|variable| variable.name())
}

fn survey(variables: &[(&'static str, String)]) -> ToolchainReport {
    Config::new()
        .cuda(ANY)
        .cudnn(ANY)
        // An empty value counts as unset.
        .envs(hidden(variables).map(|name| (name, "")))
        .envs(variables.iter().cloned())
        .survey()
        .report()
}

/// Builds the consumer. Shows cargo's progress, and its other output only if it fails.
fn build(work: &Path, stack: &Stack) -> Result<PathBuf, String> {
    let name = stack.consumer;
    let target = work.join("target");
    let manifest = work.join(CONSUMERS).join(name).join("Cargo.toml");
    show(format!("  building {name} with cargo\n"));
    let began = Instant::now();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let run = |network: &[&str]| {
        let mut command = Command::new(&cargo);
        command
            .args(["build", "--color=never", "--manifest-path"])
            .arg(&manifest)
            .arg("--target-dir")
            .arg(&target)
            .args(network)
            .current_dir(work)
            .env_remove("CARGO_BUILD_TARGET");
        for name in hidden(&stack.build) {
            command.env_remove(name);
        }
        command.envs(stack.build.iter().cloned());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let failed = not_started(Path::new(&cargo));
        let mut child = command.spawn().map_err(&failed)?;
        let words = child.stderr.take().map_or(String::new(), show_progress);
        Ok::<_, String>((child.wait().map_err(&failed)?.success(), words))
    };
    // Offline, cargo starts at once, but it fails if a crate was never downloaded.
    let (mut is_built, mut words) = run(&["--offline"])?;
    if !is_built && words.contains("offline") {
        (is_built, words) = run(&[])?;
    }
    if !is_built {
        let manifest = manifest.display();
        return Err(format!("failed to build `{manifest}`\n\n{words}"));
    }
    let seconds = began.elapsed().as_secs_f64();
    show(format!("  ✓ {:<9} {name} in {seconds:.1} s\n", "built"));
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    Ok(target.join("debug").join(file))
}

/// Shows the progress in cargo's output while it arrives, and returns the output, indented.
fn show_progress(output: impl Read) -> String {
    let mut words = String::new();
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        let line = terminal::harmless(&String::from_utf8_lossy(&line));
        let verb = line.split_whitespace().next().unwrap_or_default();
        if ["Blocking", "Compiling", "Downloading", "Updating"].contains(&verb) {
            show(format!("    {}\n", line.trim_start()));
        }
        words += &format!("    {line}\n");
    }
    words
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
    show(format!("  ✓ {:<9} {}\n\n", "started", program.display()));
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
