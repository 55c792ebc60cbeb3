//! The members of a workspace.

use crate::cli::init::crate_files::CrateFiles;
use crate::cli::init::manifest;
use crate::cli::init::metadata::Package;
use crate::cli::init::refusal;
use crate::cli::init::usage::Usage;
use crate::runtime::facts::quoted;
use clap::ArgMatches;
use std::env;
use std::path::Path;

/// Returns the commands for the members, if the root of the workspace contains no crate. With `--check`, the commands for
/// members without a complete guard are an error.
pub fn commands(packages: &[Package], arguments: &ArgMatches) -> Result<String, String> {
    let is = |option| arguments.get_flag(option);
    let mut members: Vec<&Package> = packages.iter().collect();
    members.retain(|one| {
        let usage = Usage::find(one, packages);
        usage.is_known && !(usage.library.is_some() && one.is_library())
    });
    if members.is_empty() && !is("check") {
        members.extend(packages);
    } else {
        let read = |one: &Package| CrateFiles::read(one.dir(), one, packages);
        members.retain(|one| !read(one).is_ok_and(|files| files.is_complete()));
    }
    if members.is_empty() {
        return Ok("The guards of all members are complete.\n".to_string());
    }
    // A program calls the guard of a library.
    members.sort_by_key(|one| !one.is_library());
    let mut text =
        "To add or complete the guard of a member, run one of these commands:\n\n".to_string();
    for member in members {
        text += &format!("  cudnn-guard init{}\n", command_argument(member));
    }
    match is("check") || is("write") {
        true => Err(text),
        false => Ok(text),
    }
}

/// Returns an error if programs of the workspace depend on the guard of this library, and none of them calls it.
pub fn must_be_called(library: &Package, packages: &[Package]) -> Result<(), String> {
    let guard = library.guard().filter(|_| library.is_library());
    let mut programs: Vec<&Package> = packages.iter().collect();
    programs.retain(|one| {
        let is_for_it = guard.is_some() && Usage::find(one, packages).guard == guard;
        is_for_it && !one.is_library()
    });
    let is_called = |one: &&Package| {
        CrateFiles::read(one.dir(), one, packages).is_ok_and(|files| files.is_complete())
    };
    match programs.first() {
        Some(program) if !programs.iter().any(is_called) => Err(refusal(
            "no program of this workspace calls the guard of this library".into(),
            format!(
                "run `cudnn-guard init{}`, which shows the call",
                command_argument(program)
            ),
        )),
        _ => Ok(()),
    }
}

/// Returns the directory of a member as an argument in the current directory.
pub fn command_argument(member: &Package) -> String {
    let current = env::current_dir().unwrap_or_default();
    argument(&manifest::relative(&current, member.dir()))
}

/// Returns the directory as an argument, unless it is the current one.
pub fn argument(dir: &Path) -> String {
    match dir.to_str() {
        Some("" | ".") => String::new(),
        _ => format!(" {}", quoted(&dir.to_string_lossy())),
    }
}
