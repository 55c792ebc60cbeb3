//! The variables without which the build of candle or cudarc fails on this machine.

use crate::cli::fetch::project::AcceptedCuda;
use crate::cli::init::crate_files::CrateFiles;
use crate::compat::cudarc::number;
use crate::compat::cudarc_refusals::{has_other_nvcc, nvcc_on_path};
use crate::compat::cudarc_sources::CHOICE;
use crate::runtime::facts::quoted;
use crate::{Config, Link};
use std::path::Path;

/// Returns the sentences about PATH, if nvcc is not on it, and about the CUDA version, if cudarc has no bindings for
/// that of the toolkit.
pub fn text(dir: &Path, files: &CrateFiles) -> String {
    let is_candle = files.usage.uses_candle();
    let detects = ("cudarc", "cuda-version-from-build-system");
    // cargo resolves the packages of the current directory.
    let is_current = dir == Path::new(".");
    let accepted = is_current.then(|| AcceptedCuda::find(dir)).flatten();
    let is_chosen = accepted.as_ref().is_some_and(|one| one.newest_of.is_none());
    let mut text = String::new();
    if !is_candle && (is_chosen || !files.package.all_features().contains(&detects)) {
        return text;
    }
    let toolchain = Config::new().link(Link::Runtime).survey();
    let env = &toolchain.host.env;
    let nvcc = toolchain.nvcc().filter(|_| nvcc_on_path(env).is_none());
    if let Some(dir) = nvcc.and_then(Path::parent) {
        let krate = if is_candle { "candle" } else { "cudarc" };
        let dir = dir.to_string_lossy();
        let add = match cfg!(windows) {
            true => format!("add `{dir}` to it"),
            false => format!("run `export PATH={}:$PATH` first", quoted(&dir)),
        };
        text += &format!("The build of {krate} runs nvcc, which is not on PATH: {add}\n");
    }
    let Some((cuda, accepted)) = toolchain.cuda_version().zip(accepted) else {
        return text;
    };
    let cudarc = accepted.newest_of.filter(|one| one.reads_variable());
    let is_same_major = cuda.major == accepted.version.major && cuda > accepted.version;
    if let (Some(cudarc), true) = (
        cudarc,
        is_same_major && !has_other_nvcc(env, toolchain.toolkit()),
    ) {
        let (release, cuda, number) = (cudarc.release, cuda.short(), number(accepted.version));
        text += &format!(
            "cudarc {release} has no bindings for CUDA {cuda} of the toolkit: set {CHOICE}={number} for the build\n"
        );
    }
    text
}
