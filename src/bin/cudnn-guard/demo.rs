//! `cudnn-guard demo`: builds a program with the guard in it and runs it.
//!
//! ```text
//! target/demo/           in a clone of the repository; installed, ~/.cache/cudnn-guard/demo
//!   simulator/           the simulated cuDNN and GPU
//!   older/, broken/      for `--broken`: an older one, and a copy in which something is broken
//!   fixtures/            the sources of the simulator and of the programs
//!   consumers/           those programs, made ready to be built
//!   target/              what cargo builds of it
//!   report.json          what the guard wrote
//! ```

mod broken;
pub mod place;
mod sources;

use crate::demo::place::Place;
use crate::simulator::{self, Simulated};
use crate::terminal::{columns, complain, show};
use crate::variables::{Kind, Variable};
use crate::{consumer, fetch, terminal};
use clap::{Arg, ArgAction, ArgMatches, Command as Cli};
use cudnn_guard::{Config, Finding, FindingId, Report, Verdict};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;
use std::{env, fs};

/// The consumer that opens cuDNN while it runs: it needs neither headers nor nvcc.
const APPLICATION: &str = "application";
/// The consumer with a kernel and a linked cuDNN.
const KERNEL: &str = "kernel";
/// What is simulated: a pair that NVIDIA ships together.
const CUDNN: (u32, u32, u32) = (9, 14, 0);
const CUDA: (u32, u32) = (13, 0);
/// Any release will do.
const ANY: &str = ">=0";

/// Its command line.
pub fn command() -> Cli {
    Cli::new("demo")
        .about("Builds a program with the guard in it and runs it: on this machine's CUDA and cuDNN, else on a simulator")
        .after_help("Examples:\n  cudnn-guard demo\n  cudnn-guard demo --broken")
        .arg(
            Arg::new("real")
                .long("real")
                .action(ArgAction::SetTrue)
                .conflicts_with("broken")
                .help("Fetch NVIDIA's CUDA and cuDNN first, and use those"),
        )
        .arg(
            Arg::new("broken")
                .long("broken")
                .action(ArgAction::SetTrue)
                .help("Break a simulated cuDNN in five ways, and show what the guard says of each"),
        )
        .arg(
            Arg::new("dir")
                .long("dir")
                .value_name("DIR")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Where to work; unless given, target/demo in a clone, else below the user's cache"),
        )
}

/// Builds and runs: 0 for pass and unknown, 1 for fail.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let dir = arguments.get_one::<PathBuf>("dir");
    let done = match arguments.get_flag("broken") {
        true => demo_broken(dir),
        false => demo(dir, arguments.get_flag("real")),
    };
    match done {
        Ok((verdict, of_what)) => {
            show(format!("\nverdict: {verdict} ({of_what})\n"));
            terminal::exit(verdict)
        }
        Err(error) => {
            complain(format!("\n{error}\n"));
            show("\nverdict: fail (the demo could not be run)\n");
            ExitCode::from(1)
        }
    }
}

