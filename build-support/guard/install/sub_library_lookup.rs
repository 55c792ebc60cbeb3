//! The files that a cuDNN opens for its sub-libraries.

use crate::runtime::binary::{Defect, Image, files_in};
use crate::runtime::facts::Version;
use crate::runtime::install::full_name;
use crate::runtime::loader::elf::candidates::HWCAPS;
use crate::runtime::loader::search_path::loaded;
use crate::runtime::loader::{SearchPath, file_name};
use crate::runtime::system;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// A main library, which opens the sub-libraries by name, and the loader's search path for them.
pub struct SubLibraryLookup<'a> {
    pub folder: &'a Path,
    /// The number in its SONAME.
    pub major: u32,
    search_path: SearchPath,
    mapped: Vec<PathBuf>,
}

impl<'a> SubLibraryLookup<'a> {
    pub fn new(main_library: &'a Path, major: u32, search_path: &SearchPath) -> Self {
        let folder = main_library.parent().unwrap_or(main_library);
        let image = Image::open(main_library).ok();
        let elf = image.as_ref().and_then(Image::as_elf);
        let own = elf.map(|elf| search_path.of_library(elf, main_library));
        Self {
            folder,
            major,
            search_path: own.unwrap_or_else(|| search_path.clone()),
            mapped: platform::mapped(),
        }
    }

    /// Returns the file that the loader finds under a name with all numbers, else the file that the process has already
    /// mapped: every library in the process uses it. From 9 on, cuDNN tries the most precise name first, and the loader
    /// searches all directories for a name before cuDNN tries the next one.
    fn before_plain_name(&self, name: &str, version: Option<Version>) -> Option<PathBuf> {
        let names = file_name::precise(name, version.filter(|_| !cfg!(windows)));
        let mut files = names.iter().filter_map(|name| self.search(name));
        // If the loader refuses the file, cuDNN tries the next name.
        files
            .find(|file| !Image::open(file).is_err_and(|defect| !defect.is_unsafe()))
            .or_else(|| self.in_process(name))
    }

    /// Returns the file that the loader finds for a sub-library of a cuDNN of this version.
    pub fn by_name(&self, name: &str, version: Option<Version>) -> Option<PathBuf> {
        let plain = file_name::of_part(name, self.major);
        let opened = self.before_plain_name(name, version);
        let found = self.search(&plain);
        // The loader searches the cache and the directories of the system last.
        let is_early = |file: &PathBuf| {
            let mut dirs = self.search_path.directories.iter();
            dirs.any(|place| !place.is_system() && file.parent() == Some(&*place.dir))
        };
        let file = opened.or_else(|| found.clone().filter(is_early));
        let file = file.or_else(|| self.for_a_level(&plain)).or(found);
        if file.is_some() {
            return file;
        }
        if cfg!(windows) {
            // Directories that the program has added are unknown. This one may be among them.
            return Some(self.folder.join(&plain)).filter(|file| system::is_file(file));
        }
        let loaded = loaded(&plain).and_then(|library| library.path());
        let file = loaded.or_else(|| self.search(&format!("libcudnn_{name}.so")));
        // An unusable file of this name is reported as such, not as a missing file.
        let here = self.folder.join(&plain);
        file.or_else(|| Defect::in_the_way(&here).map(|_| here))
    }

    /// Returns the file for a level of the CPU, in `glibc-hwcaps` of a directory that only cuDNN's own libraries search.
    /// For the other directories, a child opens the name.
    fn for_a_level(&self, file: &str) -> Option<PathBuf> {
        let places = self.search_path.directories.iter();
        let own = places.filter(|place| place.origin.is_of_library());
        let levels = own.flat_map(|place| files_in(&place.dir.join(HWCAPS)));
        // More CPUs support the lowest level than the others.
        let found = levels
            .map(|level| level.join(file))
            .filter(|file| system::is_file(file));
        found.min()
    }

    /// Returns `false` if Windows finds no file for the name of this sub-library.
    pub fn is_found(&self, name: &str) -> bool {
        let plain = file_name::of_part(name, self.major);
        !cfg!(windows) || self.in_process(name).is_some() || self.search(&plain).is_some()
    }

    /// Returns the file beside the main library, which the guard can open by its path; else the file that the loader
    /// finds. A file that cuDNN finds under a more precise name comes first, since an open file has only the plain name.
    pub fn beside_first(&self, name: &str, version: Option<Version>) -> Option<PathBuf> {
        let opened = self.before_plain_name(name, version);
        if opened.is_some() {
            return opened;
        }
        let plain = file_name::of_part(name, self.major);
        let here = self.folder.join(&plain);
        if system::is_file(&here) {
            return Some(here);
        }
        // Debian and conda also ship the plain name; an unpacked archive may contain only the full name.
        full_name(self.folder, &plain).or_else(|| self.by_name(name, version))
    }

    /// Returns the file that the process has already mapped.
    fn in_process(&self, name: &str) -> Option<PathBuf> {
        let own = Some((name.to_string(), Some(self.major)));
        let mut mapped = self.mapped.iter();
        mapped.find(|path| file_name::parse(path) == own).cloned()
    }

    /// Returns the file that the loader finds under this name.
    pub fn search(&self, name: &str) -> Option<PathBuf> {
        self.search_path.program_file(name)
    }
}
