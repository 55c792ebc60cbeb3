//! A compatible cuDNN that Windows does not load because it searches another directory first.

use crate::runtime::binary::Image;
use crate::runtime::facts::built::Built;
use crate::runtime::facts::version::Version;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::judge::program_rules;
use crate::runtime::loader::file_name;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// The main library of a later cuDNN, with the same file name as the loaded one.
#[derive(Clone, Debug)]
pub struct LaterDll {
    pub path: PathBuf,
    pub release: Version,
    /// `true` if Windows loads it when PATH names its directory first.
    pub can_lead: bool,
    /// `true` if Windows loads it when the directory of the loaded cuDNN does not exist.
    pub is_next: bool,
}

impl LaterDll {
    /// Creates a `LaterDll`. `firsts`: the files that Windows would load for it and its sub-libraries if the directory
    /// of the loaded cuDNN did not exist. `is_before` returns `true` if Windows finds a file before it searches that
    /// directory.
    pub fn new(
        path: PathBuf,
        release: Version,
        firsts: &[PathBuf],
        is_before: &dyn Fn(&Path) -> bool,
    ) -> Self {
        Self {
            can_lead: !firsts.iter().any(|file| is_before(file)),
            is_next: firsts.iter().all(|file| file.parent() == path.parent()),
            path,
            release,
        }
    }

    /// Returns the first complete cuDNN after the loaded one that the program can run with.
    pub fn find(built: &Built, loaded: &Path, major: u32) -> Option<Self> {
        let search_path = &SearchPath::of_program();
        let (dir, name) = (loaded.parent()?, loaded.file_name()?.to_str()?);
        let is_loaded = |file: &PathBuf| platform::same_file(file.parent().unwrap_or(file), dir);
        let other = |name: &str| {
            let mut files = search_path.program_files(name).into_iter();
            files.find(|file| !is_loaded(file))
        };
        let files = search_path.program_files(name);
        for path in files.into_iter().skip_while(|file| !is_loaded(file)) {
            if is_loaded(&path) {
                continue;
            }
            let parts = SubLibraries::locate_all(&path, major, search_path, true, built);
            let Some((release, _)) = parts.release() else {
                continue;
            };
            let is_other = |part: &SubLibraryFile| part.is_other_than(release);
            let is_complete = parts.findings.is_empty() && !parts.list.iter().any(is_other);
            let can_run =
                program_rules::version(built, release).is_ok() && Image::open(&path).is_ok();
            if !is_complete || !can_run || !parts.is_together() {
                continue;
            }
            let mut firsts: Vec<PathBuf> = other(name).into_iter().collect();
            for part in &parts.list {
                firsts.extend(other(&file_name::of_part(&part.name, major)));
            }
            let is_before = |file: &Path| search_path.is_searched_first(file, loaded);
            return Some(Self::new(path, release, &firsts, &is_before));
        }
        None
    }
}
