//! What cargo is told to watch.

use crate::kernels::Kernels;
use crate::kernels::inputs::toolchain_fingerprint;
use crate::system::directive::Directive;
use crate::system::files;
use crate::system::freshness::stat_cache::File;
use std::path::{Path, PathBuf};

impl Kernels<'_> {
    /// A file that is added to the folder of a pattern must be compiled too, so cargo watches that folder; not where
    /// the output is below it, which would make every build run again.
    pub(in crate::kernels) fn folder_of(&self, pattern: &str) -> Option<Directive> {
        let fixed = &pattern[..pattern.find(['*', '?', '[']).unwrap_or(pattern.len())];
        let folder = Path::new(&fixed[..fixed.rfind(['/', '\\'])?]);
        let real = files::canonical(folder, None).ok()?;
        let out_dir = files::canonical(&self.output_dir().ok()?, None).ok()?;
        (!out_dir.starts_with(real)).then(|| Directive::RerunIfChanged(folder.to_path_buf()))
    }

    /// A header that is added to a directory may hide one of a later directory, so cargo watches those of the package
    /// as well; and the variables that name further ones.
    pub(in crate::kernels) fn header_places(&self) -> Vec<Directive> {
        let host = &self.toolchain.host;
        let variables = toolchain_fingerprint::variables(host.builder().os).iter();
        let mut lines: Vec<Directive> = variables
            .map(|name| Directive::RerunIfEnvChanged(name.to_string()))
            .collect();
        let env = &host.env;
        let package = env.os_var("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let Some(package) = package.and_then(|dir| files::canonical(&dir, None).ok()) else {
            return lines;
        };
        let dirs = self.flags.iter().filter_map(|flag| flag.strip_prefix("-I"));
        let dirs = dirs.filter(|dir| {
            let real = files::canonical(Path::new(dir), None);
            real.is_ok_and(|real| real != package && real.starts_with(&package))
        });
        lines.extend(dirs.filter_map(|dir| self.folder_of(&format!("{dir}/"))));
        lines
    }

    /// The directories of the toolkit and of the system, whose headers cargo need not watch.
    pub(in crate::kernels) fn foreign(&self) -> Vec<PathBuf> {
        let mut dirs: Vec<PathBuf> = vec!["/usr/include".into(), "/usr/lib".into()];
        if let Some(toolkit) = self.toolchain.toolkit() {
            // The folder of a package may be /usr/src/app.
            let root = Some(&toolkit.root).filter(|root| *root != Path::new("/usr"));
            for dir in toolkit.include_dirs.iter().chain(root) {
                dirs.extend(files::canonical(dir, None));
            }
        }
        dirs
    }
}

/// Whether it is the package's, and not of one of these directories.
pub fn is_own(file: &File, foreign: &[PathBuf]) -> bool {
    file.is_regular && !foreign.iter().any(|dir| file.real.starts_with(dir))
}
