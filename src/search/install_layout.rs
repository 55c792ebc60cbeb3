//! The layouts of headers, libraries and the compiler in an installation.

use crate::model::{Kind, Os, Platform};
use crate::search::{Tree, with_cuda};
use crate::system::files;
use std::path::{Path, PathBuf};

/// NVIDIA's wheels up to CUDA 12, one directory each, without cuDNN's.
const COMPONENTS: [&str; 14] = [
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
    "npp",
    "nvjpeg",
];

/// The directory below a Python's where pip installs NVIDIA's wheels: cuDNN, and the toolkit since CUDA 13 or its
/// components before.
pub const SITE: &str = "lib/python#/site-packages/nvidia";
pub const WINDOWS_SITE: &str = "Lib/site-packages/nvidia";
/// The wheels in a directory that contains the packages themselves.
pub const PACKAGES: &str = "nvidia";

/// RPM Fusion's directory of `cuda.h`. Elsewhere, a directory of this name belongs to libcu++, whose `atomic` is not
/// the standard one. So it is a header directory only if it contains `cuda.h`.
pub const SHARED_INCLUDE: &str = "include/cuda";

/// The names of header and library directories.
pub const LEAVES: [&str; 3] = ["include", "lib", "lib64"];

/// The header directory for one CUDA version in NVIDIA's cuDNN installer.
const HEADERS: &str = "include/#";

/// Returns the layout of a toolkit in NVIDIA's installer, conda, and the wheels since CUDA 13.
pub fn toolkit(platform: &Platform, base: &Path, pattern: &str) -> Tree {
    let mut tree = headers_and_libraries(platform, base, pattern);
    tree.nvcc = compilers(platform);
    tree
}

fn headers_and_libraries(platform: &Platform, base: &Path, pattern: &str) -> Tree {
    let mut tree = Tree::new(base, pattern);
    tree.include = dirs(platform, "include");
    tree.lib = dirs(platform, "lib");
    if platform.os == Os::Linux {
        // Some users specify `/usr` for Debian's packages.
        tree.lib.push(Path::new("lib").join(platform.multiarch()));
    }
    tree
}

/// Returns the directories of the compiler. Since CUDA 13, some files for Windows are in a directory per architecture.
fn compilers(platform: &Platform) -> Vec<PathBuf> {
    let cpus: &[&str] = match (platform.os, platform.cpu.as_str()) {
        (Os::Windows, "aarch64") => &["", "arm64"],
        (Os::Windows, _) => &["", "x64", "x86_64"],
        _ => &[""],
    };
    let program = platform.program("nvcc");
    files::join_each(&files::below(Path::new("bin"), cpus), &program)
}

/// Returns the layout of a toolkit that consists of wheels, up to CUDA 12.
pub fn split_toolkit(platform: &Platform, base: &Path, pattern: &str) -> Tree {
    let leaf = match platform.os {
        Os::Windows => Path::new("lib").join(platform.windows_cpu()),
        _ => "lib".into(),
    };
    let mut tree = Tree::new(base, pattern);
    for name in &COMPONENTS {
        tree.include.push(Path::new(name).join("include"));
        tree.lib.push(Path::new(name).join(&leaf));
    }
    let nvcc = Path::new("cuda_nvcc/bin").join(platform.program("nvcc"));
    tree.nvcc.push(nvcc);
    tree
}

/// Returns the layouts that a variable for the toolkit may refer to: a toolkit, the directory of NVIDIA's wheels, or
/// one of the wheels up to CUDA 12 that together form a toolkit.
pub fn named_toolkit(platform: &Platform, dir: &Path) -> Vec<Tree> {
    let named = toolkit(platform, dir, "");
    let Some(base) = above_packages(dir) else {
        return vec![named];
    };
    let split = split_toolkit(platform, base, PACKAGES);
    if COMPONENTS.iter().any(|name| dir.ends_with(name)) {
        return vec![split];
    }
    if !dir.ends_with(PACKAGES) {
        return vec![named];
    }
    let unified = toolkit(platform, base, &format!("{PACKAGES}/cu#"));
    vec![named, unified, split]
}

/// Returns the parent of the directory of NVIDIA's wheels, which `dir` or its parent is.
fn above_packages(dir: &Path) -> Option<&Path> {
    let up = dir.parent()?;
    match dir.ends_with(PACKAGES) {
        true => Some(up),
        false if up.ends_with(PACKAGES) => up.parent(),
        false => None,
    }
}

/// Returns the wheel of cuDNN beside a toolkit that is a wheel, `site-packages/nvidia/cu13`.
pub fn cudnn_beside(platform: &Platform, toolkit: &Path) -> Option<Tree> {
    let base = above_packages(toolkit)?;
    Some(cudnn(platform, base, &format!("{PACKAGES}/cudnn")))
}

/// Returns the layout of a cuDNN in NVIDIA's archive, its wheel, or a manual copy.
pub fn cudnn(platform: &Platform, base: &Path, pattern: &str) -> Tree {
    let mut tree = headers_and_libraries(platform, base, pattern);
    match platform.os {
        Os::Linux => {
            let multiarch = platform.multiarch();
            tree.include.push(Path::new("include").join(multiarch));
        }
        // Import libraries and DLLs are in different directories.
        Os::Windows => {
            tree.lib.push(Path::new("bin").join(platform.windows_cpu()));
            tree.lib.push("bin".into());
        }
        Os::Other => {}
    }
    // CUDNN_INSTALL_PATH and CUDNN_LIB may be the library directory itself.
    tree.include.push(PathBuf::new());
    tree.lib.push(PathBuf::new());
    tree
}

