//! Follows what a program asks the loader for, from file to file, without loading any of it.

use super::eyes::Eyes;
use super::{cache, files, linkage};
use crate::model::linkage::{Linkage, Missing, Need, Object};
use crate::model::via::{CACHE, Via};
use crate::rules::way::{Ground, Place, before_cache, on, system};
use std::path::{Path, PathBuf};

/// What is loaded, in the loader's order, the program first; and what it does not find.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// The system it is.
    pub ground: Ground,
    /// What is loaded.
    pub objects: Vec<Object>,
    /// What is not found.
    pub missing: Vec<Missing>,
}

impl Way {
    /// Follows what is loaded with the program.
    pub fn of(program: &Path, linkage: Linkage, ground: Ground) -> Self {
        let mut way = Self {
            ground,
            ..Self::default()
        };
        let path = way.eyes().canonical(program);
        way.objects.push(Object {
            path,
            linkage,
            ..Object::default()
        });
        way.follow(0, Need::Start);
        way
    }

    /// The object that serves this name, if it is loaded already.
    pub fn loaded(&self, name: &str) -> Option<usize> {
        self.objects.iter().position(|object| {
            object.name == name || object.linkage.soname.as_deref() == Some(name)
        })
    }

    /// What the loader takes when `asking` opens a library by its name, with all that it needs. Its index.
    pub fn open(&mut self, name: &str, asking: usize, need: Need) -> Option<usize> {
        let before = self.objects.len();
        let index = self.take(name, asking, need)?;
        if index >= before {
            self.follow(index, need);
        }
        Some(index)
    }

