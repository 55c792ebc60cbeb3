//! Where in a directory headers, libraries and the compiler are.

use crate::model::platform::{Os, Platform};
use crate::search::search_step::{Kind, Tree, of_flavour};
use std::path::{Path, PathBuf};

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

/// Where NVIDIA's wheels are below a Python's directory, as pip installs them: the toolkit from CUDA 13, the components
/// before, cuDNN.
pub const SITE: &str = "lib/python#/site-packages/nvidia";
/// As pip installs them on Windows.
pub const WINDOWS_SITE: &str = "Lib/site-packages/nvidia";
/// Wheels where the directory holds the packages themselves.
pub const PACKAGES: &str = "nvidia";

/// Where RPM Fusion keeps `cuda.h`. Elsewhere libcu++ has a directory of this name, whose `atomic` is not the
/// standard one's: it is no directory of headers unless `cuda.h` lies there.
pub const SHARED_INCLUDE: &str = "include/cuda";

/// What directories of headers and of libraries are called.
pub const LEAVES: [&str; 3] = ["include", "lib", "lib64"];

/// Where the headers of one CUDA are in what NVIDIA's cuDNN installer lays out.
const HEADERS: &str = "include/#";

/// A toolkit as NVIDIA's installer lays it out, and conda, and the wheels from CUDA 13.
pub fn toolkit(platform: &Platform, base: &Path, pattern: &str) -> Tree {
    let mut lib = dirs(platform, "lib", &["lib64", "lib"]);
    if platform.os == Os::Linux {
        // Some name `/usr` for the toolkit that Debian spread over it.
        lib.push(Path::new("lib").join(platform.multiarch()));
    }
    Tree {
        base: base.to_path_buf(),
        pattern: pattern.to_string(),
        include: dirs(platform, "include", &["include"]),
        lib,
        nvcc: compilers(platform),
    }
}

/// Since CUDA 13 some of its files for Windows lie in a directory of their processor.
fn compilers(platform: &Platform) -> Vec<PathBuf> {
    let cpus: &[&str] = match (platform.os, platform.cpu.as_str()) {
        (Os::Windows, "aarch64") => &["", "arm64"],
        (Os::Windows, _) => &["", "x64", "x86_64"],
        _ => &[""],
    };
    let program = platform.program("nvcc");
    cpus.iter()
        .map(|cpu| Path::new("bin").join(cpu).join(&program))
        .collect()
}

/// A toolkit of wheels up to CUDA 12.
pub fn split_toolkit(platform: &Platform, base: &Path, pattern: &str) -> Tree {
    let lib = match platform.os {
        Os::Windows => Path::new("lib").join(platform.windows_cpu()),
        _ => "lib".into(),
    };
    let below = |leaf| {
        let components = COMPONENTS.iter();
        components.map(|name| Path::new(name).join(leaf)).collect()
    };
    Tree {
        base: base.to_path_buf(),
        pattern: pattern.to_string(),
        include: below(Path::new("include")),
        lib: below(&lib),
        nvcc: vec![Path::new("cuda_nvcc/bin").join(platform.program("nvcc"))],
    }
}

/// What a variable for the toolkit may name: a toolkit, where NVIDIA's wheels are, or one of those up to CUDA 12, which
/// are a toolkit all together.
pub fn named_toolkit(platform: &Platform, dir: &Path) -> Vec<Tree> {
    let named = toolkit(platform, dir, "");
    let Some(base) = above_packages(dir) else {
        return vec![named];
    };
    let split = split_toolkit(platform, base, PACKAGES);
    if COMPONENTS.iter().any(|name| dir.ends_with(name)) {
        return vec![split];
    }
    match dir.ends_with(PACKAGES) {
        true => vec![
            named,
            toolkit(platform, base, &format!("{PACKAGES}/cu#")),
            split,
        ],
        false => vec![named],
    }
}

/// Above the directory of NVIDIA's wheels, which this one is or lies in.
fn above_packages(dir: &Path) -> Option<&Path> {
    let mut packages = [Some(dir), dir.parent()].into_iter().flatten();
    packages.find(|dir| dir.ends_with(PACKAGES))?.parent()
}

/// The wheel of cuDNN beside a toolkit that consists of wheels, `site-packages/nvidia/cu13`.
pub fn cudnn_beside(platform: &Platform, toolkit: &Path) -> Option<Tree> {
    let base = above_packages(toolkit)?;
    Some(cudnn(platform, base, &format!("{PACKAGES}/cudnn")))
}

/// A cuDNN as NVIDIA's archive lays it out, its wheel, or what somebody copied by hand.
pub fn cudnn(platform: &Platform, base: &Path, pattern: &str) -> Tree {
    let mut tree = Tree {
        base: base.to_path_buf(),
        pattern: pattern.to_string(),
        include: dirs(platform, "include", &["include"]),
        lib: dirs(platform, "lib", &["lib64", "lib"]),
        nvcc: Vec::new(),
    };
    if platform.os == Os::Linux {
        let multiarch = platform.multiarch();
        tree.include.push(Path::new("include").join(&multiarch));
        tree.lib.push(Path::new("lib").join(&multiarch));
    }
    if platform.os == Os::Windows {
        // Import libraries and DLLs lie apart.
        tree.lib
            .extend([Path::new("bin").join(platform.windows_cpu()), "bin".into()]);
    }
    // CUDNN_INSTALL_PATH and CUDNN_LIB may be the very directory of the libraries.
    tree.include.push(PathBuf::new());
    tree.lib.push(PathBuf::new());
    tree
}

