//! A compatible cuDNN that Windows does not load, since it searches another directory first.

use crate::runtime::binary::Image;
use crate::runtime::facts::built::Built;
use crate::runtime::facts::version::Version;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::judge::rules;
use crate::runtime::loader::file_name;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// Its main library, of the same name as the one that Windows loads.
#[derive(Clone, Debug)]
pub struct LaterDll {
    /// The file.
    pub path: PathBuf,
    /// Its version.
    pub release: Version,
    /// Whether Windows loads it once PATH names its directory first.
    pub can_lead: bool,
    /// Whether Windows loads it once the directory of the loaded one does not exist.
    pub is_next: bool,
}

impl LaterDll {
    /// Creates it. `firsts`: the files that Windows would load for it and its sub-libraries if the directory of the
    /// loaded one did not exist; `is_before` returns `true` if Windows finds a file before it searches that directory.
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

    /// Returns the first complete one that the program can run with.
    pub fn find(built: &Built, taken: &Path, major: u32) -> Option<Self> {
        let search_path = &SearchPath::of_program();
        let (dir, name) = (taken.parent()?, taken.file_name()?.to_str()?);
        let is_taken = |file: &PathBuf| platform::same_file(file.parent().unwrap_or(file), dir);
        let other = |name: &str| {
            let mut files = search_path.program_files(name).into_iter();
            files.find(|file| !is_taken(file))
        };
        let files = search_path.program_files(name);
        for path in files.into_iter().skip_while(|file| !is_taken(file)) {
            if is_taken(&path) {
                continue;
            }
            let parts = SubLibraries::locate_all(&path, major, search_path, true, built);
            let Some((release, _)) = parts.release() else {
                continue;
            };
            let is_other = |part: &SubLibraryFile| part.is_other_than(release);
            let is_whole = parts.findings.is_empty() && !parts.list.iter().any(is_other);
            let can_run = rules::version(built, release).is_ok() && Image::open(&path).is_ok();
            if !is_whole || !can_run || !parts.is_together() {
                continue;
            }
            let mut firsts: Vec<PathBuf> = other(name).into_iter().collect();
            for part in &parts.list {
                firsts.extend(other(&file_name::of_part(&part.name, major)));
            }
            let is_before = |file: &Path| search_path.leads_first(file, taken);
            return Some(Self::new(path, release, &firsts, &is_before));
        }
        None
    }
}
