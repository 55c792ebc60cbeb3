//! The loader that a program names, which the kernel starts for it.

use crate::inspection::fault::InspectionFault;
use crate::system::files;
use crate::system::sysroot::Sysroot;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

/// Checks the loader of a program for this CPU. A root without the loader is reported only if it contains musl's,
/// because it may be only a part of a system.
pub fn missing_interpreter<'a>(
    program: &'a Path,
    interpreter: &'a str,
    cpu: &str,
    root: Option<&Path>,
) -> Option<InspectionFault<'a>> {
    let top = root.unwrap_or(Path::new("/"));
    let below = |path: &str| top.join(path.trim_start_matches('/'));
    let exists = |path: PathBuf| Sysroot { root }.file(&path).is_some();
    if !interpreter.starts_with('/') || exists(below(interpreter)) {
        return None;
    }
    let name = format!("/lib/ld-musl-{cpu}.so.1");
    let musl = files::is_file(&below(&name)).then_some(name);
    let is_sure = musl.is_some() || root.is_none() && cpu == ARCH;
    is_sure.then_some(InspectionFault::NoInterpreter(program, interpreter, musl))
}
