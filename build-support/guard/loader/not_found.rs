//! Why no cuDNN is found by the names under which a program looks for it, and what helps.

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

/// A file of the name that is asked for, which the loader comes to and cannot use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// The file.
    pub path: PathBuf,
    /// Why it cannot be used.
    pub defect: Defect,
    /// What makes the loader search there.
    pub found_via: String,
}

/// A cuDNN that is not found, with all that bears on it.
pub struct NotFound {
    /// The headline, with the places that were searched and the files that were seen.
    pub finding: Finding,
    /// A file in its place.
    pub unfit: Option<Unfit>,
    /// The ways to one that the loader does not come to, where there is one.
    pub elsewhere: Vec<String>,
    /// One that the loader would find under a name that cudarc does not ask for: its major and its directory.
    pub unasked: Option<(u32, String)>,
    /// The ways to get one, where there is none.
    pub install: Vec<String>,
}

impl NotFound {
    /// Returns the finding, with the help for the most specific cause.
    pub fn explain(self) -> Finding {
        let mut finding = self.finding;
        let is_elsewhere = !self.elsewhere.is_empty();
        if let Some(unfit) = self.unfit {
            // What is in a directory that may not be entered, nobody knows.
            let is_closed = matches!(unfit.defect, Defect::Closed(_));
            let is_foreign = matches!(unfit.defect, Defect::Machine(..) | Defect::Class);
            if !(is_closed && is_elsewhere) {
                finding = finding.with_unfit(&unfit.path, &unfit.defect, unfit.found_via);
                if !(is_foreign && is_elsewhere) {
                    return finding;
                }
                finding.help.clear();
            }
        }
        match self.unasked {
            Some((major, dir)) => return library_names::by_another_name(finding, major, &dir),
            None if is_elsewhere => finding.help.extend(self.elsewhere),
            None => finding.help.extend(self.install),
        }
        finding
    }
}

/// Returns the major to install of those that are asked for. A requirement that is open at its end lets a major in that
/// nobody can install yet.
pub fn installable(asked: &[u32]) -> Option<u32> {
    let newest = asked.iter().find(|major| **major <= majors::NEWEST_CUDNN);
    newest.or(asked.first()).copied()
}

/// Returns the finding for a program of which none of these names can be opened, with the words of the loader about
/// each, a file that the loader passed over, or one that is misplaced.
pub fn finding(
    built: &Built,
    asked: &[u32],
    search_path: &SearchPath,
    (names, words): (&[String], &[String]),
    (unfit, misplaced): (Option<(PathBuf, Defect)>, Option<Misplaced>),
) -> Finding {
    let misplaced = misplaced.filter(|_| unfit.is_none());
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
    let (mut unasked, mut other) = (None, None);
    if unfit.is_none() && misplaced.is_none() {
        unasked = asked.iter().find_map(|major| {
            let name = file_name::of_main(*major);
            let file = (!names.contains(&name)).then(|| search_path.program_file(&name));
            Some((*major, file??))
        });
        other = unasked.clone().or_else(|| other_major(asked, search_path));
    }
    let mut summary = if cudarc {
        let release = built
            .cudarc
            .map_or(String::new(), |cudarc| format!(" {cudarc}"));
        format!("{first} cannot be loaded, nor by any other name that cudarc{release} tries")
    } else {
        format!("{} cannot be loaded", names.join(" or "))
    };
    let (mut elsewhere, mut install) = (Vec::new(), Vec::new());
    let mut evidence = Vec::new();
    if let Some(misplaced) = misplaced {
        evidence.push(("reason", misplaced.reason));
        if let Some(file) = &misplaced.file {
            let file = file.display();
            summary += &format!("; `{file}` lies where {LOADER} does not look");
            elsewhere.push(misplaced.help);
        } else {
            install.push(misplaced.help);
        }
    }
    evidence.push(("loader", said));
    if let Some(major) = installable(asked) {
        install.push(format!(
            "install cuDNN {}, or put the directory of its {} into {}",
            major,
            file_name::of_main(major),
            LIBRARY_PATH
        ));
    }
    if let Some((major, path)) = &other {
        summary += &format!("; there is only {}", file_name::of_main(*major));
        evidence.push(("there is", path.display().to_string()));
        install.push(format!(
            "or use a build of this program for cuDNN {major}; a link from one name to the other does not help"
        ));
    }
    evidence.push(("looked at", search_path.looked_at().join("\n")));
    let mut finding = Finding::error(FindingId::CudnnNotLoadable, summary);
    finding.evidence = evidence;
    let dir = |file: &PathBuf| file.parent().unwrap_or(file).display().to_string();
    NotFound {
        finding,
        unfit: unfit.map(|(path, defect)| Unfit {
            found_via: search_path.to(&path).to_string(),
            path,
            defect,
        }),
        elsewhere,
        unasked: unasked.map(|(major, file)| (major, dir(&file))),
        install,
    }
    .explain()
}

/// Returns a cuDNN on the search path of a major that the program does not open, the newest first.
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
