//! The search path of the loader of Linux in this process.

use crate::runtime::binary::defect::is_absent;
use crate::runtime::binary::elf::Elf;
use crate::runtime::loader::elf::search_list::directories;
use crate::runtime::loader::search_path::{LoadOrigin, SearchDirectory, SearchPath};
use crate::runtime::loader::system::System;
use crate::runtime::system;
use crate::runtime::system::platform;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

impl SearchPath {
    /// Returns the search path of the program, as the loader reports it.
    pub fn of_program() -> Self {
        let (rpath, runpath) = platform::program_paths();
        let library_path = platform::first_environment("LD_LIBRARY_PATH");
        Self::new(&platform::search_path(), rpath, library_path, runpath)
    }

    /// Determines the origins of the directories, which the loader reports in its order (RPATH, LD_LIBRARY_PATH,
    /// RUNPATH, its own). `dlinfo(3)` has flags for the origin, but glibc leaves them at 0.
    pub fn new(
        folders: &[PathBuf],
        rpath: Option<OsString>,
        library_path: Option<OsString>,
        runpath: Option<OsString>,
    ) -> Self {
        // A DT_RUNPATH disables a DT_RPATH.
        let rpath = if runpath.is_some() { None } else { rpath };
        let program = std::env::current_exe().unwrap_or_default();
        let entries = |list: Option<OsString>, separators: &str| -> BTreeSet<OsString> {
            let list = list.as_ref().map(|list| list.as_encoded_bytes());
            let entries = list.map(|list| directories(list, separators.as_bytes(), &program));
            let entries = entries.unwrap_or_default().into_iter();
            entries
                .map(|entry| as_reported(entry).into_os_string())
                .collect()
        };
        let named = [
            (entries(rpath, ":"), LoadOrigin::Rpath as fn(_) -> _),
            (entries(library_path, ":;"), LoadOrigin::LibraryPath),
            (entries(runpath, ":"), LoadOrigin::Runpath),
        ];
        // The current list, and the directories in it so far. Directories are compared as text, like the loader does.
        let (mut stage, mut own) = (0, BTreeSet::new());
        let mut directories: Vec<SearchDirectory> = Vec::new();
        for folder in folders {
            let name = folder.as_os_str();
            let mut origin = LoadOrigin::System as fn(_) -> _;
            // The loader drops repeated entries of a list, so a repeated directory is in a later list.
            let first = stage + usize::from(own.contains(name));
            for (at, (list, named)) in named.iter().enumerate().skip(first) {
                if list.contains(name) {
                    if at > stage {
                        (stage, own) = (at, BTreeSet::new());
                    }
                    origin = *named;
                    break;
                }
            }
            own.insert(name);
            directories.push(SearchDirectory::from(origin(folder.clone())));
        }
        Self {
            directories,
            system: System::this(),
        }
    }

    /// Returns the file that the loader would use for a name that the program opens. The loader skips files that it
    /// cannot read, files for another CPU, and directories that it cannot find. If it skips all files, the first one is
    /// returned, so that a message can name it.
    pub fn program_file(&self, name: &str) -> Option<PathBuf> {
        let is_dir = |path: &Path| platform::metadata(path).is_ok_and(|data| data.is_dir());
        let mut skipped = None;
        for (_, file) in self.candidates(name) {
            match platform::metadata(&file) {
                Ok(data) if data.is_dir() => continue,
                Err(error) if is_absent(&error) || !file.parent().is_some_and(is_dir) => continue,
                // The loader ends its search at a file that cannot be read now.
                _ => {}
            }
            match Elf::open(&file) {
                Err(defect) if defect.is_passed_over() => skipped = skipped.or(Some(file)),
                _ => return Some(file),
            }
        }
        skipped
    }

    /// Returns all files of that name on the search path.
    pub fn program_files(&self, name: &str) -> Vec<PathBuf> {
        let candidates = self.candidates(name).into_iter();
        let files = candidates.map(|(_, file)| file);
        files.filter(|file| system::is_file(file)).collect()
    }
}

/// Returns an entry of a search path as the loader reports it: without slashes at its end, and `.` if it is empty.
fn as_reported(entry: PathBuf) -> PathBuf {
    let mut bytes = entry.into_os_string().into_encoded_bytes();
    while bytes.len() > 1 && bytes.ends_with(b"/") {
        bytes.pop();
    }
    if bytes.is_empty() {
        bytes.push(b'.');
    }
    platform::path_of(bytes)
}
