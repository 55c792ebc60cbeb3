//! Less common places.

use crate::model::{FoundVia, Os, Variable};
use crate::search::install_layout::{PACKAGES, SITE};
use crate::search::{Kind, Place, Places, Step, context_step, install_layout};
use std::path::{Path, PathBuf};

/// The directory where pip installs NVIDIA's wheels for Debian's own Python.
const DIST: &str = "lib/python#/dist-packages/nvidia";

impl Places<'_> {
    /// Returns the directories where NVIDIA's archive of cuDNN is often unpacked.
    pub(super) fn cudnn_directories(&self) -> Vec<Step> {
        let local = self.below_root(Path::new("/usr/local"));
        let opt = self.below_root(Path::new("/opt"));
        let below = |dir: &Path, pattern| install_layout::cudnn(self.platform, dir, pattern);
        let [unpacked, _] = install_layout::archives(self.platform, &local);
        let [optional, _] = install_layout::archives(self.platform, &opt);
        let via = FoundVia::Directory("cuDNN's own directory");
        let step = |tree| context_step(&via, Kind::Cudnn, tree);
        vec![
            step(below(&local.join("cudnn"), "")),
            step(below(&local, "cudnn-#")),
            step(install_layout::system(Kind::Cudnn, self.platform, &local)),
            step(below(&opt.join("cudnn"), "")),
            step(unpacked),
            step(optional),
        ]
    }

    /// Returns the places of NVIDIA's HPC SDK: several toolkits, and the math libraries beside them.
    pub(super) fn hpc_sdk(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (variable, pattern) in [
            (Variable::NvhpcCudaHome, ""),
            (Variable::NvhpcRoot, "cuda/#"),
        ] {
            if let Some(dir) = self.env.path(variable) {
                let tree = install_layout::hpc_toolkit(self.platform, &dir, pattern);
                let via = FoundVia::variables(&[variable]);
                steps.push(context_step(&via, Kind::Toolkit, tree));
            }
        }
        let system = format!("/opt/nvidia/hpc_sdk/Linux_{}", self.platform.cpu);
        let usual = self.below_root(Path::new(&system));
        let tree = install_layout::hpc_toolkit(self.platform, &usual, "#/cuda/#");
        let via = FoundVia::Directory("HPC SDK");
        steps.push(context_step(&via, Kind::Toolkit, tree));
        steps
    }

    /// Returns the directories in TensorFlow's comma-separated list.
    pub(super) fn tensorflow_paths(&self) -> Vec<Step> {
        let via = FoundVia::variables(&[Variable::TfCudaPaths]);
        let list = self.env.var(Variable::TfCudaPaths.name());
        let mut steps = Vec::new();
        for dir in list.unwrap_or_default().split(',').map(str::trim) {
            if !dir.is_empty() {
                steps.extend(self.both(&via, &self.env.directory().join(dir), ""));
            }
        }
        steps
    }

    /// Returns the directories where pip installs packages for one user, or as root for all users.
    pub(super) fn python_packages(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut add = |via: &FoundVia, dir: &Path, below| {
            steps.extend(self.wheels(via, &self.below_root(dir), below));
        };
        if let Some(home) = self.env.path(Variable::Home) {
            let via = FoundVia::Directory("Python packages of this user");
            add(&via, &home.join(".local"), SITE);
        }
        let via = FoundVia::Directory("Python packages of all users");
        for (dir, below) in [
            ("/usr/local", SITE),
            ("/usr/local", DIST),
            ("/usr/lib/python3/dist-packages", PACKAGES),
        ] {
            add(&via, Path::new(dir), below);
        }
        steps
    }

    /// Returns the usual places of the target in pkg-config's sysroot.
    pub(super) fn sysroot(&self) -> Vec<Step> {
        let root = self.env.path(Variable::PkgConfigSysroot);
        let Some(root) = root.filter(|root| root.parent().is_some()) else {
            return Vec::new();
        };
        let via = &FoundVia::variables(&[Variable::PkgConfigSysroot]);
        let usr = root.join("usr");
        let mut steps = self.both(via, &usr.join("local/cuda"), "");
        steps.extend(self.system_packages(via, &usr));
        steps
    }

    /// Returns the directories that users without root access install into: `runfile --toolkitpath=$HOME/cuda-12.4`.
    pub(super) fn home(&self) -> Vec<Step> {
        let Some(home) = self.env.path(Variable::Home) else {
            return Vec::new();
        };
        let home = self.below_root(&home);
        let via = &FoundVia::Directory("home directory");
        let mut steps = self.both(via, &home, "cuda-#");
        let [unpacked, _] = install_layout::archives(self.platform, &home);
        steps.push(context_step(via, Kind::Cudnn, unpacked));
        steps
    }

    /// Returns the directories of pkg-config in its search order. pkg-config searches this system, not below a root.
    pub(super) fn pkg_config(&self) -> Vec<Step> {
        let mut dirs = self.listed(Variable::PkgConfigPath);
        dirs.extend(match self.env.get(Variable::PkgConfigLibDir) {
            Some(_) => self.listed(Variable::PkgConfigLibDir),
            None if self.platform.os == Os::Linux => usual_pkg_config(&self.platform.multiarch()),
            None => Vec::new(),
        });
        if self.root.is_some() || dirs.is_empty() {
            return Vec::new();
        }
        let place = Place::PkgConfig(dirs);
        let step = |kind| Step::context(kind, &FoundVia::PkgConfig(None), place.clone());
        Kind::BOTH.map(step).to_vec()
    }
}

/// Returns pkg-config's default directories on Debian and Fedora.
fn usual_pkg_config(multiarch: &str) -> Vec<PathBuf> {
    let below = |top| {
        let dirs = [&*format!("lib/{multiarch}"), "lib64", "lib", "share"];
        dirs.map(|dir| Path::new(top).join(dir).join("pkgconfig"))
    };
    [below("/usr/local"), below("/usr")].concat()
}
