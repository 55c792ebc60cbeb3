//! Where CUDA and cuDNN may be, and in which order.

use crate::model::env::{Env, Origin, Variable};
use crate::model::platform::{Os, Platform};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A CUDA toolkit.
    Toolkit,
    /// A cuDNN.
    Cudnn,
}

/// One place to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is looked for.
    pub kind: Kind,
    /// How somebody came to look here, in words.
    pub via: String,
    /// The variable in which somebody asked for exactly this place.
    pub wish: Option<Variable>,
    /// Whether the place is fixed, so that the host's root goes before it and links stay below that root.
    pub fixed: bool,
    /// The place.
    pub place: Place,
}

/// A place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory with headers, libraries and programs below it.
    Tree(Tree),
    /// A compiler, asked where its toolkit is: the first of these files that there is.
    Nvcc(Vec<PathBuf>),
}

/// A directory, and where in it things are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The directory.
    pub base: PathBuf,
    /// What lies below it: `cuda-#`. A `#` stands for any release number; the newest is looked at first.
    pub pattern: &'static str,
    /// Where headers may be; absolute, or below the rest.
    pub include: Vec<PathBuf>,
    /// Where libraries may be.
    pub lib: Vec<PathBuf>,
    /// Where the compiler may be.
    pub nvcc: Vec<PathBuf>,
}

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

