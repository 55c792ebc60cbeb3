//! Places that variables request.

use crate::model::{FoundVia, Kind, Names, Origin, Os, Variable};
use crate::search::{PACKAGES, Place, Places, Tree, install_layout, windows};
use crate::system::files;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

impl Places<'_> {
    pub(super) fn requested_toolkits(&mut self, origin: Origin) {
        for (variable, dir) in self.requests(Names::Toolkit, origin) {
            for tree in install_layout::named_toolkit(self.platform, &dir) {
                self.add_requested(Kind::Toolkit, variable, Place::Tree(tree));
            }
        }
        for (variable, file) in self.requests(Names::Nvcc, origin) {
            let place = Place::Nvcc(self.named_program(variable, file));
            self.add_requested(Kind::Toolkit, variable, place);
        }
    }

    pub(super) fn requested_cudnns(&mut self, origin: Origin) {
        let headers = self.requests(Names::CudnnHeaders, origin);
        for (variable, dir) in self.requests(Names::Cudnn, origin) {
            let mut named = install_layout::named_cudnn(self.platform, &dir);
            // A separate variable for headers takes precedence.
            for (at, (_, dir)) in headers.iter().enumerate() {
                named.include.insert(at, dir.clone());
            }
            let mut trees = vec![named];
            match self.platform.os {
                Os::Linux => {
                    trees.push(install_layout::unpacked_archive(self.platform, &dir));
                    trees.push(install_layout::archive(&dir, "cuda", "lib64"));
                }
                // A version directory of NVIDIA's cuDNN installer: `CUDNN\v9.2`.
                Os::Windows => trees.push(install_layout::installed_cudnn(self.platform, &dir, "")),
                Os::Other => {}
            }
            for tree in trees {
                self.add_requested(Kind::Cudnn, variable, Place::Tree(tree));
            }
        }
        self.cudnn_from_parts(origin, &headers);
    }

    /// Combines separately requested headers and libraries. If only one is requested, the other is searched beside it.
    fn cudnn_from_parts(&mut self, origin: Origin, include: &[(Variable, PathBuf)]) {
        let lib = self.requests(Names::CudnnLibrary, origin);
        // Missing libraries are more serious, so their variable comes first.
        let (first, variable) = (
            include.first().or(lib.first()),
            lib.first().or(include.first()),
        );
        let (Some((_, base)), Some((variable, _))) = (first.cloned(), variable) else {
            return;
        };
        let multiarch = self.platform.multiarch();
        let mut tree = Tree {
            base,
            ..Tree::default()
        };
        let mut named = Vec::new();
        for (variable, dir) in include {
            named.push(self.env.named(*variable));
            tree.include.push(dir.clone());
        }
        for (variable, path) in &lib {
            named.push(self.env.named(*variable));
            // `CUDNN_LIBRARY` is a file, and some users also set the other variables to a file.
            tree.lib.push(path.clone());
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let mut ends = [".lib", ".dll", ".a"].iter();
            if name.contains(".so") || ends.any(|end| name.ends_with(end)) {
                tree.lib.extend(path.parent().map(Path::to_path_buf));
            }
        }
        if let (Some((_, dir)), true) = (include.first(), lib.is_empty()) {
            let up = dir.parent().unwrap_or(dir);
            let lib = up.join("lib");
            tree.lib.extend(match self.platform.os {
                Os::Windows => vec![lib],
                _ => vec![up.join("lib64"), lib.clone(), lib.join(multiarch)],
            });
        } else if include.is_empty() {
            for dir in tree.lib.clone() {
                let include = dir.parent().unwrap_or(&dir).join("include");
                let multiarch = include.join(&multiarch);
                tree.include.push(include);
                if self.platform.os != Os::Windows {
                    tree.include.push(multiarch);
                }
            }
        }
        if self.platform.os == Os::Windows {
            windows::complete(&mut tree, self.platform);
        }
        let (via, place) = (FoundVia::Variables(named), Place::Tree(tree));
        self.push(Kind::Cudnn, via, Some(*variable), place);
    }

    pub(super) fn guard_home(&mut self, origin: Origin) {
        let first = self.steps.len();
        for (variable, dir) in self.requests(Names::Fetched, origin) {
            self.all_wheels(&self.via(variable), &dir, PACKAGES);
        }
        for step in &mut self.steps[first..] {
            step.request = Some(Variable::GuardHome);
        }
    }

    /// Adds the places of cuDNN in or beside requested toolkits: a copy inside, or the wheel beside a toolkit's
    /// wheel. They come after the requested places, because they are only requested indirectly.
    pub(super) fn cudnn_in_requested_toolkits(&mut self) {
        for &variable in Variable::ALL {
            if variable.names() != Some(Names::Toolkit) {
                continue;
            }
            let Some(dir) = self.env.path(variable) else {
                continue;
            };
            let via = self.via(variable);
            let inside = install_layout::cudnn(self.platform, &dir, "");
            self.tree(Kind::Cudnn, &via, inside);
            if let Some(tree) = install_layout::cudnn_beside(self.platform, &dir) {
                self.tree(Kind::Cudnn, &via, tree);
            }
        }
    }

    fn requests(&self, names: Names, origin: Origin) -> Vec<(Variable, PathBuf)> {
        let mut requests = Vec::new();
        for &variable in Variable::ALL {
            if variable.names() == Some(names) && self.env.named(variable).origin == origin {
                requests.extend(self.env.path(variable).map(|path| (variable, path)));
            }
        }
        requests
    }

    fn via(&self, variable: Variable) -> FoundVia {
        FoundVia::Variables(vec![self.env.named(variable)])
    }

    fn add_requested(&mut self, kind: Kind, variable: Variable, place: Place) {
        self.push(kind, self.via(variable), Some(variable), place);
    }

    /// Returns the compilers that `NVCC` or `CUDACXX` may refer to: a path or a bare name, optionally after a launcher.
    fn named_program(&self, variable: Variable, path: PathBuf) -> Vec<PathBuf> {
        let value = self.env.get(variable).and_then(OsStr::to_str);
        let value = value.unwrap_or_default();
        let last = value.split_whitespace().last().unwrap_or_default();
        let mut files = Vec::new();
        for name in [value, last] {
            if !name.contains(['/', '\\']) {
                files.extend(self.on_path(name));
            } else if name == value {
                files.push(path.clone());
            } else {
                files.push(name.into());
            }
            if value == last {
                break;
            }
        }
        files::keep(&mut files, &Path::is_absolute);
        files
    }
}
