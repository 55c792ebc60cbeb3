//! Places that come after the usual ones.

use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
use crate::model::platform::Os;
use crate::search::install_layout::{PACKAGES, SITE, Wheels};
use crate::search::search_step::{Kind, Place, Step};
use crate::search::{At, install_layout, surroundings};
use std::path::{Path, PathBuf};

/// As pip installs them into Debian's own Python.
const DIST: Wheels = [
    "lib/python#/dist-packages/nvidia/cu#",
    "lib/python#/dist-packages/nvidia",
    "lib/python#/dist-packages/nvidia/cudnn",
];

impl At<'_> {
    /// Where people unpack NVIDIA's archive of cuDNN.
    pub(super) fn cudnn_directories(&self) -> Vec<Step> {
        if self.platform.os != Os::Linux {
            return Vec::new();
        }
        let [local, opt] = ["/usr/local", "/opt"].map(|dir| self.below_root(Path::new(dir)));
        let below = |dir: &Path, pattern| install_layout::cudnn(self.platform, dir, pattern);
        let mut trees = vec![
            below(&local.join("cudnn"), ""),
            below(&local, "cudnn-#"),
            install_layout::system_cudnn(self.platform, &local),
            below(&opt.join("cudnn"), ""),
        ];
        for dir in [&local, &opt] {
            trees.extend(install_layout::archives(self.platform, dir).take(1));
        }
        let step = |tree| Step {
            kind: Kind::Cudnn,
            via: FoundVia::Directory("cuDNN's own directory"),
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
            let tree = install_layout::hpc_toolkit(self.platform, &dir, "");
            let via = FoundVia::variable(Variable::NvhpcCudaHome.name());
            steps.extend(surroundings(&via, false, [(Kind::Toolkit, tree)]));
        }
        if let Some(dir) = self.env.path(Variable::NvhpcRoot) {
            let tree = install_layout::hpc_toolkit(self.platform, &dir, "cuda/#");
            let via = FoundVia::variable(Variable::NvhpcRoot.name());
            steps.extend(surroundings(&via, false, [(Kind::Toolkit, tree)]));
        }
        let tree = install_layout::hpc_toolkit(self.platform, &usual, "#/cuda/#");
        let via = FoundVia::Directory("HPC SDK");
        steps.extend(surroundings(&via, true, [(Kind::Toolkit, tree)]));
        steps
    }

    /// TensorFlow's list of directories, with commas between them.
    pub(super) fn tensorflow_paths(&self) -> Vec<Step> {
        let list = self.env.var(Variable::TfCudaPaths.name());
        let dirs = list.unwrap_or_default().split(',').map(str::trim);
        let dirs = dirs.filter(|dir| !dir.is_empty());
        dirs.flat_map(|dir| {
            let dir = self.env.directory().join(dir);
            let via = FoundVia::variable(Variable::TfCudaPaths.name());
            self.both(&via, false, &dir, "")
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
        let own = own.map(|dir| {
            (
                FoundVia::Directory("Python packages of this user"),
                dir,
                SITE,
            )
        });
        let all = || FoundVia::Directory("Python packages of all users");
        let places = [
            own,
            Some((all(), "/usr/local".into(), SITE)),
            Some((all(), "/usr/local".into(), DIST)),
            Some((all(), "/usr/lib/python3/dist-packages".into(), PACKAGES)),
        ];
        let steps = places
            .into_iter()
            .flatten()
            .flat_map(|(via, dir, below)| self.wheels(&via, &self.below_root(&dir), below));
        steps
            .map(|step| Step {
                fixed: true,
                ..step
            })
            .collect()
    }

    /// Another system's files, in which that of the target is looked for as it would be there.
    pub(super) fn sysroot(&self) -> Vec<Step> {
        let Some(root) = self.env.path(Variable::PkgConfigSysroot) else {
            return Vec::new();
        };
        let via = &FoundVia::variable(Variable::PkgConfigSysroot.name());
        if self.platform.os != Os::Linux || root.parent().is_none() {
            return Vec::new();
        }
        let usr = root.join("usr");
        let trees = [
            (
                Kind::Toolkit,
                install_layout::system_toolkit(self.platform, &usr),
            ),
            (
                Kind::Cudnn,
                install_layout::system_cudnn(self.platform, &usr),
            ),
        ];
        [
            self.both(via, false, &usr.join("local/cuda"), ""),
            surroundings(via, false, trees),
        ]
        .concat()
    }

    /// Where those without root unpack NVIDIA's archives: `runfile --toolkitpath=$HOME/cuda-12.4`.
    pub(super) fn home(&self) -> Vec<Step> {
        let (Some(home), Os::Linux) = (self.env.path(Variable::Home), self.platform.os) else {
            return Vec::new();
        };
        let home = self.below_root(&home);
        let via = &FoundVia::Directory("home directory");
        let archive = install_layout::archives(self.platform, &home).take(1);
        let archive = archive.flat_map(|tree| surroundings(via, true, [(Kind::Cudnn, tree)]));
        let mut steps = self.both(via, true, &home, "cuda-#");
        steps.extend(archive);
        steps
    }

    /// What a distribution or a module wrote down for pkg-config, in the order in which that looks. It looks at this
    /// system, and below no root.
    pub(super) fn pkg_config(&self) -> Vec<Step> {
        let listed = |variable| self.env.get(variable).map(|list| self.listed(list));
        let mut dirs = listed(Variable::PkgConfigPath).unwrap_or_default();
        dirs.extend(match listed(Variable::PkgConfigLibDir) {
            Some(instead) => instead,
            None if self.platform.os == Os::Linux => usual_pkg_config(&self.platform.multiarch()),
            None => Vec::new(),
        });
        if self.root.is_some() || dirs.is_empty() {
            return Vec::new();
        }
        let step = |kind| Step {
            kind,
            via: FoundVia::PkgConfig(None),
            wish: None,
            fixed: false,
            place: Place::PkgConfig(dirs.clone()),
        };
        [Kind::Toolkit, Kind::Cudnn].map(step).to_vec()
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
