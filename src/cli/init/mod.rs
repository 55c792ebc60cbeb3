//! `cudnn-guard init`: adds the guard to a crate: the dependencies, and lines in its build script and its program.

mod crate_files;
mod port;
mod recipe;
mod source;

use crate::cli::init::crate_files::CrateFiles;
use crate::cli::{terminal, whole_file};
use crate::runtime::facts::finding::quoted;
use clap::{ArgMatches, Command, value_parser};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Formats the reason why a crate is not changed.
fn refusal(summary: String, help: impl fmt::Display) -> String {
    format!("{summary}\n  = help: {help}\n")
}

/// The text of a file before and after the change; empty before if the file does not exist.
pub struct Change {
    path: PathBuf,
    before: String,
    after: String,
}

pub fn command() -> Command {
    Command::new("init")
        .about("Add cudnn-guard to a crate; shows a diff unless --write is given")
        .after_help(
            "Examples:\n  cudnn-guard init\n  cudnn-guard init --write\n\n\
             The changes depend on whether the crate uses cudarc, candle or ort. A build script that compiles \
             kernels with cudaforge, bindgen_cuda, cc or nvcc is ported to cudnn-guard.",
        )
        .arg(terminal::flag("write", "Apply the changes"))
        .arg(
            terminal::operand("dir", "DIR", "Directory that contains Cargo.toml")
                .default_value(".")
                .value_parser(value_parser!(PathBuf)),
        )
}

/// Shows or makes the changes. Exit codes: 0 even without changes, 1 if they cannot be made.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    let dir = arguments.get_one::<PathBuf>("dir").expect("the default");
    let done = CrateFiles::read(dir).and_then(|files| {
        if files.changes.is_empty() && files.next.is_empty() {
            Ok("This crate already uses cudnn-guard.\n".to_string())
        } else if files.changes.is_empty() {
            Ok(files.next)
        } else if arguments.get_flag("write") {
            write(dir, &files)
        } else {
            Ok(preview(dir, &files))
        }
    });
    match done {
        Ok(text) => {
            terminal::show(terminal::harmless_lines(&text));
            ExitCode::SUCCESS
        }
        Err(refusal) => {
            terminal::show_on_stderr(terminal::harmless_lines(&refusal));
            ExitCode::from(1)
        }
    }
}

/// Formats the changes like `diff -u`.
fn preview(dir: &Path, files: &CrateFiles) -> String {
    let mut text = files.recipe.reason.to_string();
    for change in &files.changes {
        let name = change.path.display().to_string();
        let diff = similar::TextDiff::from_lines(&change.before, &change.after);
        let old = if change.before.is_empty() {
            "/dev/null"
        } else {
            &name
        };
        text += &format!("\n{}", diff.unified_diff().header(old, &name));
    }
    let dir = match dir.to_str() {
        Some(".") => String::new(),
        _ => format!(" {}", quoted(&dir.to_string_lossy())),
    };
    text + &format!(
        "\nNo files were changed. To apply these changes, run `cudnn-guard init --write{dir}`\n"
    ) + &files.next
}

fn write(dir: &Path, files: &CrateFiles) -> Result<String, String> {
    let mut text = String::new();
    for change in &files.changes {
        let path = dir.join(&change.path);
        whole_file::replace(&path, &change.after).map_err(|error| {
            refusal(
                format!("`{}` cannot be written: {error}", path.display()),
                "allow this user to write it, and run the same command again: completed changes are kept",
            )
        })?;
        let name = change.path.display();
        text += &format!("  ✓ {name}\n");
    }
    Ok(text
        + &files.next
        + "\nNext: run `cargo run`. To see what a build finds on this machine, run `cudnn-guard doctor`\n")
}
