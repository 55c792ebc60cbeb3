//! The loader that a program names, which the kernel starts for it, and its environment.

use crate::inspection::InspectionFault;
use crate::loader::{LoadGraph, elsewhere};
use crate::model::{Linkage, Variable};
use crate::runtime::loader::{LoadOrigin, SearchPath, hwcaps_order};
use crate::system::{Host, Sysroot, cpu, files};
use crate::toolkit::dependencies::is_of_toolkit;
use std::env::consts::ARCH;
use std::ffi::OsStr;
use std::path::Path;

const LIBC: &str = "libc.so.6";

/// Checks the loader of a program for this CPU, or of any. A root without the loader is reported only if it contains musl's,
/// because it may be only a part of a system.
pub fn missing_interpreter<'a>(
    program: Option<&'a Path>,
    interpreter: &'a str,
    cpu: &str,
    root: Option<&Path>,
) -> Option<InspectionFault<'a>> {
    let file = Sysroot { root }.at(interpreter);
    if !interpreter.starts_with('/') || (Sysroot { root }).file(&file).is_some() {
        return None;
    }
    if let Some(musl) = musl(cpu, root) {
        return Some(InspectionFault::NoGlibc(program, musl, Some(interpreter)));
    }
    let program = program.filter(|_| root.is_none() && cpu == ARCH)?;
    Some(InspectionFault::NoInterpreter(program, interpreter))
}

/// Returns musl's loader, if it is the one of this system.
fn musl(cpu: &str, root: Option<&Path>) -> Option<String> {
    let file = format!("/lib/ld-musl-{cpu}.so.1");
    files::is_file(&Sysroot { root }.at(&file)).then_some(file)
}

/// Checks that a program with NVIDIA's libraries finds glibc. A compatibility layer over musl only has its loader.
pub fn missing_glibc<'a>(
    graph: &LoadGraph,
    program: &'a Path,
    cpu: &str,
    root: Option<&Path>,
) -> Option<InspectionFault<'a>> {
    let is_missing = graph.missing.iter().any(|missing| missing.name == LIBC);
    let mut objects = graph.objects.iter();
    let is_used = objects.any(|object| is_linked_to_cuda(&object.linkage));
    let musl = musl(cpu, root).filter(|_| is_missing && is_used)?;
    Some(InspectionFault::NoGlibc(Some(program), musl, None))
}

/// Returns `true` if one of NVIDIA's libraries is a dependency of this file, or is the file itself.
pub fn is_linked_to_cuda(linkage: &Linkage) -> bool {
    let mut names = linkage.needed.iter().chain(&linkage.soname);
    names.any(|name| name.starts_with("libcudnn") || is_of_toolkit(name))
}

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
