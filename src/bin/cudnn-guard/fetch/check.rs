//! `cudnn-guard fetch --check`: whether what was fetched is as it was.

use crate::fetch::claims::ours;
use crate::fetch::component::Component;
use crate::fetch::lock::Lock;
use crate::fetch::place;
use crate::fetch::record::Damage;
use crate::fetch::wheels::Wheel;
use crate::terminal::show;
use cudnn_guard::{Finding, FindingId, quoted};
use std::path::Path;

/// How many damaged files are named.
const NAMED: usize = 5;

/// Compares every file of what `fetch` put into a folder with its wheel's RECORD, says of each component how that went,
/// and changes nothing. The answer is what is wrong.
pub fn check(home: &Path) -> Vec<Finding> {
    // What another `fetch` is at work on is not whole yet.
    let _lock = Lock::take_existing(home);
    let any = Component::both();
    let there = any.each_ref().map(|one| ours(home, one));
    let fetch = command_for(home, &there);
    let damaged = there.iter().flatten();
    let mut findings: Vec<Finding> = damaged
        .filter_map(|component| check_one(home, component, &fetch))
        .collect();
    let absent: Vec<&str> = any
        .iter()
        .zip(&there)
        .filter_map(|(one, there)| there.is_none().then_some(one.title))
        .collect();
    if !absent.is_empty() {
        let summary = format!(
            "cudnn-guard has put no {} into `{}`",
            absent.join(" and no "),
            home.display()
        );
        findings.push(
            Finding::error(FindingId::FetchFailed, summary).help(format!(
                "run `{fetch}`, or name the folder that was fetched into with `--to DIR`"
            )),
        );
    }
    findings
}

/// The command that fetches the same once more, and what is not there of the two.
fn command_for(home: &Path, there: &[Option<Component>; 2]) -> String {
    let mut command = "cudnn-guard fetch".to_string();
    if let [None, Some(cudnn)] = there {
        command.push_str(&format!(" --cuda {}", cudnn.cuda));
    }
    for component in there.iter().flatten() {
        command.push_str(&format!(" {}", component.option(home)));
    }
    command + " --to " + &quoted(&home.to_string_lossy())
}

fn check_one(home: &Path, component: &Component, fetch: &str) -> Option<Finding> {
    let mut count = 0;
    let mut damaged = Vec::new();
    // `fetch` reads no files, and sees this one as whole.
    let mut unseen = None;
    for (wheel, name) in component.wheels(home).iter().zip(&component.packages) {
        let files = match wheel.as_ref().map(Wheel::files) {
            Some(Ok(files)) => files,
            Some(Err(why)) => {
                damaged.push(format!("{name}: {why}"));
                continue;
            }
            None => {
                damaged.push(format!("{name} is missing"));
                continue;
            }
        };
        count += files.len();
        for file in files {
            let Some(damage) = file.damage(home) else {
                continue;
            };
            damaged.push(format!("{} {damage}", file.path));
            if matches!(damage, Damage::Contents | Damage::Unreadable(_)) {
                unseen.get_or_insert(file.path);
            }
        }
    }
    let title = component.title;
    let release = component.release(home).unwrap_or_default();
    let place = place(home, component);
    let mark = if damaged.is_empty() { "✓" } else { "✗" };
    show(format!(
        "  {mark} {title:<12} {release}, {count} files checked: {place}\n"
    ));
    let more = damaged.len().saturating_sub(NAMED);
    damaged.truncate(NAMED);
    if more > 0 {
        damaged.push(format!("and {more} more"));
    }
    let remove = unseen.map_or(String::new(), |path| {
        let path = home.join(path);
        format!("remove `{}`, then ", quoted(&path.to_string_lossy()))
    });
    let summary = format!("the {title} in `{place}` is not as it was fetched");
    let finding = Finding::error(FindingId::FetchFailed, summary).help(format!(
        "{remove}run `{fetch}`, which fetches all of it anew"
    ));
    (!damaged.is_empty()).then(|| finding.with_lines("damaged", damaged))
}
