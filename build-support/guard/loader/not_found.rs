//! Why no cuDNN is found by the names under which a program looks for it.

use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::built::Built;
use crate::runtime::facts::majors;
use crate::runtime::loader::file_name;
use crate::runtime::loader::misplaced::Misplaced;
use crate::runtime::loader::search_path::SearchPath;
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

/// The most specific causes why a cuDNN is not found. Both may be absent.
pub struct NotFound {
    /// A file in its place.
    pub unfit: Option<Unfit>,
    /// A cuDNN under a name that cudarc does not ask for, where the loader would find it: its major and its directory.
    pub unasked: Option<(u32, String)>,
}

/// A cuDNN that a program can open by none of its names.
pub struct MissingCudnn<'a> {
    /// The program.
    pub built: &'a Built,
    /// The names.
    pub names: &'a [String],
    /// The loader's message about each name.
    pub words: &'a [String],
    /// The majors that are asked for.
    pub asked: &'a [u32],
    /// The most specific causes.
    pub not_found: NotFound,
    /// A cuDNN where the loader does not search, or an entry that the loader reads in another way than it was meant.
    pub misplaced: Option<Misplaced>,
    /// A cuDNN under another name, or of a major that the program does not open.
    pub other: Option<(u32, PathBuf)>,
    /// The places that were searched.
    pub looked_at: Vec<String>,
}

/// Returns the major to install of those that are asked for. A requirement that is open at its end lets a major in that
/// nobody can install yet.
pub fn installable(asked: &[u32]) -> Option<u32> {
    let newest = asked.iter().find(|major| **major <= majors::NEWEST_CUDNN);
    newest.or(asked.first()).copied()
}

/// Returns the fault of a program of which none of these names can be opened, with the words of the loader about each, a
/// file that the loader passed over, or one that is misplaced.
pub fn find<'a>(
    built: &'a Built,
    asked: &'a [u32],
    search_path: &SearchPath,
    (names, words): (&'a [String], &'a [String]),
    (unfit, misplaced): (Option<(PathBuf, Defect)>, Option<Misplaced>),
) -> MissingCudnn<'a> {
    let misplaced = misplaced.filter(|_| unfit.is_none());
    let (mut unasked, mut other) = (None, None);
    if unfit.is_none() && misplaced.is_none() {
        unasked = asked.iter().find_map(|major| {
            let name = file_name::of_main(*major);
            let file = (!names.contains(&name)).then(|| search_path.program_file(&name));
            Some((*major, file??))
        });
        other = unasked.clone().or_else(|| other_major(asked, search_path));
    }
    let dir = |file: &PathBuf| file.parent().unwrap_or(file).display().to_string();
    MissingCudnn {
        built,
        names,
        words,
        asked,
        not_found: NotFound {
            unfit: unfit.map(|(path, defect)| Unfit {
                found_via: search_path.to(&path).to_string(),
                path,
                defect,
            }),
            unasked: unasked.map(|(major, file)| (major, dir(&file))),
        },
        misplaced,
        other,
        looked_at: search_path.looked_at(),
    }
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
