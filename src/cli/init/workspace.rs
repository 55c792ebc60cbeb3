//! The members of a workspace.

use crate::cli::init::crate_files::CrateFiles;
use crate::cli::init::manifest;
use crate::cli::init::metadata::Package;
use crate::cli::init::usage::Usage;
use crate::runtime::facts::quoted;
use clap::ArgMatches;
use std::env;
use std::path::Path;

/// Returns the commands for the members, or only for those that have to call this guard of a library. With `--check`, the
/// commands for members without a complete guard are an error.
pub fn commands(
    packages: &[Package],
    guard: Option<String>,
    arguments: &ArgMatches,
) -> Result<String, String> {
    let is = |option| arguments.get_flag(option);
    let mut members: Vec<&Package> = packages.iter().collect();
    members.retain(|one| {
        let usage = Usage::find(one, packages);
        let is_wanted = guard.is_none() || usage.guard == guard;
        usage.is_known && is_wanted && !(usage.library.is_some() && one.is_library())
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
