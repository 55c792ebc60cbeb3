//! The wheels in a directory: their versions, and their files.

use crate::runtime::install::package_record::recorded_size;
use crate::system::files;
use crate::toolkit::package_names::FETCH_MARKER;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const RECORD: &str = ".dist-info/RECORD";

pub struct Installed {
    pub home: PathBuf,
    /// Files and links, with `/` in their paths.
    pub files: BTreeSet<String>,
    /// Versions, as in a lock file: `nvidia-cudnn-cu13==9.14.0.64`.
    pub wheels: BTreeSet<String>,
}

impl Installed {
    /// Reads the marker of a directory.
    pub fn new(home: &Path) -> Self {
        let text = files::read(&home.join(FETCH_MARKER)).unwrap_or_default();
        // The marker may belong to a repository that was just cloned. Other names in it do not count.
        let listed = text.lines().filter(|file| is_of_fetch(file));
        Self::with(home, listed.map(String::from).collect())
    }

    pub fn with(home: &Path, files: BTreeSet<String>) -> Self {
        Self {
            home: home.to_path_buf(),
            wheels: files.iter().filter_map(|file| wheel(file)).collect(),
            files,
        }
    }

    /// Returns the version of the first wheel with a name that begins so.
    pub fn version(&self, name: &str) -> Option<&str> {
        let mut wheels = self.wheels.iter();
        let wheel = wheels.find(|wheel| wheel.starts_with(name))?;
        Some(wheel.split_once("==")?.1)
    }

    /// Returns the files that are missing or have another size than in the RECORD of their wheel.
    pub fn damaged(&self) -> Vec<String> {
        let exists = |file: &str| files::exists(&self.home.join(file));
        let missing = self.files.iter().filter(|file| !exists(file));
        let mut damaged: Vec<String> = missing.map(|file| format!("{file} is missing")).collect();
        let is_record = |file: &&String| file.ends_with(RECORD) && exists(file);
        for record in self.files.iter().filter(is_record) {
            let Ok(text) = files::read(&self.home.join(record)) else {
                damaged.push(format!("{record} cannot be read"));
                continue;
            };
            for (file, recorded) in text.lines().filter_map(recorded_size) {
                let size = files::size(&self.home.join(file));
                if size != recorded && self.files.contains(file) && exists(file) {
                    damaged.push(format!("{file} has {size} bytes instead of {recorded}"));
                }
            }
        }
        damaged
    }
}

/// Returns `true` for the paths that `fetch` creates in its directory.
pub fn is_of_fetch(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    ["nvidia", FETCH_MARKER].contains(&first) || first.ends_with(".dist-info")
}

/// Returns the wheel with this RECORD: `nvidia_cudnn_cu13-9.14.0.64.dist-info/RECORD`.
fn wheel(file: &str) -> Option<String> {
    let (name, version) = file.strip_suffix(RECORD)?.split_once('-')?;
    let name = name.to_ascii_lowercase().replace(['_', '.'], "-");
    Some(format!("{name}=={version}"))
}
