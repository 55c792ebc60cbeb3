//! Where else the loader may find a cuDNN.

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

/// The directories of LD_LIBRARY_PATH that hold libraries of cuDNN with the names that the chosen one has, in order.
/// None where the program runs on another system than this.
pub fn along_library_path(cudnn: &Cudnn, host: &Host) -> Vec<ShadowingLibrary> {
    among(cudnn, library_path(host), host.sysroot(), &host.platform)
}

/// The directories of LD_LIBRARY_PATH, if the program runs on this system.
pub fn library_path(host: &Host) -> Vec<PathBuf> {
    if host.platform.os != Os::Linux || !host.is_target() {
        return Vec::new();
    }
    let path = host.env.get(Variable::LdLibraryPath).unwrap_or_default();
    let path = path.to_string_lossy();
    let dirs = path.split([':', ';']).map(PathBuf::from);
    files::dedup(dirs.filter(|dir| host.is_inside(dir)))
}

/// The libnvrtc that LD_LIBRARY_PATH leads to under the name that this cuDNN opens, unless it is that of the
/// toolkit or does not tell its release.
pub fn nvrtc(toolkit: &Toolkit, cudnn: &Cudnn, host: &Host) -> Option<Nvrtc> {
    let sysroot = host.sysroot();
    let by_toolkit = toolkit.version.map(|version| version.major);
    // cuDNN asks for that of its own CUDA first, and only where there is none for `libnvrtc.so`.
    let name = format!("libnvrtc.so.{}", cudnn.cuda_major.or(by_toolkit)?);
    let mut there = library_path(host).into_iter().map(|dir| dir.join(&name));
    let (path, file) = there.find_map(|path| Some((sysroot.file(&path)?, path)))?;
    let (real, dir) = (sysroot.canonical(&path), path.parent()?);
    let mut own = toolkit.link_dirs.iter().map(|dir| dir.join(&name));
    if own.any(|own| sysroot.canonical(&own) == real) {
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

/// [`along_library_path`] for Windows' own directory and PATH.
pub fn along_dll_path(
    cudnn: &Cudnn,
    path: &DllSearchPath,
    platform: &Platform,
) -> Vec<ShadowingLibrary> {
    among(cudnn, path.directories(), path.sysroot, platform)
}

fn among(
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
            let there = sysroot.file(&dir.join(part.path.file_name()?))?;
            (!same(&there, &part.path)).then_some((part.name.clone(), there))
        });
        let mut found: Named = parts.collect();
        let own = main_library
            .as_deref()
            .is_some_and(|main_library| same(main_library, library));
        if main_library.is_none() && found.is_empty() {
            return None;
        }
        let parts = found.iter().map(|(_, path)| file_name(path).to_string());
        let (parts, has_shim) = (parts.collect(), main_library.is_some());
        found.extend(main_library.map(|main_library| ("cudnn".to_string(), main_library)));
        let told = SubLibraries::open(found, sysroot, platform);
        let any = || told.files.iter().find_map(|part| part.version);
        Some(ShadowingLibrary {
            own,
            version: told.version().or_else(any),
            main_library: has_shim,
            parts,
            dir,
        })
    };
    dirs.into_iter().filter_map(rival).collect()
}

/// The C++ library beside the chosen cuDNN, if both are of a conda environment whose compilers are not in use.
pub fn conda_cxx(cudnn: &Cudnn, host: &Host) -> Option<PathBuf> {
    let dir = cudnn.link_dir.as_deref()?;
    let compiler = host.env.var(Variable::Cxx.name()).unwrap_or_default();
    let cxx = dir.join("libstdc++.so.6");
    let conda = files::is_dir(&dir.parent()?.join("conda-meta"));
    (conda && !compiler.contains("conda") && files::is_file(&cxx)).then_some(cxx)
}
