//! The Windows search path for DLLs that are named without a path. It starts with the program's directory, which a
//! build does not know.

use crate::loader::dll_dependencies::{DllDependencies, MissingDll, is_checked};
use crate::model::{Cudnn, Environment, Os, Toolkit, Variable};
use crate::runtime::binary::pe::Pe;
#[cfg(feature = "cli")]
use crate::runtime::install::dlopen_dependencies::opened_by;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::system::sysroot::Sysroot;
use crate::system::{Host, files};
use std::path::{Path, PathBuf};

/// The directories in search order.
#[derive(Default)]
pub struct DllSearchPath<'a> {
    pub sysroot: Sysroot<'a>,
    pub system: Option<PathBuf>,
    /// The current directory, if it is the program's.
    pub current: Option<PathBuf>,
    pub dirs: Vec<PathBuf>,
    /// The program's directory, which comes first, if it is known.
    pub own: Option<PathBuf>,
    /// `true` if PATH is that of the program.
    pub known: bool,
}

impl<'a> DllSearchPath<'a> {
    /// Returns the search path of the target system; none if it is another machine.
    pub fn from_host(host: &'a Host) -> Option<Self> {
        let root = host.root.as_deref();
        if host.platform.os != Os::Windows || !(root.is_some() || host.is_target()) {
            return None;
        }
        let system = system_dir(&host.env, root);
        let mut dirs = entries(host);
        files::keep(&mut dirs, &|dir| host.is_inside(dir));
        Some(Self {
            sysroot: host.sysroot(),
            known: root.is_none() || !dirs.is_empty(),
            system,
            dirs,
            ..Self::default()
        })
    }

    /// Returns the search path of a program in the directory `own`. Its current directory may be the one of this
    /// process.
    #[cfg(feature = "cli")]
    pub fn for_program(host: &'a Host, own: PathBuf) -> Self {
        let mut path = Self::from_host(host).unwrap_or(Self {
            sysroot: host.sysroot(),
            ..Self::default()
        });
        if path.known && host.root.is_none() {
            let here = host.env.directory();
            path.current = Some(here.to_path_buf());
            path.dirs = entries(host);
            path.dirs.retain(|dir| !dir.as_os_str().is_empty());
            for dir in &mut path.dirs {
                // A name with quotation marks is invalid.
                if !dir.to_string_lossy().contains('"') {
                    *dir = here.join(&dir);
                }
            }
        }
        path.own = Some(own);
        path
    }

    /// Returns all directories without duplicates.
    pub fn directories(&self) -> Vec<PathBuf> {
        let mut dirs = Vec::new();
        for dir in [&self.own, &self.system, &self.current] {
            dirs.extend(dir.clone());
        }
        dirs.extend_from_slice(&self.dirs);
        files::dedup(dirs.into_iter())
    }

    /// Returns the file that Windows loads for a name.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        first_in(self.sysroot, &self.directories(), name)
    }

    pub fn dependencies(&self, cudnn: &Cudnn, toolkit: Option<&Toolkit>) -> DllDependencies {
        let own = cudnn.library.as_deref().and_then(Path::parent);
        let mut places = Vec::new();
        places.extend(own.map(Path::to_path_buf));
        places.extend(self.own.clone());
        places.extend(self.system.clone());
        let mut places = files::dedup(places.into_iter());
        let shown = places.clone();
        places.extend_from_slice(&self.dirs);
        places.extend(bins(cudnn, toolkit));
        let has = |file: &str| first_in(self.sysroot, &places, file).is_some();
        let mut missing_dlls: Vec<MissingDll> = Vec::new();
        // Messages name the first sub-library, so the ones that every program needs come first.
        let (mut parts, others): (Vec<&SubLibraryFile>, Vec<&SubLibraryFile>) =
            (cudnn.parts.iter()).partition(|part| part.needed && part.name != "cudnn");
        parts.extend(others);
        for part in parts {
            let needs = Pe::read(&part.path).map_or_else(|_| Vec::new(), |dll| dll.needs());
            for dll in needs {
                let is_known = missing_dlls.iter().any(|known| known.dll == dll);
                if is_checked(&dll) && !is_known && !has(&dll) {
                    let part = part.path.clone();
                    missing_dlls.push(MissingDll { part, dll });
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
        for part in cudnn.parts.iter().filter(|part| part.needed) {
            let opened = cuda.map(|cuda| opened_by(&part.name, &part.path, cuda, true));
            for name in opened.unwrap_or_default().into_iter().flatten() {
                if self.file(&name).is_none() {
                    let part = part.path.clone();
                    missing.push(MissingDll { part, dll: name });
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
            let mut dirs = files::below(root, &names).into_iter();
            dirs.find(|dir| files::is_dir(dir))
        }
        None => {
            let windows = env.path(Variable::SystemRoot);
            windows.map(|dir| dir.join("System32"))
        }
    }
}

/// Returns the first DLL of a name. Windows ignores case, also for files on a case-sensitive system.
pub fn first_in(sysroot: Sysroot<'_>, dirs: &[PathBuf], file: &str) -> Option<PathBuf> {
    let same = |name: &str| name.eq_ignore_ascii_case(file);
    dirs.iter().find_map(|dir| {
        let found = sysroot.file(&dir.join(file));
        found.or_else(|| files::list_named(dir, &same).ok()?.into_iter().next())
    })
}

/// Returns the unchanged entries of PATH. For the loader, quotation marks are part of the name.
fn entries(host: &Host) -> Vec<PathBuf> {
    let path = host.env.get(Variable::Path).unwrap_or_default();
    let path = path.to_string_lossy();
    path.split(';').map(PathBuf::from).collect()
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
