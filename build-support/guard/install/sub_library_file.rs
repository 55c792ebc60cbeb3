//! A sub-library of an installed cuDNN, for the build, `doctor`, `inspect` and the guard.

use crate::runtime::binary::Defect;
use crate::runtime::facts::{SourcedVersion, Version, VersionSource};
use crate::runtime::loader::LoadOrigin;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubLibraryFile {
    /// Its name between `libcudnn_` and `.so`; `cudnn` for the library that opens the others.
    pub name: String,
    /// The file that the program uses or would use.
    pub path: PathBuf,
    pub version: Option<Version>,
    pub told_by: Option<VersionSource>,
    /// `true` if a convolution opens it, or the program declares that it uses it.
    pub needed: bool,
    pub defect: Option<Defect>,
    /// The reason why the loader uses it, if it is in another directory than the main library.
    pub origin: Option<LoadOrigin>,
}

impl SubLibraryFile {
    pub fn new(name: &str, path: PathBuf, version: Option<SourcedVersion>, needed: bool) -> Self {
        let (version, told_by) = version.unzip();
        Self {
            name: name.to_string(),
            path,
            version,
            told_by,
            needed,
            defect: None,
            origin: None,
        }
    }

    /// Returns the files that the loader takes, for the JSON of a report.
    pub fn taken<'a>(files: &[&'a Self]) -> Vec<&'a Self> {
        let mut taken = files.to_vec();
        taken.retain(|file| file.defect.as_ref().is_none_or(|it| !it.is_skipped()));
        taken
    }

    pub fn sourced_version(&self) -> Option<SourcedVersion> {
        self.version.zip(self.told_by)
    }

    /// Returns `true` if its version is known and differs.
    pub fn is_other_than(&self, version: Version) -> bool {
        self.version.is_some_and(|own| own != version)
    }

    pub fn is_in(&self, folder: &Path) -> bool {
        let own = self.path.parent().unwrap_or(&self.path);
        own == folder || platform::same_file(own, folder)
    }

    /// Returns the version and the path, as a line of evidence. A version symbol is the usual source and is not named.
    pub fn line(&self) -> Option<String> {
        let (version, path) = (self.version?, self.path.display());
        Some(match self.told_by {
            None | Some(VersionSource::Symbol(_)) => format!("{version}  {path}"),
            Some(by) => format!("{version}  {path}, version from {}", by.with_article()),
        })
    }
}
