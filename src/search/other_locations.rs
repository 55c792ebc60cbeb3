//! Less common places.

use crate::model::{FoundVia, Kind, Os, Variable};
use crate::search::{PACKAGES, Place, Places, SITE, install_layout};
use crate::system::files;
use std::path::{Path, PathBuf};

/// The directory where pip installs NVIDIA's wheels for Debian's own Python.
const DIST: &str = "lib/python#/dist-packages/nvidia";

impl Places<'_> {
    /// Adds the directories where NVIDIA's archive of cuDNN is often unpacked.
    pub(super) fn cudnn_directories(&mut self) {
        let local = self.host.sysroot().at("/usr/local");
        let opt = self.host.sysroot().at("/opt");
        let platform = self.platform;
        let via = FoundVia::Directory("cuDNN's own directory");
        let mut add = |tree| self.tree(Kind::Cudnn, &via, tree);
        add(install_layout::cudnn(platform, &local.join("cudnn"), ""));
        add(install_layout::cudnn(platform, &local, "cudnn-#"));
        add(install_layout::system(Kind::Cudnn, platform, &local));
        add(install_layout::cudnn(platform, &opt.join("cudnn"), ""));
        add(install_layout::unpacked_archive(platform, &local));
        add(install_layout::unpacked_archive(platform, &opt));
    }

    /// Adds the places of NVIDIA's HPC SDK: several toolkits, and the math libraries beside them.
    pub(super) fn hpc_sdk(&mut self) {
        for (variable, pattern) in [
            (Variable::NvhpcCudaHome, ""),
            (Variable::NvhpcRoot, "cuda/#"),
        ] {
            if let Some(dir) = self.env.path(variable) {
                let tree = install_layout::hpc_toolkit(self.platform, &dir, pattern);
                let via = FoundVia::variables(&[variable]);
                self.tree(Kind::Toolkit, &via, tree);
            }
        }
        let system = format!("/opt/nvidia/hpc_sdk/Linux_{}", self.platform.cpu);
        let usual = self.host.sysroot().at(&system);
        let tree = install_layout::hpc_toolkit(self.platform, &usual, "#/cuda/#");
        self.tree(Kind::Toolkit, &FoundVia::Directory("HPC SDK"), tree);
    }

    /// Adds the directories in TensorFlow's comma-separated list.
    pub(super) fn tensorflow_paths(&mut self) {
        let via = FoundVia::variables(&[Variable::TfCudaPaths]);
        let list = self.env.var(Variable::TfCudaPaths.name());
        for dir in list.unwrap_or_default().split(',') {
            if !dir.trim().is_empty() {
                self.both(&via, &self.env.directory().join(dir.trim()), "");
            }
        }
    }

    /// Adds the directories where pip installs packages for one user, or as root for all users.
    pub(super) fn python_packages(&mut self) {
        if let Some(home) = self.env.path(Variable::Home) {
            let via = FoundVia::Directory("Python packages of this user");
            self.wheels(&via, &self.host.sysroot().at(home.join(".local")), SITE);
        }
        let via = FoundVia::Directory("Python packages of all users");
        for (dir, below) in [
            ("/usr/local", SITE),
            ("/usr/local", DIST),
            ("/usr/lib/python3/dist-packages", PACKAGES),
        ] {
            self.wheels(&via, &self.host.sysroot().at(dir), below);
        }
    }

    /// Adds the usual places of the target in pkg-config's sysroot.
    pub(super) fn sysroot(&mut self) {
        let root = self.env.path(Variable::PkgConfigSysroot);
        if let Some(root) = root.filter(|root| root.parent().is_some()) {
            let via = &FoundVia::variables(&[Variable::PkgConfigSysroot]);
            let usr = root.join("usr");
            self.both(via, &usr.join("local/cuda"), "");
            self.system_packages(via, &usr);
        }
    }

    /// Adds the directories that users without root access install into: `runfile --toolkitpath=$HOME/cuda-12.4`.
    pub(super) fn home(&mut self) {
        if let Some(home) = self.env.path(Variable::Home) {
            let home = self.host.sysroot().at(&home);
            let via = &FoundVia::Directory("home directory");
            self.both(via, &home, "cuda-#");
            let unpacked = install_layout::unpacked_archive(self.platform, &home);
            self.tree(Kind::Cudnn, via, unpacked);
        }
    }

    /// Adds the directories of pkg-config in its search order. pkg-config searches this system, not below a root.
    pub(super) fn pkg_config(&mut self) {
        let mut dirs = self.listed(Variable::PkgConfigPath);
        dirs.extend(match self.env.get(Variable::PkgConfigLibDir) {
            Some(_) => self.listed(Variable::PkgConfigLibDir),
            None if self.platform.os == Os::Linux => usual_pkg_config(&self.platform.multiarch()),
            None => Vec::new(),
        });
        if self.host.root.is_none() && !dirs.is_empty() {
            for kind in Kind::BOTH {
                self.add(
                    kind,
                    &FoundVia::PkgConfig(None),
                    Place::PkgConfig(dirs.clone()),
                );
            }
        }
    }
}

/// Returns pkg-config's default directories on Debian and Fedora.
fn usual_pkg_config(multiarch: &str) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for top in ["/usr/local", "/usr"] {
        let names = [&*format!("lib/{multiarch}"), "lib64", "lib", "share"];
        dirs.append(&mut files::below(Path::new(top), &names));
    }
    files::join_each(&dirs, "pkgconfig")
}
