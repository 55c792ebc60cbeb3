//! The search path of the loader of Linux in this process.

use crate::runtime::binary::Defect;
use crate::runtime::loader::elf::candidates::{hwcaps_level, unlinked};
use crate::runtime::loader::elf::search_list::normalized;
use crate::runtime::loader::{LoadOrigin, SearchDirectory, SearchPath, System, ld_so_conf, opener};
use crate::runtime::system::{path_cache, platform};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

impl SearchPath {
    /// Returns the search path of the program, as the loader reports it.
    pub fn of_program() -> Self {
        path_cache::once("search path", Path::new(""), || {
            let (rpath, runpath) = platform::program_paths();
            let library_path = platform::first_environment("LD_LIBRARY_PATH");
            Self::new(&platform::search_path(), rpath, library_path, runpath)
        })
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
        let system = System::of_process(&program);
        let home = program.parent().unwrap_or(&program);
        // The entries as the loader reports them. It drops repeated entries of a list.
        let mut entries = Vec::new();
        for (list, separators, origin) in [
            (
                rpath,
                ":",
                (|dir| LoadOrigin::Rpath(dir, None)) as fn(_) -> _,
            ),
            (library_path, ":;", LoadOrigin::LibraryPath),
            (runpath, ":", |dir| LoadOrigin::Runpath(dir, None)),
        ] {
            let (list, mut known) = (list.unwrap_or_default(), BTreeSet::new());
            let (list, separators) = (list.as_encoded_bytes(), separators.as_bytes());
            for place in system.listed(list, separators, home, &origin) {
                let name = as_reported(place.dir);
                if known.insert(name.clone()) {
                    entries.push((name, origin));
                }
            }
        }
        let mut left = entries.iter();
        let mut directories: Vec<SearchDirectory> = Vec::new();
        for folder in folders {
            // Directories are compared as text, like the loader does.
            let mut after = left.clone();
            let origin = match after.find(|(name, _)| *name == folder.as_os_str()) {
                Some((_, origin)) => {
                    left = after;
                    *origin
                }
                None => LoadOrigin::System,
            };
            directories.push(origin(folder.clone()).into());
        }
        Self {
            directories,
            system,
            nodeflib: false,
        }
    }

    /// Returns the reason why the loader used this file.
    pub fn origin_of(&self, file: &Path) -> LoadOrigin {
        let name = file.file_name().unwrap_or_default();
        let hit = self.directories.iter().find(|place| {
            let candidate = place.dir.join(name);
            candidate == file
                || hwcaps_level(file).is_some() && file.ancestors().nth(3) == Some(&*place.dir)
                || platform::same_file(&candidate, file)
        });
        let preload = platform::first_environment("LD_PRELOAD").unwrap_or_default();
        let preloads = self.system.preloads(&preload.to_string_lossy());
        let mut preloaded = preloads.iter();
        if let Some((_, origin)) = preloaded.find(|(name, _)| Path::new(name) == file) {
            return origin.clone();
        }
        let mut places = self.directories.iter();
        let in_system = places.any(|place| place.is_system() && file.parent() == Some(&*place.dir));
        let is_cached = || {
            let cached = self.system.cached(&name.to_string_lossy());
            cached.iter().any(|one| one == file)
        };
        match hit {
            // The cache is searched before the system's directories, and also names the files in them.
            Some(place) if !place.is_system() => place.origin.clone(),
            _ if !in_system && is_cached() => {
                ld_so_conf::origin(self.system.cache_origin(), file, &self.system)
            }
            Some(place) => place.origin.clone(),
            None => {
                let opened =
                    || opener::find(file, &self.system, &preloads).map(LoadOrigin::Library);
                let origin = self.relative(file).or_else(opened);
                origin.unwrap_or(LoadOrigin::Elsewhere)
            }
        }
    }

    /// Returns the relative entry by which the loader found a file before the program changed its working directory.
    fn relative(&self, file: &Path) -> Option<LoadOrigin> {
        let name = file.file_name()?;
        let is_it = |place: &&SearchDirectory| {
            let dir = normalized(&place.dir);
            dir.is_relative() && dir.iter().count() > 0 && file.ends_with(dir.join(name))
        };
        Some(self.directories.iter().find(is_it)?.origin.clone())
    }

    /// Returns the first entry of this name on the search path that is not a usable file. A directory that cannot be
    /// entered comes last, since its contents are unknown.
    pub fn obstacle(&self, name: &str) -> Option<(PathBuf, Defect)> {
        let (mut closed, mut without_link) = (None, None);
        for place in &self.directories {
            let file = place.dir.join(name);
            match Defect::in_the_way(&file) {
                None if without_link.is_none() => without_link = unlinked(&place.dir, name),
                None => {}
                Some(defect @ Defect::Closed(_)) => closed = closed.or(Some((file, defect))),
                Some(defect) => return Some((file, defect)),
            }
        }
        without_link.or(closed)
    }
}

/// Returns an entry of a search path as the loader reports it: without slashes at its end.
fn as_reported(entry: PathBuf) -> OsString {
    let mut bytes = entry.into_os_string().into_encoded_bytes();
    while bytes.len() > 1 && bytes.ends_with(b"/") {
        bytes.pop();
    }
    platform::path_of(bytes).into_os_string()
}
