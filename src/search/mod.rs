//! The places of CUDA and cuDNN in search order.

pub mod install_layout;
pub mod pkg_config;
pub mod search_step;

pub mod compiler_paths;
pub mod env_variables;
pub mod environments;
pub mod other_locations;
#[cfg(test)]
mod tests;
pub mod windows;

pub use install_layout::{LEAVES, PACKAGES, SITE, WINDOWS_SITE};
pub use search_step::{Place, Step, Tree, with_cuda};

use crate::model::environment::Kind as Meaning;
use crate::model::{Environment, FoundVia, Kind, Origin, Os, Platform, Variable};
use crate::runtime::facts::fetch_dir::fetch_dir;
use crate::system::{Host, files};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns `true` for a context variable that cargo watches. Programs other than conda-build also use `PREFIX`.
pub fn is_watched(variable: Variable, env: &Environment) -> bool {
    match variable {
        Variable::CondaHostPrefix | Variable::CondaBuildPrefix => is_conda_build(env),
        other => other.kind() == Meaning::Context,
    }
}

fn is_conda_build(env: &Environment) -> bool {
    env.get(Variable::CondaBuild) == Some(OsStr::new("1"))
}

/// The directories where NVIDIA's installers keep several versions.
const VERSIONED: FoundVia = FoundVia::Directory("NVIDIA's versioned directories");

/// The prefix of the variables that NVIDIA's installers for Windows set: `CUDA_PATH_V13_0`.
pub const EACH_TOOLKIT: &str = "CUDA_PATH_V";

/// Returns all places in search order.
pub fn steps(host: &Host) -> Vec<Step> {
    let mut places = Places {
        env: &host.env,
        platform: &host.platform,
        host,
        steps: Vec::new(),
    };
    // Places that the build script requests, then those that the environment requests.
    for origin in [Origin::BuildScript, Origin::Process] {
        places.requested_toolkits(origin);
        places.requested_cudnns(origin);
        places.guard_home(origin);
    }
    places.cudnn_in_requested_toolkits();
    // The active environment.
    places.virtual_environment();
    places.conda_build();
    places.conda();
    places.on_linux(Places::compiler_paths);
    // The machine's own installations.
    places.nvcc_on_path();
    places.on_linux(Places::usual_directories);
    places.windows();
    places.on_linux(Places::distribution);
    // The rest.
    places.on_linux(Places::cudnn_directories);
    places.on_linux(Places::hpc_sdk);
    places.tensorflow_paths();
    places.on_linux(Places::environments_on_path);
    places.on_linux(Places::python_packages);
    places.beside_the_manifest();
    places.on_linux(Places::sysroot);
    places.pkg_config();
    places.on_linux(Places::home);
    // The directory of `cudnn-guard fetch`.
    places.fetched();
    places.steps
}

struct Places<'a> {
    env: &'a Environment,
    platform: &'a Platform,
    host: &'a Host,
    /// The places so far.
    steps: Vec<Step>,
}

