//! Resolves a program's libraries without loading them.

use crate::loader::dll_search::is_checked;
use crate::loader::linkage;
use crate::model::{Linkage, LoadPhase, Missing, Object};
use crate::runtime::binary::{Defect, Pe};
use crate::runtime::loader::elf::candidates::{hwcaps_level, try_file, unlinked};
use crate::runtime::loader::{LoadOrigin, SearchDirectory, SearchPath, Unfit, ld_so_conf};
use crate::runtime::system::{DRIVER_DLL, path_cache};
use crate::system::{Sysroot, files};
use crate::toolkit::dependencies;
use std::ffi::OsStr;
use std::iter::successors;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone)]
enum Selected {
    /// A file, with its linkage or the reason why the loader fails on it.
    File(PathBuf, Result<Arc<Linkage>, Defect>),
    /// An empty file or a dangling link, over which the real file is mounted later.
    Placeholder,
    /// The reason why the loader skips the path.
    Unfit(Defect),
}

/// The loaded files in the loader's order, and the missing libraries.
#[derive(Clone, Debug, Default)]
pub struct LoadGraph {
    /// The search path of a program without directories of its own.
    pub path: SearchPath,
    /// The loaded files, the program first.
    pub objects: Vec<Object>,
    pub missing: Vec<Missing>,
    /// Files that were selected although the CPU, on which the selection depends, is unknown.
    pub by_level: Vec<PathBuf>,
    /// The real paths of the objects, because a file is loaded only once.
    pub real: Vec<PathBuf>,
}

impl LoadGraph {
    pub fn resolve(program: &Path, linkage: Arc<Linkage>, path: SearchPath) -> Self {
        let mut graph = Self {
            path,
            ..Self::default()
        };
        let path = match linkage.is_pe {
            true => program.to_path_buf(),
            false => graph.sysroot().canonical(program),
        };
        graph.push(Object {
            origin: path.parent().unwrap_or(&path).to_path_buf(),
            path,
            linkage,
            ..Object::default()
        });
        for (name, via) in graph.path.system.preload.clone() {
            graph.preload(&name, via);
        }
        graph.follow(0);
        graph
    }

    pub fn loaded(&self, name: &str) -> Option<usize> {
        self.objects.iter().position(|object| {
            self.is_same(&object.name, name) || object.linkage.soname.as_deref() == Some(name)
        })
    }

    /// Returns the CPU of the program.
    fn cpu(&self) -> &str {
        let program = self.objects.first();
        program.map_or("", |program| &*program.linkage.cpu)
    }

    /// Returns `true` if it is the graph of a library, which another program opens.
    pub fn is_library(&self) -> bool {
        let first = self.objects.first();
        first.is_some_and(|first| first.linkage.interpreter.is_none())
    }

    /// Returns `true` for a library that Python opens. Python binds all functions at once, with RTLD_NOW.
    pub fn is_of_python(&self) -> bool {
        let is_packages = |part: &OsStr| part == "site-packages" || part == "dist-packages";
        let first = self.objects.first().filter(|_| self.is_library());
        first.is_some_and(|first| first.path.iter().any(is_packages))
    }

    /// Returns `true` for a Windows program, for which names ignore case.
    pub fn is_windows(&self) -> bool {
        self.path.system.is_windows
    }

    fn is_same(&self, one: &str, other: &str) -> bool {
        one == other || self.is_windows() && one.eq_ignore_ascii_case(other)
    }

    /// Adds an object, unless its file is already loaded under another name. Returns its index.
    fn push(&mut self, object: Object) -> usize {
        let real = self.sysroot().canonical(&object.path);
        let mut known = self.real.iter();
        let known = known.position(|known| known.as_os_str() == real.as_os_str());
        if let (Some(index), false) = (known, self.is_windows()) {
            return index;
        }
        self.real.push(real);
        self.objects.push(object);
        self.objects.len() - 1
    }

    /// Loads a library of LD_PRELOAD or `/etc/ld.so.preload`. The loader ignores missing and invalid files.
    fn preload(&mut self, name: &str, via: LoadOrigin) {
        if self.loaded(name).is_some() {
            return;
        }
        let found = self.find(name, 0).ok();
        if let Some(mut object) = found.filter(|object| object.defect.is_none()) {
            object.via = Some(via);
            object.need = LoadPhase::Start;
            self.push(object);
        }
    }

