//! Where CUDA and cuDNN may be, and in which order.

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

use crate::model::environment::{Environment, Kind as Meaning, Origin, Variable};
use crate::model::found_via::FoundVia;
use crate::model::platform::{Os, Platform};
use crate::runtime::facts::fetch_dir::fetch_dir;
use crate::search::install_layout::PACKAGES;
use crate::search::search_step::{Kind, Place, Step, Tree};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Whether cargo is told to watch this surrounding. Others than conda-build have a `PREFIX` of their own.
pub fn is_watched(variable: Variable, env: &Environment) -> bool {
    match variable {
        Variable::CondaHostPrefix | Variable::CondaBuildPrefix => is_conda_build(env),
        other => other.kind() == Meaning::Context,
    }
}

fn is_conda_build(env: &Environment) -> bool {
    env.get(Variable::CondaBuild) == Some(OsStr::new("1"))
}

/// Where NVIDIA's installers put one release beside the other.
const VERSIONED: FoundVia = FoundVia::Directory("NVIDIA's versioned directories");

/// The variable that each toolkit's installer for Windows sets, with its release behind: `CUDA_PATH_V13_0`.
pub const EACH_TOOLKIT: &str = "CUDA_PATH_V";

/// All places, in the order in which they count.
pub fn steps(env: &Environment, platform: &Platform, root: Option<&Path>) -> Vec<Step> {
    let at = At {
        env,
        platform,
        root,
    };
    [
        // What the build script sets, then what the environment asks for by name.
        at.toolkit_wishes(Origin::BuildScript),
        at.cudnn_wishes(Origin::BuildScript),
        at.guard_home(Origin::BuildScript),
        at.toolkit_wishes(Origin::Process),
        at.cudnn_wishes(Origin::Process),
        at.guard_home(Origin::Process),
        at.cudnn_in_wished_toolkits(),
        // The environment that is active.
        at.virtual_environment(),
        at.conda_build(),
        at.conda(),
        at.loaded_modules(),
        at.on_linux(At::compiler_paths),
        // What the machine has.
        at.nvcc_on_path(),
        at.on_linux(At::usual_directories),
        at.windows(),
        at.on_linux(At::distribution),
        // The rest.
        at.on_linux(At::cudnn_directories),
        at.on_linux(At::hpc_sdk),
        at.tensorflow_paths(),
        at.on_linux(At::environments_on_path),
        at.on_linux(At::python_packages),
        at.beside_the_manifest(),
        at.on_linux(At::sysroot),
        at.pkg_config(),
        at.on_linux(At::home),
        // What `cudnn-guard fetch` put there.
        at.fetched(),
    ]
    .concat()
}

struct At<'a> {
    env: &'a Environment,
    platform: &'a Platform,
    root: Option<&'a Path>,
}

