//! The Windows search path for DLLs that are named without a path, and the DLLs of cuDNN and CUDA that are not on it. It
//! starts with the program's directory, which a build does not know.

use crate::Finding;
use crate::model::{Cudnn, Environment, Os, Toolkit, Variable};
use crate::runtime::binary::Pe;
#[cfg(feature = "cli")]
use crate::runtime::install::dlopen_dependencies::opened_by;
use crate::runtime::loader::{LoadOrigin, SearchPath, dll_in};
use crate::system::{Host, files};
use std::path::{Path, PathBuf};

/// The search path of a system.
pub struct DllSearchPath {
    pub path: SearchPath,
    /// `true` if PATH is that of the program.
    pub known: bool,
}

/// A missing DLL, after the sub-library that needs it. Error 126 on Windows names the sub-library, never the missing DLL.
pub type MissingDll = (PathBuf, String);

/// The search for the DLLs that a cuDNN needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DllDependencies {
    /// The searched directories, without PATH and the toolkit.
    pub places: Vec<PathBuf>,
    pub missing_dlls: Vec<MissingDll>,
    /// Set if PATH is the PATH of the system that runs the program.
    pub path_known: bool,
}

impl DllDependencies {
    pub fn findings(&self, cudnn: &Cudnn) -> Vec<Finding> {
        let (mut sub_libraries, mut others) = (Vec::new(), Vec::new());
        for missing in &self.missing_dlls {
            match missing.1.starts_with("cudnn") {
                // Another check reports missing sub-libraries that convolutions need.
                _ if cudnn.installed.missing.contains(&missing.1) => {}
                true => sub_libraries.push(missing),
                false => others.push(missing),
            }
        }
        let mut findings = Vec::new();
        findings.extend(self.finding(&sub_libraries, cudnn));
        findings.extend(self.finding(&others, cudnn));
        findings
    }
}

/// Returns `true` for DLLs of CUDA and cuDNN, and for those that users must install. DLLs of Windows are not checked.
pub fn is_checked(dll: &str) -> bool {
    let name = dll.to_ascii_lowercase();
    let prefixes = ["cublas", "cudart", "cudnn", "nvjitlink", "nvrtc"];
    prefixes.iter().any(|start| name.starts_with(start))
}

impl DllSearchPath {
    /// Returns the search path of the target system; none if it is another machine.
    pub fn from_host(host: &Host) -> Option<Self> {
        is_known(host).then(|| Self::new(host, None))
    }

    /// Returns the search path of a program in the directory `own`, if that is known. Its current directory may be the
    /// one of this process.
    pub fn new(host: &Host, own: Option<PathBuf>) -> Self {
        let here = host.env.directory();
        let is_here = own.is_some() && host.root.is_none();
        let mut path = SearchPath::default();
        path.system.is_windows = true;
        let mut add = |origin: LoadOrigin| {
            let mut places = path.directories.iter();
            if !places.any(|place| place.dir == origin.folder()) {
                path.directories.push(origin.into());
            }
        };
        if let Some(own) = own {
            add(LoadOrigin::Application(own));
        }
        let mut dirs = Vec::new();
        if is_known(host) {
            if let Some(dir) = system_dir(&host.env, host.root.as_deref()) {
                add(LoadOrigin::System(dir));
            }
            if is_here {
                add(LoadOrigin::WorkingDirectory(here.into()));
            }
            let list = host.env.get(Variable::Path).unwrap_or_default();
            // For the loader, quotation marks are part of the name, which is then invalid.
            for entry in list.to_string_lossy().split(';') {
                let is_relative = is_here && !entry.is_empty() && !entry.contains('"');
                dirs.push(if is_relative {
                    here.join(entry)
                } else {
                    entry.into()
                });
            }
            files::keep(&mut dirs, &|dir| host.is_inside(dir));
        }
        let known = is_known(host) && (host.root.is_none() || !dirs.is_empty());
        for dir in dirs {
            add(LoadOrigin::LibraryPath(dir));
        }
        Self { path, known }
    }