    /// Loads a library that the object `requester` opens, with its dependencies. Returns its index.
    pub fn open(&mut self, name: &str, requester: usize, need: LoadPhase) -> Option<usize> {
        let before = self.objects.len();
        let index = self.load(name, requester, need)?;
        if index >= before {
            self.follow(index);
        }
        Some(index)
    }

    /// Returns the object that [`open`](Self::open) would return later, without adding it to the graph.
    pub fn would_open(&self, name: &str, requester: usize) -> Option<Object> {
        let mut aside = self.clone();
        let index = aside.open(name, requester, LoadPhase::Later)?;
        Some(aside.objects.swap_remove(index))
    }

    fn follow(&mut self, from: usize) {
        let mut next = from;
        while let Some(object) = self.objects.get(next) {
            let (linkage, need) = (object.linkage.clone(), object.need);
            for name in &linkage.needed {
                // The loader itself always exists, or no program would start.
                if !name.starts_with("ld-linux") && !name.starts_with("ld64.so") {
                    self.load(name, next, need);
                }
            }
            for name in &linkage.delayed {
                self.load(name, next, LoadPhase::Later);
            }
            next += 1;
        }
    }

    fn load(&mut self, name: &str, requester: usize, need: LoadPhase) -> Option<usize> {
        if let Some(index) = self.loaded(name) {
            return Some(index);
        }
        let mut missing = self.missing.iter();
        if missing.any(|missing| self.is_same(&missing.name, name)) {
            return None;
        }
        let found = match self.is_windows() {
            true => self.find_dll(name, requester),
            false => self.find(name, requester),
        };
        match found {
            Ok(mut object) => {
                object.need = need;
                let (next, path) = (self.objects.len(), object.path.clone());
                let index = self.push(object);
                if index == next {
                    self.by_level.extend(self.hwcaps_variant(&path));
                }
                Some(index)
            }
            // DLLs of Windows are not checked.
            Err(_) if self.is_windows() && !is_checked(name) && !self.is_same(name, DRIVER_DLL) => {
                None
            }
            Err(missing) => {
                let by = self.objects.get(requester);
                self.missing.push(Missing {
                    name: name.into(),
                    needed_by: by.map(|object| object.path.clone()).unwrap_or_default(),
                    need,
                    ..*missing
                });
                None
            }
        }
    }

    fn find(&self, name: &str, requester: usize) -> Result<Object, Box<Missing>> {
        let own = self.objects.get(requester);
        let (mut path, mut candidates) = (SearchPath::default(), Vec::new());
        if name.contains('/') {
            let origin = own.map_or(Path::new(""), |own| own.origin.as_path());
            for (_, path) in self.path.system.expand(name.as_bytes(), origin) {
                candidates.push((LoadOrigin::Elsewhere, path));
            }
        } else {
            path = self.search_path(requester);
            candidates = path.candidates(name);
        }
        let (mut placeholder, mut unfit) = (None, None);
        let cpu = self.cpu();
        for (via, path) in candidates {
            let select = || self.select(&path, cpu);
            // Programs for another CPU skip the file.
            match path_cache::once("selected", &path.join(cpu), select) {
                None => {}
                Some(Selected::Placeholder) => {
                    placeholder.get_or_insert(path);
                }
                Some(Selected::File(file, read)) => {
                    return Ok(Object {
                        name: name.into(),
                        origin: path.parent().unwrap_or(&path).to_path_buf(),
                        path: file,
                        via: Some(ld_so_conf::origin(via, &path, &self.path.system)),
                        requester: Some(requester),
                        defect: read.as_ref().err().cloned(),
                        linkage: read.unwrap_or_default(),
                        ..Object::default()
                    });
                }
                Some(Selected::Unfit(defect)) => {
                    let stops = !defect.is_passed_over();
                    // The contents of an inaccessible directory are unknown.
                    let is_closed = |unfit: &Unfit| matches!(unfit.defect, Defect::Closed(_));
                    if unfit.as_ref().is_none_or(is_closed) {
                        unfit = Some(Unfit::new(path, defect, &via));
                    }
                    if stops {
                        break;
                    }
                }
            }
        }
        let without_link = |place: &SearchDirectory| {
            let (path, defect) = unlinked(&place.dir, name)?;
            Some(Unfit::new(path, defect, &place.origin))
        };
        let places = path.directories.iter();
        let mut searched = places.filter(|place| !path.nodeflib || !place.is_system());
        Err(Box::new(Missing {
            searched: path.looked_at(),
            placeholder,
            unfit: unfit.or_else(|| searched.find_map(without_link)),
            ..Missing::default()
        }))
    }

