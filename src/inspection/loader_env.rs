//! The environment of the loader for a program for Linux.

use crate::loader::elsewhere;
use crate::model::{Linkage, Variable};
use crate::runtime::loader::{LoadOrigin, SearchPath, hwcaps_order};
use crate::system::{Host, cpu};
use std::env::consts::ARCH;
use std::ffi::OsStr;
use std::path::Path;

/// Returns the search path of a program or library without directories of its own. `is_privileged` means that the
/// program has more privileges than its user, so that the loader ignores the variables.
pub fn search_path(
    program: &Path,
    linkage: &Linkage,
    is_privileged: bool,
    host: &Host,
) -> SearchPath {
    // Below a root, the variables of this machine's shell do not apply.
    let inside = |path: &str| match &host.root {
        Some(root) => {
            let inside = Path::new(path).strip_prefix(root).ok()?;
            Some(format!("/{}", inside.display()))
        }
        None => Some(path.to_string()),
    };
    let entries = |list: Option<&OsStr>, separators: [char; 2]| -> String {
        let list = list.unwrap_or_default().to_string_lossy();
        let heeded = list.split(separators).filter(|_| !is_privileged);
        heeded.filter_map(inside).collect::<Vec<_>>().join(":")
    };
    let cpu = &*linkage.cpu;
    let known = match cpu {
        "x86_64" => (host.root.is_none() && cpu == ARCH).then(cpu::hwcaps_levels),
        _ => Some(Vec::new()),
    };
    let loader = linkage.interpreter.as_deref().unwrap_or_default();
    let mut system = elsewhere::system(host, loader, cpu);
    system.levels = Some(hwcaps_order(known.as_deref()));
    system.is_privileged = is_privileged;
    system.preload = system.preloads(&entries(host.env.os_var("LD_PRELOAD"), [':', ' ']));
    let program = host.sysroot().canonical(program);
    let home = program.parent().unwrap_or(&program);
    let list = entries(host.env.get(Variable::LdLibraryPath), [':', ';']);
    let mut directories = system.listed(list.as_bytes(), b":", home, &LoadOrigin::LibraryPath);
    directories.extend(system.directories());
    SearchPath {
        directories,
        system,
        nodeflib: false,
    }
}
