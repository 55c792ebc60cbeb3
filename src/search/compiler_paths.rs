//! Where the C compiler and its linker look of themselves: modules, Nix and Guix name cuDNN there and nowhere else.

use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
use crate::model::platform::Os;
use crate::search::search_step::{Kind, Step, Tree};
use crate::search::{At, surroundings};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Lists of directories with headers, as gcc reads them.
const INCLUDE: [Variable; 3] = [
    Variable::CPath,
    Variable::CIncludePath,
    Variable::CplusIncludePath,
];

impl At<'_> {
    pub(super) fn compiler_paths(&self) -> Vec<Step> {
        if self.platform.os != Os::Linux {
            return Vec::new();
        }
        let listed = |variable: &Variable| match self.env.get(*variable) {
            Some(list) => self.listed(list),
            None => Vec::new(),
        };
        let set = |variables: &[Variable]| {
            let set = variables.iter().filter(|one| self.env.get(**one).is_some());
            FoundVia::variables(set.map(|one| one.name().to_string()))
        };
        let include: Vec<PathBuf> = INCLUDE.iter().flat_map(listed).collect();
        let [a, b, c] = INCLUDE;
        let via = set(&[a, b, c, Variable::LibraryPath]);
        let mut steps = self.named_dirs(&via, include, listed(&Variable::LibraryPath));
        let flags = |variable: Variable, flags: &[&str]| {
            let text = self.env.get(variable).and_then(OsStr::to_str);
            flagged(text.unwrap_or_default(), flags)
        };
        steps.extend(self.named_dirs(
            &set(&[Variable::NixCFlags, Variable::NixLdFlags]),
            flags(Variable::NixCFlags, &["-isystem", "-I"]),
            flags(Variable::NixLdFlags, &["-L"]),
        ));
        // Spack and Nix list the prefixes of what is loaded.
        let prefixes = listed(&Variable::CmakePrefixPath).into_iter();
        let prefixes = prefixes.filter(|dir| !is_system(dir) && self.is_inside(dir));
        let via = FoundVia::variable(Variable::CmakePrefixPath.name());
        steps.extend(prefixes.flat_map(|dir| self.both(&via, false, &dir, "")));
        steps
    }

    /// Each directory whose `include` or `lib` is named, then headers and libraries from wherever they are named.
    fn named_dirs(
        &self,
        via: &FoundVia,
        mut include: Vec<PathBuf>,
        mut lib: Vec<PathBuf>,
    ) -> Vec<Step> {
        // Below a root, what the shell of this machine has in mind is not meant.
        include.retain(|dir| self.is_inside(dir));
        lib.retain(|dir| self.is_inside(dir));
        let mut prefixes: Vec<&Path> = Vec::new();
        let leaves = ["include", "lib", "lib64"];
        let mut named = include.iter().chain(&lib).collect::<Vec<_>>();
        named.retain(|dir| leaves.iter().any(|leaf| dir.ends_with(leaf)));
        for prefix in named.into_iter().filter_map(|dir| dir.parent()) {
            if !is_system(prefix) && !prefixes.contains(&prefix) {
                prefixes.push(prefix);
            }
        }
        let prefixes = prefixes.into_iter();
        let mut steps: Vec<Step> = prefixes
            .flat_map(|dir| self.both(via, false, dir, ""))
            .collect();
        if let (Some(first), false) = (include.first(), lib.is_empty()) {
            let tree = Tree {
                base: first.clone(),
                include,
                lib,
                ..Tree::default()
            };
            steps.extend(surroundings(via, false, [(Kind::Cudnn, tree)]));
        }
        steps
    }
}

/// What is looked at in its own turn.
fn is_system(dir: &Path) -> bool {
    ["/", "/usr", "/usr/local"]
        .iter()
        .any(|own| dir == Path::new(own))
}

/// The directories behind these flags: `-isystem /a/include -L/b/lib`.
fn flagged(text: &str, flags: &[&str]) -> Vec<PathBuf> {
    let mut words = text.split_whitespace();
    let mut dirs = Vec::new();
    while let Some(word) = words.next() {
        let value = flags.iter().find_map(|flag| word.strip_prefix(flag));
        let value = match value {
            Some("") => words.next(),
            other => other,
        };
        dirs.extend(value.map(PathBuf::from).filter(|dir| dir.is_absolute()));
    }
    dirs
}
