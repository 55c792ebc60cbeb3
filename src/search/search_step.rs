//! One place of the search.

use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
pub use crate::model::kind::Kind;
use crate::model::platform::{Os, Platform};
use std::path::{Path, PathBuf};

/// One place to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub kind: Kind,
    /// How somebody came to look here.
    pub via: FoundVia,
    /// The variable in which somebody asked for exactly this place.
    pub request: Option<Variable>,
    /// Whether the place is fixed, so that the host's root goes before it and links stay below that root.
    pub fixed: bool,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory with headers, libraries and programs below it.
    Tree(Tree),
    /// A directory in which this Python package brings a cuDNN of its own along: not to be linked.
    Copy(&'static str, Tree),
    /// Directories whose .pc files lead to a tree.
    PkgConfig(Vec<PathBuf>),
    /// A compiler, asked where its toolkit is: the first of these files that there is.
    Nvcc(Vec<PathBuf>),
}

/// A directory, and where in it things are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    pub base: PathBuf,
    /// What lies below it: `cuda-#`. A `#` stands for any release number; the newest is looked at first.
    pub pattern: String,
    /// Where headers may be; absolute, or below the rest. A `#` here stands for each CUDA: `include/#`.
    pub include: Vec<PathBuf>,
    /// Where libraries may be.
    pub lib: Vec<PathBuf>,
    /// Where the compiler may be.
    pub nvcc: Vec<PathBuf>,
}

impl Step {
    /// A place that nobody asked for by name.
    pub fn unasked(kind: Kind, via: &FoundVia, fixed: bool, place: Place) -> Self {
        Self {
            kind,
            via: via.clone(),
            request: None,
            fixed,
            place,
        }
    }

    /// The files without which this place is of no use, for messages.
    pub fn wanted(&self, platform: &Platform) -> Vec<PathBuf> {
        let tree = match &self.place {
            Place::Nvcc(files) => return files.clone(),
            Place::Copy(..) | Place::PkgConfig(_) => return Vec::new(),
            Place::Tree(tree) => tree,
        };
        let top = tree.shown();
        let below = |dir: &PathBuf, name: &str| {
            let dir = of_flavour(dir, "*").unwrap_or_else(|| dir.clone());
            top.join(dir).join(name)
        };
        let mut wanted = Vec::new();
        match self.kind {
            Kind::Toolkit => {
                // Of the split wheels, only the first holds it; of a whole toolkit, `include` and `targets` do.
                for dir in tree.include.iter().take(2) {
                    wanted.push(below(dir, "cuda.h"));
                }
                for nvcc in &tree.nvcc {
                    wanted.push(top.join(nvcc));
                }
            }
            Kind::Cudnn => {
                let windows = platform.os == Os::Windows;
                let file = if windows { "cudnn.lib" } else { "libcudnn.so*" };
                // Import libraries are not beside the DLLs.
                for dir in &tree.include {
                    wanted.push(below(dir, "cudnn.h"));
                }
                for dir in &tree.lib {
                    if !(windows && dir.starts_with("bin")) {
                        wanted.push(below(dir, file));
                    }
                }
            }
        }
        wanted
    }

    /// The place in a few words, for messages.
    pub fn whereabouts(&self) -> String {
        match &self.place {
            Place::Nvcc(files) => format!("{} of PATH", directories(files.len())),
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

/// So many directories, in words.
pub fn directories(count: usize) -> String {
    format!("{count} director{}", if count == 1 { "y" } else { "ies" })
}

/// The directory of one CUDA, where a `#` of this relative path stands for several.
pub fn of_flavour(dir: &Path, cuda: &str) -> Option<PathBuf> {
    if dir.is_absolute() || !dir.iter().any(|part| part == "#") {
        return None;
    }
    let parts = dir
        .iter()
        .map(|part| if part == "#" { cuda.as_ref() } else { part });
    Some(parts.collect())
}

impl Tree {
    /// The directory that everything else lies below, as people write it.
    pub fn shown(&self) -> PathBuf {
        if self.pattern.is_empty() {
            self.base.clone()
        } else {
            let parts = self.pattern.split('/').map(|part| part.replace('#', "*"));
            self.base.join(parts.collect::<PathBuf>())
        }
    }
}
