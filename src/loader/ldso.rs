//! Follows what a program asks the loader for, from file to file, without loading any of it.

use crate::loader::dll_dependencies::is_judged;
use crate::loader::dll_search::first_in;
use crate::loader::search_order::{LoaderEnv, before_cache, system};
use crate::loader::{linkage, search_order};
use crate::model::linkage::{Format, Linkage, LoadPhase, Missing, Object};
use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::elf::Elf;
use crate::runtime::binary::pe::Pe;
use crate::runtime::loader::elf::candidates::hwcaps_level;
use crate::runtime::loader::not_found::Unfit;
use crate::runtime::loader::search_path::{LoadOrigin, SearchDirectory, SearchPath};
use crate::runtime::loader::unlinked;
use crate::runtime::system::names::DRIVER_DLL;
use crate::system::files;
use crate::system::sysroot::Sysroot;
use crate::toolkit::dependencies;
use std::iter::successors;
use std::path::{Path, PathBuf};

/// A file that the loader takes: where it lies, and what it says, or why the loader stops at it.
type Taken = (PathBuf, Result<Linkage, Defect>);

/// The files that are loaded, in the loader's order, and the names that it does not find.
#[derive(Clone, Debug, Default)]
pub struct LoadGraph {
    /// The system it is.
    pub ground: LoaderEnv,
    /// The files that are loaded, the program first.
    pub objects: Vec<Object>,
    /// The libraries that are not found.
    pub missing: Vec<Missing>,
    /// Files that are taken or left by what the processor can do, which is not known.
    pub by_level: Vec<PathBuf>,
    /// The paths of the objects without links: a file is loaded once.
    real: Vec<PathBuf>,
}

impl LoadGraph {
    /// Follows what is loaded with the program.
    pub fn resolve(program: &Path, linkage: Linkage, ground: LoaderEnv) -> Self {
        let mut graph = Self {
            ground,
            ..Self::default()
        };
        let path = match linkage.format {
            Format::Elf => graph.sysroot().canonical(program),
            Format::Pe => program.to_path_buf(),
        };
        graph.push(Object {
            origin: folder(&path),
            path,
            linkage,
            ..Object::default()
        });
        for name in graph.ground.preload.clone() {
            graph.preload(&name, LoadOrigin::Preload);
        }
        for name in graph.ground.preloads.clone() {
            graph.preload(&name, LoadOrigin::Preloads);
        }
        graph.follow(0);
        graph
    }

    /// Returns the object that has this name, if it is loaded already.
    pub fn loaded(&self, name: &str) -> Option<usize> {
        self.objects.iter().position(|object| {
            self.is_same(&object.name, name) || object.linkage.soname.as_deref() == Some(name)
        })
    }

    /// Returns `true` if the program is one for Windows, which takes any spelling of a name.
    fn is_windows(&self) -> bool {
        let program = self.objects.first();
        program.is_some_and(|program| program.linkage.format == Format::Pe)
    }

    fn is_same(&self, one: &str, other: &str) -> bool {
        one == other || self.is_windows() && one.eq_ignore_ascii_case(other)
    }

    fn push(&mut self, object: Object) -> usize {
        self.real.push(self.sysroot().canonical(&object.path));
        self.objects.push(object);
        self.objects.len() - 1
    }

    /// Loads what LD_PRELOAD or the system puts into the program. The loader leaves out what does not exist or is no
    /// library, and a file under a second name.
    fn preload(&mut self, name: &str, via: LoadOrigin) {
        if self.loaded(name).is_some() {
            return;
        }
        let found = self.find(name, 0).ok().filter(|one| one.defect.is_none());
        let Some(mut object) = found else {
            return;
        };
        if !self.real.contains(&self.sysroot().canonical(&object.path)) {
            object.via = Some(via);
            object.need = LoadPhase::Start;
            self.push(object);
        }
    }

    /// Loads the library that `asking` opens by its name, with all that it needs. Returns its index.
    pub fn open(&mut self, name: &str, asking: usize, need: LoadPhase) -> Option<usize> {
        let before = self.objects.len();
        let index = self.take(name, asking, need)?;
        if index >= before {
            self.follow(index);
        }
        Some(index)
    }

