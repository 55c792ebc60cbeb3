//! Reads the files of a cuDNN: the version of each and its defect. The version is in its version symbol, on Windows in
//! its version resource, or follows from its build ID, from its name, or from the record of the wheel that contains it.

use crate::runtime::binary::{Defect, files_in};
use crate::runtime::facts::{LibraryName, SourcedVersion, Version, VersionSource, sub_libraries};
use crate::runtime::install::SubLibraryFile;
use crate::runtime::install::package_record::{recorded_version, records_above};
use crate::runtime::system::path_cache;
use std::path::{Path, PathBuf};

/// The contents of a file that determine its version, and its defect.
#[derive(Clone, Default)]
pub struct FileContents {
    /// The canonical path: the name and the record are those of the mapped file.
    pub path: PathBuf,
    pub size: u64,
    /// The version that the file itself contains.
    pub inside: Option<SourcedVersion>,
    /// The versions in which NVIDIA shipped this build, usually one.
    pub builds: Vec<Version>,
    pub defect: Option<Defect>,
}

pub struct FileReader<'a> {
    open: &'a mut dyn FnMut(&str, &Path) -> FileContents,
}

impl<'a> FileReader<'a> {
    /// Creates a reader. `open` opens the file of the sub-library of this name, or of the main library, `cudnn`.
    pub fn new(open: &'a mut dyn FnMut(&str, &Path) -> FileContents) -> Self {
        Self { open }
    }

    pub fn read(&mut self, name: &str, path: PathBuf) -> SubLibraryFile {
        let file = (self.open)(name, &path);
        let version = self.version(&file);
        SubLibraryFile {
            defect: file.defect,
            ..SubLibraryFile::new(name, path, version, name == "cudnn")
        }
    }

    fn version(&mut self, file: &FileContents) -> Option<SourcedVersion> {
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
    fn version_of_build(&mut self, file: &FileContents) -> Option<Version> {
        let first = *file.builds.first()?;
        if file.builds.len() == 1 {
            return Some(first);
        }
        let mut beside = self.versions_in(file.path.parent()?);
        beside.retain(|one| one.major == first.major);
        if beside.is_empty() {
            return None;
        }
        let known = file.builds.iter().find(|one| beside.contains(one));
        Some(*known.unwrap_or(&first))
    }

    fn record(&mut self, file: &FileContents) -> Option<Version> {
        let dir = file.path.parent()?;
        let records = path_cache::once("wheels", dir, || {
            let mut records = records_above(dir, "nvidia_cudnn");
            if !records.is_empty() {
                let beside = self.versions_in(dir);
                // If another version was unpacked over a wheel, a file has the recorded size only by chance. Wheels of
                // 8 and 9 can share the directory.
                records.retain(|(wheel, _)| {
                    let contradicts = |one: &Version| one.major == wheel.major && one != wheel;
                    !beside.iter().any(contradicts)
                });
            }
            records
        });
        recorded_version(&records, file.path.file_name()?.to_str()?, file.size)
    }

    fn versions_in(&mut self, dir: &Path) -> Vec<Version> {
        contained_versions(dir, &mut |name, path| (self.open)(name, path).inside)
    }
}

/// Returns the versions in the version symbols of the sub-libraries in a directory. `read` reads the version in a file.
pub fn contained_versions(
    dir: &Path,
    read: &mut dyn FnMut(&str, &Path) -> Option<SourcedVersion>,
) -> Vec<Version> {
    let (mut versions, mut seen) = (Vec::new(), Vec::new());
    for path in files_in(dir) {
        let Some(file) = LibraryName::of(&path).filter(|file| file.major().is_some()) else {
            continue;
        };
        let known = file.sub_library().and_then(sub_libraries::find);
        let Some(known) = known.filter(|known| known.version_symbol.is_some()) else {
            continue;
        };
        // Only the file that is opened counts, whose name is the shortest: others may be left from another version.
        if !seen.contains(&(known.name, file.major())) {
            seen.push((known.name, file.major()));
            versions.extend(read(known.name, &path).map(|(version, _)| version));
        }
    }
    versions
}
