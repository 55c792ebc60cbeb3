//! The reason why the loader of Linux used a file of this process, or used none.

use crate::runtime::binary::defect::Defect;
use crate::runtime::loader::elf::candidates::hwcaps_level;
use crate::runtime::loader::elf::search_list::preloads;
use crate::runtime::loader::load_origin::PRELOADS;
use crate::runtime::loader::search_path::{LoadOrigin, SearchDirectory, SearchPath};
use crate::runtime::loader::{opener, unlinked};
use crate::runtime::system::platform;
use std::path::{Component, Path, PathBuf};

impl SearchPath {
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
        let preload = preload.to_string_lossy();
        let is_it = |one: &str| Path::new(one) == file;
        if preload.split([':', ' ']).any(is_it) {
            return LoadOrigin::Preload;
        }
        let everywhere = std::fs::read_to_string(PRELOADS).unwrap_or_default();
        if preloads(&everywhere).into_iter().any(is_it) {
            return LoadOrigin::Preloads;
        }
        let mut places = self.directories.iter();
        let in_system = places.any(|place| place.is_system() && file.parent() == Some(&*place.dir));
        let is_cached = || {
            let files = name.to_str().map(|name| self.system.cached(name));
            files.is_some_and(|files| files.iter().any(|one| one == file))
        };
        match hit {
            // The cache is searched before the system's directories, and also names the files in them.
            Some(place) if !place.is_system() => place.origin.clone(),
            _ if !in_system && is_cached() => LoadOrigin::Cache,
            Some(place) => place.origin.clone(),
            None => {
                let opened = || opener::find(file).map(LoadOrigin::Library);
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
        let (mut closed, mut unlinked) = (None, None);
        for place in &self.directories {
            let file = place.dir.join(name);
            match Defect::in_the_way(&file) {
                None if unlinked.is_none() => unlinked = unlinked::find(&place.dir, name),
                None => {}
                Some(defect @ Defect::Closed(_)) => closed = closed.or(Some((file, defect))),
                Some(defect) => return Some((file, defect)),
            }
        }
        unlinked.or(closed)
    }
}

/// Returns a directory without the slash at its end. The working directory is empty.
fn normalized(dir: &Path) -> PathBuf {
    let components = dir.components();
    components.filter(|one| *one != Component::CurDir).collect()
}
