//! Other places where the loader may find a cuDNN.

use crate::cudnn::consistency::file_name;
use crate::cudnn::parts::{Named, SubLibraries};
use crate::loader::dll_search::DllSearchPath;
use crate::loader::path_shadowing::{Nvrtc, ShadowingLibrary};
use crate::model::candidate::{Cudnn, Toolkit};
use crate::model::environment::Variable;
use crate::model::platform::{Os, Platform};
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::facts::version::Version;
use crate::system::sysroot::Sysroot;
use crate::system::{Host, files};
use std::path::{Path, PathBuf};

/// Returns the directories of LD_LIBRARY_PATH, in order, that contain libraries with the names of the chosen cuDNN's.
/// Empty if the program runs on another system.
pub fn along_library_path(cudnn: &Cudnn, host: &Host) -> Vec<ShadowingLibrary> {
    shadowing_libraries(cudnn, library_path(host), host.sysroot(), &host.platform)
}

/// Returns the directories of LD_LIBRARY_PATH, if the program runs on this system.
pub fn library_path(host: &Host) -> Vec<PathBuf> {
    if host.platform.os != Os::Linux || !host.is_target() {
        return Vec::new();
    }
    let path = host.env.get(Variable::LdLibraryPath).unwrap_or_default();
    let path = path.to_string_lossy();
    let dirs = path.split([':', ';']).map(PathBuf::from);
    files::dedup(dirs.filter(|dir| host.is_inside(dir)))
}

/// Returns the libnvrtc in LD_LIBRARY_PATH with the name that this cuDNN opens, unless it is the toolkit's or its
/// version is unknown.
pub fn nvrtc(toolkit: &Toolkit, cudnn: &Cudnn, host: &Host) -> Option<Nvrtc> {
    let sysroot = host.sysroot();
    let by_toolkit = toolkit.version.map(|version| version.major);
    // cuDNN opens the libnvrtc of its own CUDA first, and `libnvrtc.so` only if it does not exist.
    let name = format!("libnvrtc.so.{}", cudnn.cuda_major.or(by_toolkit)?);
    let mut files = library_path(host).into_iter().map(|dir| dir.join(&name));
    let (path, file) = files.find_map(|path| Some((sysroot.file(&path)?, path)))?;
    let (real, dir) = (sysroot.canonical(&path), path.parent()?);
    let mut own = toolkit.link_dirs.iter().map(|dir| dir.join(&name));
    if own.any(|own| sysroot.canonical(&own) == real) {
        return None;
    }
    let release = version_in(&real).or_else(|| builtins(dir))?;
    Some(Nvrtc { file, release })
}

/// Returns the version of the builtins in a directory. In a wheel, their file name contains the version, unlike
/// libnvrtc's.
fn builtins(dir: &Path) -> Option<Version> {
    let is_builtins = |name: &str| name.starts_with("libnvrtc-builtins.so.");
    let files = files::list_named(dir, &is_builtins).ok()?;
    let versions = files.iter().filter_map(|path| version_in(path));
    let mut versions: Vec<Version> = versions.collect();
    versions.dedup();
    let [release] = versions.try_into().ok()?;
    Some(release)
}

/// Returns 12.4 for `libnvrtc.so.12.4.127`, and none for `libnvrtc.so.12`.
fn version_in(path: &Path) -> Option<Version> {
    match LibraryName::of(path)?.numbers[..] {
        [major, minor, ..] => Some(Version::new(major, minor, 0)),
        _ => None,
    }
}

/// Like [`along_library_path`], but for Windows' own directory and PATH.
pub fn along_dll_path(
    cudnn: &Cudnn,
    path: &DllSearchPath,
    platform: &Platform,
) -> Vec<ShadowingLibrary> {
    shadowing_libraries(cudnn, path.directories(), path.sysroot, platform)
}

fn shadowing_libraries(
    cudnn: &Cudnn,
    dirs: Vec<PathBuf>,
    sysroot: Sysroot,
    platform: &Platform,
) -> Vec<ShadowingLibrary> {
    let library = cudnn.library.as_deref();
    let Some((library, file)) = library.zip(library.and_then(Path::file_name)) else {
        return Vec::new();
    };
    let same = |one: &Path, other: &Path| sysroot.canonical(one) == sysroot.canonical(other);
    let rival = |dir: PathBuf| {
        let main_library = sysroot.file(&dir.join(file));
        let beside = cudnn.parts.iter().filter(|part| part.name != "cudnn");
        let parts = beside.filter_map(|part| {
            let file = sysroot.file(&dir.join(part.path.file_name()?))?;
            (!same(&file, &part.path)).then_some((part.name.clone(), file))
        });
        let mut found: Named = parts.collect();
        let own = main_library
            .as_deref()
            .is_some_and(|main_library| same(main_library, library));
        if main_library.is_none() && found.is_empty() {
            return None;
        }
        let parts = found.iter().map(|(_, path)| file_name(path).to_string());
        let (parts, has_main_library) = (parts.collect(), main_library.is_some());
        found.extend(main_library.map(|main_library| ("cudnn".to_string(), main_library)));
        let opened = SubLibraries::open(found, sysroot, platform);
        let any = || opened.files.iter().find_map(|part| part.version);
        Some(ShadowingLibrary {
            own,
            version: opened.version().or_else(any),
            main_library: has_main_library,
            parts,
            dir,
        })
    };
    dirs.into_iter().filter_map(rival).collect()
}

/// Returns the C++ library beside the chosen cuDNN, if both belong to a conda environment whose compilers are not used.
pub fn conda_cxx(cudnn: &Cudnn, host: &Host) -> Option<PathBuf> {
    let dir = cudnn.link_dir.as_deref()?;
    let compiler = host.env.var(Variable::Cxx.name()).unwrap_or_default();
    let cxx = dir.join("libstdc++.so.6");
    let conda = files::is_dir(&dir.parent()?.join("conda-meta"));
    (conda && !compiler.contains("conda") && files::is_file(&cxx)).then_some(cxx)
}
