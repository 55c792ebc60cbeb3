//! What to say where kernels are to be compiled and there is no nvcc, or none that can do it.

use crate::model::candidate::Found;
use crate::model::platform::Os;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::system::Host;
use crate::toolchain::Toolchain;
use std::path::{Path, PathBuf};

/// The finding, with the places that were looked at: by the system that builds, where that is another one.
pub fn nvcc(toolchain: &Toolchain, builder: Option<&Toolchain>, sources: &[PathBuf]) -> Finding {
    let candidates = &builder.unwrap_or(toolchain).candidates;
    let what = match sources {
        [one] => format!("`{}`", one.display()),
        more => format!("{} kernels", more.len()),
    };
    let (headline, variable) = match builder {
        None => {
            let root = toolchain.cuda_root().unwrap_or(Path::new(""));
            let headline = format!(
                "the CUDA at `{}` has no nvcc to compile {what} with",
                root.display()
            );
            (headline, "CUDA_HOME".to_string())
        }
        Some(builder) => {
            let (triple, target) = (
                &builder.host.platform.triple,
                &toolchain.host.platform.triple,
            );
            let headline = format!(
                "no CUDA for `{triple}`, on which this build for `{target}` runs, has an nvcc to compile {what} with"
            );
            (headline, format!("CUDA_HOME_{}", triple.replace('-', "_")))
        }
    };
    let mut finding = Finding::error(FindingId::NvccNotFound, headline);
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
        .help(format!(
            "set {variable} to a CUDA toolkit that has `bin/nvcc`, or put its nvcc on PATH"
        ))
        .help(
            "or run `cudnn-guard fetch` (from `cargo install --path . --features cli` in a clone of cudnn-guard), which installs one without \
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
    let Host { platform, .. } = &toolchain.host;
    let other = Some(toolchain.host.builder()).filter(|host| host.os != Os::Windows);
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
    toolchain.allowed.apply(&mut findings);
    findings.into_iter().next()
}

/// That there is no CUDA runtime for the target's processor, with which kernels are linked. NVIDIA's packages for this
/// processor may lie where the linker for it does not look.
pub fn runtime(toolchain: &Toolchain) -> Option<Finding> {
    let Host { platform, .. } = &toolchain.host;
    let toolkit = toolchain.toolkit()?;
    let is_native = toolchain.host.builder().cpu == platform.cpu;
    if is_native || platform.os != Os::Linux || !toolkit.link_dirs.is_empty() {
        return None;
    }
    let cpu = &platform.cpu;
    let variable = format!("CUDA_HOME_{}", platform.triple.replace('-', "_"));
    let targets = platform.toolkit_targets().join("` or `targets/");
    let headline = format!(
        "the CUDA at `{}` has no runtime for {cpu}, with which kernels are linked",
        toolkit.root.display()
    );
    let mut finding = Finding::error(FindingId::PartialToolkit, headline);
    let mut or = "";
    if let Some(release) = toolkit.version.filter(|release| release.major >= 13) {
        finding = finding.help(format!(
            "set {variable} to `DIR/nvidia/cu{}`, after `pip install --platform manylinux2014_{cpu} \
             --only-binary=:all: --no-deps --target DIR 'nvidia-cuda-runtime=={}.*'`",
            release.major,
            release.short()
        ));
        or = "or ";
    }
    let finding = finding.help(format!(
        "{or}install NVIDIA's packages for cross building, which fill `targets/{targets}` of a toolkit"
    ));
    let mut findings = [finding];
    toolchain.allowed.apply(&mut findings);
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
