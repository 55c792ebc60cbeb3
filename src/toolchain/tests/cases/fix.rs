//! Carries out the first help of a finding in the file system of its case.
//!
//! ```text
//! [fix cudnn-headers-missing]
//! set CUDNN_INCLUDE_DIR=$ROOT/opt/headers       a variable; `unset NAME`
//! build.rs + link runtime                       a line of `[config]`; `build.rs - optional`
//! remove opt/dnn/lib/libcudnn_cnn.so.9          a file or a directory
//! move opt/dnn to opt/cudnn
//! unpack opt/dnn.tar to opt/dnn                 replaces the archive with cuDNN 9.14.0
//! open opt/dnn/include/cudnn.h                  allows the user to open it
//! install cuDNN 9.14.0 in opt/dnn               an installation, see `installed.rs`
//! run conda install cudnn                       a command in the help, whose effect the next lines describe
//! opt/dnn/lib/libcudnn.so.9 (elf)               entries as in `[files]`, which replace existing ones
//! ```
//!
//! A fix that no machine can do has a single line, `none: ` and the reason.

use super::case::{Case, create_entries};
use super::{configured_at, errors_and_warnings, installed, search_case, search_in};
use crate::model::Platform;
use crate::runtime::facts::Finding;
use std::fs;
use std::path::Path;

/// Each error and warning of each case has a help with a fix. After the fix the finding is gone, and there is no new
/// one.
#[test]
fn the_first_help_of_each_finding_fixes_it() {
    let scratch = super::scratch("fixes");
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for case in &Case::all() {
        let name = case.name();
        let before = errors_and_warnings(search_case(case, &scratch.join(name)));
        let mut ids: Vec<&str> = before.iter().map(|finding| finding.id.as_str()).collect();
        ids.dedup();
        for (id, _) in case.fixes.iter().filter(|(id, _)| !ids.contains(&&**id)) {
            wrong.push(format!("{name}: no finding {id} to fix"));
        }
        let mut seen = Vec::new();
        for finding in &before {
            let id = finding.id;
            let help = finding.help.first().map_or("", |help| help.trim());
            if help.is_empty() {
                wrong.push(format!("{name}: {id} has no help"));
                continue;
            }
            let fix = case.fixes.iter().find(|(known, _)| known == id.as_str());
            let Some((_, lines)) = fix.filter(|(_, lines)| !lines.is_empty()) else {
                wrong.push(format!("{name}: how is this done for {id}? {help}"));
                continue;
            };
            if reason(lines).is_some_and(|reason| !reason.is_empty()) {
                continue;
            }
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            let root = scratch.join(name).display().to_string();
            let same = before.iter().filter(|other| other.id == id);
            let mut helps = same.filter_map(|other| other.help.first());
            if !helps.any(|help| matches_help(lines, help, &root)) {
                wrong.push(format!("{name}: {lines:?} does not match the help: {help}"));
            }
            let after = findings_after(case, lines, &scratch.join(format!("{name}-{id}")));
            let is_new = |one: &&Finding| one.id == id || !ids.contains(&one.id.as_str());
            if let Some(left) = after.iter().find(is_new) {
                wrong.push(format!("{name}: done: {help}\nand then: {left}"));
            }
            tried += 1;
        }
    }
    fs::remove_dir_all(&scratch).unwrap();
    assert!(tried > 100, "{tried}");
    assert!(
        wrong.is_empty(),
        "{} of {tried}\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

/// Returns the findings after these lines of the case are carried out.
fn findings_after(case: &Case, lines: &[String], root: &Path) -> Vec<Finding> {
    let triple = configured_at(case, root).target;
    let cpu = triple.map_or("x86_64".into(), |triple| Platform::from_triple(&triple).cpu);
    case.unpack(root, &cpu);
    let case = apply(case, lines, root, &cpu);
    errors_and_warnings(search_in(&case, root))
}

/// Returns the reason why no machine can carry out the fix.
pub fn reason(lines: &[String]) -> Option<&str> {
    match lines {
        [one] => one.strip_prefix("none: "),
        _ => None,
    }
}

/// Returns `true` if these lines match the help: they use a variable or path in it, and the help contains their
/// commands. `$ROOT` is `root`.
pub fn matches_help(lines: &[String], help: &str, root: &str) -> bool {
    let help = help.replace(root, "$ROOT");
    let commands: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("run "))
        .collect();
    if !commands.is_empty() {
        return commands.iter().all(|command| help.contains(command));
    }
    let names = |line: &String| {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let is_entry = verb.contains('/');
        // Headers or libraries alone are compared by their place: many helps name cuDNN.
        let rest = match rest.split_once(" in ") {
            Some((what, place)) if what.contains(" of ") => place,
            _ => rest,
        };
        let words = rest.split([' ', '=']).filter(|_| !is_entry);
        let paths = words.chain([verb].into_iter().filter(|_| is_entry));
        paths
            .flat_map(named)
            .any(|name| name.len() > 2 && help.contains(name))
    };
    lines.iter().any(names)
}

/// Returns a word. For a path, also returns its directory and file name.
fn named(word: &str) -> impl Iterator<Item = &str> {
    let parts = word.rsplit_once('/').map(|(dir, file)| [dir, file]);
    [word].into_iter().chain(parts.into_iter().flatten())
}

/// Carries out the lines in `root`, and returns the case with its new configuration and environment.
pub fn apply(case: &Case, lines: &[String], root: &Path, cpu: &str) -> Case {
    let mut case = case.clone();
    let mut entries: Vec<String> = Vec::new();
    for line in lines {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let pair = |word| rest.split_once(word).unwrap_or_else(|| panic!("{line:?}"));
        match verb {
            "set" => set(&mut case.env, pair("=").0, Some(rest)),
            "unset" => set(&mut case.env, rest, None),
            "build.rs" => match pair(" ") {
                ("+", line) => case.config.push(line.to_string()),
                (_, line) => remove(&mut case.config, line),
            },
            "remove" => clear(&root.join(rest)),
            "move" => fs::rename(root.join(pair(" to ").0), root.join(pair(" to ").1)).unwrap(),
            "unpack" => {
                assert!(root.join(pair(" to ").0).is_file(), "{line:?}");
                entries.push(format!("cuDNN 9.14.0 in {}", pair(" to ").1));
            }
            "open" => case.allow_opening(rest),
            "run" => {}
            "install" => entries.push(rest.to_string()),
            _ => entries.push(line.clone()),
        }
    }
    let entries = installed::expand(&entries, case.is_for_windows());
    for entry in &entries {
        let path = entry.split(" (").next().unwrap();
        let path = path.split(" -> ").next().unwrap();
        if !entry.starts_with(' ') {
            clear(&root.join(path));
        }
    }
    create_entries(&entries, root, cpu);
    case
}

fn clear(path: &Path) {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path).unwrap();
    } else if path.symlink_metadata().is_ok() {
        fs::remove_file(path).unwrap();
    }
}

fn remove(lines: &mut Vec<String>, line: &str) {
    let count = lines.len();
    lines.retain(|known| known != line);
    assert_ne!(lines.len(), count, "no line {line:?}");
}

fn set(env: &mut Vec<String>, name: &str, line: Option<&str>) {
    env.retain(|known| known.split('=').next() != Some(name));
    env.extend(line.map(String::from));
}
