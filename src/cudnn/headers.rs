//! The header of a cuDNN that tells its version.

use crate::model::text::version_header;
use crate::runtime::facts::version::Version;
use crate::system::files;
use crate::system::sysroot::Sysroot;
use std::path::{Path, PathBuf};

/// The headers that may tell the version, today's first.
const HEADERS: [&str; 4] = [
    "cudnn_version.h",
    "cudnn_version_v9.h",
    "cudnn_version_v8.h",
    "cudnn.h",
];

/// More headers than cuDNN has.
const MOST_HEADERS: usize = 40;

/// Returns the header that tells the version, in this directory or in the one that its `cudnn.h` includes from.
pub(super) fn header_in(dir: &Path, sysroot: Sysroot) -> Option<(Version, PathBuf)> {
    telling_header(dir, sysroot).or_else(|| {
        let text = files::read_start(&sysroot.file(&dir.join("cudnn.h"))?, 1 << 16).ok()?;
        let mut named = version_header::included_by_path(&text).into_iter();
        named.find_map(|path| telling_header(&sysroot.canonical(dir.join(path).parent()?), sysroot))
    })
}

/// Returns the header in this directory that tells the version. Up to cuDNN 7, that is `cudnn.h` itself.
fn telling_header(dir: &Path, sysroot: Sysroot) -> Option<(Version, PathBuf)> {
    HEADERS.iter().find_map(|name| {
        let header = sysroot.file(&dir.join(name))?;
        let version = version_header::cudnn(&files::read(&header).ok()?)?;
        Some((version, header))
    })
}

/// Returns the first missing header that this header of cuDNN includes, directly or not, after the header that includes
/// it. A compiler searches the directory of the including header, then those that it is given.
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

/// Returns the headers that exist if none tells the version: one that cannot be read, as `sudo cp` leaves it under a
/// strict umask, and one that can. Up to cuDNN 7, it was right to copy `cudnn.h` alone.
pub(super) fn silent(
    dirs: impl Iterator<Item = PathBuf>,
    sysroot: Sysroot,
) -> (Option<PathBuf>, Option<PathBuf>) {
    let headers: Vec<PathBuf> = dirs.flat_map(|dir| files::below(&dir, &HEADERS)).collect();
    let forbidden = headers.iter().find(|header| files::is_forbidden(header));
    let there = headers.iter().find_map(|header| sysroot.file(header));
    (forbidden.cloned(), there)
}
