//! What tells the release of a part without running it: its version symbol, its build-id, the name of its file, or the
//! record of the wheel that brought it.

use crate::runtime::binary::Image;
use crate::runtime::binary::bounded_file::files_in;
use crate::runtime::binary::package_record::Wheels;
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::facts::sub_libraries;
use crate::runtime::facts::tables::BUILD_ID_DIGITS;
use crate::runtime::facts::version::Version;
use crate::runtime::loader::file_name;
use crate::runtime::system;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// What told a release that stands in the file itself.
pub const SYMBOL: &str = "version symbol";
const BUILD_ID: &str = "build-id";

/// A release, and what told it.
pub type SourcedVersion = (Version, &'static str);

/// What told a release, as it stands after "by".
pub fn with_article(told_by: &str) -> String {
    if told_by.starts_with("the ") {
        told_by.to_string()
    } else {
        format!("its {}", told_by)
    }
}

/// Tells releases, and remembers the records of each folder that it came by.
pub struct VersionDetector<'a> {
    /// As a program carries them.
    build_ids: &'a [(Version, String)],
    folders: Vec<(PathBuf, Wheels)>,
    /// Other files than those that are mapped lie there now, and tell another release.
    replaced: Vec<PathBuf>,
}

impl<'a> VersionDetector<'a> {
    /// With these rows of the version tables.
    pub fn new(build_ids: &'a [(Version, String)]) -> Self {
        Self {
            build_ids,
            folders: Vec::new(),
            replaced: platform::replaced(&|path| file_name::parse(path).is_some()),
        }
    }

    /// The release of a part.
    pub fn part_version(&mut self, elf: &Image, name: &str, path: &Path) -> Option<SourcedVersion> {
        match told_inside(elf, name) {
            _ if self.is_replaced(path) => None,
            Some(told) => Some(told),
            None => match self.build_version(elf) {
                Some(version) => Some((version, BUILD_ID)),
                None => self.file_version(path),
            },
        }
    }

    /// The one release in which NVIDIA shipped this build.
    fn build_version(&self, elf: &Image) -> Option<Version> {
        let id = elf.as_elf()?.build_id()?;
        let digits = id.get(..BUILD_ID_DIGITS)?;
        let mut found = None;
        for (version, ids) in self.build_ids {
            for one in ids.split(' ') {
                if one == digits && found.replace(*version).is_some() {
                    return None;
                }
            }
        }
        found
    }

    /// The same from what surrounds a file.
    pub fn file_version(&mut self, path: &Path) -> Option<SourcedVersion> {
        if self.is_replaced(path) {
            return None;
        }
        // Links are followed: the name and the record are those of the file that is mapped in the end.
        let path = std::fs::canonicalize(path).ok()?;
        let name = path.file_name()?.to_str()?;
        if let Some(version) = LibraryName::read(name).and_then(|name| name.release()) {
            return Some((version, "file name"));
        }
        let size = platform::metadata(&path).ok()?.len();
        let version = self.record(path.parent()?, name, size)?;
        Some((version, "the record of its wheel"))
    }

    fn is_replaced(&self, path: &Path) -> bool {
        self.replaced.iter().any(|one| one == path)
    }

    fn record(&mut self, folder: &Path, name: &str, size: u64) -> Option<Version> {
        if !self.folders.iter().any(|known| known.0 == folder) {
            self.folders.push((folder.to_path_buf(), trusted(folder)));
        }
        let known = self.folders.iter().find(|known| known.0 == folder)?;
        known.1.release(name, size)
    }
}

/// What the file itself says.
fn told_inside(image: &Image, name: &str) -> Option<SourcedVersion> {
    #[cfg(windows)]
    if let (version, None) = image.release(name)? {
        return Some((version, "version resource"));
    }
    Some((image.release(name)?.0, SYMBOL))
}

/// The records of a folder, but for those that its own libraries contradict: another release was unpacked over that
/// wheel, and what still has the right size has it by chance.
fn trusted(folder: &Path) -> Wheels {
    let mut wheels = Wheels::find_above(folder);
    if wheels.is_empty() {
        return wheels;
    }
    let release = |file: &Path| -> Option<Version> {
        let (name, _) = file_name::parse(file)?;
        sub_libraries::find(&name)?.version_symbol?;
        // To open a pipe would wait for somebody to write into it.
        if !system::is_file(file) {
            return None;
        }
        Some(told_inside(&Image::open(file).ok()?, &name)?.0)
    };
    let mut releases = Vec::new();
    for file in files_in(folder) {
        if let Some(release) = release(&file) {
            releases.push(release);
        }
    }
    // Wheels of 8 and 9 share the folder in peace.
    wheels.drop_records(|version| {
        let contradicts = |release: &Version| release.major == version.major && *release != version;
        releases.iter().any(contradicts)
    });
    wheels
}
