//! Where Windows looks for a DLL that is asked for by its name alone. What lies beside the program comes before all
//! this, and a build does not know where that will be.

use crate::cudnn::consistency;
use crate::loader::dll_dependencies::{DllDependencies, MissingDll, is_judged, opens_zlib};
use crate::model::candidate::{Cudnn, Toolkit};
use crate::model::environment::Variable;
use crate::model::platform::Os;
use crate::runtime::binary::pe::Pe;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::system::sysroot::Sysroot;
use crate::system::{Host, files};
use std::path::{Path, PathBuf};

/// The directories, in their order.
pub struct DllSearchPath<'a> {
    /// How they are looked at.
    pub sysroot: Sysroot<'a>,
    /// Windows' own.
    pub system: Option<PathBuf>,
    /// The working directory, where it is that of the program.
    pub current: Option<PathBuf>,
    /// Those of PATH.
    pub dirs: Vec<PathBuf>,
    /// The program's, which comes before them all, where it is known.
    pub own: Option<PathBuf>,
    /// Whether PATH says where the program will look.
    pub known: bool,
}

impl<'a> DllSearchPath<'a> {
    /// Of the system that is built for; none where the program runs elsewhere.
    pub fn from_host(host: &'a Host) -> Option<Self> {
        let root = host.root.as_deref();
        if host.platform.os != Os::Windows || !(root.is_some() || host.is_target()) {
            return None;
        }
        let system = match root {
            Some(root) => {
                // Wine, and images that passed through other systems.
                let names = ["Windows/System32", "Windows/system32", "windows/system32"];
                let mut dirs = files::below(root, &names).into_iter();
                dirs.find(|dir| files::is_dir(dir))
            }
            None => {
                let windows = host.env.path(Variable::SystemRoot);
                windows.map(|dir| dir.join("System32"))
            }
        };
        let mut dirs = entries(host);
        dirs.retain(|dir| host.is_inside(dir));
        Some(Self {
            sysroot: host.sysroot(),
            known: root.is_none() || !dirs.is_empty(),
            own: None,
            system,
            current: None,
            dirs,
        })
    }

    /// Of a program in this folder, which Windows looks at first. It may run in the directory in which it is asked for.
    #[cfg(feature = "cli")]
    pub fn of_program(host: &'a Host, own: PathBuf) -> Self {
        let mut path = Self::from_host(host).unwrap_or(Self {
            sysroot: host.sysroot(),
            system: None,
            current: None,
            dirs: Vec::new(),
            own: None,
            known: false,
        });
        if path.known && host.root.is_none() {
            let here = host.env.directory();
            path.current = Some(here.to_path_buf());
            path.dirs = entries(host);
            path.dirs.retain(|dir| !dir.as_os_str().is_empty());
            for dir in &mut path.dirs {
                // With quotation marks it is no name of a directory.
                if !dir.to_string_lossy().contains('"') {
                    *dir = here.join(&dir);
                }
            }
        }
        path.own = Some(own);
        path
    }

    /// All of them, each once.
    pub fn directories(&self) -> Vec<PathBuf> {
        let first = self.own.iter().chain(&self.system).chain(&self.current);
        files::dedup(first.chain(&self.dirs).cloned())
    }