/// What a consumer is built and run with.
#[derive(Clone)]
struct Stack {
    consumer: &'static str,
    /// Variables for building.
    build: Vec<(&'static str, String)>,
    /// Variables that must not get through to the build.
    without: Vec<&'static str>,
    /// Variables for running.
    run: Vec<(&'static str, String)>,
    /// Folders that the program's loader is to look at first.
    library_path: Vec<PathBuf>,
    /// In the last line.
    name: &'static str,
}

/// What follows the verdict is what it is about.
fn demo(dir: Option<&PathBuf>, real: bool) -> Result<(Verdict, &'static str), String> {
    let place = Place::make(dir)?;
    let stack = if real {
        fetched()?
    } else {
        match present() {
            Some(stack) => stack,
            None => {
                show(
                    "this runs on a simulated cuDNN and a simulated GPU, which compute on the CPU.\n\n",
                );
                simulated(&place)?
            }
        }
    };
    let program = build(&place, &stack)?;
    Ok((start(&place, &stack, &program)?, stack.name))
}

fn demo_broken(dir: Option<&PathBuf>) -> Result<(Verdict, &'static str), String> {
    let place = Place::make(dir)?;
    show("A program is built with a simulated cuDNN, and started on five that are broken.\n\n");
    let stack = simulated(&place)?;
    let program = build(&place, &stack)?;
    let verdict = broken::run(&place, &stack, &program)?;
    Ok((verdict, "the program has to be ended on all five"))
}

/// NVIDIA's files, fetched if they are not there yet.
fn fetched() -> Result<Stack, String> {
    show("This fetches NVIDIA's CUDA and cuDNN, unless they are there, and runs on them.\n\n");
    let installed = fetch::home()
        .and_then(|home| fetch::fetch(&home, fetch::choice::Choice::default(), None))
        .map_err(|finding| finding.to_string())?;
    let build = installed.variables();
    let report = look(&build, &wishes());
    show(format!("\n{report:#0$}\n", columns()));
    if !report.is_complete() {
        return Err(texts(report.findings()));
    }
    Ok(Stack {
        // What was fetched for CUDA 11 or 12 has no nvcc.
        consumer: match report.has_nvcc() {
            true => KERNEL,
            false => APPLICATION,
        },
        build,
        without: wishes(),
        run: Vec::new(),
        library_path: Vec::new(),
        name: "on NVIDIA's own files",
    })
}

/// What is installed here, if it is all there.
fn present() -> Option<Stack> {
    let report = look(&[], &[]);
    if report.is_complete() && report.verdict() != Verdict::Fail {
        show(format!(
            "CUDA and cuDNN are on this machine: this runs on them.\n\n{report:#0$}\n",
            columns()
        ));
        return Some(Stack {
            consumer: if report.has_nvcc() {
                KERNEL
            } else {
                APPLICATION
            },
            build: Vec::new(),
            without: Vec::new(),
            run: Vec::new(),
            library_path: report.library_dirs(),
            name: "on this machine's CUDA and cuDNN",
        });
    }
    let missing = [FindingId::CudaNotFound, FindingId::CudnnNotFound];
    if report
        .findings()
        .iter()
        .all(|finding| missing.contains(&finding.id))
    {
        show("No CUDA with a cuDNN was found on this machine: ");
    } else {
        let findings = texts(report.findings());
        show(format!(
            "{findings}\n\nWhat was found here cannot be used: "
        ));
    }
    None
}

/// A cuDNN and a GPU that compute on the CPU.
fn simulated(place: &Place) -> Result<Stack, String> {
    show("  compiling the simulator\n");
    let root = place.work.join("simulator");
    let what = Simulated {
        cudnn: CUDNN,
        cuda: CUDA,
        leave_out: Vec::new(),
    };
    simulator::build(&place.fixtures().join("simulator"), &root, &what)?;
    let home = root.display().to_string();
    let build = vec![("CUDA_HOME", home.clone()), ("CUDNN_PATH", home)];
    let found = look(&build, &wishes());
    show(format!("{found:#0$}\n", columns()));
    Ok(Stack {
        consumer: APPLICATION,
        build,
        without: wishes(),
        run: Vec::new(),
        library_path: vec![root.join("lib64"), root.join("driver")],
        name: "simulated: it says nothing about a GPU of this machine",
    })
}

/// Variables of this machine that would win over the ones of a stack, or disagree with them.
fn wishes() -> Vec<&'static str> {
    Variable::ALL
        .iter()
        .filter(|variable| variable.kind() == Kind::Installation)
        .map(|variable| variable.name())
        .collect()
}

/// What a build with these variables, and without these others, would find.
fn look(variables: &[(&'static str, String)], without: &[&'static str]) -> Report {
    Config::new()
        .cuda(ANY)
        .cudnn(ANY)
        // An empty value counts as unset.
        .env(without.iter().map(|name| (*name, "")))
        .env(variables.iter().cloned())
        .survey()
        .report()
}

/// Builds the consumer; cargo's own words are shown only if it fails.
fn build(place: &Place, stack: &Stack) -> Result<PathBuf, String> {
    let consumers = place.work.join("consumers");
    let staged = consumer::stage(
        &place.fixtures(),
        &place.crate_source(),
        &consumers,
        &str::to_string,
    );
    let staged = staged.and_then(|()| match place.repository {
        Some(repository) => consumer::lock(repository, &consumers),
        None => Ok(()),
    });
    staged.map_err(|error| format!("cannot write `{}`: {error}", consumers.display()))?;
    let target = place.work.join("target");
    let manifest = consumers.join(stack.consumer).join("Cargo.toml");
    show(format!("  building {} with cargo\n", stack.consumer));
    let began = Instant::now();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let run = |offline: bool| {
        let mut command = Command::new(&cargo);
        command
            .args(["build", "--quiet", "--manifest-path"])
            .arg(&manifest)
            .arg("--target-dir")
            .arg(&target)
            .current_dir(&place.work)
            .env_remove("CARGO_BUILD_TARGET");
        for name in &stack.without {
            command.env_remove(name);
        }
        command.envs(stack.build.iter().map(|(name, value)| (name, value)));
        if offline {
            command.arg("--offline");
        }
        command.output()
    };
    // Offline, cargo starts at once; it fails where a crate was never downloaded.
    let output = run(true).and_then(|output| {
        if output.status.success() || !String::from_utf8_lossy(&output.stderr).contains("offline") {
            Ok(output)
        } else {
            run(false)
        }
    });
    match output {
        Ok(output) if output.status.success() => {
            let seconds = began.elapsed().as_secs_f64();
            show(format!(
                "  ✓ {:<9} {} in {seconds:.1} s\n",
                "built", stack.consumer
            ));
            let name = format!("{}{}", stack.consumer, env::consts::EXE_SUFFIX);
            Ok(target.join("debug").join(name))
        }
        Ok(output) => {
            let words = String::from_utf8_lossy(&output.stderr);
            let words: Vec<String> = words.lines().map(terminal::harmless).collect();
            Err(format!(
                "`{}` could not be built\n\n{}",
                manifest.display(),
                words.join("\n")
            ))
        }
        Err(error) => Err(format!(
            "cannot start `{}`: {error}",
            cargo.to_string_lossy()
        )),
    }
}

/// The program, to be started on this stack.
fn command_on(stack: &Stack, program: &Path) -> Result<Command, String> {
    let mut command = Command::new(program);
    command.envs(stack.run.iter().map(|(name, value)| (name, value)));
    if !stack.library_path.is_empty() {
        let before = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let before = env::split_paths(&before).filter(|dir| !dir.as_os_str().is_empty());
        let path = env::join_paths(stack.library_path.iter().cloned().chain(before))
            .map_err(|error| error.to_string())?;
        command.env("LD_LIBRARY_PATH", path);
    }
    Ok(command)
}

/// Runs the program on this terminal and reads its verdict from the report that the guard wrote.
fn start(place: &Place, stack: &Stack, program: &Path) -> Result<Verdict, String> {
    show(format!("  ✓ {:<9} {}\n\n", "started", program.display()));
    let report = place.work.join("report.json");
    let _ = fs::remove_file(&report);
    let mut command = command_on(stack, program)?;
    command.env("CUDNN_GUARD_REPORT", &report);
    let status = command
        .status()
        .map_err(|error| format!("cannot start `{}`: {error}", program.display()))?;
    if !status.success() {
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

fn texts(findings: &[Finding]) -> String {
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    texts.join("\n\n")
}
