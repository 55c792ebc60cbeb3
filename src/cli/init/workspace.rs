//! The members of a workspace.

use crate::cli::init::crate_files::CrateFiles;
use crate::cli::init::metadata::{self, Package};
use crate::cli::init::usage::Usage;
use crate::cli::whole_file;
use crate::runtime::facts::quoted;
use clap::ArgMatches;
use std::fs;
use std::path::{Path, PathBuf};
use toml_edit::DocumentMut;

/// Returns the commands for the members, if the directory is the root of a workspace and contains no crate. With
/// `--check`, the commands for members without a complete guard are an error.
pub fn commands(dir: &Path, arguments: &ArgMatches) -> Result<Option<String>, String> {
    let manifest = whole_file::read(&dir.join("Cargo.toml")).unwrap_or_default();
    let manifest: DocumentMut = manifest.unwrap_or_default().parse().unwrap_or_default();
    if manifest.get("workspace").is_none() || manifest.get("package").is_some() {
        return Ok(None);
    }
    let packages = metadata::packages(dir)?;
    let is = |option| arguments.get_flag(option);
    let is_listed = |package: &&Package| {
        let is_complete = || CrateFiles::read(package.dir()).is_ok_and(|files| files.is_complete());
        Usage::find(package).is_known && !(is("check") && is_complete())
    };
    let mut members: Vec<&Package> = packages.iter().filter(is_listed).collect();
    if members.is_empty() && !is("check") {
        members.extend(&packages);
    }
    let line = |one: &&Package| format!("  cudnn-guard init{}\n", argument(&below(dir, one.dir())));
    let lines: String = members.iter().map(line).collect();
    let title = "To add or complete the guard of a member, run one of these commands:\n\n";
    match lines.is_empty() {
        true => Ok(is("check").then(|| "The guards of all members are complete.\n".to_string())),
        false if is("check") || is("write") => Err(title.to_string() + &lines),
        false => Ok(Some(title.to_string() + &lines)),
    }
}

/// Returns a member's directory as the user would write it, relative to the current directory if the root is that.
fn below(root: &Path, member: &Path) -> PathBuf {
    let full = fs::canonicalize(root).unwrap_or_default();
    match member.strip_prefix(full) {
        Ok(rest) if root == Path::new(".") => rest.to_path_buf(),
        Ok(rest) => root.join(rest),
        Err(_) => member.to_path_buf(),
    }
}

/// Returns the directory as an argument, unless it is the current one.
pub fn argument(dir: &Path) -> String {
    match dir.to_str() {
        Some(".") => String::new(),
        _ => format!(" {}", quoted(&dir.to_string_lossy())),
    }
}
