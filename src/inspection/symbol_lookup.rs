//! Looks whether the libraries that a program comes to have the functions that it calls.

use crate::inspection::preflight::DRIVER;
use crate::inspection::undefined_symbols::{UndefinedSymbols, owner};
use crate::loader::ldso::LoadGraph;
use crate::model::linkage::LoadPhase;
use crate::runtime::binary::elf::Elf;
use crate::runtime::loader::cudarc_eager::EagerLookup;
use std::path::PathBuf;

/// More constants than a program has that is not made of data.
const MOST_CONSTANTS: u64 = 128 << 20;

/// The functions of NVIDIA's libraries that the program, or a library that is loaded with it, calls in vain.
pub fn missing_functions(graph: &LoadGraph) -> Vec<UndefinedSymbols> {
    let mut found = Vec::new();
    let is_nvidias = |name: &str| {
        let stem = name.split(".so").next().unwrap_or_default();
        stem.starts_with("libcu") || stem.starts_with("libnv")
    };
    let at_start = |need| need == LoadPhase::Start;
    let loaded = || graph.objects.iter().filter(|object| at_start(object.need));
    // NVIDIA's own libraries are held against each other by their versions.
    for caller in loaded().filter(|object| !is_nvidias(&object.name)) {
        if !caller.linkage.needed.iter().any(|name| is_nvidias(name)) {
            continue;
        }
        let file = Elf::read(&caller.path).ok();
        let calls = file.map_or_else(Vec::new, |file| file.calls());
        let mut by_owner: Vec<(&'static str, Vec<String>)> = Vec::new();
        for function in calls {
            let Some(stem) = owner(&function) else {
                continue;
            };
            match by_owner.iter_mut().find(|(known, _)| *known == stem) {
                Some((_, functions)) => functions.push(function),
                None => by_owner.push((stem, vec![function])),
            }
        }
        for (stem, mut functions) in by_owner {
            let is_it = |name: &str| name.split(".so").next() == Some(stem);
            let Some(library) = loaded().find(|object| is_it(&object.name)) else {
                continue;
            };
            // The caller itself has none of them, and an empty table if it has nothing for others.
            for object in loaded().filter(|object| object.path != caller.path) {
                let Ok(file) = Elf::read(&object.path) else {
                    // What cannot be read may have them all.
                    functions.clear();
                    break;
                };
                if functions.is_empty() {
                    break;
                }
                functions = file.missing_symbols(functions.iter().map(|name| name.as_bytes()));
            }
            if !functions.is_empty() {
                functions.sort();
                found.push(UndefinedSymbols {
                    caller: caller.path.clone(),
                    library: library.path.clone(),
                    stem,
                    functions,
                });
            }
        }
    }
    found
}

/// The cudarc that looks up what the driver does not have, the driver, and what that is.
pub fn by_cudarc(graph: &mut LoadGraph) -> Option<(EagerLookup, PathBuf, Vec<String>)> {
    let program = graph.objects.first()?.path.clone();
    let file = Elf::read(&program).ok()?;
    let (offset, size) = file.section(".rodata")?;
    let constants = file.bytes(offset, Some(size).filter(|size| *size <= MOST_CONSTANTS)?)?;
    let lookup = EagerLookup::detect(&constants)?;
    let index = graph.open(DRIVER, 0, LoadPhase::Later);
    // That there is no driver is said by whoever asks it.
    graph
        .missing
        .retain(|missing| missing.name != DRIVER || missing.need != LoadPhase::Later);
    let library = graph.objects.get(index?)?.path.clone();
    let names = lookup.functions.iter().map(String::as_bytes);
    let lacks = Elf::read(&library).ok()?.missing_symbols(names);
    Some((lookup, library, lacks))
}
