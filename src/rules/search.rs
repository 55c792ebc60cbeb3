//! Where CUDA and cuDNN may be, and in which order.

use super::layout::{self, PACKAGES, SITE, WINDOWS_SITE, Wheels};
use super::step::{Kind, Place, Step, Tree};
use crate::model::env::{Env, Origin, Variable};
use crate::model::platform::{Os, Platform};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const TOOLKIT_WISHES: [Variable; 6] = [
    Variable::CudaHome,
    Variable::CudaPath,
    Variable::CudaRoot,
    Variable::CudaToolkitRoot,
    Variable::CudaToolkitRootDir,
    Variable::CudaToolkitPath,
];
const NVCC_WISHES: [Variable; 2] = [Variable::CudaCxx, Variable::Nvcc];
const CUDNN_WISHES: [Variable; 5] = [
    Variable::CudnnPath,
    Variable::CudnnHome,
    Variable::CudnnRoot,
    Variable::CudnnRootDir,
    Variable::CudnnInstallPath,
];
const CUDNN_INCLUDE_WISHES: [Variable; 2] = [Variable::CudnnIncludeDir, Variable::CudnnIncludePath];
const CUDNN_LIBRARY_WISHES: [Variable; 4] = [
    Variable::CudnnLibrary,
    Variable::CudnnLibraryPath,
    Variable::CudnnLibDir,
    Variable::CudnnLib,
];

/// What leads to a place without being a wish for it, and seldom changes: cargo is told to watch it.
const SURROUNDINGS: [Variable; 11] = [
    Variable::VirtualEnv,
    Variable::CondaPrefix,
    Variable::EasyBuildCuda,
    Variable::EasyBuildCudnn,
    Variable::NvhpcCudaHome,
    Variable::NvhpcRoot,
    Variable::TfCudaPaths,
    Variable::PkgConfigPath,
    Variable::PkgConfigLibDir,
    Variable::PkgConfigSysroot,
    Variable::CondaBuild,
];

/// Whether cargo is told to watch this surrounding. Others than conda-build have a `PREFIX` of their own.
pub fn is_watched(variable: Variable, env: &Env) -> bool {
    let prefixes = [Variable::CondaHostPrefix, Variable::CondaBuildPrefix];
    SURROUNDINGS.contains(&variable) || (prefixes.contains(&variable) && is_conda_build(env))
}

fn is_conda_build(env: &Env) -> bool {
    env.get(Variable::CondaBuild) == Some(OsStr::new("1"))
}

/// How a compiler is found that nobody named.
pub const NVCC_ON_PATH: &str = "nvcc on PATH";

/// The variable that each toolkit's installer for Windows sets, with its release behind: `CUDA_PATH_V13_0`.
pub const EACH_TOOLKIT: &str = "CUDA_PATH_V";

/// All places, in the order in which they count.
pub fn steps(env: &Env, platform: &Platform, root: Option<&Path>) -> Vec<Step> {
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
        // What the machine has.
        at.nvcc_on_path(),
        at.fixed("NVIDIA's usual directory", "/usr/local", "cuda"),
        at.fixed("NVIDIA's versioned directories", "/usr/local", "cuda-#"),
        at.windows(),
        at.distribution(),
        // The rest.
        at.cudnn_directories(),
        at.hpc_sdk(),
        at.tensorflow_paths(),
        at.python_packages(),
        at.beside_the_manifest(),
        at.pkg_config(),
        // What `cudnn-guard fetch` put there.
        at.fetched(),
    ]
    .concat()
}

struct At<'a> {
    env: &'a Env,
    platform: &'a Platform,
    root: Option<&'a Path>,
}

