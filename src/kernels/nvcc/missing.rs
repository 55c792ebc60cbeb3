//! Checks that nvcc and the CUDA runtime can be used.

use crate::model::{Os, Platform, Toolkit};
use crate::system::Host;
use crate::toolchain::Toolchain;
use std::path::{Path, PathBuf};

/// A toolkit that cannot compile kernels for a program.
pub enum UnusableToolkit<'a> {
    /// No nvcc for these files in the target's toolchain, nor in the build system's if that differs.
    NoNvcc(&'a Toolchain, Option<&'a Toolchain>, &'a [PathBuf]),
    GnuLinker(&'a Platform),
    /// A program for Windows that is built on this different system.
    NotOnWindows(&'a Platform, Platform),
    NoRuntime(&'a Toolkit, &'a Platform),
    /// No `libcudart_static.a`, although the build script requests it.
    NoStaticRuntime(&'a Toolkit),
    /// A path with a character that nvcc does not quote when it runs other programs.
    Path(&'a Path, char),
}

/// Returns `true` if this toolkit is a wheel of CUDA 11 or 12, which have one directory per component, such as
/// `nvidia/cuda_runtime`. The wheels of CUDA 13 share `nvidia/cu13`.
pub fn is_old_wheel(root: &Path) -> bool {
    let mut parts = root.iter();
    parts.any(|part| part == "nvidia")
        && !parts.any(|part| part.as_encoded_bytes().starts_with(b"cu1"))
}

/// Returns the fault if a program for Windows cannot be linked with nvcc's host code: nvcc runs on another system, or
/// the program's linker is GNU's.
pub fn msvc(toolchain: &Toolchain) -> Option<UnusableToolkit<'_>> {
    let Host { platform, .. } = &toolchain.host;
    let builder = toolchain.host.builder();
    match (platform.os, builder.os) {
        (Os::Windows, Os::Windows) if platform.is_msvc() => None,
        (Os::Windows, Os::Windows) => Some(UnusableToolkit::GnuLinker(platform)),
        (Os::Windows, _) => Some(UnusableToolkit::NotOnWindows(platform, builder)),
        _ => None,
    }
}

/// Returns the fault if there is no CUDA runtime for the target's CPU. NVIDIA's packages for this CPU may be where its
/// linker does not search.
pub fn runtime(toolchain: &Toolchain) -> Option<UnusableToolkit<'_>> {
    let Host { platform, .. } = &toolchain.host;
    let toolkit = toolchain.toolkit()?;
    let is_native = toolchain.host.builder().cpu == platform.cpu;
    if is_native || platform.os != Os::Linux || !toolkit.link_dirs.is_empty() {
        return None;
    }
    Some(UnusableToolkit::NoRuntime(toolkit, platform))
}