    /// The file that Windows takes for a name.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        first_in(self.sysroot, &self.directories(), name)
    }

    /// All files of that name, in the order in which Windows comes to them.
    #[cfg(feature = "cli")]
    pub fn files(&self, name: &str) -> Vec<PathBuf> {
        let dirs = self.directories().into_iter();
        dirs.filter_map(|dir| first_in(self.sysroot, &[dir], name))
            .collect()
    }

    /// The parts that are needed and lie apart from the others, where Windows finds them all the same.
    pub fn elsewhere(&self, cudnn: &Cudnn) -> Vec<String> {
        let mut files = consistency::missing_parts(cudnn);
        files.retain(|file| self.file(file).is_some());
        files
    }

    /// What the DLLs of this cuDNN need besides each other, and is nowhere.
    pub fn dependencies(&self, cudnn: &Cudnn, toolkit: Option<&Toolkit>) -> DllDependencies {
        let own = cudnn.library.as_deref().and_then(Path::parent);
        let mut places: Vec<PathBuf> = own.into_iter().map(Path::to_path_buf).collect();
        places.extend(self.own.clone());
        places.extend(self.system.clone());
        let mut places = files::dedup(places.into_iter());
        let shown = places.clone();
        let bins = bins(cudnn, toolkit);
        places.extend(self.dirs.iter().chain(&bins).cloned());
        let has = |file: &str| first_in(self.sysroot, &places, file).is_some();
        let mut missing_dlls: Vec<MissingDll> = Vec::new();
        // The first that is named is one that every program has to do with.
        let (mut parts, others): (Vec<&SubLibraryFile>, Vec<&SubLibraryFile>) =
            (cudnn.parts.iter()).partition(|part| part.needed && part.name != "cudnn");
        parts.extend(others);
        for part in parts {
            let needs = Pe::read(&part.path).map_or_else(|_| Vec::new(), |dll| dll.needs());
            for dll in needs.into_iter().filter(|dll| is_judged(dll)) {
                if !missing_dlls.iter().any(|known| known.dll == dll) && !has(&dll) {
                    let part = part.path.clone();
                    missing_dlls.push(MissingDll { part, dll });
                }
            }
        }
        let zlib = first_in(self.sysroot, &places, "zlibwapi.dll");
        let cpu = |path: &Path| Pe::read(path).ok()?.cpu();
        let own = cudnn.library.as_deref().and_then(cpu);
        let foreign_zlib = zlib.iter().find_map(|path| {
            let cpu = cpu(path).filter(|cpu| opens_zlib(cudnn) && Some(*cpu) != own)?;
            Some((path.clone(), cpu))
        });
        DllDependencies {
            places: shown,
            lacks_zlib: opens_zlib(cudnn) && zlib.is_none(),
            foreign_zlib,
            missing_dlls,
            path_known: self.known,
        }
    }
}

/// Returns the first DLL of that name. Windows takes any spelling, even if its files are on a system that does not.
pub fn first_in(sysroot: Sysroot<'_>, dirs: &[PathBuf], file: &str) -> Option<PathBuf> {
    let same = |name: &str| name.eq_ignore_ascii_case(file);
    dirs.iter().find_map(|dir| {
        let found = sysroot.file(&dir.join(file));
        found.or_else(|| files::list_named(dir, &same).ok()?.into_iter().next())
    })
}

/// Those of PATH, as they stand there: quotation marks are a part of the name, as the loader has it.
fn entries(host: &Host) -> Vec<PathBuf> {
    let path = host.env.get(Variable::Path).unwrap_or_default();
    path.to_string_lossy()
        .split(';')
        .map(PathBuf::from)
        .collect()
}

/// Where CUDA's own DLLs lie: not looked at by Windows, but known to whoever sets up the program.
fn bins(cudnn: &Cudnn, toolkit: Option<&Toolkit>) -> Vec<PathBuf> {
    let wheels = cudnn.root.parent().filter(|dir| dir.ends_with("nvidia"));
    let roots = toolkit.map(|toolkit| toolkit.root.as_path());
    let mut found = Vec::new();
    for root in roots.into_iter().chain(wheels) {
        let parts = files::list(root).unwrap_or_default();
        let bins = parts.iter().map(|part| part.join("bin"));
        for bin in bins.chain([root.join("bin")]) {
            let by_cpu = files::below(&bin, &["x64", "x86_64", "arm64"]);
            found.push(bin);
            found.extend(by_cpu);
        }
    }
    found.retain(|dir| files::is_dir(dir));
    found
}
