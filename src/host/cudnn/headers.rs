//! The header of a cuDNN that tells its release.

use crate::host::eyes::Eyes;
use crate::host::files;
use crate::model::version::Version;
use crate::rules::header;
use std::path::{Path, PathBuf};

/// What may tell the release, what does so today first.
pub(super) const HEADERS: [&str; 4] = [
    "cudnn_version.h",
    "cudnn_version_v9.h",
    "cudnn_version_v8.h",
    "cudnn.h",
];

/// The header that tells the release, in this directory or in the one that its `cudnn.h` leads to.
pub(super) fn header_in(dir: &Path, eyes: Eyes) -> Option<(Version, PathBuf)> {
    telling_header(dir, eyes).or_else(|| {
        let text = files::read(&eyes.file(&dir.join("cudnn.h"))?).ok()?;
        let mut named = header::included_by_path(&text).into_iter();
        named.find_map(|path| telling_header(&eyes.canonical(dir.join(path).parent()?), eyes))
    })
}

/// `cudnn.h` itself tells the release up to cuDNN 7.
fn telling_header(dir: &Path, eyes: Eyes) -> Option<(Version, PathBuf)> {
    HEADERS.iter().find_map(|name| {
        let header = eyes.file(&dir.join(name))?;
        let version = header::cudnn(&files::read(&header).ok()?)?;
        Some((version, header))
    })
}
