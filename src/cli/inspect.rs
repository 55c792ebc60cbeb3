//! `cudnn-guard inspect`: checks that a compiled program will run here, or in an image.

use crate::Inspection;
use crate::cli::{doctor, terminal};
use clap::{ArgMatches, Command, value_parser};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn command() -> Command {
    Command::new("inspect")
        .about("Check whether a compiled program will run here or in a system image")
        .after_help("Exit codes:\n  0   no problems\n  1   problems found\n  2   not a program, or invalid command line\n\nExamples:\n  cudnn-guard inspect target/release/app\n  cudnn-guard inspect --root rootfs /app/app")
        .arg(terminal::operand("program", "PROGRAM", "Program to inspect (Linux or Windows)").required(true).value_parser(value_parser!(PathBuf)))
        .arg(doctor::root())
        .arg(terminal::json())
}

/// Inspects the program and prints the report. Exit codes: 0 without errors, 1 with errors, 2 if it is not a program.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let program = arguments.get_one::<PathBuf>("program").expect("required");
    let root = arguments.get_one::<PathBuf>("root").map(PathBuf::as_path);
    let program = file(program, root);
    let inspection = match Inspection::read(&program, root) {
        Ok(inspection) => inspection,
        Err(error) => {
            terminal::show_on_stderr(format!("{error}\n"));
            return ExitCode::from(2);
        }
    };
    let explain = doctor::explain_first(inspection.findings());
    let text = format!("{inspection:0$}{explain}", terminal::columns());
    terminal::show(terminal::form(arguments, inspection.to_json(), text));
    terminal::exit(inspection.verdict())
}

/// Returns the file at this path, on the system below the root or on this one.
fn file(path: &Path, root: Option<&Path>) -> PathBuf {
    let below = root.map(|root| root.join(path.strip_prefix("/").unwrap_or(path)));
    let below = below.filter(|below| below.is_file());
    below.unwrap_or_else(|| path.to_path_buf())
}
