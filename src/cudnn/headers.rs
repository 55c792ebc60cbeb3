//! The header of a cuDNN that tells its release.

use crate::model::text::version_header;
use crate::runtime::facts::version::Version;
use crate::system::files;
use crate::system::sysroot::Sysroot;
use std::path::{Path, PathBuf};

/// What may tell the release, what does so today first.
const HEADERS: [&str; 4] = [
    "cudnn_version.h",
    "cudnn_version_v9.h",
    "cudnn_version_v8.h",
    "cudnn.h",
];

/// More than cuDNN has.
const MOST_HEADERS: usize = 40;

/// The header that tells the release, in this directory or in the one that its `cudnn.h` leads to.
pub(super) fn header_in(dir: &Path, sysroot: Sysroot) -> Option<(Version, PathBuf)> {
    telling_header(dir, sysroot).or_else(|| {
        let text = files::read_start(&sysroot.file(&dir.join("cudnn.h"))?, 1 << 16).ok()?;
        let mut named = version_header::included_by_path(&text).into_iter();
        named.find_map(|path| telling_header(&sysroot.canonical(dir.join(path).parent()?), sysroot))
    })
}

/// `cudnn.h` itself tells the release up to cuDNN 7.
fn telling_header(dir: &Path, sysroot: Sysroot) -> Option<(Version, PathBuf)> {
    HEADERS.iter().find_map(|name| {
        let header = sysroot.file(&dir.join(name))?;
        let version = version_header::cudnn(&files::read(&header).ok()?)?;
        Some((version, header))
    })
}

/// The first header of cuDNN that this one or one that it includes asks for and that is not there, behind the one that
/// asks. A compiler looks beside that one, then in the directories that it is given.
pub(super) fn missing_include(
    first: &Path,
    dirs: &[PathBuf],
    sysroot: Sysroot,
) -> Option<(PathBuf, String)> {
    let mut left = vec![sysroot.file(first)?];
    let mut seen: Vec<PathBuf> = Vec::new();
    while let Some(header) = left.pop().filter(|_| seen.len() < MOST_HEADERS) {
        // They include each other before all else, and are long.
        let text = files::read_start(&header, 1 << 13).unwrap_or_default();
        let beside = header.parent().map(Path::to_path_buf);
        let places: Vec<&PathBuf> = beside.iter().chain(dirs).collect();
        for name in version_header::included(&text) {
            let mut found = places.iter().map(|dir| dir.join(name));
            match found.find_map(|path| sysroot.file(&path)) {
                Some(path) if seen.contains(&path) || left.contains(&path) => {}
                Some(path) => left.push(path),
                None => return Some((header, name.to_string())),
            }
        }
        seen.push(header);
    }
    None
}

/// Where none tells the release: one that may not be read, as `sudo cp` leaves it under a strict umask, and one that is
/// there, as when `cudnn.h` alone was copied, which was right up to cuDNN 7.
pub(super) fn silent(
    dirs: impl Iterator<Item = PathBuf>,
    sysroot: Sysroot,
) -> (Option<PathBuf>, Option<PathBuf>) {
    let headers: Vec<PathBuf> = dirs.flat_map(|dir| files::below(&dir, &HEADERS)).collect();
    let forbidden = headers.iter().find(|header| files::is_forbidden(header));
    let there = headers.iter().find_map(|header| sysroot.file(header));
    (forbidden.cloned(), there)
}
