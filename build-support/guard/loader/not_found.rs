//! The reasons why no cuDNN is found by the names that a program tries.

use crate::runtime::binary::Defect;
use crate::runtime::facts::{Built, Loader, Version, majors};
use crate::runtime::judge::program_rules::ReleaseMismatch;
use crate::runtime::loader::misplaced::Misplaced;
use crate::runtime::loader::{SearchPath, file_name};
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// A file with a name that is tried, which the loader finds but cannot use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    pub path: PathBuf,
    pub defect: Defect,
    /// The reason why the loader searches its directory.
    pub found_via: String,
}

impl Unfit {
    pub fn new(path: PathBuf, defect: Defect, found_via: impl Display) -> Self {
        Self {
            path,
            defect,
            found_via: found_via.to_string(),
        }
    }
}

/// A file that the loader does not reach, with its version if known.
pub type FoundFile = (Option<Version>, PathBuf);

/// A program that does not find cuDNN by any of its names.
#[derive(Default)]
pub struct MissingCudnn<'a> {
    /// `true` for a program for Windows.
    pub is_dll: bool,
    /// `true` if the program cannot run without it.
    pub is_needed: bool,
    /// The file that is linked to it. `None` if the program opens it.
    pub user: Option<&'a Path>,
    /// `Some` if cudarc opens it, with the version of cudarc if known.
    pub cudarc: Option<Option<Version>>,
    pub names: Vec<String>,
    /// The loader's message about each name.
    pub messages: Vec<String>,
    /// The major to install.
    pub major: Option<u32>,
    /// The reason why the program rejects an existing cuDNN.
    pub mismatch: Option<ReleaseMismatch>,
    /// A file in place of the library.
    pub unfit: Option<Unfit>,
    /// A cuDNN that the loader does not find, or an entry that the loader reads differently than intended.
    pub misplaced: Option<Misplaced>,
    /// Like `misplaced`, for a program that is not running.
    pub reach: Option<Reach>,
    /// The major of a cuDNN under another name, or of one that the program does not open.
    pub other: Option<u32>,
    /// The directory of a cuDNN that the program can run with, if cudarc does not try its name.
    pub untried: Option<String>,
    /// The cuDNNs that the loader does not reach.
    pub available: Vec<FoundFile>,
    /// The places that were searched.
    pub looked_at: Vec<String>,
}

/// A cuDNN in a directory that is not searched.
pub struct Reach {
    pub file: PathBuf,
    /// The directory, as it is named on the system that runs the program.
    pub dir: String,
    pub step: ReachStep,
}

/// A step after which the loader finds a cuDNN in its directory.
#[derive(PartialEq)]
pub enum ReachStep {
    /// Search the directory.
    Search,
    /// Search the directory, also by an rpath.
    Rpath,
    /// Create the links for the SONAMEs, and search the directory.
    Links,
    /// Create the name that cudarc requests, and search the directory.
    Rename,
}

/// Returns the major to install. A requirement without an upper bound accepts a major that does not exist yet.
pub fn installable(accepted: &[u32]) -> Option<u32> {
    let mut majors = accepted.iter();
    let known = majors.find(|major| **major <= majors::NEWEST_CUDNN);
    known.or(accepted.first()).copied()
}

/// Returns the fault of a program that can open none of these names, with the loader's message about each, a file that
/// the loader skipped, or a misplaced file.
pub fn find(
    built: &Built,
    majors: &[u32],
    search_path: &SearchPath,
    (names, messages): (Vec<String>, Vec<String>),
    (unfit, misplaced): (Option<(PathBuf, Defect)>, Option<Misplaced>),
) -> MissingCudnn<'static> {
    let misplaced = misplaced.filter(|_| unfit.is_none());
    let (mut untried, mut other) = (None, None);
    if unfit.is_none() && misplaced.is_none() {
        let installed =
            |major| Some((major, search_path.program_file(&file_name::of_main(major))?));
        let mut accepted = majors.to_vec();
        accepted.retain(|major| !names.contains(&file_name::of_main(*major)));
        other = accepted.into_iter().find_map(installed);
        let dir = |(_, file): &(u32, PathBuf)| file.parent().unwrap_or(file).display().to_string();
        untried = other.as_ref().map(dir);
        // A cuDNN of a major that the program does not open, the newest first.
        let others = (majors::OLDEST_CUDNN - 1..=majors::NEWEST_CUDNN).rev();
        let mut others = others.filter(|major| !majors.contains(major));
        other = other.or_else(|| others.find_map(installed));
    }
    let (other, file) = other.unzip();
    MissingCudnn {
        is_dll: cfg!(windows),
        is_needed: true,
        cudarc: (built.loader == Loader::Cudarc).then_some(built.cudarc),
        names,
        messages,
        major: installable(majors),
        unfit: unfit.map(|(path, defect)| {
            let found_via = search_path.origin_of(&path);
            Unfit::new(path, defect, found_via)
        }),
        misplaced,
        other,
        untried,
        available: file.map(|file| (None, file)).into_iter().collect(),
        looked_at: search_path.looked_at(),
        ..MissingCudnn::default()
    }
}
