//! What tells the release of a part without running it, the most trusted first: its version symbol, on Windows its
//! version resource, its build-id, the name of its file, the record of the wheel that brought it.

use crate::runtime::binary::package_record::Wheels;
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::facts::version::Version;
use crate::runtime::facts::version_source::{SourcedVersion, VersionSource};
use std::path::{Path, PathBuf};

/// The file of a part, as far as it tells a release.
#[derive(Clone, Debug)]
pub struct PartFile<'a> {
    /// Without links: the name and the record are those of the file that is mapped in the end.
    pub path: &'a Path,
    /// Its size.
    pub length: u64,
    /// What the file itself says.
    pub inside: Option<SourcedVersion>,
    /// The releases in which NVIDIA shipped this build: mostly one.
    pub builds: Vec<Version>,
}

/// Tells releases, and remembers the records of each folder that it came by.
pub struct VersionDetector<'a> {
    /// The releases that the parts in a folder say themselves.
    certain: &'a dyn Fn(&Path) -> Vec<Version>,
    folders: Vec<(PathBuf, Wheels)>,
}

impl<'a> VersionDetector<'a> {
    /// `certain` returns the releases that the parts in a folder say themselves.
    pub fn new(certain: &'a dyn Fn(&Path) -> Vec<Version>) -> Self {
        let folders = Vec::new();
        Self { certain, folders }
    }

    /// The release of a part.
    pub fn release(&mut self, file: &PartFile<'_>) -> Option<SourcedVersion> {
        let name = || LibraryName::of(file.path)?.release();
        if file.inside.is_some() {
            return file.inside;
        }
        if let Some(version) = self.of_build(file) {
            return Some((version, VersionSource::BuildId));
        }
        if let Some(version) = name() {
            return Some((version, VersionSource::FileName));
        }
        let version = self.record(file)?;
        Some((version, VersionSource::PackageRecord))
    }

    /// Of a build that was shipped in several releases it is the one that lies beside it. Where another one lies there,
    /// any of them shows that this part is foreign.
    fn of_build(&self, file: &PartFile<'_>) -> Option<Version> {
        let first = *file.builds.first()?;
        if file.builds.len() == 1 {
            return Some(first);
        }
        let mut beside = (self.certain)(file.path.parent()?);
        beside.retain(|one| one.major == first.major);
        let fitting = file.builds.iter().find(|one| beside.contains(one));
        fitting
            .copied()
            .or(Some(first).filter(|_| !beside.is_empty()))
    }

    fn record(&mut self, file: &PartFile<'_>) -> Option<Version> {
        let folder = file.path.parent()?;
        if !self.folders.iter().any(|known| known.0 == folder) {
            let mut wheels = Wheels::find_above(folder);
            if !wheels.is_empty() {
                // Another release was unpacked over that wheel: what still has the right size has it by chance. Wheels of
                // 8 and 9 share the folder in peace.
                let beside = (self.certain)(folder);
                wheels.drop_records(|gone| {
                    let contradicts = |one: &Version| one.major == gone.major && *one != gone;
                    beside.iter().any(contradicts)
                });
            }
            self.folders.push((folder.to_path_buf(), wheels));
        }
        let known = self.folders.iter().find(|known| known.0 == folder)?;
        known
            .1
            .release(file.path.file_name()?.to_str()?, file.length)
    }
}
