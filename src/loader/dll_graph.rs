//! Follows the DLLs that a program for Windows imports, from file to file, without loading any of them.

use crate::loader::dll_dependencies::is_judged;
use crate::loader::dll_search::DllSearchPath;
use crate::loader::linkage;
use crate::model::linkage::{Linkage, LoadPhase, Missing, Object};
use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::pe::Pe;
use crate::runtime::system::names::DRIVER_DLL;
use std::path::{Path, PathBuf};

/// What is loaded with the program or when it first calls something of it, the program first; and what is nowhere, of those that somebody has to bring along.
pub fn resolve(
    program: &Path,
    linkage: Linkage,
    path: &DllSearchPath<'_>,
) -> (Vec<Object>, Vec<Missing>) {
    let mut objects = vec![Object {
        path: program.to_path_buf(),
        linkage,
        ..Object::default()
    }];
    let mut missing: Vec<Missing> = Vec::new();
    let shown = |dir: &PathBuf| dir.display().to_string();
    let mut next = 0;
    while let Some(asking) = objects.get(next) {
        let needed_by = asking.path.clone();
        let (linkage, own) = (asking.linkage.clone(), asking.need);
        let needed = linkage.needed.into_iter().map(|name| (name, own));
        let delayed = linkage
            .delayed
            .into_iter()
            .map(|name| (name, LoadPhase::Later));
        for (name, need) in needed.chain(delayed) {
            let same = |known: &str| known.eq_ignore_ascii_case(&name);
            if objects.iter().any(|known| same(&known.name))
                || missing.iter().any(|known| same(&known.name))
            {
                continue;
            }
            match path.file(&name) {
                Some(file) => objects.push(Object {
                    need,
                    ..object(name, file, next, &objects)
                }),
                // Windows' own are nobody's to judge.
                None if is_judged(&name) || same(DRIVER_DLL) => missing.push(Missing {
                    name,
                    needed_by: needed_by.clone(),
                    need,
                    looked_at: path.directories().iter().map(shown).collect(),
                    stands_in: None,
                    unfit: None,
                }),
                None => {}
            }
        }
        next += 1;
    }
    (objects, missing)
}

/// The first file of that name is taken, or nothing is.
fn object(name: String, path: PathBuf, asked_by: usize, objects: &[Object]) -> Object {
    let read = linkage::read(&path);
    let own = objects.first().map(|program| program.linkage.cpu.as_str());
    let file = Pe::read(&path).ok();
    let cpu = file.as_ref().and_then(Pe::cpu);
    let foreign = cpu.filter(|cpu| Some(*cpu) != own).map(Defect::Cpu);
    let flaw = match &read {
        Err(flaw) => flaw.clone().or_else(|| file?.defect()),
        Ok(_) => foreign,
    };
    Object {
        name,
        path,
        asked_by: Some(asked_by),
        linkage: read.unwrap_or_default(),
        flaw,
        ..Object::default()
    }
}
