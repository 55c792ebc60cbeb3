//! Follows what a program asks the loader for, from file to file, without loading any of it.

use crate::loader::config::hwcaps_level;
use crate::loader::search_order::{LoaderEnv, SearchDirectory, before_cache, below_root, system};
use crate::loader::{config, linkage, search_order};
use crate::model::linkage::{Linkage, LoadPhase, Missing, Object, Unfit};
use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::elf::Elf;
use crate::runtime::binary::ld_so_cache::{self, CACHE};
use crate::runtime::loader::{load_origin::LoadOrigin, unlinked};
use crate::system::files;
use crate::system::sysroot::Sysroot;
use crate::toolkit::dependencies;
use std::iter::{once_with, successors};
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
        let mut places = Vec::new();
        let (mut stands_in, mut unfit) = (None, None);
        let mut stopped = false;
        let take = |(via, owner, path): (LoadOrigin, usize, PathBuf)| {
            if stopped {
                return None;
            }
            let (file, read) = match self.fitting(&path, &mut stands_in)? {
                Ok(taken) => taken,
                Err(defect) => {
                    stopped = !defect.is_passed_over();
                    let found_via = self.text(&via, owner);
                    // What is in a directory that may not be entered, nobody knows.
                    let is_sure = |unfit: &Unfit| !matches!(unfit.defect, Defect::Closed(_));
                    unfit = unfit.take().filter(is_sure);
                    unfit.get_or_insert(Unfit {
                        path,
                        defect,
                        found_via,
                    });
                    return None;
                }
            };
            Some(Object {
                name: name.into(),
                origin: folder(&path),
                path: file,
                via: Some(via),
                owner,
                need: LoadPhase::Later,
                asked_by: Some(asking),
                flaw: read.as_ref().err().cloned(),
                linkage: read.unwrap_or_default(),
            })
        };
        let found = if name.contains('/') {
            let paths = own.map(|own| search_order::path_of_name(name, own, &self.ground));
            let paths = paths.into_iter().flatten();
            paths
                .map(|path| (LoadOrigin::Elsewhere, 0, path))
                .find_map(take)
        } else {
            let up = |index: &usize| self.objects.get(*index)?.asked_by;
            let mut chain: Vec<usize> = successors(Some(asking), up).collect();
            chain.reverse();
            let named = before_cache(&self.objects, &chain, &self.ground);
            let mut system = system(&self.ground);
            let shuns = own.is_some_and(|object| object.linkage.shuns_system);
            let in_system =
                |path: &PathBuf| system.iter().any(|place| path.starts_with(&place.dir));
            let cached = || {
                self.cached(name)
                    .into_iter()
                    .filter(|path| !(shuns && in_system(path)))
            };
            let below = |place: &SearchDirectory| {
                let (via, owner) = (place.via.clone(), place.owner);
                let versions = self.versions_of(&place.dir.join(name)).into_iter();
                versions.map(move |path| (via.clone(), owner, path))
            };
            let found = named
                .iter()
                .flat_map(below)
                .chain(
                    once_with(cached)
                        .flatten()
                        .map(|path| (LoadOrigin::Cache, 0, path)),
                )
                .chain(system.iter().filter(|_| !shuns).flat_map(below))
                .find_map(take);
            system.retain(|_| !shuns);
            places = [named, system].concat();
            found
        };
        let unlinked = |place: &SearchDirectory| {
            let (path, defect) = unlinked::find(&place.dir, name)?;
            let found_via = self.text(&place.via, place.owner);
            Some(Unfit {
                path,
                defect,
                found_via,
            })
        };
        found.ok_or_else(|| {
            Box::new(Missing {
                name: name.into(),
                needed_by: own.map(|object| object.path.clone()).unwrap_or_default(),
                need: LoadPhase::Later,
                looked_at: self.looked_at(&places),
                stands_in,
                unfit: unfit.or_else(|| places.iter().find_map(unlinked)),
            })
        })
    }

    fn versions_of(&self, file: &Path) -> Vec<PathBuf> {
        let known = self.ground.levels.as_deref();
        config::hwcaps_candidates(file, known, &self.ground.cpu)
    }

    /// The glibc-hwcaps variant of a CUDA library, which a processor of a higher level loads in its place.
    fn hwcaps_variant(&self, taken: &Path) -> Option<PathBuf> {
        let name = taken.file_name()?.to_str()?;
        let is_ours = name.starts_with("libcudnn") || dependencies::is_of_toolkit(name);
        if self.ground.levels.is_some() || !is_ours {
            return None;
        }
        if hwcaps_level(taken).is_some() {
            return Some(taken.to_path_buf());
        }
        let mut others = self.versions_of(taken).into_iter();
        others.find(|file| hwcaps_level(file).is_some() && self.sysroot().file(file).is_some())
    }

    /// The file and what it says, or why the loader does not take it. None where nothing is.
    fn fitting(
        &self,
        path: &Path,
        stands_in: &mut Option<PathBuf>,
    ) -> Option<Result<Taken, Defect>> {
        let there = self.sysroot().file(path);
        if self.ground.root.is_some() {
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

    /// The files that the cache gives to a name. An image that `ldconfig` has not seen yet has its folders alone.
    fn cached(&self, name: &str) -> Vec<PathBuf> {
        let path = below_root(Path::new(CACHE), &self.ground);
        let there = self.sysroot().file(&path);
        let bytes = there.and_then(|path| files::bytes(&path).ok());
        let here = |path: PathBuf| below_root(&path, &self.ground);
        match bytes {
            Some(bytes) => {
                let known = self.ground.levels.as_deref();
                let files = ld_so_cache::parse(&bytes, name)
                    .into_iter()
                    .map(here)
                    .collect();
                config::best_hwcaps(files, known, &self.ground.cpu)
            }
            None if self.ground.root.is_none() => Vec::new(),
            None => {
                let mut dirs = Vec::new();
                self.configured(Path::new("/etc/ld.so.conf"), &mut Vec::new(), &mut dirs);
                let files = dirs.iter().map(|dir| dir.join(name));
                files.flat_map(|file| self.versions_of(&file)).collect()
            }
        }
    }

    /// The folders of a configuration file, and of those that it includes, each read once. No system has a thousand.
    fn configured(&self, file: &Path, read: &mut Vec<PathBuf>, dirs: &mut Vec<PathBuf>) {
        if read.iter().any(|known| known == file) {
            return;
        }
        read.push(file.to_path_buf());
        let there = self.sysroot().file(&below_root(file, &self.ground));
        let text = there.and_then(|file| files::read_start(&file, 1 << 14).ok());
        for line in text.unwrap_or_default().lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let included = line
                .strip_prefix("include")
                .filter(|rest| rest.starts_with([' ', '\t']));
            match included {
                Some(patterns) => {
                    for pattern in patterns.split_whitespace() {
                        let pattern = file.parent().unwrap_or(file).join(pattern);
                        let inside = below_root(&pattern, &self.ground);
                        for found in files::glob(&inside.to_string_lossy()).unwrap_or_default() {
                            let root = self.ground.root.as_deref().unwrap_or(Path::new(""));
                            let found = found.strip_prefix(root).unwrap_or(&found);
                            self.configured(&Path::new("/").join(found), read, dirs);
                        }
                    }
                }
                None if line.starts_with('/') && dirs.len() < 1 << 10 => {
                    dirs.push(below_root(Path::new(line), &self.ground))
                }
                _ => {}
            }
        }
    }

    fn looked_at(&self, places: &[SearchDirectory]) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut add = |line: String| {
            if !lines.contains(&line) {
                lines.push(line);
            }
        };
        let is_system = |place: &&SearchDirectory| matches!(place.via, LoadOrigin::System(_));
        for place in places.iter().filter(|place| !is_system(place)) {
            add(self.text(&place.via, place.owner));
        }
        add(below_root(Path::new(CACHE), &self.ground)
            .display()
            .to_string());
        let system = places.iter().filter(is_system);
        for place in system.filter(|place| files::is_dir(&place.dir)) {
            add(place.dir.display().to_string());
        }
        lines
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
            root: self.ground.root.as_deref(),
        }
    }
}

fn folder(file: &Path) -> PathBuf {
    file.parent().unwrap_or(file).to_path_buf()
}