    fn follow(&mut self, from: usize) {
        let mut next = from;
        while let Some(object) = self.objects.get(next) {
            let (linkage, need) = (object.linkage.clone(), object.need);
            for name in linkage.needed {
                // The loader itself is there, or nothing is.
                if !name.starts_with("ld-linux") && !name.starts_with("ld64.so") {
                    self.take(&name, next, need);
                }
            }
            for name in linkage.delayed {
                self.take(&name, next, LoadPhase::Later);
            }
            next += 1;
        }
    }

    fn take(&mut self, name: &str, asking: usize, need: LoadPhase) -> Option<usize> {
        if let Some(index) = self.loaded(name) {
            return Some(index);
        }
        let mut missing = self.missing.iter();
        if missing.any(|missing| self.is_same(&missing.name, name)) {
            return None;
        }
        let found = match self.is_windows() {
            true => self.find_dll(name, asking),
            false => self.find(name, asking),
        };
        match found {
            Ok(mut object) => {
                let real = self.sysroot().canonical(&object.path);
                let known = self.real.iter().position(|known| *known == real);
                if let (Some(index), false) = (known, self.is_windows()) {
                    return Some(index);
                }
                object.need = need;
                let better = self.hwcaps_variant(&object.path);
                self.by_level.extend(better);
                Some(self.push(object))
            }
            // Windows' own are nobody's to judge.
            Err(_) if self.is_windows() && !is_judged(name) && !self.is_same(name, DRIVER_DLL) => {
                None
            }
            Err(missing) => {
                let asking = self.objects.get(asking);
                self.missing.push(Missing {
                    name: name.into(),
                    needed_by: asking.map(|object| object.path.clone()).unwrap_or_default(),
                    need,
                    ..*missing
                });
                None
            }
        }
    }

    fn find(&self, name: &str, asking: usize) -> Result<Object, Box<Missing>> {
        let own = self.objects.get(asking);
        let (mut path, mut candidates) = (SearchPath::default(), Vec::new());
        if name.contains('/') {
            let paths = own.map(|own| search_order::path_of_name(name, own, &self.ground));
            let paths = paths.into_iter().flatten();
            candidates.extend(paths.map(|path| (LoadOrigin::Elsewhere, path)));
        } else {
            path = self.search_path(asking);
            candidates = path.candidates(name, &self.ground.view);
        }
        if own.is_some_and(|object| object.linkage.nodeflib) {
            path.directories.retain(|place| !place.is_system());
            let system = system(&self.ground);
            candidates.retain(|(origin, path)| {
                let is_own = !matches!(origin, LoadOrigin::System(_) | LoadOrigin::Cache);
                is_own || !system.iter().any(|place| path.starts_with(&place.dir))
            });
        }
        let unfit_at = |path, defect, via: &LoadOrigin| Unfit {
            path,
            defect,
            found_via: via.to_string(),
        };
        let (mut placeholder, mut unfit) = (None, None);
        for (via, path) in candidates {
            match self.fitting(&path, &mut placeholder) {
                None => {}
                Some(Ok((file, read))) => {
                    return Ok(Object {
                        name: name.into(),
                        origin: folder(&path),
                        path: file,
                        via: Some(via),
                        need: LoadPhase::Later,
                        requested_by: Some(asking),
                        defect: read.as_ref().err().cloned(),
                        linkage: read.unwrap_or_default(),
                    });
                }
                Some(Err(defect)) => {
                    let stops = !defect.is_passed_over();
                    // What is in a directory that may not be entered, nobody knows.
                    let is_closed = |unfit: &Unfit| matches!(unfit.defect, Defect::Closed(_));
                    if unfit.as_ref().is_none_or(is_closed) {
                        unfit = Some(unfit_at(path, defect, &via));
                    }
                    if stops {
                        break;
                    }
                }
            }
        }
        let unlinked = |place: &SearchDirectory| {
            let (path, defect) = unlinked::find(&place.dir, name)?;
            Some(unfit_at(path, defect, &place.origin))
        };
        Err(Box::new(Missing {
            searched: path.places(&self.ground.view),
            placeholder,
            unfit: unfit.or_else(|| path.directories.iter().find_map(unlinked)),
            ..Missing::default()
        }))
    }

