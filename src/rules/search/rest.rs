//! Places that come after the usual ones, and copies that come along with something else.

use super::{At, surroundings};
use crate::model::env::Variable;
use crate::model::platform::Os;
use crate::rules::layout::{self, JIT_SITE, PACKAGES, SITE, Wheels};
use crate::rules::step::{Kind, Place, Step, Tree};
use std::path::{Path, PathBuf};

/// As pip installs them into Debian's own Python.
const DIST: Wheels = [
    "lib/python#/dist-packages/nvidia/cu#",
    "lib/python#/dist-packages/nvidia",
    "lib/python#/dist-packages/nvidia/cudnn",
];

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
    /// EasyBuild's modules name their directories so. Those of Spack, Lmod and Cray set CUDA_HOME and CUDNN_ROOT, or
    /// PATH alone.
    pub(super) fn loaded_modules(&self) -> Vec<Step> {
        let modules = [Variable::EasyBuildCuda, Variable::EasyBuildCudnn];
        let loaded = modules.iter().filter_map(|&variable| {
            let dir = self.env.path(variable)?;
            Some(self.both(
                &format!("loaded module ({})", variable.name()),
                false,
                &dir,
                "",
            ))
        });
        loaded.flatten().collect()
    }

    /// Where people unpack NVIDIA's archive of cuDNN.
    pub(super) fn cudnn_directories(&self) -> Vec<Step> {
        if self.platform.os != Os::Linux {
            return Vec::new();
        }
        let [local, opt] = ["/usr/local", "/opt"].map(|dir| self.below_root(Path::new(dir)));
        let below = |dir: &Path, pattern| layout::cudnn(self.platform, dir, pattern);
        let mut trees = vec![
            below(&local.join("cudnn"), ""),
            below(&local, "cudnn-#"),
            layout::system_cudnn(self.platform, &local),
            below(&opt.join("cudnn"), ""),
        ];
        for dir in [&local, &opt] {
            trees.extend(layout::archives(self.platform, dir).take(1));
        }
        let step = |tree| Step {
            kind: Kind::Cudnn,
            via: "cuDNN's own directory".into(),
            wish: None,
            fixed: true,
            place: Place::Tree(tree),
        };
        trees.into_iter().map(step).collect()
    }

    /// NVIDIA's HPC SDK holds a toolkit for each of several releases, and the mathematical libraries beside them.
    pub(super) fn hpc_sdk(&self) -> Vec<Step> {
        if self.platform.os != Os::Linux {
            return Vec::new();
        }
        let system = format!("Linux_{}", self.platform.cpu);
        let usual = self.below_root(&Path::new("/opt/nvidia/hpc_sdk").join(system));
        let mut steps = Vec::new();
        if let Some(dir) = self.env.path(Variable::NvhpcCudaHome) {
            let tree = layout::hpc_toolkit(self.platform, &dir, "");
            steps.extend(surroundings(
                "NVHPC_CUDA_HOME",
                false,
                [(Kind::Toolkit, tree)],
            ));
        }
        if let Some(dir) = self.env.path(Variable::NvhpcRoot) {
            let tree = layout::hpc_toolkit(self.platform, &dir, "cuda/#");
            steps.extend(surroundings("NVHPC_ROOT", false, [(Kind::Toolkit, tree)]));
        }
        let tree = layout::hpc_toolkit(self.platform, &usual, "#/cuda/#");
        steps.extend(surroundings("HPC SDK", true, [(Kind::Toolkit, tree)]));
        steps
    }

    /// TensorFlow's list of directories, with commas between them.
    pub(super) fn tensorflow_paths(&self) -> Vec<Step> {
        let list = self.env.text(Variable::TfCudaPaths.name());
        let dirs = list.unwrap_or_default().split(',').map(str::trim);
        let dirs = dirs.filter(|dir| !dir.is_empty());
        dirs.flat_map(|dir| {
            let dir = self.env.directory().join(dir);
            self.both("TF_CUDA_PATHS", false, &dir, "")
        })
        .collect()
    }

    /// What pip put there for one user, or as root for all.
    pub(super) fn python_packages(&self) -> Vec<Step> {
        if self.platform.os != Os::Linux {
            return Vec::new();
        }
        let own = self
            .env
            .path(Variable::Home)
            .map(|home| home.join(".local"));
        let own = own.map(|dir| ("Python packages of this user", dir, SITE));
        let all = "Python packages of all users";
        let places = [
            own,
            Some((all, "/usr/local".into(), SITE)),
            Some((all, "/usr/local".into(), DIST)),
            Some((all, "/usr/lib/python3/dist-packages".into(), PACKAGES)),
        ];
        let steps = places
            .into_iter()
            .flatten()
            .flat_map(|(via, dir, below)| self.wheels(via, &self.below_root(&dir), below));
        steps
            .map(|step| Step {
                fixed: true,
                ..step
            })
            .collect()
    }

    /// What uv, poetry and pixi make in a project, where nobody activated it. A crate of a workspace has it in a
    /// directory above its own, one from the registry above cargo's `target`.
    pub(super) fn beside_the_manifest(&self) -> Vec<Step> {
        let package = match self.env.text("CARGO_MANIFEST_DIR") {
            Some(dir) => PathBuf::from(dir),
            None => self.env.directory().to_path_buf(),
        };
        let out = self.env.text("OUT_DIR").map(Path::new);
        let target = out.and_then(|out| out.ancestors().find(|dir| dir.ends_with("target")));
        let mut dirs: Vec<&Path> = package.ancestors().take(4).collect();
        dirs.extend(
            target
                .and_then(Path::parent)
                .filter(|dir| !dirs.contains(dir)),
        );
        dirs.retain(|dir| dir.is_absolute() && dir.parent().is_some());
        // The project of the machine that builds is no part of another system's image.
        dirs.retain(|dir| self.root.is_none_or(|root| dir.starts_with(root)));
        let mut steps = Vec::new();
        if self.env.get(Variable::VirtualEnv).is_none() {
            let via = "virtual environment beside Cargo.toml (not active)";
            for dir in &dirs {
                steps.extend(self.wheels(via, &dir.join(".venv"), self.site()));
            }
        }
        if self.env.get(Variable::CondaPrefix).is_none() && self.platform.os == Os::Linux {
            let via = "pixi environment beside Cargo.toml (not active)";
            for dir in &dirs {
                steps.extend(self.both(via, false, &dir.join(".pixi/envs/default"), ""));
            }
        }
        steps
    }

    /// A wheel with the part of cuDNN that compiles graphs at run time.
    pub(super) fn jit_wheel(&self, via: &str, dir: &Path) -> Vec<Step> {
        if self.platform.os != Os::Linux {
            return Vec::new();
        }
        let tree = layout::cudnn(self.platform, dir, JIT_SITE);
        surroundings(via, false, [(Kind::Cudnn, tree)])
    }

    /// What a distribution or a module wrote down for pkg-config, in the order in which that looks.
    pub(super) fn pkg_config(&self) -> Vec<Step> {
        let listed = |variable| self.env.get(variable).map(|list| self.listed(list));
        let sysroot = self.env.path(Variable::PkgConfigSysroot);
        let mut places = Vec::new();
        let mut named = listed(Variable::PkgConfigPath).unwrap_or_default();
        let instead = listed(Variable::PkgConfigLibDir);
        let usual = instead.is_none() && self.platform.os == Os::Linux;
        named.extend(instead.into_iter().flatten());
        if !named.is_empty() {
            places.push((false, named, sysroot.clone()));
        }
        if usual {
            let multiarch = self.platform.multiarch();
            let usual = [
                format!("/usr/local/lib/{multiarch}/pkgconfig"),
                "/usr/local/lib64/pkgconfig".into(),
                "/usr/local/lib/pkgconfig".into(),
                "/usr/local/share/pkgconfig".into(),
                format!("/usr/lib/{multiarch}/pkgconfig"),
                "/usr/lib64/pkgconfig".into(),
                "/usr/lib/pkgconfig".into(),
                "/usr/share/pkgconfig".into(),
            ];
            let dirs = usual.map(|dir| self.below_root(Path::new(&dir))).to_vec();
            places.push((true, dirs, self.root.map(PathBuf::from).or(sysroot)));
        }
        let steps = places.into_iter().flat_map(|(fixed, dirs, sysroot)| {
            [Kind::Toolkit, Kind::Cudnn].map(|kind| Step {
                kind,
                via: "pkg-config".into(),
                wish: None,
                fixed,
                place: Place::PkgConfig(dirs.clone(), sysroot.clone()),
            })
        });
        steps.collect()
    }

    /// What Python packages in this environment bring along: never linked, and perhaps loaded first.
    pub(super) fn copies(&self, via: &str, dir: &Path) -> Vec<Step> {
        if self.platform.os != Os::Linux {
            return Vec::new();
        }
        let step = |(owner, pattern)| Step {
            kind: Kind::Cudnn,
            via: via.to_string(),
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
