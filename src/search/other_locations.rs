//! Places that come after the usual ones.

use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
use crate::model::platform::Os;
use crate::search::install_layout::{PACKAGES, SITE};
use crate::search::search_step::{Kind, Place, Step};
use crate::search::{At, install_layout, surrounding};
use std::path::{Path, PathBuf};

/// As pip installs them into Debian's own Python.
const DIST: &str = "lib/python#/dist-packages/nvidia";

impl At<'_> {
    /// Where people unpack NVIDIA's archive of cuDNN.
    pub(super) fn cudnn_directories(&self) -> Vec<Step> {
        let local = self.below_root(Path::new("/usr/local"));
        let opt = self.below_root(Path::new("/opt"));
        let below = |dir: &Path, pattern| install_layout::cudnn(self.platform, dir, pattern);
        let [unpacked, _] = install_layout::archives(self.platform, &local);
        let [optional, _] = install_layout::archives(self.platform, &opt);
        let trees = [
            below(&local.join("cudnn"), ""),
            below(&local, "cudnn-#"),
            install_layout::system(Kind::Cudnn, self.platform, &local),
            below(&opt.join("cudnn"), ""),
            unpacked,
            optional,
        ];
        let via = FoundVia::Directory("cuDNN's own directory");
        let trees = trees.into_iter();
        trees
            .map(|tree| surrounding(&via, true, Kind::Cudnn, tree))
            .collect()
    }

    /// NVIDIA's HPC SDK holds a toolkit for each of several releases, and the mathematical libraries beside them.
    pub(super) fn hpc_sdk(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (variable, pattern) in [
            (Variable::NvhpcCudaHome, ""),
            (Variable::NvhpcRoot, "cuda/#"),
        ] {
            if let Some(dir) = self.env.path(variable) {
                let tree = install_layout::hpc_toolkit(self.platform, &dir, pattern);
                let via = FoundVia::variable(variable.name());
                steps.push(surrounding(&via, false, Kind::Toolkit, tree));
            }
        }
        let system = format!("/opt/nvidia/hpc_sdk/Linux_{}", self.platform.cpu);
        let usual = self.below_root(Path::new(&system));
        let tree = install_layout::hpc_toolkit(self.platform, &usual, "#/cuda/#");
        let via = FoundVia::Directory("HPC SDK");
        steps.push(surrounding(&via, true, Kind::Toolkit, tree));
        steps
    }

    /// TensorFlow's list of directories, with commas between them.
    pub(super) fn tensorflow_paths(&self) -> Vec<Step> {
        let name = Variable::TfCudaPaths.name();
        let via = FoundVia::variable(name);
        let list = self.env.var(name).unwrap_or_default();
        let mut steps = Vec::new();
        for dir in list.split(',').map(str::trim).filter(|dir| !dir.is_empty()) {
            steps.extend(self.both(&via, false, &self.env.directory().join(dir), ""));
        }
        steps
    }

    /// What pip put there for one user, or as root for all.
    pub(super) fn python_packages(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut look = |via: &FoundVia, dir: &Path, below| {
            steps.extend(self.wheels(via, true, &self.below_root(dir), below));
        };
        if let Some(home) = self.env.path(Variable::Home) {
            let via = FoundVia::Directory("Python packages of this user");
            look(&via, &home.join(".local"), SITE);
        }
        let via = FoundVia::Directory("Python packages of all users");
        for (dir, below) in [
            ("/usr/local", SITE),
            ("/usr/local", DIST),
            ("/usr/lib/python3/dist-packages", PACKAGES),
        ] {
            look(&via, Path::new(dir), below);
        }
        steps
    }

    /// Another system's files, in which that of the target is looked for as it would be there.
    pub(super) fn sysroot(&self) -> Vec<Step> {
        let root = self.env.path(Variable::PkgConfigSysroot);
        let Some(root) = root.filter(|root| root.parent().is_some()) else {
            return Vec::new();
        };
        let via = &FoundVia::variable(Variable::PkgConfigSysroot.name());
        let usr = root.join("usr");
        let mut steps = self.both(via, false, &usr.join("local/cuda"), "");
        steps.extend(self.spread(via, false, &usr));
        steps
    }

    /// Where those without root unpack NVIDIA's archives: `runfile --toolkitpath=$HOME/cuda-12.4`.
    pub(super) fn home(&self) -> Vec<Step> {
        let Some(home) = self.env.path(Variable::Home) else {
            return Vec::new();
        };
        let home = self.below_root(&home);
        let via = &FoundVia::Directory("home directory");
        let mut steps = self.both(via, true, &home, "cuda-#");
        let [unpacked, _] = install_layout::archives(self.platform, &home);
        steps.push(surrounding(via, true, Kind::Cudnn, unpacked));
        steps
    }

    /// What a distribution or a module wrote down for pkg-config, in the order in which that looks. It looks at this
    /// system, and below no root.
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
        let step = |kind| Step::unasked(kind, &FoundVia::PkgConfig(None), false, place.clone());
        vec![step(Kind::Toolkit), step(Kind::Cudnn)]
    }
}

/// Where pkg-config looks of itself: Debian's and Fedora's.
fn usual_pkg_config(multiarch: &str) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for top in ["/usr/local", "/usr"] {
        for dir in [&*format!("lib/{multiarch}"), "lib64", "lib", "share"] {
            dirs.push(Path::new(top).join(dir).join("pkgconfig"));
        }
    }
    dirs
}
