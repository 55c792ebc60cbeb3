//! Follows what a program asks the loader for, from file to file, without loading any of it.

use crate::loader::search_order::{LoaderEnv, before_cache, system};
use crate::loader::{linkage, search_order};
use crate::model::linkage::{Linkage, LoadPhase, Missing, Object, Unfit};
use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::elf::Elf;
use crate::runtime::loader::elf::candidates::hwcaps_level;
use crate::runtime::loader::search_path::{LoadOrigin, SearchDirectory, SearchPath};
use crate::runtime::loader::unlinked;
use crate::system::files;
use crate::system::sysroot::Sysroot;
use crate::toolkit::dependencies;
use std::iter::successors;
use std::path::{Path, PathBuf};

/// A file that the loader takes: where it lies, and what it says, or why the loader stops at it.
type Taken = (PathBuf, Result<Linkage, Defect>);

/// What is loaded, in the loader's order, the program first; and what it does not find.
#[derive(Clone, Debug, Default)]
pub struct LoadGraph {
    /// The system it is.
    pub ground: LoaderEnv,
    /// What is loaded.
    pub objects: Vec<Object>,
    /// What is not found.
    pub missing: Vec<Missing>,
    /// Files that are taken or left by what the processor can do, which is not known.
    pub by_level: Vec<PathBuf>,
    /// Where the objects lie without links: what is the same file is loaded once.
    real: Vec<PathBuf>,
}

impl LoadGraph {
    /// Follows what is loaded with the program.
    pub fn resolve(program: &Path, linkage: Linkage, ground: LoaderEnv) -> Self {
        let mut graph = Self {
            ground,
            ..Self::default()
        };
        let path = graph.sysroot().canonical(program);
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
        graph.follow(0, LoadPhase::Start);
        graph
    }

    /// The object that serves this name, if it is loaded already.
    pub fn loaded(&self, name: &str) -> Option<usize> {
        self.objects.iter().position(|object| {
            object.name == name || object.linkage.soname.as_deref() == Some(name)
        })
    }

    fn push(&mut self, object: Object) -> usize {
        self.real.push(self.sysroot().canonical(&object.path));
        self.objects.push(object);
        self.objects.len() - 1
    }

    /// What LD_PRELOAD names comes behind the program, then what the system puts into every program. What they name and
    /// is not there, or is no library, the loader leaves out, and a file under a second name.
    fn preload(&mut self, name: &str, via: LoadOrigin) {
        if self.loaded(name).is_some() {
            return;
        }
        let found = self.find(name, 0).ok().filter(|one| one.flaw.is_none());
        let Some(mut object) = found else {
            return;
        };
        if !self.real.contains(&self.sysroot().canonical(&object.path)) {
            object.via = Some(via);
            object.need = LoadPhase::Start;
            self.push(object);
        }
    }

    /// What the loader takes when `asking` opens a library by its name, with all that it needs. Its index.
    pub fn open(&mut self, name: &str, asking: usize, need: LoadPhase) -> Option<usize> {
        let before = self.objects.len();
        let index = self.take(name, asking, need)?;
        if index >= before {
            self.follow(index, need);
        }
        Some(index)
    }

    fn follow(&mut self, from: usize, need: LoadPhase) {
        let mut next = from;
        while let Some(object) = self.objects.get(next) {
            for name in object.linkage.needed.clone() {
                // The loader itself is there, or nothing is.
                if !name.starts_with("ld-linux") && !name.starts_with("ld64.so") {
                    self.take(&name, next, need);
                }
            }
            next += 1;
        }
    }

