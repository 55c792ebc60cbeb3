//! One place of the search.

use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
use crate::model::platform::{Os, Platform};
use std::path::{Path, PathBuf};

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A CUDA toolkit.
    Toolkit,
    /// A cuDNN.
    Cudnn,
}

/// One place to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is looked for.
    pub kind: Kind,
    /// How somebody came to look here.
    pub via: FoundVia,
    /// The variable in which somebody asked for exactly this place.
    pub wish: Option<Variable>,
    /// Whether the place is fixed, so that the host's root goes before it and links stay below that root.
    pub fixed: bool,
    /// The place.
    pub place: Place,
}

/// A place.
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
    /// The directory.
    pub base: PathBuf,
    /// What lies below it: `cuda-#`. A `#` stands for any release number; the newest is looked at first.
    pub pattern: &'static str,
    /// Where headers may be; absolute, or below the rest. A `#` here stands for each CUDA: `include/#`.
    pub include: Vec<PathBuf>,
    /// Where libraries may be.
    pub lib: Vec<PathBuf>,
    /// Where the compiler may be.
    pub nvcc: Vec<PathBuf>,
}

impl Step {
    /// The files without which this place is of no use, for messages.
    pub fn wanted(&self, platform: &Platform) -> Vec<PathBuf> {
        match &self.place {
            Place::Nvcc(files) => files.clone(),
            Place::Copy(..) | Place::PkgConfig(_) => Vec::new(),
            Place::Tree(tree) => {
                let top = tree.shown();
                let below = |dirs: &[PathBuf], name: &str| -> Vec<PathBuf> {
                    let starred =
                        |dir: &PathBuf| of_flavour(dir, "*").unwrap_or_else(|| dir.clone());
                    dirs.iter()
                        .map(|dir| top.join(starred(dir)).join(name))
                        .collect()
                };
                match (self.kind, platform.os) {
                    (Kind::Toolkit, _) => [
                        // Of the split wheels, only the first holds it; of a whole toolkit, `include` and `targets` do.
                        below(tree.include.get(..2).unwrap_or(&tree.include), "cuda.h"),
                        tree.nvcc.iter().map(|nvcc| top.join(nvcc)).collect(),
                    ]
                    .concat(),
                    (Kind::Cudnn, Os::Windows) => [
                        below(&tree.include, "cudnn.h"),
                        below(&import_dirs(&tree.lib), "cudnn.lib"),
                    ]
                    .concat(),
                    (Kind::Cudnn, _) => [
                        below(&tree.include, "cudnn.h"),
                        below(&tree.lib, "libcudnn.so*"),
                    ]
                    .concat(),
                }
            }
        }
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

/// Where import libraries may be: not beside the DLLs.
fn import_dirs(dirs: &[PathBuf]) -> Vec<PathBuf> {
    let mut dirs = dirs.to_vec();
    dirs.retain(|dir| !dir.starts_with("bin"));
    dirs
}

impl Tree {
    /// The directory that everything else lies below, as people write it.
    fn shown(&self) -> PathBuf {
        if self.pattern.is_empty() {
            self.base.clone()
        } else {
            let parts = self.pattern.split('/').map(|part| part.replace('#', "*"));
            self.base.join(parts.collect::<PathBuf>())
        }
    }
}
