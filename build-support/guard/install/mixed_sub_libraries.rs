//! Sub-libraries of different versions in one program, and the reasons why the loader uses them.

use crate::runtime::binary::Defect;
use crate::runtime::facts::{Finding, Version};
use crate::runtime::install::{Installed, SubLibraryFile, UnusableFile};
use crate::runtime::loader::{LoadOrigin, SearchPath};
use crate::runtime::system;
use std::path::{Path, PathBuf};

impl Installed {
    /// Returns the findings about the existing files: unusable ones, and those of another cuDNN. `search_path` is that
    /// of the main library, if it is known. `is_valid` returns `true` for a file that the program could load.
    pub fn findings(
        &self,
        search_path: Option<&SearchPath>,
        is_valid: &dyn Fn(&Path) -> bool,
    ) -> Vec<Finding> {
        let folder = self.folder();
        let foreign = foreign(self, search_path);
        let mut findings = Vec::new();
        for file in &self.list {
            let Some(defect) = &file.defect else {
                continue;
            };
            let own = folder.join(file.path.file_name().unwrap_or_default());
            let instead = foreign.iter().find(|foreign| foreign.path == file.path);
            let fault = UnusableFile::new(&file.path, defect, Vec::new()).needed_if(file.needed);
            // A file that another program holds open may be valid.
            let is_wrong = file.needed && *defect != Defect::Locked;
            let fault = match instead.filter(|_| is_wrong && is_valid(&own)) {
                Some(foreign) => UnusableFile {
                    evidence: vec![
                        ("found via", foreign.origin.to_string()),
                        ("instead of", own.display().to_string()),
                    ],
                    help: Some(foreign.help(folder, "cuDNN")),
                    ..fault
                },
                None => fault,
            };
            findings.push(fault.finding());
        }
        findings.extend(self.stray_finding());
        if let Some(mixed) = self.mixed_versions() {
            let is_other = |version| version != mixed.version;
            let mut others = foreign;
            others.retain(|part| part.version.is_some_and(is_other));
            findings.push(match others.is_empty() {
                true => mixed.finding(&self.main.path),
                false => self.foreign_finding(Some(mixed.version), &others, Some(mixed)),
            });
        }
        findings
    }

    /// Returns the main library and the sub-libraries, if their versions differ: they do not work together, even if cuDNN
    /// itself does not notice.
    pub fn mixed_versions(&self) -> Option<MixedVersions<'_>> {
        let (version, _) = self.version()?;
        let mut files = vec![&self.main];
        files.extend(&self.list);
        let is_mixed = files.iter().any(|file| file.is_other_than(version));
        is_mixed.then_some(MixedVersions { files, version })
    }
}

/// The files of a cuDNN whose versions differ, the main library first.
pub struct MixedVersions<'a> {
    pub files: Vec<&'a SubLibraryFile>,
    pub version: Version,
}

impl<'a> MixedVersions<'a> {
    /// Returns `true` if a convolution opens a file of another version.
    pub fn matters(&self) -> bool {
        let mut files = self.files.iter();
        files.any(|file| file.needed && file.is_other_than(self.version))
    }

    /// Returns the version of most files, and the files of other versions. If two versions have equally many files, the
    /// version of the main library decides.
    pub fn odd_ones(&self) -> (Version, Vec<&'a SubLibraryFile>) {
        let (mut most, mut odd) = (self.version, self.files.clone());
        odd.retain(|file| file.is_other_than(most));
        for version in self.files.iter().filter_map(|file| file.version) {
            let mut others = self.files.clone();
            others.retain(|file| file.is_other_than(version));
            if others.len() < odd.len() {
                (most, odd) = (version, others);
            }
        }
        (most, odd)
    }
}

/// A sub-library from another directory than the main library.
#[derive(Clone)]
pub struct Foreign<'a> {
    pub path: &'a Path,
    pub version: Option<Version>,
    /// The reason why the loader uses it.
    pub origin: &'a LoadOrigin,
    /// `true` if the directory of the main library also contains a file of the name.
    pub has_own: bool,
    /// `true` if the file in the directory of the main library would be used if LD_LIBRARY_PATH named that directory
    /// first.
    pub yields: bool,
}

/// A directory of LD_LIBRARY_PATH from which any other main library would get its sub-libraries too, and their version.
pub type LastingFolder = (PathBuf, Option<Version>);

/// Returns the directories that stay in the way of another cuDNN. `main` is the reason why the loader uses the main
/// library.
pub fn lasting_folders(foreign: &[Foreign<'_>], main: &LoadOrigin) -> Vec<LastingFolder> {
    let mut folders: Vec<LastingFolder> = Vec::new();
    for part in foreign {
        let LoadOrigin::LibraryPath(entry) = part.origin else {
            continue;
        };
        // An entry after that of the main library stops mattering when a complete cuDNN replaces the main library.
        let is_behind = matches!(main, LoadOrigin::LibraryPath(_)) && !part.has_own && part.yields;
        // A file with a known version counts for the files without one.
        let is_known = |(folder, version): &LastingFolder| {
            folder == entry && (part.version.is_none() || *version == part.version)
        };
        if !is_behind && !folders.iter().any(is_known) {
            folders.retain(|(folder, version)| folder != entry || version.is_some());
            folders.push((entry.clone(), part.version));
        }
    }
    folders
}

/// The ways to a complete cuDNN in the place of a main library.
pub struct Replacement<'a> {
    /// The reason why the loader uses the main library.
    pub main: &'a LoadOrigin,
    /// The main library.
    pub loaded: &'a Path,
    /// The directories that have to be removed from LD_LIBRARY_PATH.
    pub in_the_way: Vec<&'a Path>,
    /// The version of sub-libraries that stay in the way and are compatible. The main library must have the same
    /// version.
    pub compatible: Option<Version>,
}

impl<'a> Replacement<'a> {
    /// Creates a `Replacement`. `is_compatible` returns `true` for a version that the program can run with.
    pub fn new(
        main: &'a LoadOrigin,
        loaded: &'a Path,
        lasting: &'a [LastingFolder],
        is_compatible: &dyn Fn(Version) -> bool,
    ) -> Self {
        let (mut in_the_way, mut compatible) = (Vec::new(), None);
        for (entry, version) in lasting {
            match version.filter(|version| is_compatible(*version)) {
                Some(version) => compatible = Some(version),
                None if in_the_way.contains(&entry.as_path()) => {}
                None => in_the_way.push(entry.as_path()),
            }
        }
        Self {
            main,
            loaded,
            in_the_way,
            compatible,
        }
    }
}

/// Returns the sub-libraries outside of the main library's directory. `search_path` is that of the main library.
pub fn foreign<'a>(installed: &'a Installed, search_path: Option<&SearchPath>) -> Vec<Foreign<'a>> {
    let folder = installed.folder();
    let mut foreign = Vec::new();
    for file in &installed.list {
        let Some(origin) = &file.origin else {
            continue;
        };
        let own = folder.join(installed.file_name(&file.name));
        let has_own = system::is_file(&own);
        foreign.push(Foreign {
            path: &file.path,
            version: file.version,
            origin,
            has_own,
            // cuDNN tries a name with all numbers before the plain name.
            yields: match search_path {
                _ if has_own => file.path.file_name() == own.file_name(),
                Some(path) => path.is_before(folder, origin),
                None => false,
            },
        });
    }
    foreign
}
