//! Environments of Python and conda.

use crate::model::{FoundVia, Kind, Os, Variable};
use crate::search::{Place, Places, SITE, Tree, WINDOWS_SITE, install_layout, is_conda_build};
use crate::system::files;
use std::path::{Path, PathBuf};

/// Python packages with a bundled cuDNN, and the directory of the copy below the Python's.
const COPIES: [(&str, &str); 6] = [
    ("torch", "lib/python#/site-packages/torch/lib"),
    ("onnxruntime", "lib/python#/site-packages/onnxruntime/capi"),
    ("ctranslate2", "lib/python#/site-packages/ctranslate2.libs"),
    ("tensorflow", "lib/python#/site-packages/tensorflow"),
    ("paddle", "lib/python#/site-packages/paddle/libs"),
    ("cupy", "lib/python#/site-packages/cupy/.data/lib"),
];

impl Places<'_> {
    pub(super) fn virtual_environment(&mut self) {
        if let Some(dir) = self.env.path(Variable::VirtualEnv) {
            self.python(&FoundVia::VirtualEnvironment, &dir);
        }
    }

    pub(super) fn conda(&mut self) {
        if let Some(prefix) = self.env.path(Variable::CondaPrefix) {
            let via = &FoundVia::Conda;
            self.both(via, &self.below_conda(&prefix), "");
            // The wheels that pip installed into the environment.
            self.python(via, &prefix);
        }
    }

    fn below_conda(&self, prefix: &Path) -> PathBuf {
        match self.platform.os {
            Os::Windows => prefix.join("Library"),
            _ => prefix.to_path_buf(),
        }
    }

    /// Adds the two environments of conda-build: one with headers and libraries, one with the compiler.
    pub(super) fn conda_build(&mut self) {
        let prefix = self.env.path(Variable::CondaHostPrefix);
        let (Some(prefix), true) = (prefix, is_conda_build(self.env)) else {
            return;
        };
        let (via, prefix) = (&FoundVia::CondaBuild, self.below_conda(&prefix));
        let mut toolkit = install_layout::toolkit(self.platform, &prefix, "");
        if let Some(tools) = self.env.path(Variable::CondaBuildPrefix) {
            let tools = self.below_conda(&tools);
            let mut nvccs = files::below(&tools, &toolkit.nvcc);
            nvccs.append(&mut toolkit.nvcc);
            toolkit.nvcc = nvccs;
        }
        self.tree(Kind::Toolkit, via, toolkit);
        let cudnn = install_layout::cudnn(self.platform, &prefix, "");
        self.tree(Kind::Cudnn, via, cudnn);
    }

    /// Adds the inactive environments that uv, poetry and pixi create in a project. For a crate of a workspace, they
    /// are above the crate's directory; for a crate from the registry, beside cargo's `target`.
    pub(super) fn beside_the_manifest(&mut self) {
        let package = match self.env.var("CARGO_MANIFEST_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => self.env.directory().to_path_buf(),
        };
        let out = self.env.var("OUT_DIR").map(Path::new);
        let target = out.and_then(|out| out.ancestors().find(|dir| dir.ends_with("target")));
        let mut dirs = Vec::new();
        for dir in package.ancestors().take(4) {
            dirs.push(dir.to_path_buf());
        }
        if let Some(project) = target.and_then(Path::parent) {
            files::push_new(&mut dirs, project.to_path_buf());
        }
        // The project on the build machine is not part of another system's image.
        files::keep(&mut dirs, &|dir| {
            dir.parent().is_some() && self.host.is_inside(dir)
        });
        if let Some(name) = self.env.var(Variable::UvProjectEnvironment.name()) {
            let via = FoundVia::variables(&[Variable::UvProjectEnvironment]);
            let named = Path::new(name);
            if named.is_absolute() {
                self.wheels(&via, named, self.site());
            } else {
                for dir in &dirs {
                    self.wheels(&via, &dir.join(named), self.site());
                }
            }
        }
        if self.env.get(Variable::VirtualEnv).is_none() {
            let via = &FoundVia::InactiveVirtualEnvironment;
            for dir in &dirs {
                self.wheels(via, &dir.join(".venv"), self.site());
            }
        }
        if self.env.get(Variable::CondaPrefix).is_none() && self.platform.os == Os::Linux {
            let via = &FoundVia::InactivePixi;
            for dir in &dirs {
                self.both(via, &dir.join(".pixi/envs/default"), "");
            }
        }
    }

    /// Adds the environments on PATH. Container images do not activate theirs, and pyenv and conda leave them there.
    pub(super) fn environments_on_path(&mut self) {
        // Other steps search the system's directories.
        let system = |dir| self.host.sysroot().at(dir);
        let system = [system("/"), system("/usr"), system("/usr/local")];
        let via = &FoundVia::EnvironmentOnPath;
        let mut known = Vec::new();
        for bin in self.listed(Variable::Path) {
            let is_environment = bin.ends_with("bin") && self.host.is_inside(&bin);
            let prefix = bin.parent().unwrap_or(&bin).to_path_buf();
            if is_environment && !system.contains(&prefix) && !known.contains(&prefix) {
                let cudnn = install_layout::cudnn(self.platform, &prefix, "");
                self.tree(Kind::Cudnn, via, cudnn);
                self.wheels(via, &prefix, SITE);
                known.push(prefix);
            }
        }
    }

    fn site(&self) -> &'static str {
        match self.platform.os {
            Os::Windows => WINDOWS_SITE,
            _ => SITE,
        }
    }

    /// Adds the wheels in this environment and the bundled copies of its packages, which are never linked but may be
    /// loaded first.
    fn python(&mut self, via: &FoundVia, dir: &Path) {
        self.all_wheels(via, dir, self.site());
        if self.platform.os == Os::Linux {
            for (owner, pattern) in COPIES {
                let mut tree = Tree::new(dir, pattern);
                tree.lib.push(PathBuf::new());
                self.add(Kind::Cudnn, via, Place::Copy(owner, tree));
            }
        }
    }
}