impl At<'_> {
    fn on_linux(&self, places: fn(&Self) -> Vec<Step>) -> Vec<Step> {
        match self.platform.os {
            Os::Linux => places(self),
            _ => Vec::new(),
        }
    }

    fn nvcc_on_path(&self) -> Vec<Step> {
        let files = self.on_path("nvcc");
        if files.is_empty() {
            return Vec::new();
        }
        let (via, place) = (&FoundVia::NvccOnPath, Place::Nvcc(files));
        vec![Step::unasked(Kind::Toolkit, via, false, place)]
    }

    fn usual_directories(&self) -> Vec<Step> {
        let usual = FoundVia::Directory("NVIDIA's usual directory");
        let local = self.below_root(Path::new("/usr/local"));
        [
            self.both(&usual, true, &local, "cuda"),
            self.both(&VERSIONED, true, &local, "cuda-#"),
        ]
        .concat()
    }

    /// Debian and Fedora spread CUDA and cuDNN over `/usr`; Arch does so with cuDNN alone. Arch Linux and Gentoo have
    /// `/opt/cuda`; packages of older releases go beside it.
    fn distribution(&self) -> Vec<Step> {
        let system = FoundVia::Directory("system directories");
        let optional = FoundVia::Directory("the distribution's /opt");
        let opt = self.below_root(Path::new("/opt"));
        [
            self.spread(&system, true, &self.below_root(Path::new("/usr"))),
            self.both(&optional, true, &opt.join("cuda"), ""),
            self.both(&optional, true, &opt, "cuda-#"),
        ]
        .concat()
    }

    fn fetched(&self) -> Vec<Step> {
        let variable = |name: &str| Some(self.env.os_var(name)?.to_os_string());
        let is_windows = self.builder().os == Os::Windows;
        let Some(dir) = fetch_dir(is_windows, &variable) else {
            return Vec::new();
        };
        // What was fetched for this machine is not part of an image.
        let dir = self.below_root(&dir);
        self.wheels(&FoundVia::Fetched, true, &dir, PACKAGES)
    }

    /// NVIDIA's wheels: from CUDA 13 one directory, before that one for each component; cuDNN has its own.
    fn wheels(&self, via: &FoundVia, fixed: bool, dir: &Path, below: &str) -> Vec<Step> {
        let whole = install_layout::toolkit(self.platform, dir, &format!("{below}/cu#"));
        let split = install_layout::split_toolkit(self.platform, dir, below);
        let cudnn = install_layout::cudnn(self.platform, dir, &format!("{below}/cudnn"));
        vec![
            surrounding(via, fixed, Kind::Toolkit, whole),
            surrounding(via, fixed, Kind::Toolkit, split),
            surrounding(via, fixed, Kind::Cudnn, cudnn),
        ]
    }

    /// A toolkit, and a cuDNN that was copied into it.
    fn both(&self, via: &FoundVia, fixed: bool, base: &Path, pattern: &str) -> Vec<Step> {
        let tree = |kind| install_layout::usual(kind, self.platform, base, pattern);
        surroundings(via, fixed, tree)
    }

    /// A toolkit and a cuDNN that packages spread over this directory.
    fn spread(&self, via: &FoundVia, fixed: bool, usr: &Path) -> Vec<Step> {
        let tree = |kind| install_layout::system(kind, self.platform, usr);
        surroundings(via, fixed, tree)
    }

    fn on_path(&self, name: &str) -> Vec<PathBuf> {
        let program = self.builder().program(name);
        let dirs = self.listed(Variable::Path).into_iter();
        dirs.map(|dir| dir.join(&program)).collect()
    }

    /// The machine that builds, whatever it builds for.
    fn builder(&self) -> Platform {
        let host = self.env.var("HOST").map(Platform::from_triple);
        host.unwrap_or_else(|| self.platform.clone())
    }

    /// The directories in a list such as PATH, which is that of the machine that builds.
    fn listed(&self, list: Variable) -> Vec<PathBuf> {
        let windows = self.builder().os == Os::Windows;
        let separator = if windows { ';' } else { ':' };
        let list = self.env.get(list).unwrap_or_default().to_string_lossy();
        // Windows itself looks past the quotation marks that people put round a path with spaces.
        let dirs = list.split(separator);
        let dirs = dirs.map(|dir| if windows { dir.trim_matches('"') } else { dir });
        let mut dirs: Vec<PathBuf> = dirs.map(PathBuf::from).collect();
        // A relative entry would mean another place in every directory that cargo is called from.
        dirs.retain(|dir| dir.is_absolute());
        dirs
    }

    fn is_inside(&self, dir: &Path) -> bool {
        self.root.is_none_or(|root| dir.starts_with(root))
    }

    fn below_root(&self, path: &Path) -> PathBuf {
        match self.root {
            Some(root) if !path.starts_with(root) => {
                root.join(path.strip_prefix("/").unwrap_or(path))
            }
            _ => path.to_path_buf(),
        }
    }
}

/// Places that nobody asked for by name.
fn surroundings(via: &FoundVia, fixed: bool, tree: impl Fn(Kind) -> Tree) -> Vec<Step> {
    let (toolkit, cudnn) = (tree(Kind::Toolkit), tree(Kind::Cudnn));
    vec![
        surrounding(via, fixed, Kind::Toolkit, toolkit),
        surrounding(via, fixed, Kind::Cudnn, cudnn),
    ]
}

fn surrounding(via: &FoundVia, fixed: bool, kind: Kind, tree: Tree) -> Step {
    Step::unasked(kind, via, fixed, Place::Tree(tree))
}
