//! The loader that a program names, which the kernel starts for it.

use crate::system::files;
use crate::system::sysroot::Sysroot;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};

/// A program whose loader does not exist on the inspected system.
pub struct MissingInterpreter<'a> {
    pub program: &'a Path,
    /// The loader, as it is named where the program runs.
    pub interpreter: &'a str,
    /// The loader of musl, if that is the C library of this system.
    pub musl: Option<PathBuf>,
}

impl<'a> MissingInterpreter<'a> {
    /// Checks the loader of a program for this CPU. A root without the loader is reported only if it contains musl's,
    /// because it may be only a part of a system.
    pub fn detect(
        program: &'a Path,
        interpreter: &'a str,
        cpu: &str,
        root: Option<&Path>,
    ) -> Option<Self> {
        let top = root.unwrap_or(Path::new("/"));
        let below = |path: &str| top.join(path.trim_start_matches('/'));
        let exists = |path: PathBuf| Sysroot { root }.file(&path).is_some();
        if !interpreter.starts_with('/') || exists(below(interpreter)) {
            return None;
        }
        let name = format!("/lib/ld-musl-{cpu}.so.1");
        let musl = files::is_file(&below(&name)).then(|| PathBuf::from(name));
        let is_sure = musl.is_some() || root.is_none() && cpu == ARCH;
        is_sure.then_some(Self {
            program,
            interpreter,
            musl,
        })
    }
}