    /// Returns the first DLL of a name. Windows does not skip unusable ones.
    fn find_dll(&self, name: &str, requester: usize) -> Result<Object, Box<Missing>> {
        let search_path = &self.path;
        let Some(path) = search_path.program_file(name) else {
            return Err(Box::new(Missing {
                searched: search_path.folders(),
                ..Missing::default()
            }));
        };
        let read = Pe::open_for(&path, self.cpu()).map(|dll| Arc::new(linkage::from_pe(&dll)));
        Ok(Object {
            name: name.into(),
            path,
            requester: Some(requester),
            defect: read.as_ref().err().cloned(),
            linkage: read.unwrap_or_default(),
            ..Object::default()
        })
    }

    /// Returns the search path for libraries that this object opens.
    pub fn search_path(&self, requester: usize) -> SearchPath {
        let own = self.objects.get(requester);
        let up = |object: &&Object| self.objects.get(object.requester?);
        let chain: Vec<&Object> = successors(own, up).collect();
        let mut path = self.path.clone();
        for (distance, object) in chain.iter().enumerate().rev() {
            let (runpath, rpath) = (object.linkage.runpath.clone(), object.linkage.rpath.clone());
            // The libraries of a library do not search its RUNPATH, unlike its RPATH.
            if distance == 0 || runpath.is_none() {
                path = path.of_opener(runpath, rpath, &object.origin, &object.name);
            }
        }
        path.nodeflib = own.is_some_and(|object| object.linkage.nodeflib);
        path
    }

    /// Returns the glibc-hwcaps variant of a CUDA library, which a more capable CPU loads instead.
    fn hwcaps_variant(&self, path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        let is_ours = name.starts_with("libcudnn") || dependencies::is_of_toolkit(name);
        let levels = self.path.system.levels.as_deref();
        let is_cpu_unknown = matches!(levels, Some([None, _, ..]));
        if !is_cpu_unknown || !is_ours {
            return None;
        }
        if hwcaps_level(path).is_some() {
            return Some(path.to_path_buf());
        }
        let mut others = self.path.system.variants(path).into_iter();
        others.find(|file| hwcaps_level(file).is_some() && self.sysroot().file(file).is_some())
    }

    /// Returns what the loader does with a path for a program of this CPU. Returns `None` if nothing exists there.
    fn select(&self, path: &Path, cpu: &str) -> Option<Selected> {
        let existing = self.sysroot().file(path);
        let root = self.path.system.root.as_deref();
        if root.is_some() {
            let empty = match &existing {
                Some(file) => files::size(file) == 0,
                None => files::is_link(path),
            };
            if empty {
                return Some(Selected::Placeholder);
            }
        }
        let read = || {
            let tried = try_file(path, existing.as_deref(), root, cpu)?;
            Some(tried.and_then(|elf| linkage::from_elf(&elf)).map(Arc::new))
        };
        // Each program may name the file by another path.
        let real = existing.as_ref().map(|file| self.sysroot().canonical(file));
        let read = match real {
            Some(real) => path_cache::once("linkage", &real.join(cpu), read),
            None => read(),
        };
        match (existing, read?) {
            (Some(file), Err(defect)) if !defect.is_unread() => {
                Some(Selected::File(file, Err(defect)))
            }
            (_, Err(defect)) => Some(Selected::Unfit(defect)),
            (file, Ok(linkage)) => Some(Selected::File(file?, Ok(linkage))),
        }
    }

    pub fn sysroot(&self) -> Sysroot<'_> {
        Sysroot {
            root: self.path.system.root.as_deref(),
        }
    }
}
