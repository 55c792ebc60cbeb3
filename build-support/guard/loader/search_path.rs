//! The search path of a loader: the directories that it searches, each with the reason.

use crate::runtime::binary::{Defect, Elf, files_in, is_absent};
use crate::runtime::loader::{LoadOrigin, System};
use crate::runtime::system;
use crate::runtime::system::platform;
use crate::runtime::system::platform::Library;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchDirectory {
    pub origin: LoadOrigin,
    /// The directory on this machine.
    pub dir: PathBuf,
}

impl From<LoadOrigin> for SearchDirectory {
    fn from(origin: LoadOrigin) -> Self {
        Self {
            dir: origin.folder().to_path_buf(),
            origin,
        }
    }
}

impl SearchDirectory {
    /// Returns `true` if the directory is built into the loader.
    pub fn is_system(&self) -> bool {
        matches!(self.origin, LoadOrigin::System(_))
    }
}

/// The loader's search path for a library or the program. More of its methods are in `elf` and `dll`.
#[derive(Clone, Debug, Default)]
pub struct SearchPath {
    /// The directories, in the loader's order.
    pub directories: Vec<SearchDirectory>,
    pub system: System,
    /// `true` for the libraries of a file with DF_1_NODEFLIB.
    pub nodeflib: bool,
}

impl SearchPath {
    /// Returns the directories, as they are shown to users.
    pub fn folders(&self) -> Vec<String> {
        let places = self.directories.iter();
        places
            .map(|place| place.dir.display().to_string())
            .collect()
    }

    /// Returns the places that are searched, for the evidence "searched".
    pub fn looked_at(&self) -> Vec<String> {
        let (mut lines, mut system): (Vec<String>, _) = (Vec::new(), Vec::new());
        for place in &self.directories {
            if self.system.is_windows || !place.is_system() {
                lines.push(place.origin.to_string());
            } else if !self.nodeflib && system::metadata(&place.dir).is_ok_and(|data| data.is_dir())
            {
                system.push(place.dir.display().to_string());
            }
        }
        if !self.system.is_windows {
            lines.push(self.system.cache_path().display().to_string());
        }
        lines.append(&mut system);
        let mut known = BTreeSet::new();
        lines.retain(|line| known.insert(line.clone()));
        lines
    }

    /// Returns the files that the loader tries for a name, in its order, each with the reason.
    pub fn candidates(&self, name: &str) -> Vec<(LoadOrigin, PathBuf)> {
        if !self.system.is_windows {
            return self.elf_candidates(name);
        }
        let mut files = Vec::new();
        for place in &self.directories {
            if let Some(file) = dll_in(&place.dir, name) {
                files.push((place.origin.clone(), file));
            }
        }
        files
    }

    /// Returns the reason why the loader tries this file.
    pub fn finds(&self, file: &Path) -> Option<LoadOrigin> {
        for (origin, other) in self.candidates(file.file_name()?.to_str()?) {
            if other == file {
                return Some(origin);
            }
        }
        None
    }

