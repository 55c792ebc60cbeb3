//! Paths and variables for cargo to watch.

use crate::kernels::Kernels;
use crate::kernels::inputs::toolchain_fingerprint;
use crate::kernels::setup::include_dirs;
use crate::system::directive::Directive;
use crate::system::files;
use crate::system::path_encoding::cargo_cannot_take;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

impl Kernels<'_> {
    /// Returns the directory of a pattern for cargo to watch, because a new file there must be compiled too. Returns
    /// `None` if the output is below it, because every build would then run again.
    pub(in crate::kernels) fn watch_dir(&self, pattern: &str) -> Option<Directive> {
        let fixed = &pattern[..pattern.find(['*', '?', '[']).unwrap_or(pattern.len())];
        let dir = Path::new(&fixed[..fixed.rfind(['/', '\\'])?]);
        let real = files::canonical(dir, None).ok()?;
        let out_dir = files::canonical(&self.output_dir().ok()?, None).ok()?;
        (!out_dir.starts_with(real)).then(|| Directive::RerunIfChanged(dir.to_path_buf()))
    }

    /// Returns the header directories within the package, since a new header may hide one in a later directory, and the
    /// variables that name further directories.
    pub(in crate::kernels) fn header_reruns(&self) -> Vec<Directive> {
        let host = &self.toolchain.host;
        let variables = toolchain_fingerprint::variables(host.builder().os).iter();
        let variables = variables.map(ToString::to_string);
        let mut lines: Vec<Directive> = variables.map(Directive::RerunIfEnvChanged).collect();
        let package = host.env.os_var("CARGO_MANIFEST_DIR").map(Path::new);
        let Some(package) = package.and_then(|dir| files::canonical(dir, None).ok()) else {
            return lines;
        };
        for dir in include_dirs(&self.common.flags) {
            let real = files::canonical(&dir, None);
            if real.is_ok_and(|real| real != package && real.starts_with(&package)) {
                lines.extend(self.watch_dir(&format!("{}/", dir.display())));
            }
        }
        lines
    }
}

/// Has cargo watch a file, unless it is among the files that are watched already.
pub fn watch(path: &Path, watched: &mut BTreeSet<OsString>, lines: &mut Vec<Directive>) {
    if cargo_cannot_take(path).is_none() && watched.insert(path.into()) {
        lines.push(Directive::RerunIfChanged(path.to_path_buf()));
    }
}