impl Places<'_> {
    fn on_linux(&mut self, add: fn(&mut Self)) {
        if self.platform.os == Os::Linux {
            add(self);
        }
    }

    fn nvcc_on_path(&mut self) {
        let files = self.on_path("nvcc");
        if !files.is_empty() {
            self.add(Kind::Toolkit, &FoundVia::NvccOnPath, Place::Nvcc(files));
        }
    }

    fn usual_directories(&mut self) {
        let usual = FoundVia::Directory("NVIDIA's default directory");
        let local = self.host.sysroot().at("/usr/local");
        self.both(&usual, &local, "cuda");
        self.both(&VERSIONED, &local, "cuda-#");
    }

    /// Adds the places of distributions' packages. Debian and Fedora install CUDA and cuDNN in `/usr`, Arch Linux only
    /// cuDNN. Arch Linux and Gentoo have `/opt/cuda`, with older versions beside it.
    fn distribution(&mut self) {
        let system = FoundVia::Directory("system directories");
        let optional = FoundVia::Directory("the distribution's /opt");
        let opt = self.host.sysroot().at("/opt");
        self.system_packages(&system, &self.host.sysroot().at("/usr"));
        self.both(&optional, &opt.join("cuda"), "");
        self.both(&optional, &opt, "cuda-#");
    }

    fn fetched(&mut self) {
        let variable = |name: &str| Some(self.env.os_var(name)?.to_os_string());
        let is_windows = self.env.builder(self.platform).os == Os::Windows;
        if let Some(dir) = fetch_dir(is_windows, &variable) {
            // The fetched files of this machine are not part of an image.
            let dir = self.host.sysroot().at(&dir);
            self.all_wheels(&FoundVia::Fetched, &dir, PACKAGES);
        }
    }

    fn add(&mut self, kind: Kind, via: &FoundVia, place: Place) {
        self.push(kind, via.clone(), None, place);
    }

    fn push(&mut self, kind: Kind, via: FoundVia, request: Option<Variable>, place: Place) {
        self.steps.push(Step {
            kind,
            via,
            request,
            place,
        });
    }

    fn tree(&mut self, kind: Kind, via: &FoundVia, tree: Tree) {
        self.add(kind, via, Place::Tree(tree));
    }

    /// Adds the places of NVIDIA's wheels: one directory since CUDA 13, one for each component before, and cuDNN's
    /// directory.
    fn wheels(&mut self, via: &FoundVia, dir: &Path, below: &str) {
        let unified = install_layout::toolkit(self.platform, dir, &format!("{below}/cu#"));
        let split = install_layout::split_toolkit(self.platform, dir, below);
        let cudnn = install_layout::cudnn(self.platform, dir, &format!("{below}/cudnn"));
        self.tree(Kind::Toolkit, via, unified);
        self.tree(Kind::Toolkit, via, split);
        self.tree(Kind::Cudnn, via, cudnn);
    }

    /// Adds the places of all wheels, including the cuDNN that only compiles graphs at run time, which does not exist for
    /// Windows.
    fn all_wheels(&mut self, via: &FoundVia, dir: &Path, below: &str) {
        self.wheels(via, dir, below);
        if self.platform.os == Os::Linux {
            let jit = install_layout::cudnn(self.platform, dir, &format!("{below}/cudnn_jit"));
            self.tree(Kind::Cudnn, via, jit);
        }
    }

    /// Adds the places of a toolkit and of a cuDNN that was copied into it.
    fn both(&mut self, via: &FoundVia, base: &Path, pattern: &str) {
        for kind in Kind::BOTH {
            let tree = install_layout::usual(kind, self.platform, base, pattern);
            self.tree(kind, via, tree);
        }
    }

    /// Adds the places of a distribution's toolkit and cuDNN below `usr`.
    fn system_packages(&mut self, via: &FoundVia, usr: &Path) {
        for kind in Kind::BOTH {
            self.tree(kind, via, install_layout::system(kind, self.platform, usr));
        }
    }

    fn on_path(&self, name: &str) -> Vec<PathBuf> {
        let program = self.env.builder(self.platform).program(name);
        files::join_each(&self.listed(Variable::Path), &program)
    }

    /// Returns the directories in a list variable of the build machine, such as PATH.
    fn listed(&self, list: Variable) -> Vec<PathBuf> {
        let windows = self.env.builder(self.platform).os == Os::Windows;
        let separator = if windows { ';' } else { ':' };
        let list = self.env.get(list).unwrap_or_default().to_string_lossy();
        let mut dirs = Vec::new();
        for dir in list.split(separator) {
            // Windows itself ignores the quotation marks around paths with spaces.
            let dir = Path::new(if windows { dir.trim_matches('"') } else { dir });
            // The meaning of a relative entry depends on cargo's current directory.
            if dir.is_absolute() {
                dirs.push(dir.to_path_buf());
            }
        }
        dirs
    }
}