    /// Returns the first DLL of that name: it is taken, or nothing is.
    fn find_dll(&self, name: &str, asking: usize) -> Result<Object, Box<Missing>> {
        let dirs = &self.ground.dll_dirs;
        let Some(path) = first_in(self.sysroot(), dirs, name) else {
            return Err(Box::new(Missing {
                searched: dirs.iter().map(|dir| dir.display().to_string()).collect(),
                ..Missing::default()
            }));
        };
        let read = linkage::read(&path);
        let own = self.objects.first().map(|program| &*program.linkage.cpu);
        let file = Pe::read(&path).ok();
        let cpu = file.as_ref().and_then(Pe::cpu);
        let defect = match &read {
            Err(defect) => defect.clone().or_else(|| file?.defect()),
            Ok(_) => cpu.filter(|cpu| Some(*cpu) != own).map(Defect::Cpu),
        };
        Ok(Object {
            name: name.into(),
            path,
            requested_by: Some(asking),
            linkage: read.unwrap_or_default(),
            defect,
            ..Object::default()
        })
    }

    /// Returns the directories in which what this object opens is searched.
    pub fn search_path(&self, asking: usize) -> SearchPath {
        let up = |index: &usize| self.objects.get(*index)?.requested_by;
        let mut chain: Vec<usize> = successors(Some(asking), up).collect();
        chain.reverse();
        let mut directories = before_cache(&self.objects, &chain, &self.ground);
        directories.extend(system(&self.ground));
        SearchPath { directories }
    }

    /// Returns the glibc-hwcaps variant of a CUDA library, which a more capable CPU loads in its place.
    fn hwcaps_variant(&self, taken: &Path) -> Option<PathBuf> {
        let name = taken.file_name()?.to_str()?;
        let is_ours = name.starts_with("libcudnn") || dependencies::is_of_toolkit(name);
        if self.ground.is_cpu_known || !is_ours {
            return None;
        }
        if hwcaps_level(taken).is_some() {
            return Some(taken.to_path_buf());
        }
        let mut others = self.ground.view.variants(taken).into_iter();
        others.find(|file| hwcaps_level(file).is_some() && self.sysroot().file(file).is_some())
    }

    /// The file and what it says, or why the loader does not take it. None where nothing is.
    fn fitting(
        &self,
        path: &Path,
        placeholder: &mut Option<PathBuf>,
    ) -> Option<Result<Taken, Defect>> {
        let there = self.sysroot().file(path);
        if self.ground.view.root.is_some() {
            let empty = match &there {
                Some(file) => files::size(file) == 0,
                None => files::is_link(path),
            };
            if empty {
                placeholder.get_or_insert_with(|| path.to_path_buf());
                return None;
            }
        }
        let Some(file) = there else {
            return Defect::in_the_way(path).map(Err);
        };
        let own = self.objects.first()?;
        let elf = match Elf::read(&file) {
            Ok(elf) => elf,
            Err(defect) => return Some(Err(defect)),
        };
        let read = match linkage::read(&file) {
            Ok(linkage) if linkage.format == own.linkage.format => {
                if linkage.is_usual != own.linkage.is_usual {
                    return Some(Err(Defect::Class));
                }
                if linkage.cpu != own.linkage.cpu {
                    let cpu = Elf::read(&own.path).ok()?.cpu()?;
                    return Some(Err(Defect::Machine(elf.machine()?, cpu)));
                }
                Ok(linkage)
            }
            // The loader stops at a damaged file, and does not look for another.
            Ok(_) | Err(_) => Err(elf.defect()?),
        };
        Some(Ok((file, read)))
    }

    fn sysroot(&self) -> Sysroot<'_> {
        Sysroot {
            root: self.ground.view.root.as_deref(),
        }
    }
}

fn folder(file: &Path) -> PathBuf {
    file.parent().unwrap_or(file).to_path_buf()
}
