//! The files in the place of a missing library.

use crate::cudnn::named_major;
use crate::model::{Obstacle, Platform};
use crate::runtime::binary::Defect;
use crate::runtime::facts::{cudnn_file, majors, sub_libraries};
use crate::runtime::install::full_name;
use crate::system::{Sysroot, files};
use crate::toolkit::archives;
use std::path::PathBuf;

/// Returns the reason why the file in the library's place cannot be used, and the library's real file if it exists. An
/// upgrade or a copy of only the links leaves dangling links. A copy of only the files has no links. The library itself
/// may also be missing.
pub(super) fn obstacle(
    places: &[PathBuf],
    major: Option<u32>,
    sysroot: Sysroot,
    platform: &Platform,
) -> (Option<Obstacle>, Option<PathBuf>) {
    let majors = major.map_or(majors::CUDNN.to_vec(), |major| vec![major]);
    let mut names = Vec::new();
    for major in majors {
        names.push(platform.cudnn_library(major));
    }
    names.push("libcudnn.so".to_string());
    let in_the_way = |path: PathBuf| {
        let defect = Defect::Directory;
        match sysroot.obstacle(&path) {
            None if files::is_dir(&path) => Some(Obstacle { path, defect }),
            met => met,
        }
    };
    let named = |place: &PathBuf| names.iter().find_map(|name| in_the_way(place.join(name)));
    let met = places.iter().find_map(named);
    let dirs = match &met {
        Some(met) => vec![met.dir().to_path_buf()],
        // A directory such as /usr/lib64 has many files. It is listed only if the headers show that something is
        // missing.
        None if major.is_some() => places.to_vec(),
        None => Vec::new(),
    };
    let unlinked = dirs.iter().find_map(|dir| {
        let dir = sysroot.dir(dir)?;
        let versioned = names.iter().filter(|name| !name.ends_with(".so"));
        let mut files = versioned.filter_map(|name| full_name(&dir, name));
        files.find(|file| sysroot.file(file).is_some())
    });
    let without_link = || {
        let path = unlinked.clone()?;
        let major = named_major(&path)?;
        let defect = Defect::Unlinked(platform.cudnn_library(major));
        Some(Obstacle { path, defect })
    };
    let incomplete = || {
        let major = major?;
        let parts = sub_libraries::of_major(major);
        let sub_library = |dir: &PathBuf| {
            let file = |name| sysroot.file(&dir.join(cudnn_file(name, major, false)));
            parts.iter().find_map(|part| file(part.name))
        };
        let path = dirs.iter().find_map(sub_library)?;
        let defect = Defect::Alone(platform.cudnn_library(major));
        Some(Obstacle { path, defect })
    };
    (met.or_else(without_link).or_else(incomplete), unlinked)
}

/// Returns the directory that contains the archives of a cuDNN without a shared library. Otherwise they are beside the
/// library.
pub(super) fn archives(
    places: &[PathBuf],
    major: Option<u32>,
    sysroot: Sysroot,
) -> Option<PathBuf> {
    let major = major?;
    let mut names = archives::cudnn_in_one(major);
    for archive in archives::cudnn(major) {
        if archive.needed {
            names.extend(archive.names);
        }
    }
    let has_archive = |dir: &PathBuf| {
        let is_archive = |name| files::is_file(&dir.join(format!("lib{name}.a")));
        names.iter().any(is_archive)
    };
    let mut dirs = places.iter().filter_map(|place| sysroot.dir(place));
    dirs.find(has_archive)
}
