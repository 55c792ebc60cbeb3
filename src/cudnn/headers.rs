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

/// The header that tells the release, in this directory or in the one that its `cudnn.h` leads to.
pub(super) fn header_in(dir: &Path, sysroot: Sysroot) -> Option<(Version, PathBuf)> {
    telling_header(dir, sysroot).or_else(|| {
        let text = files::read(&sysroot.file(&dir.join("cudnn.h"))?).ok()?;
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

/// Where none tells the release: one that may not be read, as `sudo cp` leaves it under a strict umask, and one that is
/// there, as when `cudnn.h` alone was copied, which was right up to cuDNN 7.
pub(super) fn silent(
    dirs: impl Iterator<Item = PathBuf>,
    sysroot: Sysroot,
) -> (Option<PathBuf>, Option<PathBuf>) {
    let headers = dirs.flat_map(|dir| HEADERS.map(|name| dir.join(name)));
    let headers: Vec<PathBuf> = headers.collect();
    let forbidden = headers.iter().find(|header| files::is_forbidden(header));
    let there = headers.iter().find_map(|header| sysroot.file(header));
    (forbidden.cloned(), there)
}
