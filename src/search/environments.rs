//! Environments of Python and conda.

use crate::model::{FoundVia, Os, Variable};
use crate::search::install_layout::{SITE, WINDOWS_SITE};
use crate::search::{
    Kind, Place, Places, Step, Tree, context_step, install_layout, is_conda_build,
};
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
    pub(super) fn virtual_environment(&self) -> Vec<Step> {
        match self.env.path(Variable::VirtualEnv) {
            Some(dir) => self.python(&FoundVia::VirtualEnvironment, &dir),
            None => Vec::new(),
        }
    }

    pub(super) fn conda(&self) -> Vec<Step> {
        let Some(prefix) = self.env.path(Variable::CondaPrefix) else {
            return Vec::new();
        };
        let via = &FoundVia::Conda;
        let mut steps = self.both(via, &self.below_conda(&prefix), "");
        // The wheels that pip installed into the environment.
        steps.extend(self.python(via, &prefix));
        steps
    }

    fn below_conda(&self, prefix: &Path) -> PathBuf {
        match self.platform.os {
            Os::Windows => prefix.join("Library"),
            _ => prefix.to_path_buf(),
        }
    }

    /// Returns the two environments of conda-build: one with headers and libraries, one with the compiler.
    pub(super) fn conda_build(&self) -> Vec<Step> {
        let prefix = self.env.path(Variable::CondaHostPrefix);
        let (Some(prefix), true) = (prefix, is_conda_build(self.env)) else {
            return Vec::new();
        };
        let mut steps = self.both(&FoundVia::CondaBuild, &self.below_conda(&prefix), "");
        if let Some(tools) = self.env.path(Variable::CondaBuildPrefix) {
            let tools = install_layout::toolkit(self.platform, &self.below_conda(&tools), "");
            for step in &mut steps {
                if let (Kind::Toolkit, Place::Tree(tree)) = (step.kind, &mut step.place) {
                    for (at, nvcc) in tools.nvcc.iter().enumerate() {
                        tree.nvcc.insert(at, tools.base.join(nvcc));
                    }
                }
            }
        }
        steps
    }

    /// Returns the inactive environments that uv, poetry and pixi create in a project. For a crate of a workspace, they
    /// are above the crate's directory; for a crate from the registry, beside cargo's `target`.
    pub(super) fn beside_the_manifest(&self) -> Vec<Step> {
        let package = match self.env.var("CARGO_MANIFEST_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => self.env.directory().to_path_buf(),
        };
        let out = self.env.var("OUT_DIR").map(Path::new);
        let target = out.and_then(|out| out.ancestors().find(|dir| dir.ends_with("target")));
        let mut dirs: Vec<&Path> = package.ancestors().take(4).collect();
        let project = target.and_then(Path::parent);
        dirs.extend(project.filter(|dir| !dirs.contains(dir)));
        // The project on the build machine is not part of another system's image.
        dirs.retain(|dir| dir.is_absolute() && dir.parent().is_some() && self.is_inside(dir));
        let mut steps = Vec::new();
        if let Some(name) = self.env.var(Variable::UvProjectEnvironment.name()) {
            let via = FoundVia::variables(&[Variable::UvProjectEnvironment]);
            let named = Path::new(name);
            let above = if named.is_absolute() {
                &[named]
            } else {
                &dirs[..]
            };
            for dir in above {
                steps.extend(self.wheels(&via, &dir.join(named), self.site()));
            }
        }
        if self.env.get(Variable::VirtualEnv).is_none() {
            let via = &FoundVia::InactiveVirtualEnvironment;
            for dir in &dirs {
                steps.extend(self.wheels(via, &dir.join(".venv"), self.site()));
            }
        }
        if self.env.get(Variable::CondaPrefix).is_none() && self.platform.os == Os::Linux {
            let via = &FoundVia::InactivePixi;
            for dir in &dirs {
                steps.extend(self.both(via, &dir.join(".pixi/envs/default"), ""));
            }
        }
        steps
    }

    /// Returns the environments on PATH. Container images do not activate theirs, and pyenv and conda leave them there.
    pub(super) fn environments_on_path(&self) -> Vec<Step> {
        // Other steps search the system's directories.
        let system = |dir| self.below_root(Path::new(dir));
        let system = [system("/"), system("/usr"), system("/usr/local")];
        let via = &FoundVia::EnvironmentOnPath;
        let mut known = Vec::new();
        let mut steps = Vec::new();
        for bin in self.listed(Variable::Path) {
            let is_environment = bin.ends_with("bin") && self.is_inside(&bin);
            let prefix = bin.parent().unwrap_or(&bin).to_path_buf();
            if is_environment && !system.contains(&prefix) && !known.contains(&prefix) {
                let own = install_layout::cudnn(self.platform, &prefix, "");
                steps.push(context_step(via, Kind::Cudnn, own));
                steps.extend(self.wheels(via, &prefix, SITE));
                known.push(prefix);
            }
        }
        steps
    }

    fn site(&self) -> &'static str {
        match self.platform.os {
            Os::Windows => WINDOWS_SITE,
            _ => SITE,
        }
    }

    /// Returns the wheels in this environment and the bundled copies of its packages, which are never linked but may be
    /// loaded first.
    fn python(&self, via: &FoundVia, dir: &Path) -> Vec<Step> {
        let mut steps = self.wheels(via, dir, self.site());
        if self.platform.os == Os::Linux {
            // The wheel that only compiles graphs at run time. It does not exist for Windows.
            let jit = install_layout::cudnn(self.platform, dir, &format!("{SITE}/cudnn_jit"));
            steps.push(context_step(via, Kind::Cudnn, jit));
            for (owner, pattern) in COPIES {
                let mut tree = Tree::new(dir, pattern);
                tree.lib.push(PathBuf::new());
                let place = Place::Copy(owner, tree);
                steps.push(Step::context(Kind::Cudnn, via, place));
            }
        }
        steps
    }
}
