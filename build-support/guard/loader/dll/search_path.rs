//! The search path of Windows for a DLL that is opened by its name.
//! <https://learn.microsoft.com/windows/win32/dlls/dynamic-link-library-search-order>

use crate::runtime::binary::{Defect, Image};
use crate::runtime::loader::{LoadOrigin, SearchDirectory, SearchPath};
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

impl SearchPath {
    /// Returns the search path of this process, as Windows reports it.
    pub fn of_program() -> Self {
        let mut path = Self::usual();
        let Some(list) = platform::dll_search_path() else {
            return path;
        };
        let usual = &mut path.directories;
        let system = platform::system_folders();
        let mut directories = Vec::new();
        let entries = list.as_encoded_bytes().split(|byte| *byte == b';');
        for entry in entries.filter(|entry| !entry.is_empty()) {
            let dir = match entry {
                b"." => std::env::current_dir().unwrap_or_default(),
                _ => plain(&platform::path_of(entry.to_vec())),
            };
            // The directories of PATH follow those of Windows.
            let is_after_system = directories.iter().any(SearchDirectory::is_system);
            let known = usual.iter().position(|place| {
                let is_of_path = matches!(place.origin, LoadOrigin::LibraryPath(_));
                is_same(&place.dir, &dir) && (is_after_system || !is_of_path)
            });
            if let Some(known) = known {
                directories.push(usual.remove(known));
            } else if !system.iter().any(|one| is_same(&one.join("system"), &dir)) {
                // The directory of 16-bit programs contains no DLL for this one.
                directories.push(LoadOrigin::AddedDirectory(dir).into());
            }
        }
        path.directories = directories;
        path
    }

    /// Returns the search path of a process that does not change it.
    fn usual() -> Self {
        let mut path = Self::default();
        path.system.is_windows = true;
        let mut add = |origin: LoadOrigin| path.directories.push(origin.into());
        let program = std::env::current_exe().unwrap_or_default();
        if let Some(own) = program.parent() {
            add(LoadOrigin::Application(own.to_path_buf()));
        }
        let set = platform::dll_directory();
        let replaces_current = set.is_some();
        if let Some(dir) = set {
            add(LoadOrigin::DllDirectory(dir));
        }
        for dir in platform::system_folders() {
            add(LoadOrigin::System(dir));
        }
        if let (Ok(dir), false) = (std::env::current_dir(), replaces_current) {
            add(LoadOrigin::WorkingDirectory(dir));
        }
        let list = platform::first_environment(platform::LIBRARY_PATH).unwrap_or_default();
        // `std::env::split_paths` removes quotation marks, but the loader does not.
        for entry in list.as_encoded_bytes().split(|byte| *byte == b';') {
            if !entry.is_empty() {
                let dir = plain(&platform::path_of(entry.to_vec()));
                add(LoadOrigin::LibraryPath(dir));
            }
        }
        path
    }

    /// Returns the reason why the loader used this file.
    pub fn origin_of(&self, file: &Path) -> LoadOrigin {
        let dir = file.parent().unwrap_or(file);
        let is_it = |place: &&SearchDirectory| platform::same_file(&place.dir, dir);
        let found = self.directories.iter().find(is_it);
        found.map_or(LoadOrigin::Elsewhere, |place| place.origin.clone())
    }

    /// Returns the file that the loader uses for a name, if the program cannot load it.
    pub fn obstacle(&self, name: &str) -> Option<(PathBuf, Defect)> {
        let file = self.program_file(name)?;
        let defect = Image::open(&file).err()?;
        Some((file, defect))
    }
}

/// Returns a path with backslashes only, without one at the end.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Returns `true` if both are the same text, ignoring case.
fn is_same(one: &Path, other: &Path) -> bool {
    let (one, other) = (plain(one), plain(other));
    one.as_os_str().eq_ignore_ascii_case(other.as_os_str())
}
