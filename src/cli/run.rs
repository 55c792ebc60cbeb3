//! `cudnn-guard run`: inspects a program and starts it if it will run, for a container's entry point.

use crate::cli::terminal;
#[cfg(target_os = "linux")]
use crate::system::child_processes::sigpipe;
use crate::system::on_path;
use crate::{Finding, FindingId, Inspection, Severity, Verdict};
use clap::{ArgMatches, Command, value_parser};
use std::ffi::OsString;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// The exit code of a guarded program whose cuDNN is incompatible.
const INCOMPATIBLE: u8 = 78;

pub fn command() -> Command {
    let help = "Program to run (searched on PATH), followed by its arguments";
    Command::new("run")
        .about("Run a program, or explain why it would fail to start")
        .after_help(
            "Exit codes:\n  \
             78     would not run here; CUDNN_GUARD=warn or off starts it anyway\n  \
             126    cannot be started\n  \
             127    no such program exists\n  \
             other  the exit code of the program\n\n\
             Examples:\n  cudnn-guard run ./app --an-option-of-its-own",
        )
        .arg(
            terminal::operand("command", "PROGRAM [ARGUMENTS]", help)
                .required(true)
                .num_args(1..)
                .trailing_var_arg(true)
                .allow_hyphen_values(true)
                .value_parser(value_parser!(OsString)),
        )
}

/// Inspects the program, then replaces this process by it.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let mut words = arguments.get_many::<OsString>("command").expect("required");
    let name = words.next().expect("one or more");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = match name.to_str() {
        Some(name) => on_path(name, &path),
        None => Some(PathBuf::from(name)),
    };
    let Some(program) = program.filter(|program| program.is_file()) else {
        return terminal::refuse(127, format!("cudnn-guard: no such program: {name:?}\n"));
    };
    let mode = std::env::var("CUDNN_GUARD").unwrap_or_default();
    // A script, or any other file that the loader does not load, cannot be inspected.
    if let (Ok(inspection), true) = (Inspection::read(&program, None), mode != "off") {
        // A program with such a warning may silently compute on the CPU, or stop at its first kernel.
        let is_shown = |it: &&Finding| {
            it.severity == Severity::Error
                || it.id == FindingId::CudaFlavourMismatch
                || it.id == FindingId::KernelsNotCoveringGpu
                || it.id == FindingId::LibraryNotFound && inspection.may_use_cpu
        };
        for finding in inspection.findings().iter().filter(is_shown) {
            let (severity, page) = (finding.severity, finding.page());
            terminal::show_on_stderr(format!("{severity}: {finding}\n  {:<12}{page}\n\n", "see"));
        }
        let requires_gpu = std::env::var("CUDNN_GUARD_REQUIRE_GPU").unwrap_or_default();
        let requires_gpu = ["1", "strict"].contains(&requires_gpu.trim());
        let fails = inspection.verdict() == Verdict::Fail;
        let is_refused = fails || requires_gpu && inspection.may_use_cpu;
        if is_refused && mode != "warn" {
            let reason = "was not started; set CUDNN_GUARD=warn to start it anyway";
            return terminal::refuse(INCOMPATIBLE, format!("`{}` {reason}\n", program.display()));
        }
    }
    let mut command = std::process::Command::new(&program);
    command.args(words);
    #[cfg(target_os = "linux")]
    sigpipe::keep(&mut command);
    #[cfg(unix)]
    let error = command.exec();
    #[cfg(not(unix))]
    let error = match command.status() {
        Ok(status) => std::process::exit(status.code().unwrap_or(1)),
        Err(error) => error,
    };
    terminal::refuse(
        126,
        format!("cudnn-guard: `{}`: {error}\n", program.display()),
    )
}
