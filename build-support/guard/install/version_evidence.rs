//! The version of a sub-library, found without running it. The sources, from the most trusted to the least: its version
//! symbol, on Windows its version resource, its build ID, the name of its file, the record of the wheel that contains
//! it.

use crate::runtime::facts::{LibraryName, SourcedVersion, Version, VersionSource};
use crate::runtime::install::package_record::{WheelRecord, recorded_version, records_above};
use std::path::{Path, PathBuf};

/// The facts about a file that determine its version.
#[derive(Clone, Debug)]
pub struct VersionEvidence {
    /// The canonical path: the name and the record are those of the mapped file.
    pub path: PathBuf,
    pub size: u64,
    /// The version that the file itself contains.
    pub inside: Option<SourcedVersion>,
    /// The versions in which NVIDIA shipped this build, usually one.
    pub builds: Vec<Version>,
}

/// A detector of versions, which caches the records of each directory.
pub struct VersionDetector<'a> {
    /// Returns the versions that the sub-libraries in a directory contain themselves.
    certain: &'a dyn Fn(&Path) -> Vec<Version>,
    dirs: Vec<(PathBuf, Vec<WheelRecord>)>,
}

impl<'a> VersionDetector<'a> {
    /// Creates a detector. `certain` returns the versions that the sub-libraries in a directory contain themselves.
    pub fn new(certain: &'a dyn Fn(&Path) -> Vec<Version>) -> Self {
        let dirs = Vec::new();
        Self { certain, dirs }
    }

    pub fn version(&mut self, file: &VersionEvidence) -> Option<SourcedVersion> {
        if file.inside.is_some() {
            return file.inside;
        }
        if let Some(version) = self.version_of_build(file) {
            return Some((version, VersionSource::BuildId));
        }
        if let Some(version) = LibraryName::of(&file.path).and_then(|name| name.release()) {
            return Some((version, VersionSource::FileName));
        }
        Some((self.record(file)?, VersionSource::PackageRecord))
    }

    /// Returns the version of a build. If several versions contain the build, the version of the files beside it
    /// decides. If those files have yet another version, any version of the build shows that this file is foreign.
    fn version_of_build(&self, file: &VersionEvidence) -> Option<Version> {
        let first = *file.builds.first()?;
        if file.builds.len() == 1 {
            return Some(first);
        }
        let beside = (self.certain)(file.path.parent()?);
        let is_of_major = |one: &Version| one.major == first.major;
        if !beside.iter().any(is_of_major) {
            return None;
        }
        let is_beside = |one: &&Version| is_of_major(one) && beside.contains(one);
        Some(*file.builds.iter().find(is_beside).unwrap_or(&first))
    }

    fn record(&mut self, file: &VersionEvidence) -> Option<Version> {
        let dir = file.path.parent()?;
        if !self.dirs.iter().any(|known| known.0 == dir) {
            let all = records_above(dir);
            let beside = if all.is_empty() {
                Vec::new()
            } else {
                (self.certain)(dir)
            };
            let mut records = Vec::new();
            for (wheel, files) in all {
                // If another version was unpacked over a wheel, a file has the recorded size only by chance. Wheels of 8
                // and 9 can share the directory.
                let contradicts = |one: &Version| one.major == wheel.major && *one != wheel;
                if !beside.iter().any(contradicts) {
                    records.push((wheel, files));
                }
            }
            self.dirs.push((dir.to_path_buf(), records));
        }
        let (_, records) = self.dirs.iter().find(|known| known.0 == dir)?;
        recorded_version(records, file.path.file_name()?.to_str()?, file.size)
    }
}