    fn take(&mut self, name: &str, asking: usize, need: LoadPhase) -> Option<usize> {
        if let Some(index) = self.loaded(name) {
            return Some(index);
        }
        if self.missing.iter().any(|missing| missing.name == name) {
            return None;
        }
        match self.find(name, asking) {
            Ok(mut object) => {
                let real = self.sysroot().canonical(&object.path);
                if let Some(index) = self.real.iter().position(|known| *known == real) {
                    return Some(index);
                }
                object.need = need;
                let better = self.hwcaps_variant(&object.path);
                self.by_level.extend(better);
                Some(self.push(object))
            }
            Err(mut missing) => {
                missing.need = need;
                self.missing.push(*missing);
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
            candidates.extend(paths.map(|path| (LoadOrigin::Elsewhere, 0, path)));
        } else {
            path = self.search_path(asking);
            candidates = path.candidates(name, &self.ground.view);
        }
        if own.is_some_and(|object| object.linkage.shuns_system) {
            path.directories.retain(|place| !place.is_system());
            let system = system(&self.ground);
            candidates.retain(|(origin, _, path)| {
                let is_own = !matches!(origin, LoadOrigin::System(_) | LoadOrigin::Cache);
                is_own || !system.iter().any(|place| path.starts_with(&place.dir))
            });
        }
        let (mut stands_in, mut unfit) = (None, None);
        for (via, owner, path) in candidates {
            match self.fitting(&path, &mut stands_in) {
                None => {}
                Some(Ok((file, read))) => {
                    return Ok(Object {
                        name: name.into(),
                        origin: folder(&path),
                        path: file,
                        via: Some(via),
                        owner,
                        need: LoadPhase::Later,
                        asked_by: Some(asking),
                        flaw: read.as_ref().err().cloned(),
                        linkage: read.unwrap_or_default(),
                    });
                }
                Some(Err(defect)) => {
                    let stops = !defect.is_passed_over();
                    // What is in a directory that may not be entered, nobody knows.
                    let is_closed = |unfit: &Unfit| matches!(unfit.defect, Defect::Closed(_));
                    if unfit.as_ref().is_none_or(is_closed) {
                        unfit = Some(self.unfit((path, defect), &via, owner));
                    }
                    if stops {
                        break;
                    }
                }
            }
        }
        let unlinked = |place: &SearchDirectory| {
            let unlinked = unlinked::find(&place.dir, name)?;
            Some(self.unfit(unlinked, &place.origin, place.owner))
        };
        let text = |place: &SearchDirectory| self.text(&place.origin, place.owner);
        Err(Box::new(Missing {
            name: name.into(),
            needed_by: own.map(|object| object.path.clone()).unwrap_or_default(),
            need: LoadPhase::Later,
            looked_at: path.places(&self.ground.view, &text),
            stands_in,
            unfit: unfit.or_else(|| path.directories.iter().find_map(unlinked)),
        }))
    }

    fn unfit(&self, (path, defect): (PathBuf, Defect), via: &LoadOrigin, owner: usize) -> Unfit {
        Unfit {
            path,
            defect,
            found_via: self.text(via, owner),
        }
    }

    /// Returns the directories in which what this object opens is searched.
    pub fn search_path(&self, asking: usize) -> SearchPath {
        let up = |index: &usize| self.objects.get(*index)?.asked_by;
        let mut chain: Vec<usize> = successors(Some(asking), up).collect();
        chain.reverse();
        let mut directories = before_cache(&self.objects, &chain, &self.ground);
        directories.extend(system(&self.ground));
        SearchPath { directories }
    }

    /// The glibc-hwcaps variant of a CUDA library, which a processor of a higher level loads in its place.
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
        stands_in: &mut Option<PathBuf>,
    ) -> Option<Result<Taken, Defect>> {
        let there = self.sysroot().file(path);
        if self.ground.view.root.is_some() {
            let empty = match &there {
                Some(file) => files::size(file) == 0,
                None => files::is_link(path),
            };
            if empty {
                stands_in.get_or_insert_with(|| path.to_path_buf());
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

    /// What made the loader look somewhere, in words.
    pub fn text(&self, via: &LoadOrigin, owner: usize) -> String {
        let name = self.objects.get(owner).map(|object| object.name.as_str());
        match (via, name.filter(|name| !name.is_empty())) {
            (LoadOrigin::Rpath(entry), Some(name)) => {
                format!("the RPATH of {name}, its entry `{}`", entry.display())
            }
            (LoadOrigin::Runpath(entry), Some(name)) => {
                format!("the RUNPATH of {name}, its entry `{}`", entry.display())
            }
            _ => via.to_string(),
        }
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
