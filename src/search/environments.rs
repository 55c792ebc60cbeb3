//! Environments of Python and conda, and what modules load.

use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
use crate::model::platform::Os;
use crate::search::install_layout::{JIT_SITE, SITE, WINDOWS_SITE, Wheels};
use crate::search::search_step::{Kind, Place, Step, Tree};
use crate::search::{At, install_layout, is_conda_build, surroundings};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Python packages that bring a cuDNN of their own, and where in a Python's directory it lies.
const COPIES: [(&str, &str); 6] = [
    ("torch", "lib/python#/site-packages/torch/lib"),
    ("onnxruntime", "lib/python#/site-packages/onnxruntime/capi"),
    ("ctranslate2", "lib/python#/site-packages/ctranslate2.libs"),
    ("tensorflow", "lib/python#/site-packages/tensorflow"),
    ("paddle", "lib/python#/site-packages/paddle/libs"),
    ("cupy", "lib/python#/site-packages/cupy/.data/lib"),
];

impl At<'_> {
    pub(super) fn virtual_environment(&self) -> Vec<Step> {
        let Some(dir) = self.env.path(Variable::VirtualEnv) else {
            return Vec::new();
        };
        let via = &FoundVia::VirtualEnvironment;
        [
            self.wheels(via, &dir, self.site()),
            self.jit_wheel(via, &dir),
            self.copies(via, &dir),
        ]
        .concat()
    }

    pub(super) fn site(&self) -> Wheels {
        match self.platform.os {
            Os::Windows => WINDOWS_SITE,
            _ => SITE,
        }
    }

    pub(super) fn conda(&self) -> Vec<Step> {
        let Some(prefix) = self.env.path(Variable::CondaPrefix) else {
            return Vec::new();
        };
        let via = &FoundVia::Conda;
        let own = match self.platform.os {
            Os::Windows => self.both(via, false, &prefix.join("Library"), ""),
            _ => self.both(via, false, &prefix, ""),
        };
        // And what pip installed into it.
        [
            own,
            self.wheels(via, &prefix, self.site()),
            self.jit_wheel(via, &prefix),
            self.copies(via, &prefix),
        ]
        .concat()
    }

    /// conda-build keeps what the package is built with in two environments: headers and libraries in one, the compiler
    /// in the other.
    pub(super) fn conda_build(&self) -> Vec<Step> {
        let prefix = self.env.path(Variable::CondaHostPrefix);
        let (Some(prefix), true) = (prefix, is_conda_build(self.env)) else {
            return Vec::new();
        };
        let below = |prefix: &Path| match self.platform.os {
            Os::Windows => prefix.join("Library"),
            _ => prefix.to_path_buf(),
        };
        let mut steps = self.both(&FoundVia::CondaBuild, false, &below(&prefix), "");
        if let Some(tools) = self.env.path(Variable::CondaBuildPrefix) {
            let tools = install_layout::toolkit(self.platform, &below(&tools), "");
            let compilers = tools.nvcc.iter().map(|nvcc| tools.base.join(nvcc));
            let compilers: Vec<PathBuf> = compilers.collect();
            for step in &mut steps {
                if let (Kind::Toolkit, Place::Tree(tree)) = (step.kind, &mut step.place) {
                    tree.nvcc.splice(0..0, compilers.clone());
                }
            }
        }
        steps
    }

    /// EasyBuild's modules name their directories so. Those of Spack, Lmod and Cray set CUDA_HOME and CUDNN_ROOT, or
    /// PATH alone.
    pub(super) fn loaded_modules(&self) -> Vec<Step> {
        let modules = [Variable::EasyBuildCuda, Variable::EasyBuildCudnn];
        let loaded = modules.iter().filter_map(|&variable| {
            let dir = self.env.path(variable)?;
            Some(self.both(&FoundVia::Module(variable), false, &dir, ""))
        });
        loaded.flatten().collect()
    }

    /// What uv, poetry and pixi make in a project, where nobody activated it. A crate of a workspace has it in a
    /// directory above its own, one from the registry above cargo's `target`.
    pub(super) fn beside_the_manifest(&self) -> Vec<Step> {
        let package = match self.env.var("CARGO_MANIFEST_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => self.env.directory().to_path_buf(),
        };
        let out = self.env.var("OUT_DIR").map(Path::new);
        let target = out.and_then(|out| out.ancestors().find(|dir| dir.ends_with("target")));
        let mut dirs: Vec<&Path> = package.ancestors().take(4).collect();
        dirs.extend(
            target
                .and_then(Path::parent)
                .filter(|dir| !dirs.contains(dir)),
        );
        dirs.retain(|dir| dir.is_absolute() && dir.parent().is_some());
        // The project of the machine that builds is no part of another system's image.
        dirs.retain(|dir| self.is_inside(dir));
        let mut steps = Vec::new();
        if let Some(name) = self.env.var(Variable::UvProjectEnvironment.name()) {
            let places: Vec<PathBuf> = match Path::new(name) {
                named if named.is_absolute() => vec![named.to_path_buf()],
                named => dirs.iter().map(|dir| dir.join(named)).collect(),
            };
            let via = FoundVia::variable(Variable::UvProjectEnvironment.name());
            for dir in &places {
                steps.extend(self.wheels(&via, dir, self.site()));
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
                steps.extend(self.both(via, false, &dir.join(".pixi/envs/default"), ""));
            }
        }
        steps
    }

    /// Images put an environment on PATH and activate none; pyenv and conda leave one there.
    pub(super) fn environments_on_path(&self) -> Vec<Step> {
        let path = self.env.get(Variable::Path).unwrap_or(OsStr::new(""));
        let bins = self.listed(path).into_iter();
        let bins = bins.filter(|dir| dir.ends_with("bin") && self.platform.os == Os::Linux);
        // Below a root, what the shell of this machine has in mind is not meant.
        let bins = bins.filter(|dir| self.is_inside(dir));
        let mut prefixes: Vec<PathBuf> = Vec::new();
        for prefix in bins.filter_map(|dir| dir.parent().map(Path::to_path_buf)) {
            // Those of the system are looked at as such.
            let own = ["/", "/usr", "/usr/local"].map(|dir| self.below_root(Path::new(dir)));
            if !own.contains(&prefix) && !prefixes.contains(&prefix) {
                prefixes.push(prefix);
            }
        }
        let via = &FoundVia::EnvironmentOnPath;
        let steps = prefixes.iter().flat_map(|prefix| {
            let own = install_layout::cudnn(self.platform, prefix, "");
            let own = surroundings(via, false, [(Kind::Cudnn, own)]);
            [own, self.wheels(via, prefix, SITE)].concat()
        });
        steps.collect()
    }

    /// A wheel with the part of cuDNN that compiles graphs at run time.
    pub(super) fn jit_wheel(&self, via: &FoundVia, dir: &Path) -> Vec<Step> {
        if self.platform.os != Os::Linux {
            return Vec::new();
        }
        let tree = install_layout::cudnn(self.platform, dir, JIT_SITE);
        surroundings(via, false, [(Kind::Cudnn, tree)])
    }

    /// What Python packages in this environment bring along: never linked, and perhaps loaded first.
    pub(super) fn copies(&self, via: &FoundVia, dir: &Path) -> Vec<Step> {
        if self.platform.os != Os::Linux {
            return Vec::new();
        }
        let step = |(owner, pattern)| Step {
            kind: Kind::Cudnn,
            via: via.clone(),
            wish: None,
            fixed: false,
            place: Place::Copy(
                owner,
                Tree {
                    base: dir.to_path_buf(),
                    pattern,
                    lib: vec![PathBuf::new()],
                    ..Tree::default()
                },
            ),
        };
        COPIES.into_iter().map(step).collect()
    }
}
