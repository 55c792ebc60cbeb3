//! Where else the loader may find a cuDNN.

use crate::cudnn::part_version::Teller;
use crate::loader::dll_search::DllSearchPath;
use crate::loader::path_shadowing::{Nvrtc, ShadowingLibrary};
use crate::model::candidate::{Cudnn, Toolkit};
use crate::model::environment::Variable;
use crate::model::platform::Os;
use crate::model::text::library_name::LibraryName;
use crate::runtime::facts::version::Version;
use crate::system::library_file::Binary;
use crate::system::sysroot::Sysroot;
use crate::system::{Host, files};
use std::path::{Path, PathBuf};

/// The directories of LD_LIBRARY_PATH that hold libraries of cuDNN with the names that the chosen one has, in order.
/// None where the program runs on another system than this.
pub fn along_library_path(cudnn: &Cudnn, host: &Host) -> Vec<ShadowingLibrary> {
    let eyes = Sysroot {
        root: host.root.as_deref(),
    };
    among(cudnn, library_path(host), eyes, Os::Linux)
}

/// The directories of LD_LIBRARY_PATH, if the program runs on this system.
pub fn library_path(host: &Host) -> Vec<PathBuf> {
    if host.platform.os != Os::Linux || !host.is_target() {
        return Vec::new();
    }
    let path = host.env.get(Variable::LdLibraryPath).unwrap_or_default();
    let path = path.to_string_lossy();
    let dirs = path.split([':', ';']).map(PathBuf::from);
    // Below a root, what the shell of this machine has in mind is not meant.
    let inside = |dir: &PathBuf| host.root.as_ref().is_none_or(|root| dir.starts_with(root));
    let dirs = dirs.filter(|dir| dir.is_absolute() && inside(dir));
    files::dedup(dirs)
}

/// The libnvrtc that LD_LIBRARY_PATH leads to under the name that this cuDNN opens, unless it is that of the
/// toolkit or does not tell its release.
pub fn nvrtc(toolkit: &Toolkit, cudnn: &Cudnn, host: &Host) -> Option<Nvrtc> {
    let eyes = Sysroot {
        root: host.root.as_deref(),
    };
    let by_toolkit = toolkit.version.map(|version| version.major);
    // cuDNN asks for that of its own CUDA first, and only where there is none for `libnvrtc.so`.
    let name = format!("libnvrtc.so.{}", cudnn.cuda_major.or(by_toolkit)?);
    let mut there = library_path(host).into_iter().map(|dir| dir.join(&name));
    let (path, file) = there.find_map(|path| Some((eyes.file(&path)?, path)))?;
    let (real, dir) = (eyes.canonical(&path), path.parent()?);
    let mut own = toolkit.link_dirs.iter().map(|dir| dir.join(&name));
    if own.any(|own| eyes.canonical(&own) == real) {
        return None;
    }
    let release = release_in(&real).or_else(|| builtins(dir))?;
    Some(Nvrtc { file, release })
}

/// The release of the builtins in a directory: their name has it where that of the libnvrtc beside them, in a wheel,
/// has not.
fn builtins(dir: &Path) -> Option<Version> {
    let is_it = |name: &str| name.starts_with("libnvrtc-builtins.so.");
    let there = files::list_named(dir, &is_it).ok()?;
    let told = there.iter().filter_map(|path| release_in(path));
    let mut told: Vec<Version> = told.collect();
    told.dedup();
    let [release] = told.try_into().ok()?;
    Some(release)
}

/// 12.4 of `libnvrtc.so.12.4.127`; nothing of `libnvrtc.so.12`.
fn release_in(path: &Path) -> Option<Version> {
    match LibraryName::of(path)?.numbers[..] {
        [major, minor, ..] => Some(Version::new(major, minor, 0)),
        _ => None,
    }
}

/// The same for Windows' own directory and those of PATH.
pub fn along_dll_path(cudnn: &Cudnn, path: &DllSearchPath) -> Vec<ShadowingLibrary> {
    among(cudnn, path.directories(), path.eyes, Os::Windows)
}

fn among(cudnn: &Cudnn, dirs: Vec<PathBuf>, eyes: Sysroot, os: Os) -> Vec<ShadowingLibrary> {
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
            Some(ShadowingLibrary {
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
    eyes: Sysroot,
    os: Os,
) -> Option<Version> {
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
    let compiler = host.env.var(Variable::Cxx.name()).unwrap_or_default();
    let cxx = dir.join("libstdc++.so.6");
    let conda = files::is_dir(&dir.parent()?.join("conda-meta"));
    (conda && !compiler.contains("conda") && files::is_file(&cxx)).then_some(cxx)
}
