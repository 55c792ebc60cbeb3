//! `cudnn-guard init`: adds the guard to a crate: the dependencies, and lines in its build script and its program.

mod crate_files;
mod manifest;
pub mod metadata;
mod migration;
mod recipe;
mod source;
mod usage;
mod workspace;

use crate::cli::init::crate_files::CrateFiles;
use crate::cli::terminal::{self, wrapped_text};
use crate::cli::whole_file;
use crate::model::joined;
use crate::{Config, Finding, Link};
use clap::{ArgMatches, Command};
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
        .about("Add cudnn-guard to a crate [default: only show the changes]")
        .after_help(
            "Examples:\n  cudnn-guard init\n  cudnn-guard init crates/app\n  cudnn-guard init --check\n  cudnn-guard init --write\n\n\
             The changes depend on whether the crate uses cudarc, candle or ort, its own kernels, or a library of \
             the workspace that does, and on the features that enable CUDA. If a build script compiles kernels with cudaforge, \
             bindgen_cuda, cc or nvcc, or contains paths of CUDA, the equivalent calls of cudnn-guard are listed.\n\n\
             Exit codes:\n  0   done, or nothing to do\n  1   not possible, or with --check: the guard is incomplete\n  2   invalid command line",
        )
        .arg(terminal::flag("write", "Apply the changes"))
        .arg(
            terminal::flag("check", "Exit with 1 if the guard is incomplete; change nothing")
                .conflicts_with("write"),
        )
        .arg(terminal::path("dir", "DIR", "Directory that contains Cargo.toml").default_value("."))
}

/// Shows or makes the changes. Exit codes: 0 even without changes, 1 if they cannot be made.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    terminal::finish(add_guard(arguments))
}

/// Returns the message.
fn add_guard(arguments: &ArgMatches) -> Result<String, String> {
    let dir = arguments.get_one::<PathBuf>("dir").expect("the default");
    let packages = metadata::packages(dir)?;
    let package = metadata::find(&packages, dir);
    // The root of a workspace may contain no crate.
    if package.is_err() && dir.join("Cargo.toml").exists() && !packages.is_empty() {
        return workspace::commands(&packages, None, arguments);
    }
    let files = CrateFiles::read(dir, package?, &packages)?;
    let argument = workspace::argument(dir);
    if files.is_complete() {
        let guard = files.package.guard();
        if guard.is_some() && files.package.is_library() && arguments.get_flag("check") {
            workspace::commands(&packages, guard, arguments)?;
        }
        Ok("This crate already uses cudnn-guard.\n".to_string())
    } else if files.changes.is_empty() {
        match arguments.get_flag("check") {
            true => Err(files.next),
            false => Ok(files.next),
        }
    } else if arguments.get_flag("check") {
        let paths = files.changes.iter().map(|change| change.path.display());
        let paths = joined(paths, "`, `");
        Err(refusal(
            format!("the guard of this crate is incomplete: lines are missing from `{paths}`"),
            format!("run `cudnn-guard init{argument}`, which shows these lines"),
        ))
    } else if arguments.get_flag("write") {
        write(dir, &files)
    } else {
        Ok(preview(dir, &files))
    }
}

/// Formats the changes like `diff -u`.
fn preview(dir: &Path, files: &CrateFiles) -> String {
    let argument = workspace::argument(dir);
    let reason = files.usage.recipe.reason();
    let mut text = wrapped_text(&format!("{reason}\n"));
    for change in &files.changes {
        let name = change.path.display().to_string();
        let diff = similar::TextDiff::from_lines(&change.before, &change.after);
        let old = match change.before.is_empty() {
            true => "/dev/null",
            false => &name,
        };
        text += &format!("\n{}", diff.unified_diff().header(old, &name));
    }
    let apply = format!(
        "\nNo files were changed. To apply these changes, run `cudnn-guard init --write{argument}`\n"
    );
    text + &wrapped_text(&(apply + &files.next + &notes(dir, files)))
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
        text += &format!("  ✓ {}\n", change.path.display());
    }
    let is_library = files.package.targets("bin").is_empty();
    let next = if is_library { "build" } else { "run" };
    Ok(text
        + &wrapped_text(&format!(
            "{}\nNext: run `cargo {next}`. To see what a build finds on this machine, run `cudnn-guard doctor`\n{}",
            files.next,
            notes(dir, files)
        )))
}

/// Returns the findings about cudarc, and the sentences about a dependency on a clone and about a cheaper profile for the
/// guard of a program.
fn notes(dir: &Path, files: &CrateFiles) -> String {
    let mut text = String::new();
    // cargo resolves the packages of the current directory.
    if dir == Path::new(".") {
        text = cudarc_findings();
    }
    if let Some(library) = files.usage.library.as_ref().filter(|_| files.has_guard) {
        text += &format!(
            "The library that uses CUDA has no guard, so this program gets its own. For one guard in the library, run \
             `cudnn-guard init{}` before this command\n",
            workspace::command_argument(library)
        );
    }
    let mut changes = files.changes.iter();
    if changes.any(|change| change.after.contains("cudnn-guard = { path = ")) {
        text += "The dependency cudnn-guard is the clone on this machine. To build this crate on another machine, put a clone at \
                 the same path there, or use a published version\n";
    }
    if files.has_guard && !files.package.is_library() {
        text += "To make the guard smaller and a release build faster, add `[profile.release.package.cudnn-guard]` with \
                 `codegen-units = 1` to Cargo.toml. In a workspace, cargo reads profiles only in the root's Cargo.toml\n";
    }
    text
}

/// Returns what `doctor` reports about the cudarc of the crate, each with its first help.
fn cudarc_findings() -> String {
    let toolchain = Config::new().link(Link::Runtime).survey();
    // The build does not need the driver.
    let findings = toolchain.cudarc_findings(None).into_iter();
    let text = |finding: Finding| refusal(finding.summary, joined(finding.help.iter().take(1), ""));
    findings.map(text).collect()
}
