//! The header that contains cuDNN's version.

use crate::model::text::version_header;
use crate::runtime::facts::Version;
use crate::system::{Sysroot, files};
use std::path::{Path, PathBuf};

/// The headers that may contain the version, the current one first.
const HEADERS: [&str; 4] = [
    "cudnn_version.h",
    "cudnn_version_v9.h",
    "cudnn_version_v8.h",
    "cudnn.h",
];

/// A limit above the number of headers that cuDNN has.
const MAX_HEADERS: usize = 40;

/// Returns the header that contains the version, in this directory or in the one that its `cudnn.h` includes from.
pub(super) fn header_in(dir: &Path, sysroot: Sysroot) -> Option<(Version, PathBuf)> {
    version_in(dir, sysroot).or_else(|| {
        let text = files::read_start(&sysroot.file(&dir.join("cudnn.h"))?, 1 << 16).ok()?;
        // A project's own wrapper header includes the header by its path.
        let mut named = version_header::included(&text).filter(|name| name.contains('/'));
        named.find_map(|path| version_in(&sysroot.canonical(dir.join(path).parent()?), sysroot))
    })
}

/// Returns the header in this directory that contains the version: `cudnn.h` itself up to cuDNN 7.
fn version_in(dir: &Path, sysroot: Sysroot) -> Option<(Version, PathBuf)> {
    HEADERS.iter().find_map(|name| {
        let header = sysroot.file(&dir.join(name))?;
        let version = version_header::cudnn(&files::read(&header).ok()?)?;
        Some((version, header))
    })
}

/// Returns the main header of another version beside this one. Several majors of NVIDIA's packages can be installed,
/// and `update-alternatives` selects one.
pub fn alternative(header: &Path, admits: &dyn Fn(Version) -> bool) -> Option<PathBuf> {
    let is_versioned = |name: &str| name.starts_with("cudnn_version_v") && name.ends_with(".h");
    let dir = header.parent()?;
    is_versioned(header.file_name()?.to_str()?).then_some(())?;
    let others = files::list_named(dir, &is_versioned).ok()?;
    others.iter().find_map(|other| {
        let version = version_header::cudnn(&files::read(other).ok()?)?;
        let main = other.file_name()?.to_str()?.replace("version_", "");
        let main = dir.join(main);
        (admits(version) && files::is_file(&main)).then_some(main)
    })
}

/// Returns the first missing header that this header of cuDNN includes, directly or indirectly, after the header that
/// includes it. A compiler searches the directory of the including header, then its include path.
pub(super) fn missing_include(
    first: &Path,
    dirs: &[PathBuf],
    sysroot: Sysroot,
) -> Option<(PathBuf, String)> {
    let mut left = vec![sysroot.file(first)?];
    let mut seen: Vec<PathBuf> = Vec::new();
    while let Some(header) = left.pop().filter(|_| seen.len() < MAX_HEADERS) {
        // Headers are long, and their includes come first.
        let text = files::read_start(&header, 1 << 13).unwrap_or_default();
        for name in version_header::included(&text) {
            let in_dir = |dir: &PathBuf| sysroot.file(&dir.join(name));
            let beside = sysroot.file(&header.with_file_name(name));
            match beside.or_else(|| dirs.iter().find_map(in_dir)) {
                Some(path) if seen.contains(&path) || left.contains(&path) => {}
                Some(path) => left.push(path),
                None => return Some((header, name.to_string())),
            }
        }
        seen.push(header);
    }
    None
}

/// Returns the existing headers if none contains the version: one that cannot be read, which `sudo cp` creates under a
/// strict umask, and a readable one. Up to cuDNN 7, it was correct to copy only `cudnn.h`.
pub(super) fn unversioned(
    dirs: &[PathBuf],
    sysroot: Sysroot,
) -> (Option<PathBuf>, Option<PathBuf>) {
    let mut headers = Vec::new();
    for dir in dirs {
        headers.extend(files::below(dir, &HEADERS));
    }
    let is_closed = |path: &Path| files::obstacle(path, None).is_some_and(|met| met.is_closed());
    let forbidden = headers.iter().find(|header| is_closed(header));
    let readable = headers.iter().find_map(|header| sysroot.file(header));
    (forbidden.cloned(), readable)
}