/// Returns the layout of NVIDIA's cuDNN installer for Windows. `include`, `lib` and `bin` contain a directory for each
/// CUDA version, which may contain one for the architecture.
pub fn installed_cudnn(platform: &Platform, base: &Path, pattern: &str) -> Tree {
    let cpu = platform.windows_cpu();
    let mut tree = Tree::new(base, pattern);
    tree.include.push(HEADERS.into());
    for leaf in ["lib/#", "bin/#"] {
        tree.lib.push(Path::new(leaf).join(cpu));
        tree.lib.push(leaf.into());
    }
    tree
}

/// Returns `true` if the layout has directories for several CUDA versions.
pub fn has_cuda_dirs(tree: &Tree) -> bool {
    tree.include.iter().any(|dir| dir == Path::new(HEADERS))
}

/// Returns the layout for one CUDA version: `12.5`.
pub fn for_cuda(tree: &Tree, cuda: &str) -> Tree {
    let mut named = Tree {
        include: Vec::new(),
        lib: Vec::new(),
        ..tree.clone()
    };
    for dir in &tree.include {
        named.include.extend(with_cuda(dir, cuda));
    }
    for dir in &tree.lib {
        named.lib.extend(with_cuda(dir, cuda));
    }
    named
}

/// Returns the layout of a requested cuDNN. Some users specify the directory of its libraries, as TensorFlow requires,
/// or of its headers. The other directory is then beside it.
pub fn named_cudnn(platform: &Platform, dir: &Path) -> Tree {
    let mut tree = cudnn(platform, dir, "");
    let multiarch = platform.multiarch();
    let own = match dir.parent() {
        Some(up) if dir.ends_with(&multiarch) => up,
        _ => dir,
    };
    if let (Some(up), true) = (own.parent(), LEAVES.iter().any(|leaf| own.ends_with(leaf))) {
        let beside = |leaf| match platform.os {
            Os::Windows => vec![up.join(leaf)],
            _ => vec![up.join(leaf), up.join(leaf).join(&multiarch)],
        };
        tree.include.extend(beside("include"));
        if platform.os != Os::Windows {
            tree.lib.extend(beside("lib64"));
        }
        tree.lib.extend(beside("lib"));
    }
    tree
}

/// Returns the layout of NVIDIA's unpacked archive since 8.5.
pub fn unpacked_archive(platform: &Platform, dir: &Path) -> Tree {
    let pattern = match platform.cpu.as_str() {
        "aarch64" => "cudnn-linux-sbsa-#",
        _ => "cudnn-linux-x86_64-#",
    };
    archive(dir, pattern, "lib")
}

/// Returns the layout of NVIDIA's archive with this directory of libraries: `lib`, up to cuDNN 8.4 `lib64`.
pub fn archive(dir: &Path, pattern: &str, lib: &str) -> Tree {
    let mut tree = Tree::new(dir, pattern);
    tree.include.push("include".into());
    tree.lib.push(lib.into());
    tree
}

/// Returns the layout of a toolkit in the HPC SDK. cuBLAS and similar libraries are in `math_libs`, under the same
/// version.
pub fn hpc_toolkit(platform: &Platform, base: &Path, pattern: &str) -> Tree {
    let mut tree = toolkit(platform, base, pattern);
    tree.include.push("../../math_libs/#/include".into());
    tree.lib.push("../../math_libs/#/lib64".into());
    tree
}

/// Returns NVIDIA's own layout of a toolkit or a cuDNN.
pub fn usual(kind: Kind, platform: &Platform, base: &Path, pattern: &str) -> Tree {
    match kind {
        Kind::Toolkit => toolkit(platform, base, pattern),
        Kind::Cudnn => cudnn(platform, base, pattern),
    }
}

/// Returns the layout of a distribution's packages in `/usr`: Debian, RPM Fusion.
pub fn system(kind: Kind, platform: &Platform, usr: &Path) -> Tree {
    let multiarch = platform.multiarch();
    let mut tree = Tree {
        include: vec!["include".into(), SHARED_INCLUDE.into()],
        lib: vec![Path::new("lib").join(&multiarch), "lib64".into()],
        ..Tree::new(usr, "")
    };
    match kind {
        Kind::Toolkit => {
            let debian = "lib/nvidia-cuda-toolkit/bin/nvcc";
            tree.nvcc = vec!["bin/nvcc".into(), debian.into()];
        }
        Kind::Cudnn => {
            tree.include.insert(0, Path::new("include").join(multiarch));
            tree.lib.push("lib".into());
        }
    }
    tree
}

/// Returns the usual directories for `include` or `lib`, then the ones below `targets/` for this platform.
fn dirs(platform: &Platform, leaf: &str) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    match (platform.os, leaf) {
        (Os::Windows, "lib") => dirs.push(Path::new(leaf).join(platform.windows_cpu())),
        (_, "lib") => dirs.push("lib64".into()),
        _ => {}
    }
    dirs.push(leaf.into());
    for target in platform.toolkit_targets() {
        dirs.push(Path::new("targets").join(target).join(leaf));
    }
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolkit::package_names::FETCHED_ON_REQUEST;

    /// `cudnn-guard fetch --with npp`, which a finding suggests, installs a directory that a build searches.
    #[test]
    fn every_fetched_library_is_searched() {
        for name in FETCHED_ON_REQUEST {
            assert!(COMPONENTS.contains(&name), "{name}");
        }
    }
}
