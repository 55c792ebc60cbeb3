//! Libraries in the loader's search path that hide those of the chosen cuDNN or toolkit. The build's environment is only
//! an indication of the program's.

use crate::cudnn::file_name;
use crate::cudnn::parts::{Named, OpenFiles, assemble};
use crate::model::{Cudnn, Os, Toolkit, Variable};
use crate::runtime::binary::Elf;
use crate::runtime::facts::LibraryName;
use crate::runtime::install::SubLibraryFile;
use crate::runtime::loader::{LoadOrigin, SearchPath};
use crate::system::{Host, files};
use crate::toolkit::dependencies::unmet_dependency;
use crate::{Finding, Version};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A directory of the search path that contains libraries of cuDNN.
#[derive(Clone)]
pub struct ShadowingLibrary {
    pub dir: PathBuf,
    /// `true` for the system's directory.
    pub is_system: bool,
    /// `true` if its libraries are the chosen ones.
    pub own: bool,
    pub main_library: bool,
    /// The files of its sub-libraries.
    pub parts: Vec<String>,
    pub version: Option<Version>,
}

/// A library that the search path replaces or hides.
pub enum PathFault<'a> {
    /// Another cuDNN that programs find before the chosen one, whose library and version follow: in LD_LIBRARY_PATH, or
    /// in Windows' search path.
    Cudnn(&'a ShadowingLibrary, &'a Path, Option<Version>, Os),
    /// A libnvrtc in LD_LIBRARY_PATH that is older than the toolkit: the file with the name that cuDNN opens, its
    /// version, and the version and the library directory of the toolkit.
    OlderNvrtc(&'a Path, Version, Version, Option<&'a Path>),
    /// A CUDA library and its caller, of different versions; a function that the library does not define; and the
    /// directory of LD_LIBRARY_PATH that contains one of the two. `true` if the program is linked to them.
    MixedLibraries([&'a Path; 2], &'a str, &'a Path, bool),
    /// An rpath to a conda environment's cuDNN, which also selects the environment's C++ library for the program.
    CondaRpath { link_dir: &'a Path, cxx: &'a Path },
}

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
        let files = OpenFiles::new(sysroot, &host.platform).read_all(found);
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

/// Returns the finding if LD_LIBRARY_PATH (`first`) selects an incompatible library instead of the one in `dirs`.
pub fn mixed_libraries(
    library: &Path,
    is_linked: bool,
    first: &[PathBuf],
    dirs: &[PathBuf],
) -> Option<Finding> {
    let name = Elf::read(library).ok()?.soname()?;
    let replaces = |dir: &&PathBuf| files::is_file(&dir.join(&name));
    let opened = first.iter().find(replaces).map(|dir| dir.join(&name));
    let unmet = unmet_dependency(opened.as_deref().unwrap_or(library), first, dirs)?;
    let files = [unmet.beside.as_deref()?, &unmet.library];
    let has_one = |dir: &&PathBuf| files.iter().any(|file| file.parent() == Some(dir));
    let dir = first.iter().find(has_one)?;
    let fault = PathFault::MixedLibraries(files, unmet.symbols.first()?, dir, is_linked);
    Some(fault.finding())
}

/// Returns the finding if the search path replaces the chosen cuDNN or its sub-libraries. Directories after the chosen
/// one, and on Linux the system's, are not searched.
pub fn replaced(cudnn: &Cudnn, rivals: &[ShadowingLibrary], os: Os) -> Option<Finding> {
    let own = rivals.iter().position(|rival| rival.own);
    let before = rivals.get(..own.unwrap_or(rivals.len()))?;
    let mut rival = before.iter().find(|rival| rival.main_library);
    if rival.is_none() && (os == Os::Windows || !cudnn.files.own_first) {
        rival = before.iter().find(|rival| !rival.parts.is_empty());
    }
    let rival = rival?;
    let is_same = rival.version.is_some() && rival.version == cudnn.library_version;
    let library = cudnn.library.as_deref().filter(|_| !is_same)?;
    Some(PathFault::Cudnn(rival, library, cudnn.linked_version(), os).finding())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::candidate::Files;
    use crate::model::{Environment, Platform};
    use crate::system::probe_cache::ProbeCache;
    use std::time::Instant;

    /// Reading 16,000 directories takes as long as reading 1,000 directories sixteen times; with a search in a list, it
    /// takes sixteen times as long.
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
            let begun = Instant::now();
            for _ in 0..runs {
                let dirs = library_path(&host);
                assert_eq!((dirs.len(), &*dirs[1]), (count, Path::new("/opt/1")));
            }
            begun.elapsed()
        };
        // In turn, so that other work on the machine slows down both.
        let times = (0..9).map(|_| (time(1000, 16), time(16_000, 1)));
        let (few, many): (Vec<_>, Vec<_>) = times.unzip();
        let (few, many) = (few.iter().min().unwrap(), many.iter().min().unwrap());
        assert!(*many < *few * 6, "{few:?} {many:?}");
    }

    fn cudnn(minor: u32, own_first: bool) -> Cudnn {
        Cudnn {
            library: Some("/opt/nv/lib/libcudnn.so.9".into()),
            library_version: Some(Version::new(9, minor, 0)),
            files: Box::new(Files {
                own_first,
                ..Files::default()
            }),
            ..Cudnn::default()
        }
    }

    fn rival(dir: &str, main_library: bool, version: Option<Version>) -> ShadowingLibrary {
        ShadowingLibrary {
            dir: dir.into(),
            is_system: dir == "/s",
            own: false,
            main_library,
            parts: vec!["libcudnn_graph.so.9".into()],
            version,
        }
    }

    const OLD: Option<Version> = Some(Version::new(9, 1, 0));

    #[test]
    fn up_to_9_20_only_the_sub_libraries_may_be_replaced() {
        let parts = rival("/opt/parts", false, OLD);
        let finding = replaced(&cudnn(14, false), std::slice::from_ref(&parts), Os::Linux).unwrap();
        assert_eq!(
            finding.to_string(),
            "LD_LIBRARY_PATH makes `libcudnn.so.9` of cuDNN 9.14.0 load the sub-libraries of cuDNN 9.1.0 in `/opt/parts`  [library-path-hijack]\n  \
             = help: remove `/opt/parts` from LD_LIBRARY_PATH where the program runs, or add `/opt/nv/lib` before it\n  \
             linked      /opt/nv/lib/libcudnn.so.9\n  \
             loaded      libcudnn_graph.so.9\n  \
             reason      up to cuDNN 9.20, `libcudnn.so.9` searches LD_LIBRARY_PATH for its sub-libraries before its own directory"
        );
        assert_eq!(replaced(&cudnn(28, true), &[parts], Os::Linux), None);
        // The main library may be replaced in every version.
        assert!(replaced(&cudnn(28, true), &[rival("/opt/old", true, OLD)], Os::Linux).is_some());
    }

    fn dlls() -> Cudnn {
        Cudnn {
            root: "/nv/v9.7".into(),
            library: Some("/nv/v9.7/bin/12.8/cudnn64_9.dll".into()),
            ..cudnn(14, false)
        }
    }

    #[test]
    fn on_windows_the_same_version_does_not_matter_but_an_unknown_one_does() {
        let same = rival("/copy", true, Some(Version::new(9, 14, 0)));
        let old = rival("/old", true, OLD);
        assert_eq!(replaced(&dlls(), &[same, old.clone()], Os::Windows), None);
        assert_eq!(replaced(&dlls(), &[], Os::Windows), None);
        let summary = |rival| {
            let rivals = [rival];
            replaced(&dlls(), &rivals, Os::Windows).unwrap().summary
        };
        assert!(summary(old).starts_with("PATH makes the program load cuDNN 9.1.0 from `/old`"));
        assert!(summary(rival("/s", true, None)).starts_with("Windows makes the program"));
    }
}
