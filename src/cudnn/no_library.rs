//! The files in the place of a missing library.

use crate::model::{Obstacle, Platform};
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::{LibraryName, cudnn_file, majors, sub_libraries};
use crate::system::files;
use crate::system::sysroot::Sysroot;
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
    let met = in_the_way(places, &names, sysroot);
    let dirs = match &met {
        Some(met) => vec![met.dir().to_path_buf()],
        // A directory such as /usr/lib64 has many files. It is listed only if the headers show that something is
        // missing.
        None if major.is_some() => places.to_vec(),
        None => Vec::new(),
    };
    let unlinked = with_longer_name(&dirs, &names, sysroot);
    let without_link = || {
        let path = unlinked.clone()?;
        let major = LibraryName::of(&path)?.major()?;
        let defect = Defect::Unlinked(platform.cudnn_library(major));
        Some(Obstacle { path, defect })
    };
    let incomplete = || {
        let path = sub_library(&dirs, major?, sysroot)?;
        let defect = Defect::Alone(platform.cudnn_library(major?));
        Some(Obstacle { path, defect })
    };
    (met.or_else(without_link).or_else(incomplete), unlinked)
}

/// Returns the first file of these names that exists but cannot be used.
fn in_the_way(places: &[PathBuf], names: &[String], sysroot: Sysroot) -> Option<Obstacle> {
    for place in places {
        for name in names {
            let path = place.join(name);
            let obstacle = sysroot.obstacle(&path);
            if obstacle.is_some() {
                return obstacle;
            }
            if files::is_dir(&path) {
                let defect = Defect::Directory;
                return Some(Obstacle { path, defect });
            }
        }
    }
    None
}

/// Returns a file whose name is one of these with a longer version: `libcudnn.so.9.14.0` for `libcudnn.so.9`.
fn with_longer_name(dirs: &[PathBuf], names: &[String], sysroot: Sysroot) -> Option<PathBuf> {
    let is_longer = |file: &str, name: &String| {
        let rest = file.strip_prefix(name.as_str());
        !name.ends_with(".so") && rest.is_some_and(|rest| rest.starts_with('.'))
    };
    let is_match = |file: &str| names.iter().any(|name| is_longer(file, name));
    for dir in dirs {
        let dir = sysroot.dir(dir).unwrap_or_default();
        let mut found = files::list_named(&dir, &is_match).unwrap_or_default();
        while let Some(file) = found.pop() {
            if sysroot.file(&file).is_some() {
                return Some(file);
            }
        }
    }
    None
}

/// Returns the first sub-library of this major.
fn sub_library(dirs: &[PathBuf], major: u32, sysroot: Sysroot) -> Option<PathBuf> {
    for dir in dirs {
        for part in sub_libraries::of_major(major) {
            let found = sysroot.file(&dir.join(cudnn_file(part.name, major, false)));
            if found.is_some() {
                return found;
            }
        }
    }
    None
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
    for place in places {
        let dir = sysroot.dir(place);
        if dir.as_ref().is_some_and(has_archive) {
            return dir;
        }
    }
    None
}
