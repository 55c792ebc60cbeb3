//! The members of a workspace, and the choice of one.

use crate::cli::init::metadata::{self, Package};
use crate::cli::init::refusal;
use crate::cli::init::usage::Usage;
use crate::cli::whole_file;
use crate::model::text::joined;
use crate::runtime::facts::finding::quoted;
use crate::runtime::facts::nearest::nearest;
use std::path::{Path, PathBuf};
use toml_edit::DocumentMut;

/// Returns the directory of a member.
pub fn directory(dir: &Path, name: &str) -> Result<PathBuf, String> {
    let packages = metadata::packages(dir)?;
    if let Some(package) = packages.iter().find(|package| package.name() == name) {
        return Ok(package.dir().to_path_buf());
    }
    let names: Vec<&str> = packages.iter().map(Package::name).collect();
    let help = nearest(name, &names).map(|near| format!("did you mean `{near}`?"));
    let all = format!("name one of its members: `{}`", joined(&names, "`, `"));
    let summary = format!("the workspace has no member `{name}`");
    Err(refusal(summary, help.unwrap_or(all)))
}

/// Returns the commands for the members, if the directory is the root of a workspace and contains no crate.
pub fn commands(dir: &Path) -> Result<Option<String>, String> {
    let manifest = whole_file::read(&dir.join("Cargo.toml")).unwrap_or_default();
    let manifest: DocumentMut = manifest.parse().unwrap_or_default();
    if manifest.get("workspace").is_none() || manifest.get("package").is_some() {
        return Ok(None);
    }
    let packages = metadata::packages(dir)?;
    let is_known = |package: &&Package| Usage::find(package).is_known;
    let mut members: Vec<&Package> = packages.iter().filter(is_known).collect();
    if members.is_empty() {
        members.extend(&packages);
    }
    let dir = argument(dir);
    let lines = members
        .iter()
        .map(|one| format!("  cudnn-guard init -p {}{dir}\n", one.name()));
    let lines: String = lines.collect();
    let text = "To add the guard to a member, run one of these commands:\n\n".to_string() + &lines;
    Ok((!lines.is_empty()).then_some(text))
}

/// Returns the directory as an argument, unless it is the current one.
pub fn argument(dir: &Path) -> String {
    match dir.to_str() {
        Some(".") => String::new(),
        _ => format!(" {}", quoted(&dir.to_string_lossy())),
    }
}