    fn follow(&mut self, from: usize, need: Need) {
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

    fn take(&mut self, name: &str, asking: usize, need: Need) -> Option<usize> {
        if let Some(index) = self.loaded(name) {
            return Some(index);
        }
        if self.missing.iter().any(|missing| missing.name == name) {
            return None;
        }
        match self.find(name, asking) {
            Ok(mut object) => {
                object.need = need;
                self.objects.push(object);
                Some(self.objects.len() - 1)
            }
            Err(mut missing) => {
                missing.need = need;
                self.missing.push(missing);
                None
            }
        }
    }

    fn find(&self, name: &str, asking: usize) -> Result<Object, Missing> {
        let mut chain = vec![asking];
        let mut up = self.objects.get(asking).and_then(|object| object.asked_by);
        while let Some(index) = up {
            chain.insert(0, index);
            up = self.objects.get(index).and_then(|object| object.asked_by);
        }
        let found = |via: Via, owner, path, linkage| Object {
            name: name.into(),
            path,
            via: Some(via),
            owner,
            need: Need::Later,
            asked_by: Some(asking),
            linkage,
        };
        let mut stands_in = None;
        let mut try_one = |path: PathBuf| self.fitting(&path, &mut stands_in);
        let mut places = Vec::new();
        if name.contains('/') {
            let path = on(Path::new(name), &self.ground);
            if let Some((path, linkage)) = try_one(path) {
                return Ok(found(Via::Elsewhere, 0, path, linkage));
            }
        } else {
            places = before_cache(&self.objects, &chain, &self.ground);
            for place in &places {
                if let Some((path, linkage)) = try_one(place.dir.join(name)) {
                    return Ok(found(place.via.clone(), place.owner, path, linkage));
                }
            }
            for path in self.cached(name) {
                if let Some((path, linkage)) = try_one(path) {
                    return Ok(found(Via::Cache, 0, path, linkage));
                }
            }
            let system = system(&self.ground);
            for place in &system {
                if let Some((path, linkage)) = try_one(place.dir.join(name)) {
                    return Ok(found(place.via.clone(), 0, path, linkage));
                }
            }
            places.extend(system);
        }
        Err(Missing {
            name: name.into(),
            needed_by: self
                .objects
                .get(asking)
                .map(|object| object.path.clone())
                .unwrap_or_default(),
            need: Need::Later,
            looked_at: self.looked_at(&places),
            stands_in,
        })
    }

    /// The file, if the loader does not pass it over: what is for another processor, it does.
    fn fitting(&self, path: &Path, stands_in: &mut Option<PathBuf>) -> Option<(PathBuf, Linkage)> {
        let there = self.eyes().file(path);
        let empty = match &there {
            Some(file) => files::size(file) == 0,
            None => files::is_link(path),
        };
        if empty {
            stands_in.get_or_insert_with(|| path.to_path_buf());
            return None;
        }
        let file = there?;
        let own = &self.objects.first()?.linkage;
        match linkage::read(&file) {
            Ok(linkage) if linkage.cpu != own.cpu || linkage.is_usual != own.is_usual => None,
            Ok(linkage) => Some((file, linkage)),
            // The loader stops at a damaged file, and does not look for another.
            Err(Some(_)) => Some((file, Linkage::default())),
            Err(None) => None,
        }
    }

    /// The files that the cache gives to a name. An image that `ldconfig` has not seen yet has its folders alone.
    fn cached(&self, name: &str) -> Vec<PathBuf> {
        let path = on(Path::new(CACHE), &self.ground);
        let there = self.eyes().file(&path);
        let bytes = there.and_then(|path| files::bytes(&path).ok());
        let here = |path: PathBuf| on(&path, &self.ground);
        match bytes {
            Some(bytes) => cache::parse(&bytes, name).into_iter().map(here).collect(),
            None if self.ground.root.is_none() => Vec::new(),
            None => {
                let mut dirs = Vec::new();
                self.configured(Path::new("/etc/ld.so.conf"), 8, &mut dirs);
                dirs.iter().map(|dir| dir.join(name)).collect()
            }
        }
    }

    /// The folders of a configuration file, and of those that it includes.
    fn configured(&self, file: &Path, depth: u32, dirs: &mut Vec<PathBuf>) {
        let there = self.eyes().file(&on(file, &self.ground));
        let text = there.and_then(|file| files::read(&file).ok());
        for line in text.unwrap_or_default().lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let included = line.strip_prefix("include ").map(str::trim);
            match included {
                Some(pattern) if depth > 0 => {
                    let pattern = file.parent().unwrap_or(file).join(pattern);
                    let inside = on(&pattern, &self.ground);
                    for found in files::glob(&inside.to_string_lossy()).unwrap_or_default() {
                        let root = self.ground.root.as_deref().unwrap_or(Path::new(""));
                        let found = found.strip_prefix(root).unwrap_or(&found);
                        self.configured(&Path::new("/").join(found), depth - 1, dirs);
                    }
                }
                None if line.starts_with('/') => dirs.push(on(Path::new(line), &self.ground)),
                _ => {}
            }
        }
    }

    fn looked_at(&self, places: &[Place]) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for place in places {
            let line = match &place.via {
                Via::System(_) => place.dir.display().to_string(),
                _ => self.text(&place.via, place.owner),
            };
            let dead = matches!(place.via, Via::System(_)) && !files::is_dir(&place.dir);
            if !lines.contains(&line) && !dead {
                lines.push(line);
            }
        }
        lines.push(on(Path::new(CACHE), &self.ground).display().to_string());
        lines
    }

    /// What made the loader look somewhere, in words.
    pub fn text(&self, via: &Via, owner: usize) -> String {
        let name = self.objects.get(owner).map(|object| object.name.as_str());
        match (via, name.filter(|name| !name.is_empty())) {
            (Via::Rpath(entry), Some(name)) => {
                format!("the RPATH of {name}, its entry `{}`", entry.display())
            }
            (Via::Runpath(entry), Some(name)) => {
                format!("the RUNPATH of {name}, its entry `{}`", entry.display())
            }
            _ => via.to_string(),
        }
    }

    fn eyes(&self) -> Eyes<'_> {
        Eyes {
            root: self.ground.root.as_deref(),
        }
    }
}
