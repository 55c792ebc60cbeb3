//! Where else the loader may find a cuDNN.

use super::binary::Binary;
use super::dll_path::DllPath;
use super::eyes::Eyes;
use super::releases::Teller;
use super::{Host, files};
use crate::model::candidate::Cudnn;
use crate::model::env::Variable;
use crate::model::platform::Os;
use crate::rules::hijack::Rival;
use std::path::{Path, PathBuf};

/// The directories of LD_LIBRARY_PATH that hold libraries of cuDNN with the names that the chosen one has, in order.
/// None where the program runs on another system than this.
pub fn along_library_path(cudnn: &Cudnn, host: &Host) -> Vec<Rival> {
    if host.platform.os != Os::Linux || !host.is_target() {
        return Vec::new();
    }
    let eyes = Eyes {
        root: host.root.as_deref(),
    };
    let path = host.env.get(Variable::LdLibraryPath).unwrap_or_default();
    let path = path.to_string_lossy();
    let dirs = path.split([':', ';']).map(PathBuf::from);
    // Below a root, what the shell of this machine has in mind is not meant.
    let inside = |dir: &PathBuf| host.root.as_ref().is_none_or(|root| dir.starts_with(root));
    let dirs = dirs.filter(|dir| dir.is_absolute() && inside(dir));
    among(cudnn, files::each_once(dirs), eyes, Os::Linux)
}

/// The same for Windows' own directory and those of PATH.
pub fn along_dll_path(cudnn: &Cudnn, path: &DllPath) -> Vec<Rival> {
    among(cudnn, path.all(), path.eyes, Os::Windows)
}

fn among(cudnn: &Cudnn, dirs: Vec<PathBuf>, eyes: Eyes, os: Os) -> Vec<Rival> {
    let Some(file) = cudnn.library.as_deref().and_then(Path::file_name) else {
        return Vec::new();
    };
    let own = cudnn.library.as_deref().map(|own| eyes.canonical(own));
    dirs.into_iter()
        .filter_map(|dir| {
            let shim = eyes.file(&dir.join(file));
            let beside = cudnn.parts.iter().filter(|part| part.name != "cudnn");
            let parts: Vec<(&str, PathBuf)> = beside
                .filter_map(|part| {
                    let there = eyes.file(&dir.join(part.path.file_name()?))?;
                    (eyes.canonical(&there) != eyes.canonical(&part.path))
                        .then_some((part.name.as_str(), there))
                })
                .collect();
            let is_own = shim.as_deref().map(|shim| eyes.canonical(shim)) == own;
            if !is_own && shim.is_none() && parts.is_empty() {
                return None;
            }
            let named = |path: &PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
            Some(Rival {
                own: is_own,
                version: release(shim.as_deref(), &parts, eyes, os),
                shim: shim.is_some(),
                parts: parts.iter().filter_map(|(_, path)| named(path)).collect(),
                dir,
            })
        })
        .collect()
}

/// Graph and ops_infer answer for all; where neither tells, any other.
fn release(
    shim: Option<&Path>,
    parts: &[(&str, PathBuf)],
    eyes: Eyes,
    os: Os,
) -> Option<crate::model::version::Version> {
    let mut files: Vec<(&str, &Path)> = parts.iter().map(|(name, path)| (*name, &**path)).collect();
    files.extend(shim.map(|shim| ("cudnn", shim)));
    files.sort_by_key(|(name, _)| !["graph", "ops_infer"].contains(name));
    let mut teller = Teller::new(files.len());
    for (name, path) in files {
        teller.look(name, &eyes.canonical(path), Binary::open(path, os).as_ref());
    }
    teller
        .tell()
        .into_iter()
        .flatten()
        .next()
        .map(|told| told.0)
}

/// The C++ library beside the chosen cuDNN, if both are of a conda environment whose compilers are not in use.
pub fn conda_cxx(cudnn: &Cudnn, host: &Host) -> Option<PathBuf> {
    let dir = cudnn.link_dir.as_deref()?;
    let compiler = host.env.text(Variable::Cxx.name()).unwrap_or_default();
    let cxx = dir.join("libstdc++.so.6");
    let conda = files::is_dir(&dir.parent()?.join("conda-meta"));
    (conda && !compiler.contains("conda") && files::is_file(&cxx)).then_some(cxx)
}
