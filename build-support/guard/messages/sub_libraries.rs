//! The sub-libraries of a program's cuDNN that are from elsewhere, or that Windows does not find.

use crate::runtime::facts::finding::after_space;
use crate::runtime::facts::{Finding, FindingId};
use crate::runtime::install::installed::{Installed, is_absent};
use crate::runtime::install::mixed_sub_libraries::{Foreign, ForeignSubLibraries};
use crate::runtime::install::package_owner::Owner;
#[cfg(feature = "runtime")]
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::messages::mixed_sub_libraries::names;
use std::path::Path;

#[cfg(feature = "runtime")]
impl SubLibraries {
    /// Returns the finding for sub-libraries that Windows does not find by their names.
    pub fn not_found_finding(&self) -> Finding {
        let version = after_space(self.installed.version().map(|(version, _)| version));
        let files: Vec<&Path> = self.not_found.iter().map(|file| &**file).collect();
        let (files, here) = (names(&files), self.installed.folder().display());
        FindingId::PartsMissing
            .warning(format!(
                "Windows cannot find {files} of cuDNN{version} at `{here}`, which cuDNN opens by name"
            ))
            .help(format!(
                "add `{here}` to PATH, or open these files by path before you call cuDNN"
            ))
    }
}

impl Installed {
    /// Returns the finding about a sub-library of another version that the loader finds for a cuDNN that does not contain
    /// it. It causes a failure only if the loader can open it.
    pub fn stray_finding(&self) -> Option<Finding> {
        let (release, _) = self.version()?;
        let stray = self.stray.as_ref()?;
        let (path, origin) = (&stray.path, stray.origin.as_ref()?);
        let (version, by) = stray.sourced_version()?;
        if version == release {
            return None;
        }
        let summary = format!(
            "cuDNN {release} at `{}` does not include `{}` and loads version {version} from elsewhere",
            self.folder().display(),
            path.file_name().unwrap_or_default().to_string_lossy()
        );
        let file = format!("{}, version from {}", path.display(), by.with_article());
        let finding = FindingId::PartsMixed
            .warning(summary)
            .with("other file", file)
            .with("origin", origin)
            .help("install cuDNN 9.21 or later, which includes this file");
        Some(match origin {
            LoadOrigin::LibraryPath(_) => finding.help(origin.removal(path)),
            LoadOrigin::Cache | LoadOrigin::System(_) => {
                finding.helps(Owner::of_debian(path).map(|package| {
                    let name = package.name;
                    format!("remove the package that contains it: `sudo apt remove {name}`")
                }))
            }
            _ => finding,
        })
    }
}

impl ForeignSubLibraries<'_> {
    pub fn finding(&self) -> Finding {
        let version = after_space(self.release);
        let complete = format!("cuDNN{version}");
        let (mut summary, mut ways, mut helps) = (String::new(), Vec::new(), Vec::new());
        for part in self.foreign {
            let dir = part.path.parent().unwrap_or(part.path);
            if summary.is_empty() {
                let mut same = Vec::new();
                for other in self.foreign {
                    if other.path.parent() == Some(dir) && other.version == part.version {
                        same.push(other.path);
                    }
                }
                let from = part.version.map_or_else(
                    || "another version".to_string(),
                    |version| format!("version {version}"),
                );
                summary = format!(
                    "cuDNN{version} at `{}` loads {} ({from}) from `{}`",
                    self.folder.display(),
                    names(&same),
                    dir.display()
                );
            }
            let way = part.origin.to_string();
            // A complete cuDNN of this version would use that file too, which may belong to a complete cuDNN.
            let help = match (is_absent(part.path, self.release), part.origin) {
                (true, LoadOrigin::Cache | LoadOrigin::System(_)) => format!(
                    "install a cuDNN that includes {} in `{}`",
                    names(&[part.path]),
                    self.folder.display()
                ),
                (
                    true,
                    origin @ (LoadOrigin::LibraryPath(_)
                    | LoadOrigin::Rpath(_)
                    | LoadOrigin::Runpath(_)),
                ) => origin.removal(part.path),
                _ => part.help(self.folder, &complete),
            };
            if !ways.contains(&way) {
                ways.push(way);
            }
            if !helps.contains(&help) {
                helps.push(help);
            }
        }
        let finding = FindingId::PartsMixed.error(summary);
        let finding = finding.with_lines("origin", ways).helps(helps);
        match &self.mixed {
            Some(mixed) => mixed.with_files(finding),
            None => finding,
        }
    }
}

impl Foreign<'_> {
    /// Returns the help that makes the loader use another sub-library. `complete`: the cuDNN to install in the
    /// directory of the main library.
    pub fn help(&self, folder: &Path, complete: &str) -> String {
        let folder = folder.display();
        let install = format!("install a complete {complete} in `{folder}`");
        let is_dll = self.path.extension().is_some_and(|end| end == "dll");
        let remove = match self.origin {
            // Linux searches these directories last, Windows before PATH.
            LoadOrigin::System(_) if !is_dll => return install,
            LoadOrigin::LibraryPath(_) if self.has_own && self.yields => {
                let remove = self.origin.removal(self.path);
                return format!("{remove}, or add `{folder}` before it");
            }
            LoadOrigin::LibraryPath(_) => self.origin.removal(self.path),
            LoadOrigin::Application(dir)
            | LoadOrigin::DllDirectory(dir)
            | LoadOrigin::AddedDirectory(dir)
            | LoadOrigin::WorkingDirectory(dir)
            | LoadOrigin::System(dir) => format!(
                "remove the `cudnn*.dll` files from `{}`, which Windows searches before `{folder}`",
                dir.display()
            ),
            LoadOrigin::Preload
            | LoadOrigin::Preloads
            | LoadOrigin::Library(_)
            | LoadOrigin::Elsewhere => {
                let dir = self.path.parent().unwrap_or(self.path);
                return self.origin.help(dir, complete);
            }
            _ => return install,
        };
        match (self.has_own, self.yields) {
            (true, _) => remove,
            (false, true) => install,
            (false, false) => format!("{install}, and {remove}"),
        }
    }
}
