//! Sub-libraries of different versions: the rules that the build and the program share.

use crate::runtime::facts::Version;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use std::path::Path;

/// The files of a cuDNN whose versions differ.
pub struct MixedVersions<'a> {
    pub files: Vec<&'a SubLibraryFile>,
    pub version: Version,
    /// The main library, if LD_PRELOAD names it. The other files may all have the same version.
    pub preloaded: Option<&'a Path>,
}

impl<'a> MixedVersions<'a> {
    /// Creates the fault, if a file has another version.
    pub fn new(
        files: Vec<&'a SubLibraryFile>,
        version: Version,
        preloaded: Option<&'a Path>,
    ) -> Option<Self> {
        let is_mixed = files.iter().any(|file| file.is_other_than(version));
        is_mixed.then_some(Self {
            files,
            version,
            preloaded,
        })
    }

    /// Returns `true` if a convolution opens a file of another version.
    pub fn matters(&self) -> bool {
        let mut files = self.files.iter();
        files.any(|file| file.needed && file.is_other_than(self.version))
    }

    /// Returns the version of most files, and the files of other versions. If two versions have equally many files, the
    /// version of the main library decides.
    pub fn odd_ones(&self) -> (Version, Vec<&'a SubLibraryFile>) {
        let odd_ones = |version| {
            let mut odd = Vec::new();
            for file in &self.files {
                if file.is_other_than(version) {
                    odd.push(*file);
                }
            }
            odd
        };
        let (mut most, mut odd) = (self.version, odd_ones(self.version));
        for file in &self.files {
            let Some(version) = file.version else {
                continue;
            };
            let others = odd_ones(version);
            if others.len() < odd.len() {
                (most, odd) = (version, others);
            }
        }
        (most, odd)
    }
}
