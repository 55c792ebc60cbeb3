//! Installed wheels: their versions, and the files in their RECORDs.

use crate::cli::fetch::directory::is_of_fetch;
use crate::cli::numbers;
use crate::runtime::facts::majors;
use crate::system::files;
use crate::toolkit::package_names::FETCH_MARKER;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The content of the marker in a directory.
pub struct Installed {
    pub home: PathBuf,
    /// Files and links, with `/` in their paths.
    pub files: BTreeSet<String>,
    pub wheels: Vec<Wheel>,
}

/// A wheel, as left by `pip install --target` in a directory.
pub struct Wheel {
    /// The name of its project: `nvidia-cudnn-cu13`.
    pub name: String,
    /// Its version: `9.14.0.64`.
    pub version: String,
    /// Its list of files: `nvidia_cudnn_cu13-9.14.0.64.dist-info/RECORD`.
    record: String,
}

impl Installed {
    pub fn new(home: &Path) -> Self {
        let text = files::read(&home.join(FETCH_MARKER)).unwrap_or_default();
        // The marker may belong to a repository that was just cloned. Other names in it do not count.
        let listed = text.lines().filter(|file| is_of_fetch(file));
        let files: BTreeSet<_> = listed.map(String::from).collect();
        Self {
            home: home.to_path_buf(),
            wheels: files.iter().filter_map(|file| Wheel::new(file)).collect(),
            files,
        }
    }

    /// Returns the wheel with this name, or with a name that begins so.
    pub fn find(&self, name: &str) -> Option<&Wheel> {
        self.wheels
            .iter()
            .find(|wheel| wheel.name.starts_with(name))
    }

    /// Returns the version of CUDA: `13.0`.
    pub fn cuda(&self) -> Option<String> {
        let runtime = self.find("nvidia-cuda-runtime")?;
        Some(numbers::first(&runtime.version, 2))
    }

    pub fn has(&self, name: &str, version: &str) -> bool {
        let mut wheels = self.wheels.iter();
        wheels.any(|wheel| (&*wheel.name, &*wheel.version) == (name, version))
    }

    /// Returns the directories of a toolkit that has one, and of cuDNN.
    pub fn dirs(&self) -> [Option<PathBuf>; 2] {
        let dir = |name: &str| Some(self.home.join("nvidia").join(name)).filter(|dir| dir.is_dir());
        let toolkit = dir(&format!("cu{}", majors::NEWEST_CUDA));
        [toolkit, dir("cudnn").or_else(|| dir("cudnn_jit"))]
    }

    /// Returns the files that are missing or have another size than in the RECORD of their wheel.
    pub fn damaged(&self) -> Vec<String> {
        let exists = |file: &str| files::exists(&self.home.join(file));
        let missing = self.files.iter().filter(|file| !exists(file));
        let mut damaged: Vec<String> = missing.map(|file| format!("{file} is missing")).collect();
        for Wheel { record, .. } in self.wheels.iter().filter(|wheel| exists(&wheel.record)) {
            let Ok(text) = files::read(&self.home.join(record)) else {
                damaged.push(format!("{record} cannot be read"));
                continue;
            };
            for (file, recorded) in text.lines().filter_map(parse_line) {
                let found = files::size(&self.home.join(file));
                if found != recorded && self.files.contains(file) && exists(file) {
                    damaged.push(format!("{file} has {found} bytes instead of {recorded}"));
                }
            }
        }
        damaged
    }
}

impl Wheel {
    fn new(record: &str) -> Option<Self> {
        let info = record.strip_suffix(".dist-info/RECORD")?;
        let (name, version) = info.split_once('-')?;
        Some(Self {
            name: name.to_ascii_lowercase().replace(['_', '.'], "-"),
            version: version.to_string(),
            record: record.to_string(),
        })
    }
}

/// Parses the path and the size in a line `path,sha256=hash,size`. Some lines have no size.
fn parse_line(line: &str) -> Option<(&str, u64)> {
    let (rest, size) = line.rsplit_once(',')?;
    let (path, _) = rest.rsplit_once(',')?;
    Some((path, size.trim().parse().ok()?))
}
