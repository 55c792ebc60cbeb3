//! That no cuDNN can be opened by the names under which the program looks for it.

use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::built::{Built, Loader};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::majors;
use crate::runtime::loader::file_name;
use crate::runtime::loader::library_names;
use crate::runtime::loader::misplaced::Misplaced;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::system::names::LOADER;
use crate::runtime::system::platform::LIBRARY_PATH;
use std::path::PathBuf;

/// That none can be opened by these names; what the loader said of each, a file that it passed over, or one that lies
/// elsewhere.
pub fn finding(
    built: &Built,
    asked: &[u32],
    search_path: &SearchPath,
    (names, words): (&[String], &[String]),
    (unfit, misplaced): (Option<(PathBuf, Defect)>, Option<Misplaced>),
) -> Finding {
    let cudarc = built.loader == Loader::Cudarc;
    let first = names.first().map_or("", String::as_str);
    // Most of cudarc's many names are those of nothing that ever was.
    let said = match words.first() {
        Some(first) if cudarc => {
            let more = names.len().saturating_sub(1);
            format!("{first}\n(and so for {more} names more)")
        }
        _ => words.join("\n"),
    };
    let mut unasked = None;
    for major in asked {
        let name = file_name::of_main(*major);
        if unasked.is_none() && !names.contains(&name) {
            unasked = search_path.program_file(&name).map(|file| (*major, file));
        }
    }
    let is_unasked = unasked.is_some();
    let other = match misplaced {
        None => unasked.or_else(|| other_major(asked, search_path)),
        _ => None,
    };
    let mut summary = if cudarc {
        let release = built
            .cudarc
            .map_or(String::new(), |cudarc| format!(" {cudarc}"));
        format!("{first} cannot be loaded, nor by any other name that cudarc{release} tries")
    } else {
        format!("{} cannot be loaded", names.join(" or "))
    };
    let looked_at = search_path.looked_at().join("\n");
    if let Some((path, defect)) = &unfit {
        return Finding::error(FindingId::CudnnNotLoadable, summary)
            .with("loader", said)
            .with("looked at", looked_at)
            .with_unfit(path, defect, search_path.to(path));
    }
    if let Some(misplaced) = &misplaced {
        if let Some(file) = &misplaced.file {
            let file = file.display();
            summary += &format!("; `{file}` lies where {LOADER} does not look");
        }
    } else if let Some((major, _)) = &other {
        summary += &format!("; there is only {}", file_name::of_main(*major));
    }
    let mut finding = Finding::error(FindingId::CudnnNotLoadable, summary);
    if let Some(misplaced) = &misplaced {
        finding = finding.with("reason", &misplaced.reason);
    }
    finding = finding.with("loader", said);
    if let Some((_, path)) = &other {
        finding = finding.with("there is", path.display());
    }
    finding = finding.with("looked at", looked_at);
    if let Some(misplaced) = misplaced {
        finding = finding.help(misplaced.help);
        if misplaced.file.is_some() {
            return finding;
        }
    }
    if let Some((major, path)) = other.as_ref().filter(|_| is_unasked) {
        let dir = path.parent().unwrap_or(path).display().to_string();
        return library_names::by_another_name(finding, *major, &dir);
    }
    // A requirement that is open at its end lets a major in that nobody can install yet.
    let newest = asked.iter().find(|major| **major <= majors::NEWEST_CUDNN);
    if let Some(major) = newest.or(asked.first()) {
        finding = finding.help(format!(
            "install cuDNN {}, or put the directory of its {} into {}",
            major,
            file_name::of_main(*major),
            LIBRARY_PATH
        ));
    }
    if let Some((major, _)) = other {
        finding = finding.help(format!(
            "or use a build of this program for cuDNN {major}; a link from one name to the other does not help"
        ));
    }
    finding
}

/// A cuDNN on the way that is of a major which the program does not open, the newest first.
fn other_major(asked: &[u32], search_path: &SearchPath) -> Option<(u32, PathBuf)> {
    for major in (majors::OLDEST_CUDNN - 1..=majors::NEWEST_CUDNN).rev() {
        if !asked.contains(&major) {
            if let Some(file) = search_path.program_file(&file_name::of_main(major)) {
                return Some((major, file));
            }
        }
    }
    None
}
