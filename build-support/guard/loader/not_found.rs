//! The reasons why no cuDNN is found by the names that a program tries.

use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::{Built, majors};
use crate::runtime::loader::file_name;
use crate::runtime::loader::misplaced::Misplaced;
use crate::runtime::loader::search_path::SearchPath;
use std::path::PathBuf;

/// A file with a name that is tried, which the loader finds but cannot use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    pub path: PathBuf,
    pub defect: Defect,
    /// The reason why the loader searches its directory.
    pub found_via: String,
}

/// The most specific causes why a cuDNN is not found. Both may be absent.
pub struct NotFound {
    /// A file in its place.
    pub unfit: Option<Unfit>,
    /// A cuDNN on the search path under a name that cudarc does not try: its major and its directory.
    pub untried: Option<(u32, String)>,
}

/// A program that cannot open cuDNN by any of its names.
pub struct MissingCudnn<'a> {
    pub built: &'a Built,
    pub names: &'a [String],
    /// The loader's message about each name.
    pub messages: &'a [String],
    /// The majors that the program can run with.
    pub majors: &'a [u32],
    pub not_found: NotFound,
    /// A cuDNN that the loader does not find, or an entry that the loader reads differently than intended.
    pub misplaced: Option<Misplaced>,
    /// A cuDNN under another name, or of a major that the program does not open.
    pub other: Option<(u32, PathBuf)>,
    /// The places that were searched.
    pub looked_at: Vec<String>,
}

/// Returns the major to install. A requirement without an upper bound accepts a major that does not exist yet.
pub fn installable(accepted: &[u32]) -> Option<u32> {
    let mut majors = accepted.iter();
    let known = majors.find(|major| **major <= majors::NEWEST_CUDNN);
    known.or(accepted.first()).copied()
}

/// Returns the fault of a program that can open none of these names, with the loader's message about each, a file that
/// the loader skipped, or a misplaced file.
pub fn find<'a>(
    built: &'a Built,
    majors: &'a [u32],
    search_path: &SearchPath,
    (names, messages): (&'a [String], &'a [String]),
    (unfit, misplaced): (Option<(PathBuf, Defect)>, Option<Misplaced>),
) -> MissingCudnn<'a> {
    let misplaced = misplaced.filter(|_| unfit.is_none());
    let (mut untried, mut other) = (None, None);
    if unfit.is_none() && misplaced.is_none() {
        untried = majors.iter().find_map(|major| {
            let name = file_name::of_main(*major);
            let file = (!names.contains(&name)).then(|| search_path.program_file(&name));
            Some((*major, file??))
        });
        other = untried.clone().or_else(|| other_major(majors, search_path));
    }
    let dir = |file: &PathBuf| file.parent().unwrap_or(file).display().to_string();
    MissingCudnn {
        built,
        names,
        messages,
        majors,
        not_found: NotFound {
            unfit: unfit.map(|(path, defect)| Unfit {
                found_via: search_path.origin_of(&path).to_string(),
                path,
                defect,
            }),
            untried: untried.map(|(major, file)| (major, dir(&file))),
        },
        misplaced,
        other,
        looked_at: search_path.looked_at(),
    }
}

/// Returns a cuDNN on the search path of a major that the program does not open, the newest first.
fn other_major(accepted: &[u32], search_path: &SearchPath) -> Option<(u32, PathBuf)> {
    let others = (majors::OLDEST_CUDNN - 1..=majors::NEWEST_CUDNN).rev();
    let mut others = others.filter(|major| !accepted.contains(major));
    others.find_map(|major| Some((major, search_path.program_file(&file_name::of_main(major))?)))
}
