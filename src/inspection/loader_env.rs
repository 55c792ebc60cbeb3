//! The environment of the loader for a program for Linux.

use crate::loader::search_order::LoaderEnv;
use crate::loader::shadowing;
use crate::model::Variable;
use crate::model::linkage::Linkage;
use crate::runtime::loader::elf::search_list::{platform_of, preloads};
use crate::runtime::loader::load_origin::{LoadOrigin, PRELOADS};
use crate::runtime::loader::system::{System, hwcaps_order};
use crate::system::{Host, cpu, files};
use std::env::consts::ARCH;
use std::ffi::OsStr;
use std::path::Path;

/// A limit above the number of libraries that any system preloads.
const MOST_PRELOADS: usize = 64;

/// Returns the loader environment of a program or library. `is_privileged` means that the program has more privileges
/// than its user, so that the loader ignores the variables.
pub fn capture(linkage: &Linkage, is_privileged: bool, host: &Host) -> LoaderEnv {
    let root = host.root.as_deref();
    let library_path = host.env.get(Variable::LdLibraryPath);
    let library_path = library_path.map(OsStr::to_string_lossy);
    // An empty entry is the current directory, but an empty variable has no entry.
    let entries = library_path.iter().flat_map(|list| list.split([':', ';']));
    let preload = host.env.var("LD_PRELOAD").unwrap_or_default();
    let preload = preload.split([':', ' ']).filter(|name| !name.is_empty());
    // Below a root, the variables of this machine's shell do not apply.
    let inside = |path: &str| match root {
        Some(root) => {
            let inside = Path::new(path).strip_prefix(root).ok()?;
            Some(format!("/{}", inside.display()))
        }
        None => Some(path.to_string()),
    };
    let cpu = linkage.cpu.clone();
    let heeded = |path: &str| inside(path).filter(|_| !is_privileged);
    let library_path: Vec<String> = entries.filter_map(heeded).collect();
    let known = match &*cpu {
        "x86_64" => (root.is_none() && cpu == ARCH).then(cpu::hwcaps_levels),
        _ => Some(Vec::new()),
    };
    let bytes = |path: &str| {
        let file = host.sysroot().file(&host.sysroot().at(path))?;
        files::bytes(&file).ok()
    };
    let everywhere = bytes(PRELOADS).unwrap_or_default();
    let everywhere = String::from_utf8_lossy(&everywhere);
    let preloads = preloads(&everywhere).into_iter().take(MOST_PRELOADS);
    let preloads = preloads.map(|name| (name.to_string(), LoadOrigin::Preloads));
    let own = preload.filter_map(heeded);
    let own = own.map(|name| (name, LoadOrigin::Preload));
    let loader = linkage.interpreter.as_deref().unwrap_or_default();
    let system = System {
        levels: Some(hwcaps_order(known.as_deref())),
        ..shadowing::system(host, loader, &cpu)
    };
    LoaderEnv {
        library_path: library_path.join(":"),
        preload: own.chain(preloads).collect(),
        is_privileged,
        is_cpu_known: known.is_some(),
        platform: platform_of(&cpu).to_string(),
        system,
        ..LoaderEnv::default()
    }
}