impl At<'_> {
    fn toolkit_wishes(&self, origin: Origin) -> Vec<Step> {
        let roots = TOOLKIT_WISHES.iter().filter_map(|&variable| {
            let tree = layout::toolkit(self.platform, &self.wish(variable, origin)?, "");
            Some(self.step(Kind::Toolkit, variable, Place::Tree(tree)))
        });
        let compilers = NVCC_WISHES.iter().filter_map(|&variable| {
            let files = self.named_program(variable, self.wish(variable, origin)?);
            Some(self.step(Kind::Toolkit, variable, Place::Nvcc(files)))
        });
        roots.chain(compilers).collect()
    }

    fn cudnn_wishes(&self, origin: Origin) -> Vec<Step> {
        let roots = CUDNN_WISHES.iter().filter_map(|&variable| {
            let dir = self.wish(variable, origin)?;
            let named = [layout::named_cudnn(self.platform, &dir)].into_iter();
            let trees = named.chain(layout::archives(self.platform, &dir));
            let step = |tree| self.step(Kind::Cudnn, variable, Place::Tree(tree));
            let installed = self.installed_below(variable, origin);
            Some(trees.map(step).chain(installed).collect::<Vec<_>>())
        });
        roots
            .flatten()
            .chain(self.cudnn_in_pieces(origin))
            .collect()
    }

    /// Headers and libraries that are named one by one go together; what is not named is looked for beside the other.
    fn cudnn_in_pieces(&self, origin: Origin) -> Option<Step> {
        let named = |wishes: &[Variable]| -> Vec<(Variable, PathBuf)> {
            let set = wishes
                .iter()
                .filter_map(|&variable| Some((variable, self.wish(variable, origin)?)));
            set.collect()
        };
        let include = named(&CUDNN_INCLUDE_WISHES);
        let lib = named(&CUDNN_LIBRARY_WISHES);
        let (_, base) = include.first().or(lib.first())?.clone();
        // A missing library is the worse fault: without headers there is still something to name.
        let variable = lib.first().or(include.first())?.0;
        let multiarch = self.platform.multiarch();
        let mut tree = Tree {
            base,
            ..Tree::default()
        };
        for (_, dir) in &include {
            tree.include.push(dir.clone());
        }
        for (_, path) in &lib {
            // `CUDNN_LIBRARY` names a file; people set the others to one as well.
            tree.lib.push(path.clone());
            if let Some(parent) = path.parent().filter(|_| names_a_library(path)) {
                tree.lib.push(parent.to_path_buf());
            }
        }
        if let Some((_, dir)) = include.first().filter(|_| lib.is_empty()) {
            let up = dir.parent().unwrap_or(dir);
            tree.lib.extend([
                up.join("lib64"),
                up.join("lib"),
                up.join("lib").join(multiarch),
            ]);
        } else if include.is_empty() {
            for dir in tree.lib.clone() {
                let up = dir.parent().unwrap_or(&dir).to_path_buf();
                tree.include
                    .extend([up.join("include"), up.join("include").join(&multiarch)]);
            }
        }
        if self.platform.os == Os::Windows {
            windows::complete(&mut tree, self.platform);
        }
        let mut step = self.step(Kind::Cudnn, variable, Place::Tree(tree));
        let names: Vec<String> = include
            .iter()
            .chain(&lib)
            .map(|(variable, _)| self.via(*variable))
            .collect();
        step.via = names.join(" and ");
        Some(step)
    }

    fn guard_home(&self, origin: Origin) -> Vec<Step> {
        let Some(dir) = self.wish(Variable::GuardHome, origin) else {
            return Vec::new();
        };
        let mut steps = self.wheels(&self.via(Variable::GuardHome), &dir, PACKAGES);
        for step in &mut steps {
            step.wish = Some(Variable::GuardHome);
        }
        steps
    }

    /// A toolkit into which cuDNN was copied. Nobody asked for that cuDNN by name, so it comes after those.
    fn cudnn_in_wished_toolkits(&self) -> Vec<Step> {
        let inside = TOOLKIT_WISHES.iter().filter_map(|&variable| {
            let dir = self.env.path(variable)?;
            Some(Step {
                wish: None,
                ..self.step(
                    Kind::Cudnn,
                    variable,
                    Place::Tree(layout::cudnn(self.platform, &dir, "")),
                )
            })
        });
        inside.collect()
    }

    fn virtual_environment(&self) -> Vec<Step> {
        let Some(dir) = self.env.path(Variable::VirtualEnv) else {
            return Vec::new();
        };
        let via = "active virtual environment";
        [
            self.wheels(via, &dir, self.site()),
            self.jit_wheel(via, &dir),
            self.copies(via, &dir),
        ]
        .concat()
    }

    fn site(&self) -> Wheels {
        match self.platform.os {
            Os::Windows => WINDOWS_SITE,
            _ => SITE,
        }
    }

    fn conda(&self) -> Vec<Step> {
        let Some(prefix) = self.env.path(Variable::CondaPrefix) else {
            return Vec::new();
        };
        let via = "active conda environment";
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
    fn conda_build(&self) -> Vec<Step> {
        let Some(prefix) = self
            .env
            .path(Variable::CondaHostPrefix)
            .filter(|_| is_conda_build(self.env))
        else {
            return Vec::new();
        };
        let below = |prefix: &Path| match self.platform.os {
            Os::Windows => prefix.join("Library"),
            _ => prefix.to_path_buf(),
        };
        let mut steps = self.both("conda-build's PREFIX", false, &below(&prefix), "");
        if let Some(tools) = self.env.path(Variable::CondaBuildPrefix) {
            let tools = layout::toolkit(self.platform, &below(&tools), "");
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

    fn nvcc_on_path(&self) -> Vec<Step> {
        let files = self.on_path("nvcc");
        if files.is_empty() {
            return Vec::new();
        }
        vec![Step {
            kind: Kind::Toolkit,
            via: NVCC_ON_PATH.into(),
            wish: None,
            fixed: false,
            place: Place::Nvcc(files),
        }]
    }

    fn fixed(&self, via: &str, dir: &str, pattern: &'static str) -> Vec<Step> {
        match self.platform.os {
            Os::Linux => self.both(via, true, &self.below_root(Path::new(dir)), pattern),
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
            (Kind::Toolkit, layout::system_toolkit(self.platform, &usr)),
            (Kind::Cudnn, layout::system_cudnn(self.platform, &usr)),
        ];
        let arch = self.fixed("Arch Linux's directory", "/opt/cuda", "");
        [surroundings("system directories", true, trees), arch].concat()
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
            let mut steps = self.wheels("fetched by cudnn-guard", &dir, PACKAGES);
            steps.iter_mut().for_each(|step| step.fixed = true);
            steps
        })
    }

    /// NVIDIA's wheels: from CUDA 13 one directory, before that one for each component; cuDNN has its own.
    fn wheels(&self, via: &str, dir: &Path, below: Wheels) -> Vec<Step> {
        let [whole, components, cudnn] = below;
        let trees = [
            (Kind::Toolkit, layout::toolkit(self.platform, dir, whole)),
            (
                Kind::Toolkit,
                layout::split_toolkit(self.platform, dir, components),
            ),
            (Kind::Cudnn, layout::cudnn(self.platform, dir, cudnn)),
        ];
        surroundings(via, false, trees)
    }

    /// A toolkit, and a cuDNN that was copied into it.
    fn both(&self, via: &str, fixed: bool, base: &Path, pattern: &'static str) -> Vec<Step> {
        let trees = [
            (Kind::Toolkit, layout::toolkit(self.platform, base, pattern)),
            (Kind::Cudnn, layout::cudnn(self.platform, base, pattern)),
        ];
        surroundings(via, fixed, trees)
    }

    fn wish(&self, variable: Variable, origin: Origin) -> Option<PathBuf> {
        let path = self.env.path(variable)?;
        (self.env.origin(variable) == origin).then_some(path)
    }

    fn via(&self, variable: Variable) -> String {
        match self.env.origin(variable) {
            Origin::BuildScript => format!("{} in build.rs", self.env.spelt(variable)),
            Origin::Process => self.env.spelt(variable),
        }
    }

    fn step(&self, kind: Kind, variable: Variable, place: Place) -> Step {
        Step {
            kind,
            via: self.via(variable),
            wish: Some(variable),
            fixed: false,
            place,
        }
    }

    /// `NVCC` and `CUDACXX` hold a path, a bare name, or a launcher before either.
    fn named_program(&self, variable: Variable, whole: PathBuf) -> Vec<PathBuf> {
        let value = self.env.get(variable).and_then(OsStr::to_str);
        let value = value.unwrap_or_default();
        let last = value.split_whitespace().last().unwrap_or_default();
        let mut files = Vec::new();
        for name in [value, last] {
            if !name.contains(['/', '\\']) {
                files.extend(self.on_path(name));
            } else if name == value {
                files.push(whole.clone());
            } else {
                files.push(PathBuf::from(name));
            }
            if value == last {
                break;
            }
        }
        files.retain(|file| file.is_absolute());
        files
    }

    fn on_path(&self, name: &str) -> Vec<PathBuf> {
        let path = self.env.get(Variable::Path).unwrap_or(OsStr::new(""));
        let program = self.builder().program(name);
        let dirs = self.listed(path).into_iter();
        dirs.map(|dir| dir.join(&program)).collect()
    }

    /// The machine that builds, whatever it builds for.
    fn builder(&self) -> Platform {
        let host = self.env.text("HOST").map(Platform::from_triple);
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
fn surroundings<const N: usize>(via: &str, fixed: bool, trees: [(Kind, Tree); N]) -> Vec<Step> {
    let step = |(kind, tree)| Step {
        kind,
        via: via.to_string(),
        wish: None,
        fixed,
        place: Place::Tree(tree),
    };
    trees.into_iter().map(step).collect()
}

fn names_a_library(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default();
    name.contains(".so") || name.ends_with(".lib") || name.ends_with(".dll") || name.ends_with(".a")
}

mod rest;
mod windows;

#[cfg(test)]
mod tests;