    /// Returns the file that the loader would take for a name that the program opens, even if it fails on it. The
    /// loader of Linux skips files that it cannot read, files for another CPU, and directories that it cannot find. If
    /// it skips all files, the first one is returned, so that a message can name it.
    pub fn program_file(&self, name: &str) -> Option<PathBuf> {
        let is_dir = |path: &Path| system::metadata(path).is_ok_and(|data| data.is_dir());
        let mut skipped = None;
        for (_, file) in self.candidates(name) {
            if self.system.is_windows {
                return Some(file);
            }
            match system::metadata(&file) {
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
        let mut files = Vec::new();
        for (_, file) in self.candidates(name) {
            if system::is_file(&file) {
                files.push(file);
            }
        }
        files
    }

    /// Returns `true` if this directory is searched before that of the origin, in an order that a user can change: the
    /// entries of LD_LIBRARY_PATH, and on Windows all directories.
    pub fn is_before(&self, folder: &Path, other: &LoadOrigin) -> bool {
        let is_ordered = |origin: &LoadOrigin| {
            self.system.is_windows || matches!(origin, LoadOrigin::LibraryPath(_))
        };
        for place in &self.directories {
            if !is_ordered(&place.origin) || !is_ordered(other) {
                continue;
            }
            if platform::same_file(&place.dir, folder) {
                return true;
            }
            if place.origin == *other {
                return false;
            }
        }
        false
    }

    /// Returns the search path for what a library with these directories of its own opens, in the order of ld.so(8):
    /// RPATH of the library and of those that opened it, LD_LIBRARY_PATH, RUNPATH of the library, the system. `own_first`
    /// stands for a library without a RUNPATH.
    pub fn with_own(&self, mut own: Vec<SearchDirectory>, own_first: bool) -> Self {
        // A RUNPATH only applies to libraries that its owner opens, and disables the RPATHs of all others.
        let (mut directories, mut system) = (Vec::new(), Vec::new());
        for place in &self.directories {
            match place.origin {
                LoadOrigin::System(_) if !self.system.is_windows => system.push(place.clone()),
                LoadOrigin::Runpath(..) => {}
                LoadOrigin::Rpath(..) if !own_first => {}
                _ => directories.push(place.clone()),
            }
        }
        if own_first {
            own.append(&mut directories);
        }
        directories.append(&mut own);
        directories.append(&mut system);
        Self {
            directories,
            system: self.system.clone(),
            nodeflib: false,
        }
    }

    /// Returns a directory that is searched for every library: that of this file, else the first that exists.
    pub fn directory_for(&self, file: &Path) -> Option<&Path> {
        let mut first = None;
        for SearchDirectory { origin, dir } in &self.directories {
            match origin {
                LoadOrigin::Rpath(_, None) | LoadOrigin::Runpath(_, None) => {}
                _ if Some(&**dir) == file.parent() => return Some(dir),
                _ if first.is_none() && system::is_there(dir) => first = Some(&**dir),
                _ => {}
            }
        }
        first
    }

    /// Returns `true` if the directory of one file is searched before the directory of the other.
    pub fn is_searched_first(&self, file: &Path, other: &Path) -> bool {
        let is_in = |file: &Path, place: &SearchDirectory| {
            let dir = file.parent();
            dir.is_some_and(|dir| platform::same_file(dir, &place.dir))
        };
        let mut places = self.directories.iter();
        let first = places.find(|place| is_in(file, place) || is_in(other, place));
        first.is_some_and(|place| is_in(file, place))
    }
}

/// Returns the library of this name, if it is already loaded. The loader opens the file that it finds for another name,
/// to read its SONAME.
pub fn loaded(name: &str) -> Option<Library> {
    let is_named = |path: &PathBuf| path.file_name() == Some(name.as_ref());
    if is_pipe(name) && !platform::mapped().iter().any(is_named) {
        return None;
    }
    Library::loaded(name)
}

/// Returns `true` if the loader finds a pipe or the like for a name: opening it may wait forever for a writer.
pub fn is_pipe(name: &str) -> bool {
    let file = SearchPath::of_program().program_file(name);
    file.is_some_and(|file| Defect::in_the_way(&file) == Some(Defect::Special))
}

/// Returns the DLL of a name in a directory. Windows ignores case, also for files on a case-sensitive system.
pub fn dll_in(dir: &Path, name: &str) -> Option<PathBuf> {
    let file = dir.join(name);
    if cfg!(windows) || system::is_file(&file) {
        return system::is_file(&file).then_some(file);
    }
    let is_named = |file: &PathBuf| {
        let own = file.file_name().unwrap_or_default();
        own.eq_ignore_ascii_case(name) && system::is_file(file)
    };
    files_in(dir).into_iter().find(is_named)
}