/// The cuDNN of NVIDIA's installer for Windows: below `include`, `lib` and `bin` a directory for each CUDA that it was
/// built for, in which there may be one for the processor.
pub fn installed_cudnn(platform: &Platform, base: &Path, pattern: &str) -> Tree {
    let cpu = platform.windows_cpu();
    Tree {
        base: base.to_path_buf(),
        pattern: pattern.to_string(),
        include: vec![HEADERS.into()],
        lib: vec![
            Path::new("lib/#").join(cpu),
            "lib/#".into(),
            Path::new("bin/#").join(cpu),
            "bin/#".into(),
        ],
        nvcc: Vec::new(),
    }
}

/// Whether the directories stand for several, one for each CUDA.
pub fn has_flavours(tree: &Tree) -> bool {
    tree.include.iter().any(|dir| dir == Path::new(HEADERS))
}

/// The tree of one CUDA: `12.5`.
pub fn flavour(tree: &Tree, cuda: &str) -> Tree {
    let named = |dirs: &[PathBuf]| {
        dirs.iter()
            .filter_map(|dir| of_flavour(dir, cuda))
            .collect()
    };
    Tree {
        include: named(&tree.include),
        lib: named(&tree.lib),
        ..tree.clone()
    }
}

/// A cuDNN that somebody asked for by name. Some name the directory of its libraries, as TensorFlow wants it, or of
/// its headers: then the other is beside it.
pub fn named_cudnn(platform: &Platform, dir: &Path) -> Tree {
    let mut tree = cudnn(platform, dir, "");
    let multiarch = platform.multiarch();
    let own = match dir.parent() {
        Some(up) if dir.ends_with(&multiarch) => up,
        _ => dir,
    };
    if let (Some(up), true) = (own.parent(), LEAVES.iter().any(|leaf| own.ends_with(leaf))) {
        let beside = |leaf| [up.join(leaf), up.join(leaf).join(&multiarch)];
        tree.include.extend(beside("include"));
        tree.lib.extend(beside("lib64"));
        tree.lib.extend(beside("lib"));
    }
    tree
}

/// What unpacking NVIDIA's archive leaves in a directory, and what its archives before 8.5 left.
pub fn archives(platform: &Platform, dir: &Path) -> [Tree; 2] {
    let pattern = match platform.cpu.as_str() {
        "aarch64" => "cudnn-linux-sbsa-#",
        _ => "cudnn-linux-x86_64-#",
    };
    let tree = |pattern: &str, lib: &str| Tree {
        base: dir.to_path_buf(),
        pattern: pattern.to_string(),
        include: vec!["include".into()],
        lib: vec![lib.into()],
        nvcc: Vec::new(),
    };
    [tree(pattern, "lib"), tree("cuda", "lib64")]
}

/// A toolkit of the HPC SDK: cuBLAS and its like are in `math_libs`, under the same release.
pub fn hpc_toolkit(platform: &Platform, base: &Path, pattern: &str) -> Tree {
    let mut tree = toolkit(platform, base, pattern);
    tree.include.push("../../math_libs/#/include".into());
    tree.lib.push("../../math_libs/#/lib64".into());
    tree
}

/// A toolkit as NVIDIA lays it out, or such a cuDNN.
pub fn usual(kind: Kind, platform: &Platform, base: &Path, pattern: &str) -> Tree {
    match kind {
        Kind::Toolkit => toolkit(platform, base, pattern),
        Kind::Cudnn => cudnn(platform, base, pattern),
    }
}

/// A toolkit that Debian spread over `/usr`, or RPM Fusion; or the cuDNN of a distribution's package.
pub fn system(kind: Kind, platform: &Platform, usr: &Path) -> Tree {
    let multiarch = platform.multiarch();
    let mut tree = Tree {
        base: usr.to_path_buf(),
        include: vec!["include".into(), SHARED_INCLUDE.into()],
        lib: vec![Path::new("lib").join(&multiarch), "lib64".into()],
        ..Tree::default()
    };
    match kind {
        Kind::Toolkit => {
            tree.nvcc = ["bin/nvcc", "lib/nvidia-cuda-toolkit/bin/nvcc"]
                .map(PathBuf::from)
                .to_vec()
        }
        Kind::Cudnn => {
            tree.include.insert(0, Path::new("include").join(multiarch));
            tree.lib.push("lib".into());
        }
    }
    tree
}

/// The usual directories, then what the toolkit keeps for this platform below `targets/`.
fn dirs(platform: &Platform, leaf: &str, usual: &[&str]) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = usual.iter().map(PathBuf::from).collect();
    if platform.os == Os::Windows && leaf == "lib" {
        dirs = vec![Path::new(leaf).join(platform.windows_cpu()), leaf.into()];
    }
    for target in platform.toolkit_targets() {
        dirs.push(Path::new("targets").join(target).join(leaf));
    }
    dirs
}
