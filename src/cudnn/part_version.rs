//! What tells the release of a part, the most trusted first: its version symbol, on Windows its version resource, its
//! build-id, the name of its file, the record of the wheel that brought it.

use crate::cudnn::build_ids;
use crate::model::version_source::VersionSource;
use crate::runtime::binary::package_record::Wheels;
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::facts::version::Version;
use crate::system::library_file::Binary;
use std::path::{Path, PathBuf};

/// A release, and what told it.
pub type SourcedVersion = (Version, VersionSource);

/// Looks at all parts before it tells: what one of them says for certain decides what is believed of another.
pub struct VersionDetector {
    parts: Vec<StatCache>,
}

struct StatCache {
    path: PathBuf,
    length: u64,
    told: Option<SourcedVersion>,
    /// One build may have been shipped in several releases.
    among: Vec<Version>,
}

impl VersionDetector {
    /// For so many parts.
    pub fn new(count: usize) -> Self {
        Self {
            parts: Vec::with_capacity(count),
        }
    }

    /// Looks at a part, its file without links.
    pub fn look(&mut self, name: &str, path: &Path, library: Option<&Binary>) {
        let mut seen = StatCache {
            path: path.to_path_buf(),
            length: library.map_or(0, Binary::length),
            told: None,
            among: Vec::new(),
        };
        if let Some(library) = library {
            seen.told = library.release(name);
            if seen.told.is_none() {
                let id = library.build_id().unwrap_or_default();
                seen.among = build_ids::releases(&id);
            }
        }
        self.parts.push(seen);
    }

    /// The releases of the parts, in the order in which they were looked at.
    pub fn tell(self) -> Vec<Option<SourcedVersion>> {
        let certain = |path: &Path| -> Vec<Version> {
            let beside = self
                .parts
                .iter()
                .filter(|other| other.path.parent() == path.parent());
            beside
                .filter_map(|other| Some(other.told.as_ref()?.0))
                .collect()
        };
        let mut folders: Vec<(PathBuf, Wheels)> = Vec::new();
        let mut all = Vec::new();
        for part in &self.parts {
            let told = part.told.clone().or_else(|| {
                let beside = certain(&part.path);
                let fitting = part.among.iter().find(|one| beside.contains(one));
                // Any of several releases shows that this part is foreign, if none is that of the others.
                let sure = !beside.is_empty() || part.among.len() == 1;
                let version = match fitting {
                    None if sure => part.among.first(),
                    fitting => fitting,
                };
                Some((*version?, VersionSource::BuildId))
            });
            // `libcudnn_cnn.so.9` is a link to `libcudnn_cnn.so.9.14.0` wherever there are links.
            let by_name = || LibraryName::of(&part.path)?.release();
            let told = told.or_else(|| Some((by_name()?, VersionSource::FileName)));
            all.push(told.or_else(|| {
                let folder = part.path.parent()?;
                if !folders.iter().any(|(known, _)| known == folder) {
                    let mut wheels = Wheels::find_above(folder);
                    // Another release was unpacked over that wheel: what still has the right size has it by chance.
                    // Wheels of 8 and 9 share the folder in peace.
                    let beside = certain(&part.path);
                    wheels.drop_records(|gone| {
                        let contradicts = |one: &Version| one.major == gone.major && *one != gone;
                        beside.iter().any(contradicts)
                    });
                    folders.push((folder.to_path_buf(), wheels));
                }
                let (_, wheels) = folders.iter().find(|(known, _)| known == folder)?;
                let version = wheels.release(part.path.file_name()?.to_str()?, part.length)?;
                Some((version, VersionSource::PackageRecord))
            }));
        }
        all
    }
}