/// NVIDIA's wheels up to CUDA 12, one directory each. cuDNN's is looked at on its own.
const COMPONENTS: [&str; 12] = [
    "cuda_runtime",
    "cuda_nvcc",
    "cuda_nvrtc",
    "cuda_cccl",
    "cuda_cupti",
    "cublas",
    "cufft",
    "curand",
    "cusolver",
    "cusparse",
    "nvjitlink",
    "nvtx",
];

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
        at.conda(),
        // What the machine has.
        at.nvcc_on_path(),
        at.fixed("NVIDIA's usual directory", "/usr/local", "cuda"),
        at.fixed("NVIDIA's versioned directories", "/usr/local", "cuda-#"),
        at.distribution(),
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
            let tree = self.toolkit(self.wish(variable, origin)?, "");
            Some(self.step(Kind::Toolkit, variable, Place::Tree(tree)))
        });
        let compilers = NVCC_WISHES.iter().filter_map(|&variable| {
            let files = self.named_program(self.wish(variable, origin)?);
            Some(self.step(Kind::Toolkit, variable, Place::Nvcc(files)))
        });
        roots.chain(compilers).collect()
    }

    fn cudnn_wishes(&self, origin: Origin) -> Vec<Step> {
        let roots = CUDNN_WISHES.iter().filter_map(|&variable| {
            let tree = self.cudnn(self.wish(variable, origin)?, "");
            Some(self.step(Kind::Cudnn, variable, Place::Tree(tree)))
        });
        roots.chain(self.cudnn_in_pieces(origin)).collect()
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
        let mut steps = self.wheels(
            &self.via(Variable::GuardHome),
            &dir,
            ["nvidia/cu#", "nvidia", "nvidia/cudnn"],
        );
        for step in &mut steps {
            step.wish = Some(Variable::GuardHome);
        }
        steps
    }

    /// A toolkit into which cuDNN was copied. Nobody asked for that cuDNN by name, so it comes after those.
    fn cudnn_in_wished_toolkits(&self) -> Vec<Step> {
        let inside = TOOLKIT_WISHES.iter().filter_map(|&variable| {
            let dir = PathBuf::from(self.env.get(variable)?);
            Some(Step {
                wish: None,
                ..self.step(Kind::Cudnn, variable, Place::Tree(self.cudnn(dir, "")))
            })
        });
        inside.collect()
    }

    fn virtual_environment(&self) -> Vec<Step> {
        let Some(dir) = self.env.get(Variable::VirtualEnv) else {
            return Vec::new();
        };
        let below = match self.platform.os {
            Os::Windows => [
                "Lib/site-packages/nvidia/cu#",
                "Lib/site-packages/nvidia",
                "Lib/site-packages/nvidia/cudnn",
            ],
            _ => [
                "lib/python#/site-packages/nvidia/cu#",
                "lib/python#/site-packages/nvidia",
                "lib/python#/site-packages/nvidia/cudnn",
            ],
        };
        self.wheels("active virtual environment", Path::new(dir), below)
    }

    fn conda(&self) -> Vec<Step> {
        let Some(prefix) = self.env.get(Variable::CondaPrefix) else {
            return Vec::new();
        };
        let prefix = match self.platform.os {
            Os::Windows => Path::new(prefix).join("Library"),
            _ => PathBuf::from(prefix),
        };
        self.both("active conda environment", false, &prefix, "")
    }

    fn nvcc_on_path(&self) -> Vec<Step> {
        let files = self.on_path("nvcc");
        if files.is_empty() {
            return Vec::new();
        }
        vec![Step {
            kind: Kind::Toolkit,
            via: "nvcc on PATH".into(),
            wish: None,
            fixed: false,
            place: Place::Nvcc(files),
        }]
    }

    fn fixed(&self, via: &str, dir: &str, pattern: &'static str) -> Vec<Step> {
        match self.platform.os {
            Os::Linux => self.both(via, true, &self.below_root(dir), pattern),
            _ => Vec::new(),
        }
    }

    /// Debian and Fedora spread CUDA and cuDNN over `/usr`.
    fn distribution(&self) -> Vec<Step> {
        if self.platform.os != Os::Linux {
            return Vec::new();
        }
        let multiarch = self.platform.multiarch();
        let dirs = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let lib = vec![Path::new("lib").join(&multiarch), "lib64".into()];
        let toolkit = Tree {
            base: self.below_root("/usr"),
            pattern: "",
            include: dirs(&["include"]),
            lib: lib.clone(),
            nvcc: dirs(&["bin/nvcc", "lib/nvidia-cuda-toolkit/bin/nvcc"]),
        };
        let cudnn = Tree {
            include: vec![Path::new("include").join(&multiarch), "include".into()],
            lib,
            nvcc: Vec::new(),
            ..toolkit.clone()
        };
        [(Kind::Toolkit, toolkit), (Kind::Cudnn, cudnn)]
            .into_iter()
            .map(|(kind, tree)| Step {
                kind,
                via: "system directories".into(),
                wish: None,
                fixed: true,
                place: Place::Tree(tree),
            })
            .collect()
    }

    fn fetched(&self) -> Vec<Step> {
        let data = match self.platform.os {
            Os::Windows => self.env.get(Variable::LocalAppData).map(PathBuf::from),
            _ => self
                .env
                .get(Variable::XdgDataHome)
                .map(PathBuf::from)
                .or_else(|| Some(Path::new(self.env.get(Variable::Home)?).join(".local/share"))),
        };
        data.map_or_else(Vec::new, |data| {
            let below = ["nvidia/cu#", "nvidia", "nvidia/cudnn"];
            self.wheels("fetched by cudnn-guard", &data.join("cudnn-guard"), below)
        })
    }

    /// NVIDIA's wheels: from CUDA 13 one directory, before that one for each component; cuDNN has its own.
    fn wheels(&self, via: &str, dir: &Path, below: [&'static str; 3]) -> Vec<Step> {
        let [whole, components, cudnn] = below;
        let mut split = Tree {
            base: dir.to_path_buf(),
            pattern: components,
            ..Tree::default()
        };
        for name in COMPONENTS {
            split.include.push(Path::new(name).join("include"));
            split.lib.push(Path::new(name).join("lib"));
        }
        split
            .nvcc
            .push(Path::new("cuda_nvcc/bin").join(self.platform.program("nvcc")));
        let trees = [
            (Kind::Toolkit, self.toolkit(dir.to_path_buf(), whole)),
            (Kind::Toolkit, split),
            (Kind::Cudnn, self.cudnn(dir.to_path_buf(), cudnn)),
        ];
        let steps = trees.into_iter().map(|(kind, tree)| Step {
            kind,
            via: via.to_string(),
            wish: None,
            fixed: false,
            place: Place::Tree(tree),
        });
        steps.collect()
    }

    /// A toolkit, and a cuDNN that was copied into it.
    fn both(&self, via: &str, fixed: bool, base: &Path, pattern: &'static str) -> Vec<Step> {
        let trees = [
            (Kind::Toolkit, self.toolkit(base.to_path_buf(), pattern)),
            (Kind::Cudnn, self.cudnn(base.to_path_buf(), pattern)),
        ];
        let steps = trees.into_iter().map(|(kind, tree)| Step {
            kind,
            via: via.to_string(),
            wish: None,
            fixed,
            place: Place::Tree(tree),
        });
        steps.collect()
    }

    fn toolkit(&self, base: PathBuf, pattern: &'static str) -> Tree {
        Tree {
            base,
            pattern,
            include: self.dirs("include", &["include"]),
            lib: self.dirs("lib", &["lib64", "lib"]),
            nvcc: vec![Path::new("bin").join(self.platform.program("nvcc"))],
        }
    }

    fn cudnn(&self, base: PathBuf, pattern: &'static str) -> Tree {
        let multiarch = self.platform.multiarch();
        let mut tree = Tree {
            base,
            pattern,
            include: self.dirs("include", &["include"]),
            lib: self.dirs("lib", &["lib64", "lib"]),
            nvcc: Vec::new(),
        };
        if self.platform.os == Os::Linux {
            tree.include.push(Path::new("include").join(&multiarch));
            tree.lib.push(Path::new("lib").join(&multiarch));
        }
        // CUDNN_INSTALL_PATH and CUDNN_LIB may be the very directory of the libraries.
        tree.include.push(PathBuf::new());
        tree.lib.push(PathBuf::new());
        tree
    }

    /// The usual directories, then what the toolkit keeps for this platform below `targets/`.
    fn dirs(&self, leaf: &str, usual: &[&str]) -> Vec<PathBuf> {
        let own = self
            .platform
            .toolkit_targets()
            .iter()
            .map(|target| Path::new("targets").join(target).join(leaf));
        let windows =
            (self.platform.os == Os::Windows && leaf == "lib").then(|| PathBuf::from("lib/x64"));
        windows
            .into_iter()
            .chain(usual.iter().map(PathBuf::from))
            .chain(own)
            .collect()
    }

    fn wish(&self, variable: Variable, origin: Origin) -> Option<PathBuf> {
        let value = self.env.get(variable)?;
        (self.env.origin(variable) == origin).then(|| PathBuf::from(value))
    }

    fn via(&self, variable: Variable) -> String {
        match self.env.origin(variable) {
            Origin::BuildScript => format!("{} in build.rs", variable.name()),
            Origin::Process => variable.name().to_string(),
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
    fn named_program(&self, value: PathBuf) -> Vec<PathBuf> {
        let mut files = vec![value.clone()];
        let last = value
            .to_str()
            .and_then(|text| text.split_whitespace().last())
            .map(PathBuf::from);
        for name in [Some(value.clone()), last].into_iter().flatten() {
            if name.components().count() == 1 {
                files.extend(self.on_path(&name.to_string_lossy()));
            } else if name != value {
                files.push(name);
            }
        }
        files.retain(|file| file.is_absolute());
        files
    }

    fn on_path(&self, name: &str) -> Vec<PathBuf> {
        let path = self.env.get(Variable::Path).unwrap_or(OsStr::new(""));
        let separator = if self.platform.os == Os::Windows {
            ';'
        } else {
            ':'
        };
        let dirs = path
            .to_str()
            .unwrap_or_default()
            .split(separator)
            .map(Path::new);
        // A relative entry would mean another place in every directory that cargo is called from.
        dirs.filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(self.platform.program(name)))
            .collect()
    }

    fn below_root(&self, path: &str) -> PathBuf {
        self.root.map_or_else(
            || PathBuf::from(path),
            |root| root.join(path.trim_start_matches('/')),
        )
    }
}

fn names_a_library(path: &Path) -> bool {
    let name = path
        .file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default();
    name.contains(".so") || name.ends_with(".lib") || name.ends_with(".dll") || name.ends_with(".a")
}

impl Step {
    /// The files without which this place is of no use, for messages.
    pub fn wanted(&self, platform: &Platform) -> Vec<PathBuf> {
        match &self.place {
            Place::Nvcc(files) => files.clone(),
            Place::Tree(tree) => {
                let top = tree.shown();
                let below = |dirs: &[PathBuf], name: &str| -> Vec<PathBuf> {
                    dirs.iter().map(|dir| top.join(dir).join(name)).collect()
                };
                match (self.kind, platform.os) {
                    (Kind::Toolkit, _) => [
                        // Of the split wheels, only the first holds it; of a whole toolkit, `include` and `targets` do.
                        below(tree.include.get(..2).unwrap_or(&tree.include), "cuda.h"),
                        tree.nvcc.iter().map(|nvcc| top.join(nvcc)).collect(),
                    ]
                    .concat(),
                    (Kind::Cudnn, Os::Windows) => [
                        below(&tree.include, "cudnn.h"),
                        below(&tree.lib, "cudnn.lib"),
                    ]
                    .concat(),
                    (Kind::Cudnn, _) => [
                        below(&tree.include, "cudnn.h"),
                        below(&tree.lib, "libcudnn.so*"),
                    ]
                    .concat(),
                }
            }
        }
    }

    /// The place in a few words, for messages.
    pub fn whereabouts(&self) -> String {
        match &self.place {
            Place::Nvcc(files) => {
                let count = files.len();
                format!(
                    "{count} director{} of PATH",
                    if count == 1 { "y" } else { "ies" }
                )
            }
            Place::Tree(tree) => tree.shown().to_string_lossy().into_owned(),
        }
    }
}

impl Tree {
    /// The directory that everything else lies below, as people write it.
    fn shown(&self) -> PathBuf {
        if self.pattern.is_empty() {
            self.base.clone()
        } else {
            self.base.join(self.pattern.replace('#', "*"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(
        pairs: &[(&str, &str)],
        script: &[(&str, &str)],
        triple: &str,
        root: Option<&str>,
    ) -> String {
        let own = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect()
        };
        let env = Env::new(
            own(pairs)
                .into_iter()
                .map(|(name, value)| (name, value.into())),
        )
        .overlaid(&own(script));
        let lines = steps(&env, &Platform::from_triple(triple), root.map(Path::new))
            .into_iter()
            .map(|step| {
                let strict = if step.wish.is_some() { "!" } else { "" };
                format!(
                    "{:?}{strict} {}: {}",
                    step.kind,
                    step.via,
                    step.whereabouts()
                )
            });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_bare_machine() {
        assert_eq!(
            list(
                &[("HOME", "/home/me"), ("PATH", "/bin:relative")],
                &[],
                "x86_64-unknown-linux-gnu",
                Some("/image")
            ),
            "Toolkit nvcc on PATH: 1 directory of PATH\n\
             Toolkit NVIDIA's usual directory: /image/usr/local/cuda\n\
             Cudnn NVIDIA's usual directory: /image/usr/local/cuda\n\
             Toolkit NVIDIA's versioned directories: /image/usr/local/cuda-*\n\
             Cudnn NVIDIA's versioned directories: /image/usr/local/cuda-*\n\
             Toolkit system directories: /image/usr\n\
             Cudnn system directories: /image/usr\n\
             Toolkit fetched by cudnn-guard: /home/me/.local/share/cudnn-guard/nvidia/cu*\n\
             Toolkit fetched by cudnn-guard: /home/me/.local/share/cudnn-guard/nvidia\n\
             Cudnn fetched by cudnn-guard: /home/me/.local/share/cudnn-guard/nvidia/cudnn"
        );
    }

    #[test]
    fn build_script_then_wishes_then_surroundings() {
        let text = list(
            &[
                ("CUDNN_LIB_DIR", "/l"),
                ("CUDNN_INCLUDE_DIR", "/i"),
                ("CUDNN_PATH", "/dnn"),
                ("CUDA_PATH", "/cuda"),
                ("NVCC", "ccache /opt/bin/nvcc"),
                ("CUDNN_GUARD_HOME", "/guard"),
                ("VIRTUAL_ENV", "/venv"),
                ("CONDA_PREFIX", "/conda"),
                ("CUDA_HOME", ""),
            ],
            &[("CUDA_ROOT", "/script")],
            "aarch64-apple-darwin",
            None,
        );
        assert_eq!(
            text,
            "Toolkit! CUDA_ROOT in build.rs: /script\n\
             Toolkit! CUDA_PATH: /cuda\n\
             Toolkit! NVCC: 1 directory of PATH\n\
             Cudnn! CUDNN_PATH: /dnn\n\
             Cudnn! CUDNN_INCLUDE_DIR and CUDNN_LIB_DIR: /i\n\
             Toolkit! CUDNN_GUARD_HOME: /guard/nvidia/cu*\n\
             Toolkit! CUDNN_GUARD_HOME: /guard/nvidia\n\
             Cudnn! CUDNN_GUARD_HOME: /guard/nvidia/cudnn\n\
             Cudnn CUDA_PATH: /cuda\n\
             Cudnn CUDA_ROOT in build.rs: /script\n\
             Toolkit active virtual environment: /venv/lib/python*/site-packages/nvidia/cu*\n\
             Toolkit active virtual environment: /venv/lib/python*/site-packages/nvidia\n\
             Cudnn active virtual environment: /venv/lib/python*/site-packages/nvidia/cudnn\n\
             Toolkit active conda environment: /conda\n\
             Cudnn active conda environment: /conda"
        );
    }
}
