//! Kernels to compile without an nvcc that can do it, or without what is linked with them.

use crate::model::candidate::Candidate;
use crate::model::platform::{Os, Platform};
use crate::runtime::facts::version::Version;
use crate::system::Host;
use crate::toolchain::Toolchain;
use std::path::{Path, PathBuf};

/// Kernels without an nvcc to compile them.
pub struct MissingNvcc<'a> {
    /// The files to compile.
    pub sources: &'a [PathBuf],
    /// The root of the chosen toolkit.
    pub root: &'a Path,
    /// The target triple.
    pub target: &'a str,
    /// The triple of the system that builds, if it is another one.
    pub builder: Option<&'a str>,
    /// The candidates for the system that builds.
    pub candidates: &'a [Candidate],
}

/// Kernels for a program that cannot be linked with the host code that nvcc makes.
pub struct UnusableHostCode<'a> {
    /// The target.
    pub platform: &'a Platform,
    /// The triple of the system that builds, if that is not Windows.
    pub builder: Option<String>,
}

/// A toolkit without the CUDA runtime for the target.
pub struct MissingCudaRuntime<'a> {
    /// The root of the toolkit.
    pub root: &'a Path,
    /// The release of the toolkit.
    pub release: Option<Version>,
    /// The target.
    pub platform: &'a Platform,
}

/// A path that nvcc does not pass on to its own programs as it is.
pub struct UnpassablePath<'a> {
    /// The path.
    pub path: &'a Path,
    /// The character that nvcc does not pass on.
    pub sign: char,
}

/// Returns the fault with the candidates that were searched: those of the system that builds, if it is another one.
pub fn nvcc<'a>(
    toolchain: &'a Toolchain,
    builder: Option<&'a Toolchain>,
    sources: &'a [PathBuf],
) -> MissingNvcc<'a> {
    MissingNvcc {
        sources,
        root: toolchain.cuda_root().unwrap_or(Path::new("")),
        target: &toolchain.host.platform.triple,
        builder: builder.map(|builder| &*builder.host.platform.triple),
        candidates: &builder.unwrap_or(toolchain).candidates,
    }
}

/// Returns `true` if this toolkit is a wheel of CUDA 11 or 12: they lie in one folder for each component,
/// `nvidia/cuda_runtime`, and those of CUDA 13 together in `nvidia/cu13`.
pub fn is_old_wheel(root: &Path) -> bool {
    let mut parts = root
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    parts.any(|part| part == "nvidia") && !parts.any(|part| part.starts_with("cu1"))
}

/// Returns the fault if a program for Windows cannot take what nvcc makes of host code: where nvcc runs on another
/// system, or where the program's linker is GNU's.
pub fn msvc(toolchain: &Toolchain) -> Option<UnusableHostCode<'_>> {
    let Host { platform, .. } = &toolchain.host;
    let other = Some(toolchain.host.builder()).filter(|host| host.os != Os::Windows);
    if platform.os != Os::Windows || platform.is_msvc() && other.is_none() {
        return None;
    }
    let builder = other.map(|host| host.triple);
    Some(UnusableHostCode { platform, builder })
}

/// Returns the fault if there is no CUDA runtime for the target's processor, with which kernels are linked. NVIDIA's
/// packages for this processor may lie where the linker for it does not look.
pub fn runtime(toolchain: &Toolchain) -> Option<MissingCudaRuntime<'_>> {
    let Host { platform, .. } = &toolchain.host;
    let toolkit = toolchain.toolkit()?;
    let is_native = toolchain.host.builder().cpu == platform.cpu;
    if is_native || platform.os != Os::Linux || !toolkit.link_dirs.is_empty() {
        return None;
    }
    Some(MissingCudaRuntime {
        root: &toolkit.root,
        release: toolkit.version,
        platform,
    })
}
