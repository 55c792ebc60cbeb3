//! Libraries in the loader's search path that hide those of the chosen cuDNN or toolkit.

use crate::cudnn::consistency::file_name;
use crate::cudnn::parts::{Named, OpenFiles, assemble};
use crate::loader::path_shadowing::{PathFault, ShadowingLibrary};
use crate::model::{Cudnn, Os, Toolkit, Variable};
use crate::runtime::facts::LibraryName;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::loader::search_path::{LoadOrigin, SearchPath};
use crate::system::{Host, files};
use crate::{Finding, Version};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Returns the directories of LD_LIBRARY_PATH, if the program runs on this system.
pub fn library_path(host: &Host) -> Vec<PathBuf> {
    if host.platform.os != Os::Linux || !host.is_target() {
        return Vec::new();
    }
    let path = host.env.get(Variable::LdLibraryPath).unwrap_or_default();
    let path = path.to_string_lossy();
    let mut dirs: Vec<PathBuf> = path.split([':', ';']).map(PathBuf::from).collect();
    files::keep(&mut dirs, &|dir| host.is_inside(dir));
    let mut known = BTreeSet::new();
    dirs.retain(|dir| known.insert(dir.clone().into_os_string()));
    dirs
}

/// Returns LD_LIBRARY_PATH as a search path.
pub fn named_path(host: &Host) -> SearchPath {
    let mut path = SearchPath::default();
    for dir in library_path(host) {
        path.directories.push(LoadOrigin::LibraryPath(dir).into());
    }
    path
}

/// Returns the finding if cuDNN uses a libnvrtc in LD_LIBRARY_PATH that is older than the toolkit. A newer one supports
/// everything that an older one does.
pub fn nvrtc(toolkit: &Toolkit, cudnn: &Cudnn, host: &Host) -> Option<Finding> {
    let sysroot = host.sysroot();
    let by_toolkit = toolkit.version.map(|version| version.major);
    // cuDNN opens the libnvrtc of its own CUDA first, and `libnvrtc.so` only if it does not exist.
    let name = format!("libnvrtc.so.{}", cudnn.cuda_major.or(by_toolkit)?);
    let mut files = library_path(host).into_iter().map(|dir| dir.join(&name));
    let (path, file) = files.find_map(|path| Some((sysroot.file(&path)?, path)))?;
    let (real, found_in) = (sysroot.canonical(&path), path.parent()?);
    let mut own = toolkit.link_dirs.iter().map(|dir| dir.join(&name));
    if own.any(|own| sysroot.canonical(&own) == real) {
        return None;
    }
    let release = version_in(&real).or_else(|| builtins(found_in))?;
    let cuda = toolkit.version?;
    let compiles = |part: &SubLibraryFile| part.name == "engines_runtime_compiled";
    // Since cuDNN 9, the sub-library that compiles is a separate file, which may be missing.
    let left_out = cudnn.version()?.major >= 9 && !cudnn.installed.list.iter().any(compiles);
    if left_out || release.major != cuda.major || release.minor >= cuda.minor {
        return None;
    }
    let dir = toolkit.link_dirs.first().map(PathBuf::as_path);
    Some(PathFault::OlderNvrtc(&file, release, cuda, dir).finding())
}

/// Returns the version of the builtins in a directory. In a wheel, the file name of the builtins contains the version,
/// unlike that of libnvrtc.
fn builtins(dir: &Path) -> Option<Version> {
    let is_builtins = |name: &str| name.starts_with("libnvrtc-builtins.so.");
    let files = files::list_named(dir, &is_builtins).ok()?;
    let mut versions = files.iter().filter_map(|path| version_in(path));
    let first = versions.next()?;
    versions.all(|version| version == first).then_some(first)
}

/// Returns 12.4 for `libnvrtc.so.12.4.127`, and `None` for `libnvrtc.so.12`.
fn version_in(path: &Path) -> Option<Version> {
    match LibraryName::of(path)?.numbers[..] {
        [major, minor, ..] => Some(Version::new(major, minor, 0)),
        _ => None,
    }
}

/// Returns the directories of a search path that contain libraries with the names of the chosen cuDNN's.
pub fn libraries_in(path: &SearchPath, cudnn: &Cudnn, host: &Host) -> Vec<ShadowingLibrary> {
    let sysroot = host.sysroot();
    let same = |one: &Path, other: &Path| sysroot.canonical(one) == sysroot.canonical(other);
    let mut rivals = Vec::new();
    let Some(library) = cudnn.library.as_deref() else {
        return rivals;
    };
    for place in &path.directories {
        let dir = &place.dir;
        let (mut found, mut parts) = (Named::new(), Vec::new());
        for part in &cudnn.installed.list {
            let file = sysroot.file(&dir.join(file_name(&part.path)));
            if let Some(file) = file.filter(|file| !same(file, &part.path)) {
                parts.push(file_name(&file).to_string());
                found.push((part.name.clone(), file));
            }
        }
        let main_library = sysroot.file(&dir.join(file_name(library)));
        let own = main_library.as_deref().map(|file| same(file, library));
        found.extend(main_library.map(|file| ("cudnn".to_string(), file)));
        if found.is_empty() {
            continue;
        }
        let files = OpenFiles::new(sysroot, &host.platform).read(found);
        let any = files.iter().find_map(|file| file.version);
        let installed = assemble(cudnn, &files);
        rivals.push(ShadowingLibrary {
            own: own == Some(true),
            version: installed.version().map(|(version, _)| version).or(any),
            main_library: own.is_some(),
            parts,
            dir: dir.clone(),
            is_system: place.is_system(),
        });
    }
    rivals
}

/// Returns the C++ library beside the chosen cuDNN, if both belong to a conda environment whose compilers are not used.
pub fn conda_cxx(cudnn: &Cudnn, host: &Host) -> Option<PathBuf> {
    let dir = cudnn.link_dir.as_deref()?;
    let compiler = host.env.var(Variable::Cxx.name()).unwrap_or_default();
    let cxx = dir.join("libstdc++.so.6");
    let conda = files::is_dir(&dir.parent()?.join("conda-meta"));
    (conda && !compiler.contains("conda") && files::is_file(&cxx)).then_some(cxx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Environment, Platform};
    use crate::system::probe_cache::ProbeCache;
    use std::time::Instant;

    /// Reading 16,000 directories takes as long as reading 1,000 directories sixteen times; with a search in a list, it
    /// takes sixteen times as long. Both are long enough for a busy machine to slow them down alike.
    #[test]
    fn a_long_library_path_is_read_in_proportion_to_its_length() {
        let time = |count: usize, runs: usize| {
            let dirs = (0..count).chain(0..count).map(|at| format!("/opt/{at}"));
            let list = dirs.collect::<Vec<_>>().join(":");
            let triple = "x86_64-unknown-linux-gnu";
            let pairs = [("HOST", triple), ("LD_LIBRARY_PATH", &list)];
            let pairs = pairs.map(|(name, value)| (name.to_string(), value.into()));
            let host = Host {
                env: Environment::new(pairs),
                platform: Platform::from_triple(triple),
                root: None,
                answers: ProbeCache::default(),
            };
            let once = |_| {
                let begun = Instant::now();
                for _ in 0..runs {
                    let dirs = library_path(&host);
                    assert_eq!((dirs.len(), &*dirs[1]), (count, Path::new("/opt/1")));
                }
                begun.elapsed()
            };
            (0..5).map(once).min().unwrap()
        };
        let (few, many) = (time(1000, 16), time(16_000, 1));
        assert!(many < few * 6, "{few:?} {many:?}");
    }
}
