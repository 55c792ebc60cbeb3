//! The default paths of the C compiler and linker. They are the only place where modules, Nix and Guix name cuDNN.

use crate::model::{FoundVia, Kind, Variable};
use crate::search::{LEAVES, Places, Tree};
use crate::system::files;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Lists of header directories that gcc reads.
const INCLUDE: [Variable; 3] = [
    Variable::CPath,
    Variable::CIncludePath,
    Variable::CplusIncludePath,
];

impl Places<'_> {
    pub(super) fn compiler_paths(&mut self) {
        let set = |variables: &[Variable]| {
            let mut set = Vec::new();
            for variable in variables {
                if self.env.get(*variable).is_some() {
                    set.push(*variable);
                }
            }
            FoundVia::variables(&set)
        };
        let [a, b, c] = INCLUDE;
        let mut include = self.listed(a);
        include.extend(self.listed(b));
        include.extend(self.listed(c));
        let lib = self.listed(Variable::LibraryPath);
        self.named_dirs(&set(&[a, b, c, Variable::LibraryPath]), include, lib);
        let flags = |variable: Variable, flags: &[&str]| {
            let text = self.env.get(variable).and_then(OsStr::to_str);
            flagged(text.unwrap_or_default(), flags)
        };
        let include = flags(Variable::NixCFlags, &["-isystem", "-I"]);
        let lib = flags(Variable::NixLdFlags, &["-L"]);
        let via = set(&[Variable::NixCFlags, Variable::NixLdFlags]);
        self.named_dirs(&via, include, lib);
        // Spack and Nix list the prefixes of loaded packages.
        let via = FoundVia::variables(&[Variable::CmakePrefixPath]);
        for dir in self.listed(Variable::CmakePrefixPath) {
            if !is_system(&dir) && self.host.is_inside(&dir) {
                self.both(&via, &dir, "");
            }
        }
    }

    /// Adds the parents of all `include` and `lib` directories, followed by a step with all of the directories.
    fn named_dirs(&mut self, via: &FoundVia, mut include: Vec<PathBuf>, mut lib: Vec<PathBuf>) {
        files::keep(&mut include, &|dir| self.host.is_inside(dir));
        files::keep(&mut lib, &|dir| self.host.is_inside(dir));
        let mut known = Vec::new();
        for dirs in [&include, &lib] {
            for dir in dirs {
                let is_named = LEAVES.iter().any(|leaf| dir.ends_with(leaf));
                let prefix = dir.parent().unwrap_or(dir);
                if is_named && !is_system(prefix) && !known.contains(&prefix) {
                    self.both(via, prefix, "");
                    known.push(prefix);
                }
            }
        }
        if let (Some(base), false) = (include.first().cloned(), lib.is_empty()) {
            let tree = Tree {
                base,
                include,
                lib,
                ..Tree::default()
            };
            self.tree(Kind::Cudnn, via, tree);
        }
    }
}

/// Returns `true` for directories that other steps search.
fn is_system(dir: &Path) -> bool {
    matches!(dir.to_str(), Some("/" | "/usr" | "/usr/local"))
}

/// Returns the directories after these flags: `-isystem /a/include -L/b/lib`.
fn flagged(text: &str, flags: &[&str]) -> Vec<PathBuf> {
    let mut words = text.split_whitespace();
    let mut dirs = Vec::new();
    while let Some(word) = words.next() {
        let value = match flags.iter().find_map(|flag| word.strip_prefix(flag)) {
            Some("") => words.next(),
            other => other,
        };
        dirs.extend(value.map(PathBuf::from).filter(|dir| dir.is_absolute()));
    }
    dirs
}
