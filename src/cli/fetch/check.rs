//! `cudnn-guard fetch --check`: compares the fetched files with the RECORDs of their wheels.

use crate::cli::fetch::component::Component;
use crate::cli::fetch::fault::FetchFault;
use crate::cli::fetch::home::ours;
use crate::cli::fetch::lock;
use crate::cli::terminal::show_step;
use crate::model::kind::Kind;
use crate::runtime::facts::finding::quoted;
use std::path::Path;

/// Compares every file with the hash in its wheel's RECORD and shows the result for each component. Changes nothing.
/// Returns the faults.
pub fn check(home: &Path) -> Vec<FetchFault> {
    // Files of a `fetch` that is still running are not complete yet.
    let _lock = lock::take_existing(home);
    let installed = Kind::BOTH.map(|kind| ours(home, kind));
    let fetch = command_text(&arguments_for(home, &installed));
    let (mut faults, mut absent) = (Vec::new(), Vec::new());
    for (kind, installed) in Kind::BOTH.iter().zip(&installed) {
        match installed {
            Some(component) => faults.extend(check_one(home, component, &fetch)),
            None => absent.push(*kind),
        }
    }
    if !absent.is_empty() {
        let home = home.to_path_buf();
        faults.push(FetchFault::NothingToCheck(home, absent, fetch));
    }
    faults
}

/// Returns the arguments that fetch the same versions again, and the missing components.
fn arguments_for(home: &Path, installed: &[Option<Component>; 2]) -> Vec<String> {
    let mut arguments = Vec::new();
    if let [None, Some(cudnn)] = installed {
        arguments.extend(["--cuda".to_string(), cudnn.cuda.to_string()]);
    }
    for component in installed.iter().flatten() {
        arguments.extend(component.option(home));
    }
    arguments.extend(["--to".to_string(), home.display().to_string()]);
    arguments
}

/// Returns the command with these arguments, quoted for a shell.
fn command_text(arguments: &[String]) -> String {
    let words = arguments.iter().map(|word| format!(" {}", quoted(word)));
    "cudnn-guard fetch".to_string() + &words.collect::<String>()
}

fn check_one(home: &Path, component: &Component, fetch: &str) -> Option<FetchFault> {
    let mut count = 0;
    let mut damaged = Vec::new();
    // `fetch` does not read file contents, so it would consider this file complete.
    let mut unseen = None;
    for (wheel, name) in component.wheels(home).iter().zip(&component.packages) {
        let files = match wheel {
            Some(wheel) => wheel.files().map_err(|why| format!("{name}: {why}")),
            None => Err(format!("{name} is missing")),
        };
        let files = files.unwrap_or_else(|why| {
            damaged.push(why);
            Vec::new()
        });
        count += files.len();
        for file in files {
            if let Some(damage) = file.damage_at_a_glance(home) {
                damaged.push(format!("{} {damage}", file.path));
            } else if let Some(damage) = file.damage_of_contents(home) {
                damaged.push(format!("{} {damage}", file.path));
                unseen.get_or_insert(home.join(file.path));
            }
        }
    }
    let release = component.release(home).unwrap_or_default();
    let place = component.place(home);
    let mark = if damaged.is_empty() { "✓" } else { "✗" };
    let text = format!("{release}, {count} files checked: {place}");
    show_step(mark, component.kind.product(), text);
    (!damaged.is_empty()).then(|| FetchFault::DamagedComponent {
        kind: component.kind,
        place,
        files: damaged,
        unseen,
        fetch: fetch.to_string(),
    })
}
