//! The files that the loader of Linux tries for a name: in this process, or on a system that is only inspected.

use crate::runtime::binary::{Defect, Elf, files_named, ld_so_cache};
use crate::runtime::loader::{LoadOrigin, SearchDirectory, SearchPath, System};
use crate::runtime::system::path_cache;
use std::path::{Path, PathBuf};

/// The directory of the library variants for more capable CPUs.
pub const HWCAPS: &str = "glibc-hwcaps";

impl System {
    /// Returns the files that the loader tries for a file in a searched directory.
    pub fn variants(&self, file: &Path) -> Vec<PathBuf> {
        let (mut variants, hwcaps) = (Vec::new(), file.with_file_name(HWCAPS));
        for level in self.levels.as_deref().unwrap_or(&[None]) {
            variants.push(match (level, file.file_name()) {
                (Some(level), Some(name)) => hwcaps.join(level).join(name),
                _ => file.to_path_buf(),
            });
        }
        variants
    }

    /// Returns these files of the cache in the order in which the CPU's loader prefers them.
    pub fn preferred(&self, files: Vec<PathBuf>) -> Vec<PathBuf> {
        let Some(levels) = &self.levels else {
            return files;
        };
        let mut preferred = Vec::new();
        for level in levels {
            for file in &files {
                if hwcaps_level(file) == *level {
                    preferred.push(file.clone());
                }
            }
        }
        preferred
    }

    /// Returns the files of a name in the cache.
    pub fn cached(&self, name: &str) -> Vec<PathBuf> {
        // The cache lists cuDNN by its SONAMEs, which end in the major, so it is not read for other names.
        let numbers = name.strip_prefix("libcudnn");
        let numbers = numbers.and_then(|rest| rest.split_once(".so."));
        if self.levels.is_none() && numbers.is_some_and(|(_, numbers)| numbers.contains('.')) {
            return Vec::new();
        }
        let mut files = Vec::new();
        if let Some(dirs) = &self.configured {
            for dir in dirs {
                files.append(&mut self.variants(&dir.join(name)));
            }
            return files;
        }
        if let Some(cache) = self.cache() {
            for file in ld_so_cache::files(&cache, name) {
                files.push(self.path(&file));
            }
        }
        self.preferred(files)
    }
}

/// Returns the level of the CPU in whose subdirectory this file is.
pub fn hwcaps_level(file: &Path) -> Option<&str> {
    let dir = file.parent()?;
    (dir.parent()?.file_name()? == HWCAPS).then_some(dir.file_name()?.to_str()?)
}

impl SearchPath {
    /// Returns the files that the loader of Linux tries for a name: those in the configured directories, in the cache,
    /// and in the system's directories.
    pub fn elf_candidates(&self, name: &str) -> Vec<(LoadOrigin, PathBuf)> {
        let (mut files, mut system) = (Vec::new(), Vec::new());
        for place in &self.directories {
            let files = if place.is_system() {
                &mut system
            } else {
                &mut files
            };
            for file in self.system.variants(&place.dir.join(name)) {
                files.push((place.origin.clone(), file));
            }
        }
        for file in self.system.cached(name) {
            let mut places = self.directories.iter();
            let is_of_system =
                |place: &SearchDirectory| place.is_system() && file.starts_with(&place.dir);
            if !self.nodeflib || !places.any(is_of_system) {
                files.push((self.system.cache_origin(), file));
            }
        }
        if !self.nodeflib {
            files.append(&mut system);
        }
        files
    }
}

/// Tries a file for a program with this CPU. `real` is the regular file at the path, if there is one.
///
/// The loader continues with the next directory if nothing exists at the path (`None`), or if
/// [`is_passed_over`](Defect::is_passed_over) is `true` for the defect: a broken link, a file for another CPU, or a
/// file that cannot be opened. It takes every other file, also a damaged or empty one or a directory, and fails on it.
/// A pipe or a device is never opened here.
#[cfg(feature = "build")]
pub fn try_file(
    path: &Path,
    real: Option<&Path>,
    root: Option<&Path>,
    cpu: &str,
) -> Option<Result<Elf, Defect>> {
    match real {
        Some(real) => Some(Elf::open_for(real, cpu)),
        None => Defect::below(path, root).map(Err),
    }
}

/// Returns a library in this directory that has this SONAME but other file names: `ldconfig` was not run for it.
pub fn unlinked(dir: &Path, soname: &str) -> Option<(PathBuf, Defect)> {
    path_cache::once("unlinked", &dir.join(soname), || {
        let stem = soname.split(['.', '-', '_']).next()?;
        for file in files_named(dir, stem).into_iter().rev() {
            if file
                .file_name()?
                .to_str()
                .is_some_and(|name| name.contains(".so"))
            {
                // A link to the toolkit's stub would hide the driver.
                let own = Elf::open(&file).ok().filter(|elf| !elf.is_driver_stub());
                if own.and_then(|elf| elf.soname()).as_deref() == Some(soname) {
                    return Some((file, Defect::Unlinked(soname.to_string())));
                }
            }
        }
        None
    })
}
