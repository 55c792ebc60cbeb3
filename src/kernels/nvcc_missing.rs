//! What to say where kernels are to be compiled and there is no nvcc, or none that can do it.

use crate::model::candidate::{Candidate, Found, Toolkit};
use crate::model::platform::{Os, Platform};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::system::Host;
use crate::toolchain::Toolchain;
use std::path::{Path, PathBuf};

/// The finding, with the places that were looked at.
pub fn nvcc(toolkit: &Toolkit, candidates: &[Candidate], sources: &[PathBuf]) -> Finding {
    let what = match sources {
        [one] => format!("`{}`", one.display()),
        more => format!("{} kernels", more.len()),
    };
    let mut finding = Finding::error(
        FindingId::NvccNotFound,
        format!(
            "the CUDA at `{}` has no nvcc to compile {what} with",
            toolkit.root.display()
        ),
    );
    let mut wheels = false;
    let mut looked = Vec::new();
    for candidate in candidates {
        let Found::Toolkit(toolkit) = &candidate.found else {
            continue;
        };
        wheels |= toolkit.nvcc.is_none() && is_old_wheel(&toolkit.root);
        let verdict = match (&toolkit.nvcc, &candidate.rejected) {
            (None, _) => "no nvcc".to_string(),
            (Some(_), Some(reason)) => reason.to_string(),
            (Some(_), None) => "not chosen".to_string(),
        };
        looked.push(format!(
            "{} ({}): {verdict}",
            toolkit.root.display(),
            candidate.via
        ));
    }
    if !looked.is_empty() {
        finding = finding.with("looked at", looked.join("\n"));
    }
    if wheels {
        // One for CUDA 11 or 12 would not be taken with that toolkit.
        let cudnn = candidates.iter().any(|candidate| {
            matches!(&candidate.found, Found::Cudnn(cudnn) if candidate.chosen && cudnn.cuda_major != Some(13))
        });
        finding = finding.help(format!(
            "install the wheels of CUDA 13, since those of CUDA 11 and 12 hold no nvcc: `pip install \
             nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl{}`",
            if cudnn { " nvidia-cudnn-cu13" } else { "" }
        ));
    }
    finding
        .help("set CUDA_HOME to a CUDA toolkit that has `bin/nvcc`, or put its nvcc on PATH")
        .help(
            "or run `cudnn-guard fetch` (from `cargo install cudnn-guard --features cli`), which installs one without \
             root",
        )
}

/// The wheels of CUDA 11 and 12 lie in one folder for each component, `nvidia/cuda_runtime`; those of CUDA 13 are
/// together in `nvidia/cu13`.
fn is_old_wheel(root: &Path) -> bool {
    let mut parts = root
        .components()
        .map(|part| part.as_os_str().to_string_lossy());
    parts.any(|part| part == "nvidia") && !parts.any(|part| part.starts_with("cu1"))
}

/// That a program for Windows cannot take what nvcc makes of host code: where nvcc runs on another system, or where the
/// program's linker is GNU's.
pub fn msvc(toolchain: &Toolchain) -> Option<Finding> {
    let Host { platform, env, .. } = &toolchain.host;
    let other = env.var("HOST").map(Platform::from_triple);
    let other = other.filter(|host| host.os != Os::Windows);
    if platform.os != Os::Windows || platform.is_msvc() && other.is_none() {
        return None;
    }
    let triple = &platform.triple;
    let msvc = format!("{}-pc-windows-msvc", platform.cpu);
    let (headline, help) = match other {
        Some(host) => (
            format!(
                "nvcc compiles host code for Windows on Windows alone, and this build for `{triple}` runs on `{}`",
                host.triple
            ),
            format!("build on Windows, with `--target {msvc}` and Visual Studio's C++ tools"),
        ),
        None => (
            format!(
                "nvcc compiles host code for Windows with Microsoft's `cl.exe` alone, which a program for `{triple}` cannot be linked with"
            ),
            format!("build with `--target {msvc}`"),
        ),
    };
    let finding = Finding::error(FindingId::HostCompilerUnsupported, headline)
        .help(help)
        .help("or compile device code alone, with `.fatbin()` in build.rs, for `cuModuleLoadData`");
    let mut findings = [finding];
    toolchain.config.allowed(env).apply(&mut findings);
    findings.into_iter().next()
}

/// A path that nvcc would not pass on to its own programs as it is.
pub fn untaken(path: &Path, sign: char) -> Finding {
    let headline = format!(
        "nvcc cannot take the path `{}`: it does not pass {sign} on to the programs that it runs",
        path.display()
    );
    Finding::error(FindingId::NvccFailed, headline)
        .help("move that to a directory whose path has none of the signs $ ` \" ' \\ and ,")
        .help("or make a link to it under such a path, and name the link")
}
