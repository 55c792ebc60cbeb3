//! The loader that a program names, which the kernel starts for it.

use crate::inspection::InspectionFault;
use crate::loader::LoadGraph;
use crate::model::Linkage;
use crate::system::{Sysroot, files};
use crate::toolkit::dependencies::is_of_toolkit;
use std::env::consts::ARCH;
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
    let relative = interpreter.strip_prefix('/')?.trim_start_matches('/');
    let file = root.unwrap_or(Path::new("/")).join(relative);
    if (Sysroot { root }).file(&file).is_some() {
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
    let name = format!("lib/ld-musl-{cpu}.so.1");
    let file = root.unwrap_or(Path::new("/")).join(&name);
    files::is_file(&file).then(|| format!("/{name}"))
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
