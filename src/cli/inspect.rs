//! `cudnn-guard inspect`: checks that compiled programs will run here, or in an image.

use crate::cli::{doctor, terminal};
use crate::loader::linkage;
use crate::report::layout::{Mark, wrapped};
use crate::runtime::facts::{Finding, Severity};
use crate::runtime::system::PathCache;
use crate::system::{Sysroot, files};
use crate::{Inspection, Verdict};
use clap::{ArgMatches, Command};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn command() -> Command {
    Command::new("inspect")
        .about("Check whether compiled programs will run here or in a system image")
        .after_help("Exit codes:\n  0   no problems\n  1   problems found\n  2   not a program, or invalid command line\n\nExamples:\n  cudnn-guard inspect target/release/app\n  cudnn-guard inspect --root rootfs /app/app\n  cudnn-guard inspect /opt/apps")
        .arg(terminal::path("program", "PROGRAM", "Program to inspect (Linux or Windows), or a directory: all programs with a guard in it").required(true).num_args(1..))
        .arg(doctor::root())
        .arg(terminal::json())
}

/// Inspects the programs and prints the report of one, or one line for each of several. Exit codes: 0 without errors, 1
/// with errors, 2 if one is not a program.
pub fn run(arguments: &ArgMatches) -> ExitCode {
    // Most programs load the same libraries.
    let _cache = PathCache::start();
    let root = arguments.get_one::<PathBuf>("root").map(PathBuf::as_path);
    let (mut programs, mut is_one) = (Vec::new(), true);
    let paths = arguments.get_many::<PathBuf>("program");
    for path in paths.into_iter().flatten() {
        // The path may be the one on the system below the root.
        let below = Sysroot { root }.at(path);
        let path = Some(below)
            .filter(|below| below.exists())
            .unwrap_or(path.clone());
        is_one &= programs.is_empty() && !path.is_dir();
        if !path.is_dir() {
            programs.push(path);
        } else if let Err(error) = add_guarded(&path, &mut programs) {
            return terminal::refuse(2, format!("{error}\n"));
        }
    }
    if programs.is_empty() {
        return terminal::refuse(2, "cudnn-guard: no program there contains a guard\n");
    }
    let (mut counts, mut is_unread) = ([0; 3], false);
    for program in &programs {
        let inspection = match Inspection::read(program, root) {
            Ok(inspection) => inspection,
            Err(error) => {
                terminal::show_on_stderr(format!("{error}\n"));
                is_unread = true;
                continue;
            }
        };
        counts[inspection.verdict() as usize] += 1;
        let text = match is_one {
            true => doctor::with_page(&inspection, inspection.findings()),
            false => line(program, &inspection),
        };
        terminal::show(terminal::form(arguments, inspection.to_json(), text));
    }
    let [passed, failed, unknown] = counts;
    if !is_one && !arguments.get_flag("json") {
        terminal::show(format!(
            "\n{passed} pass, {failed} fail, {unknown} unknown\n"
        ));
    }
    match failed {
        _ if is_unread => ExitCode::from(2),
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Adds the programs below a directory that contain a guard. Links are not followed.
fn add_guarded(dir: &Path, programs: &mut Vec<PathBuf>) -> Result<(), Finding> {
    for path in files::list(dir)? {
        if files::is_link(&path) {
            continue;
        }
        if files::is_dir(&path) {
            add_guarded(&path, programs)?;
            continue;
        }
        let is_exe = path.extension().is_some_and(|extension| extension == "exe");
        let read = linkage::read(&path);
        let is_program = read.is_ok_and(|read| is_exe || read.interpreter.is_some());
        if is_program && !linkage::records(&path).is_empty() {
            programs.push(path);
        }
    }
    Ok(())
}

/// Describes a program in one line: the first error, or what could not be checked.
fn line(program: &Path, inspection: &Inspection) -> String {
    let mut findings = inspection.findings().iter();
    let error = findings.find(|one| one.severity == Severity::Error);
    let (mark, why) = match (inspection.verdict(), error) {
        (Verdict::Pass, _) => (Mark::Tick, String::new()),
        (Verdict::Fail, Some(error)) => (Mark::Cross, format!(": {}", error.headline())),
        _ => (
            Mark::Unknown,
            format!(": {}", inspection.unknown.join("; ")),
        ),
    };
    let text = format!("{}{why}", program.display());
    format!("  {mark} {}\n", wrapped(&text, 4, terminal::columns()))
}