    pub fn dependencies(&self, cudnn: &Cudnn, toolkit: Option<&Toolkit>) -> DllDependencies {
        let own = cudnn.library.as_deref().and_then(Path::parent);
        let (mut shown, mut others) = (Vec::new(), Vec::new());
        shown.extend(own.map(PathBuf::from));
        for place in &self.path.directories {
            match place.origin {
                LoadOrigin::LibraryPath(_) => others.push(place.dir.clone()),
                _ => shown.push(place.dir.clone()),
            }
        }
        others.append(&mut bins(cudnn, toolkit));
        let shown = files::dedup(shown.into_iter());
        others.extend_from_slice(&shown);
        let has = |file: &str| others.iter().any(|dir| dll_in(dir, file).is_some());
        let mut missing_dlls: Vec<MissingDll> = Vec::new();
        // Messages name the first sub-library, so the ones that every program needs come first.
        let mut parts = cudnn.installed.files();
        parts.sort_by_key(|part| !part.needed || part.name == "cudnn");
        for part in parts {
            let needs = Pe::read(&part.path).map_or_else(|_| Vec::new(), |dll| dll.needs());
            for dll in needs {
                let is_known = missing_dlls.iter().any(|(_, known)| *known == dll);
                if is_checked(&dll) && !is_known && !has(&dll) {
                    missing_dlls.push((part.path.clone(), dll));
                }
            }
        }
        DllDependencies {
            places: shown,
            missing_dlls,
            path_known: self.known,
        }
    }

    /// Returns the DLLs that the needed sub-libraries open by their names when they compute, and that are missing.
    #[cfg(feature = "cli")]
    pub fn not_opened(&self, cudnn: &Cudnn) -> Vec<MissingDll> {
        let mut missing = Vec::new();
        let cuda = cudnn.cuda_major.filter(|_| self.known);
        let parts = cudnn.installed.files().into_iter();
        for part in parts.filter(|part| part.needed) {
            let opened = cuda.map(|cuda| opened_by(&part.name, &part.path, cuda, true));
            for name in opened.unwrap_or_default().into_iter().flatten() {
                if self.path.program_file(&name).is_none() {
                    missing.push((part.path.clone(), name));
                }
            }
        }
        missing
    }
}

/// Returns the system directory of Windows, on this machine or in an image.
pub fn system_dir(env: &Environment, root: Option<&Path>) -> Option<PathBuf> {
    match root {
        Some(root) => {
            // Wine's directory, and the directories in images that were copied through other systems.
            let names = ["Windows/System32", "Windows/system32", "windows/system32"];
            let mut dirs = files::below(root, &names);
            files::keep(&mut dirs, &files::is_dir);
            dirs.into_iter().next()
        }
        None => {
            let windows = env.path(Variable::SystemRoot);
            windows.map(|dir| dir.join("System32"))
        }
    }
}

/// Returns `true` if this is a system with Windows whose directories are known.
fn is_known(host: &Host) -> bool {
    host.platform.os == Os::Windows && (host.root.is_some() || host.is_target())
}

/// Returns the directories of CUDA's DLLs. Windows does not search them, but the program's installer can copy the DLLs
/// from them.
fn bins(cudnn: &Cudnn, toolkit: Option<&Toolkit>) -> Vec<PathBuf> {
    let wheels = cudnn.root.parent().filter(|dir| dir.ends_with("nvidia"));
    let roots = toolkit.map(|toolkit| toolkit.root.as_path());
    let mut found = Vec::new();
    for root in roots.into_iter().chain(wheels) {
        let mut parts = files::list(root).unwrap_or_default();
        parts.push(root.to_path_buf());
        for part in parts {
            let bin = part.join("bin");
            let by_cpu = files::below(&bin, &["x64", "x86_64", "arm64"]);
            found.push(bin);
            found.extend(by_cpu);
        }
    }
    files::keep(&mut found, &files::is_dir);
    found
}
