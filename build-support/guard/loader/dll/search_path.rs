//! The search path of Windows for a DLL that is opened by its name.
//! <https://learn.microsoft.com/windows/win32/dlls/dynamic-link-library-search-order>

use crate::runtime::binary::Image;
use crate::runtime::binary::defect::Defect;
use crate::runtime::loader::search_path::{LoadOrigin, SearchDirectory, SearchPath};
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

impl SearchPath {
    /// Returns the search path of this process. Windows does not report directories from `SetDefaultDllDirectories`.
    pub fn of_program() -> Self {
        let program = std::env::current_exe().unwrap_or_default();
        let mut own = Vec::new();
        own.extend(program.parent().map(Path::to_path_buf));
        let path = platform::first_environment(platform::LIBRARY_PATH).unwrap_or_default();
        let mut named = Vec::new();
        // `std::env::split_paths` removes quotation marks, but the loader does not.
        for entry in path.as_encoded_bytes().split(|byte| *byte == b';') {
            if !entry.is_empty() {
                named.push(platform::path_of(entry.to_vec()));
            }
        }
        let set = platform::dll_directory();
        let current = match &set {
            Some(_) => None,
            None => std::env::current_dir().ok(),
        };
        let mut directories = Vec::new();
        let with = [
            (own, LoadOrigin::Application as fn(PathBuf) -> LoadOrigin),
            (set.into_iter().collect(), LoadOrigin::DllDirectory),
            (platform::system_folders(), LoadOrigin::System),
            (current.into_iter().collect(), LoadOrigin::WorkingDirectory),
            (named, LoadOrigin::LibraryPath),
        ];
        for (list, origin) in with {
            let origins = list.into_iter().map(origin);
            directories.extend(origins.map(SearchDirectory::from));
        }
        Self { directories }
    }

    /// Returns the reason why the loader used this file.
    pub fn to(&self, file: &Path) -> LoadOrigin {
        let dir = file.parent().unwrap_or(file);
        let is_it = |place: &&SearchDirectory| platform::same_file(&place.dir, dir);
        let found = self.directories.iter().find(is_it);
        found.map_or(LoadOrigin::Elsewhere, |place| place.origin.clone())
    }

    /// Returns the file that the loader uses for a name. A DLL has no directories of its own.
    pub fn resolve(&self, name: &str, _own: &[PathBuf], _own_first: bool) -> Option<PathBuf> {
        self.program_file(name)
    }

    /// Returns the file that the loader uses for a name: the first file, even if it is damaged.
    pub fn program_file(&self, name: &str) -> Option<PathBuf> {
        self.program_files(name).into_iter().next()
    }

    /// Returns all files of that name on the search path.
    pub fn program_files(&self, name: &str) -> Vec<PathBuf> {
        let places = self.directories.iter();
        let mut files: Vec<_> = places.map(|place| place.dir.join(name)).collect();
        files.retain(|file| file.is_file());
        files
    }

    /// Returns the file that the loader uses for a name, if the program cannot load it.
    pub fn obstacle(&self, name: &str) -> Option<(PathBuf, Defect)> {
        let file = self.program_file(name)?;
        let defect = Image::open(&file).err()?;
        Some((file, defect))
    }

    /// Returns the directories, for the evidence "looked at".
    pub fn looked_at(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for place in &self.directories {
            let line = place.origin.to_string();
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}
