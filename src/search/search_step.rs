//! A place of the search.

use crate::model::{FoundVia, Kind, Os, Platform, Variable};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Step {
    pub kind: Kind,
    pub via: FoundVia,
    pub request: Option<Variable>,
    pub place: Place,
}

#[derive(Clone, Debug)]
pub enum Place {
    /// A directory that contains headers, libraries and programs.
    Tree(Tree),
    /// A directory with the bundled cuDNN of this Python package, which must not be linked.
    Copy(&'static str, Tree),
    /// Directories of .pc files.
    PkgConfig(Vec<PathBuf>),
    /// Possible paths of a compiler. The first that exists is queried for its toolkit.
    Nvcc(Vec<PathBuf>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    pub base: PathBuf,
    /// A pattern below the base: `cuda-#`. A `#` matches any version, the newest first.
    pub pattern: String,
    /// Possible header directories, absolute or below the pattern. A `#` here matches a CUDA version: `include/#`.
    pub include: Vec<PathBuf>,
    pub lib: Vec<PathBuf>,
    /// Those of the library directories that contain only DLLs, in addition to those in `bin`.
    pub dll_dirs: Vec<PathBuf>,
    pub nvcc: Vec<PathBuf>,
}

impl Step {
    /// Returns the files that this place must contain, for messages.
    pub fn required_files(&self, platform: &Platform) -> Vec<PathBuf> {
        let tree = match &self.place {
            Place::Nvcc(files) => return files.clone(),
            Place::Copy(..) | Place::PkgConfig(_) => return Vec::new(),
            Place::Tree(tree) => tree,
        };
        let top = tree.shown();
        let below = |dir: &PathBuf, name: &str| {
            let dir = with_cuda(dir, "*").unwrap_or_else(|| dir.clone());
            top.join(dir).join(name)
        };
        let mut files = Vec::new();
        match self.kind {
            Kind::Toolkit => {
                // In split wheels, only the first contains it; in a complete toolkit, `include` or `targets` does.
                for dir in tree.include.iter().take(2) {
                    files.push(below(dir, "cuda.h"));
                }
                for nvcc in &tree.nvcc {
                    files.push(top.join(nvcc));
                }
            }
            Kind::Cudnn => {
                let windows = platform.os == Os::Windows;
                let file = if windows { "cudnn.lib" } else { "libcudnn.so*" };
                // Import libraries are not beside the DLLs.
                for dir in &tree.include {
                    files.push(below(dir, "cudnn.h"));
                }
                for dir in &tree.lib {
                    let has_only_dlls = dir.starts_with("bin") || tree.dll_dirs.contains(dir);
                    if !(windows && has_only_dlls) {
                        files.push(below(dir, file));
                    }
                }
            }
        }
        files
    }

    pub fn description(&self) -> String {
        match &self.place {
            Place::Nvcc(files) => format!("{} on PATH", directories(files.len())),
            Place::PkgConfig(dirs) => {
                let files = match self.kind {
                    Kind::Toolkit => "cudart-*.pc or cuda-*.pc",
                    Kind::Cudnn => "cudnn.pc",
                };
                format!("{files} in {}", directories(dirs.len()))
            }
            Place::Tree(tree) | Place::Copy(_, tree) => tree.shown().to_string_lossy().into_owned(),
        }
    }
}

pub fn directories(count: usize) -> String {
    format!("{count} director{}", if count == 1 { "y" } else { "ies" })
}

/// Replaces the `#` in a relative path with a CUDA version. Returns `None` if there is no `#`.
pub fn with_cuda(dir: &Path, cuda: &str) -> Option<PathBuf> {
    if dir.is_absolute() || !dir.iter().any(|part| part == "#") {
        return None;
    }
    let mut path = PathBuf::new();
    for part in dir {
        path.push(if part == "#" { cuda.as_ref() } else { part });
    }
    Some(path)
}

impl Tree {
    pub fn new(base: &Path, pattern: &str) -> Self {
        Self {
            base: base.to_path_buf(),
            pattern: pattern.to_string(),
            ..Self::default()
        }
    }

    /// Returns the top directory, with `*` for `#`.
    pub fn shown(&self) -> PathBuf {
        let mut top = self.base.clone();
        if !self.pattern.is_empty() {
            for part in self.pattern.split('/') {
                top.push(part.replace('#', "*"));
            }
        }
        top
    }
}
