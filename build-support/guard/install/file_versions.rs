//! The versions of the files that this process has loaded or would load.

use crate::runtime::binary::Image;
use crate::runtime::binary::bounded_file::files_in;
use crate::runtime::facts::tables::BUILD_ID_DIGITS;
use crate::runtime::facts::{SourcedVersion, Version, sub_libraries};
use crate::runtime::install::version_evidence::{VersionDetector, VersionEvidence};
use crate::runtime::loader::file_name;
use crate::runtime::system;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

pub struct FileVersions<'a> {
    /// [`Tables::build_ids`](crate::runtime::facts::tables::Tables::build_ids)
    build_ids: &'a [(Version, String)],
    detector: VersionDetector<'a>,
    /// The paths of mapped files that were replaced later: the new file may be of another version.
    replaced: Vec<PathBuf>,
}

impl<'a> FileVersions<'a> {
    pub fn new(build_ids: &'a [(Version, String)]) -> Self {
        Self {
            build_ids,
            detector: VersionDetector::new(&certain),
            replaced: platform::replaced(&|path| file_name::parse(path).is_some()),
        }
    }

    pub fn part(&mut self, image: &Image, name: &str, path: &Path) -> Option<SourcedVersion> {
        if self.replaced.iter().any(|one| one == path) {
            return None;
        }
        let inside = image.release(name);
        if inside.is_some() {
            return inside;
        }
        let path = std::fs::canonicalize(path).unwrap_or_default();
        self.detector.version(&VersionEvidence {
            size: platform::metadata(&path).map_or(0, |data| data.len()),
            path,
            inside,
            builds: self.builds(image),
        })
    }

    fn builds(&self, image: &Image) -> Vec<Version> {
        let id = image.as_elf().and_then(|elf| elf.build_id());
        let id = id.unwrap_or_default();
        let Some(digits) = id.get(..BUILD_ID_DIGITS) else {
            return Vec::new();
        };
        let rows = self.build_ids.iter();
        let rows = rows.filter(|(_, ids)| ids.split(' ').any(|one| one == digits));
        rows.map(|(version, _)| *version).collect()
    }
}

/// Returns the versions in the version symbols of the sub-libraries in a directory.
pub fn certain(dir: &Path) -> Vec<Version> {
    let version = |file: &Path| -> Option<Version> {
        let (name, _) = file_name::parse(file)?;
        sub_libraries::find(&name)?.version_symbol?;
        // Opening a pipe would wait for a writer.
        if !system::is_file(file) {
            return None;
        }
        Some(Image::open(file).ok()?.release(&name)?.0)
    };
    let files = files_in(dir);
    files.iter().filter_map(|file| version(file)).collect()
}
