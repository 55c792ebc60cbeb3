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

use crate::model::environment::{Environment, Origin, Variable};
use crate::model::found_via::FoundVia;
use crate::model::platform::{Os, Platform};
use crate::search::install_layout::{PACKAGES, Wheels};
use crate::search::search_step::{Kind, Place, Step, Tree};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What leads to a place without being a wish for it, and seldom changes: cargo is told to watch it.
const SURROUNDINGS: [Variable; 21] = [
    Variable::VirtualEnv,
    Variable::CondaPrefix,
    Variable::EasyBuildCuda,
    Variable::EasyBuildCudnn,
    Variable::NvhpcCudaHome,
    Variable::NvhpcRoot,
    Variable::TfCudaPaths,
    Variable::UvProjectEnvironment,
    Variable::CPath,
    Variable::CIncludePath,
    Variable::CplusIncludePath,
    Variable::LibraryPath,
    Variable::NixCFlags,
    Variable::NixLdFlags,
    Variable::CmakePrefixPath,
    Variable::PkgConfig,
    Variable::PkgConfigAllowCross,
    Variable::PkgConfigPath,
    Variable::PkgConfigLibDir,
    Variable::PkgConfigSysroot,
    Variable::CondaBuild,
];

/// Whether cargo is told to watch this surrounding. Others than conda-build have a `PREFIX` of their own.
pub fn is_watched(variable: Variable, env: &Environment) -> bool {
    let prefixes = [Variable::CondaHostPrefix, Variable::CondaBuildPrefix];
    SURROUNDINGS.contains(&variable) || (prefixes.contains(&variable) && is_conda_build(env))
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
        at.compiler_paths(),
        // What the machine has.
        at.nvcc_on_path(),
        at.fixed(
            FoundVia::Directory("NVIDIA's usual directory"),
            "/usr/local",
            "cuda",
        ),
        at.fixed(VERSIONED, "/usr/local", "cuda-#"),
        at.windows(),
        at.distribution(),
        at.optional_packages(),
        // The rest.
        at.cudnn_directories(),
        at.hpc_sdk(),
        at.tensorflow_paths(),
        at.environments_on_path(),
        at.python_packages(),
        at.beside_the_manifest(),
        at.sysroot(),
        at.pkg_config(),
        at.home(),
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
    fn nvcc_on_path(&self) -> Vec<Step> {
        let files = self.on_path("nvcc");
        if files.is_empty() {
            return Vec::new();
        }
        vec![Step {
            kind: Kind::Toolkit,
            via: FoundVia::NvccOnPath,
            wish: None,
            fixed: false,
            place: Place::Nvcc(files),
        }]
    }

    fn fixed(&self, via: FoundVia, dir: &str, pattern: &'static str) -> Vec<Step> {
        match self.platform.os {
            Os::Linux => self.both(&via, true, &self.below_root(Path::new(dir)), pattern),
            _ => Vec::new(),
        }
    }

    /// Debian and Fedora spread CUDA and cuDNN over `/usr`; Arch does so with cuDNN alone.
    fn distribution(&self) -> Vec<Step> {
        if self.platform.os != Os::Linux {
            return Vec::new();
        }
        let usr = self.below_root(Path::new("/usr"));
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
        surroundings(&FoundVia::Directory("system directories"), true, trees)
    }

    /// Arch Linux and Gentoo have `/opt/cuda`; packages of older releases go beside it.
    fn optional_packages(&self) -> Vec<Step> {
        let via = FoundVia::Directory("the distribution's /opt");
        [
            self.fixed(via.clone(), "/opt/cuda", ""),
            self.fixed(via, "/opt", "cuda-#"),
        ]
        .concat()
    }

    fn fetched(&self) -> Vec<Step> {
        let data = match self.platform.os {
            Os::Windows => self.env.path(Variable::LocalAppData),
            _ => self
                .env
                .path(Variable::XdgDataHome)
                .or_else(|| Some(self.env.path(Variable::Home)?.join(".local/share"))),
        };
        data.map_or_else(Vec::new, |data| {
            // What was fetched for this machine is not part of an image.
            let dir = self.below_root(&data.join("cudnn-guard"));
            let mut steps = self.wheels(
                &FoundVia::Directory("fetched by cudnn-guard"),
                &dir,
                PACKAGES,
            );
            steps.iter_mut().for_each(|step| step.fixed = true);
            steps
        })
    }

    /// NVIDIA's wheels: from CUDA 13 one directory, before that one for each component; cuDNN has its own.
    fn wheels(&self, via: &FoundVia, dir: &Path, below: Wheels) -> Vec<Step> {
        let [whole, components, cudnn] = below;
        let trees = [
            (
                Kind::Toolkit,
                install_layout::toolkit(self.platform, dir, whole),
            ),
            (
                Kind::Toolkit,
                install_layout::split_toolkit(self.platform, dir, components),
            ),
            (
                Kind::Cudnn,
                install_layout::cudnn(self.platform, dir, cudnn),
            ),
        ];
        surroundings(via, false, trees)
    }

    /// A toolkit, and a cuDNN that was copied into it.
    fn both(&self, via: &FoundVia, fixed: bool, base: &Path, pattern: &'static str) -> Vec<Step> {
        let trees = [
            (
                Kind::Toolkit,
                install_layout::toolkit(self.platform, base, pattern),
            ),
            (
                Kind::Cudnn,
                install_layout::cudnn(self.platform, base, pattern),
            ),
        ];
        surroundings(via, fixed, trees)
    }

    fn on_path(&self, name: &str) -> Vec<PathBuf> {
        let path = self.env.get(Variable::Path).unwrap_or(OsStr::new(""));
        let program = self.builder().program(name);
        let dirs = self.listed(path).into_iter();
        dirs.map(|dir| dir.join(&program)).collect()
    }

    /// The machine that builds, whatever it builds for.
    fn builder(&self) -> Platform {
        let host = self.env.var("HOST").map(Platform::from_triple);
        host.unwrap_or_else(|| self.platform.clone())
    }

    /// The directories in a list such as PATH, which is that of the machine that builds.
    fn listed(&self, list: &OsStr) -> Vec<PathBuf> {
        let windows = self.builder().os == Os::Windows;
        let separator = if windows { ';' } else { ':' };
        let list = list.to_string_lossy();
        // A relative entry would mean another place in every directory that cargo is called from.
        let dirs = list.split(separator);
        // Windows itself looks past the quotation marks that people put round a path with spaces.
        let dirs = dirs.map(|dir| if windows { dir.trim_matches('"') } else { dir });
        dirs.map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
            .collect()
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
fn surroundings<const N: usize>(
    via: &FoundVia,
    fixed: bool,
    trees: [(Kind, Tree); N],
) -> Vec<Step> {
    let step = |(kind, tree)| Step {
        kind,
        via: via.clone(),
        wish: None,
        fixed,
        place: Place::Tree(tree),
    };
    trees.into_iter().map(step).collect()
}
