//! Sub-libraries that are missing, of different versions, or from elsewhere.

use crate::runtime::facts::finding::listed;
use crate::runtime::facts::{Finding, FindingId, LibraryName, Version, after_space};
use crate::runtime::install::mixed_sub_libraries::{Foreign, MixedVersions};
use crate::runtime::install::package_owner::{Owner, reinstall_command};
use crate::runtime::install::{Installed, MissingSubLibraries, SubLibraryFile, is_absent};
use crate::runtime::loader::LoadOrigin;
use std::path::Path;

impl MissingSubLibraries<'_> {
    /// Returns the finding, only a warning if it is uncertain. The convolutions show if files are missing.
    pub fn finding(&self) -> Finding {
        let (installed, is_beside) = (self.installed, self.is_beside());
        let here = installed.folder().display().to_string();
        let version = after_space(installed.version().map(|(version, _)| version));
        let files = names(self.files());
        let user = match self.is_declared {
            true => "this program needs",
            false => "convolutions need",
        };
        let summary = match is_beside {
            true => format!(
                "the loader does not find {files} of cuDNN{version} at `{here}`, which {user}"
            ),
            false => format!("cuDNN{version} at `{here}` is missing {files}, which {user}"),
        };
        let help = match (self.bundled, reinstall_command(&installed.main.path)) {
            (Some(major), _) => {
                format!("install cuDNN {major}, and add its directory to LD_LIBRARY_PATH")
            }
            _ if installed.jit_only => {
                "replace it with a complete cuDNN: this one only compiles graphs at run time"
                    .to_string()
            }
            _ if is_beside => {
                format!(
                    "add `{here}` to LD_LIBRARY_PATH: the loader does not search beside this main library"
                )
            }
            (None, Some(command)) => format!("reinstall the package: `{command}`"),
            (None, None) => format!(
                "reinstall cuDNN{version} in `{here}`: the main library opens the others from there"
            ),
        };
        let missing = Some(self.files()).filter(|files| files.len() > MOST_NAMES);
        let mut searched = Vec::new();
        for place in &self.looked_at {
            if searched.is_empty() && !is_beside {
                searched.push(&here);
            }
            if *place != here {
                searched.push(place);
            }
        }
        FindingId::PartsMissing
            .error_if(!self.is_uncertain, summary)
            .with_lines("missing", missing.unwrap_or_default())
            .with_lines("searched", &searched[..])
            .help(help)
    }
}

impl MixedVersions<'_> {
    /// Returns the finding for sub-libraries of different versions in the directory of this main library.
    pub fn finding(&self, main: &Path) -> Finding {
        let dir = &main.parent().unwrap_or(main).display().to_string();
        let is_dll = LibraryName::of(main).is_some_and(|file| file.is_dll);
        let (most, odd) = self.odd_ones();
        let other = odd.first().and_then(|file| file.version).unwrap_or(most);
        let mut named = Vec::new();
        for file in odd {
            if file.version == Some(other) {
                named.push(file.path.as_path());
            }
        }
        let summary = format!(
            "{} in `{dir}` {} version {other}, but the rest of cuDNN is {most}",
            names(&named),
            if named.len() == 1 { "is" } else { "are" }
        );
        let mut help = replace_all(is_dll, dir);
        if let Some(command) = reinstall_command(main) {
            help += &format!(": `{command}`");
        }
        self.with_summary(summary)
            .help(help)
            .with_lines("sub-libs", self.lines())
    }

    /// Creates an error, or a warning if no convolution uses a file of another version.
    fn with_summary(&self, mut summary: String) -> Finding {
        let matters = self.matters();
        if !matters {
            summary += "; no convolution uses these files";
        }
        let finding = FindingId::PartsMixed.error_if(matters, summary);
        let is_preloaded = |main: &&&SubLibraryFile| main.origin == Some(LoadOrigin::Preload);
        let main = self.files.first().filter(is_preloaded);
        // The other files may all have the same version.
        finding.helps(main.map(|main| format!("remove `{}` from LD_PRELOAD", main.path.display())))
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for file in &self.files {
            lines.extend(file.line());
        }
        lines
    }
}

/// Returns the help that replaces all files of a cuDNN.
pub fn replace_all(is_dll: bool, dir: &str) -> String {
    let all = if is_dll { "cudnn*.dll" } else { "libcudnn*" };
    format!("remove all `{all}` files from `{dir}` and reinstall cuDNN")
}

impl Installed {
    /// Returns the finding about a sub-library of another version that the loader finds for a cuDNN that does not
    /// contain it. It causes a failure only if the loader can open it.
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

    /// Returns the finding for a cuDNN of this version that gets at least one sub-library from another directory.
    /// `mixed`: all of its files, if they are known to be of different versions.
    pub fn foreign_finding(
        &self,
        release: Option<Version>,
        foreign: &[Foreign],
        mixed: Option<MixedVersions>,
    ) -> Finding {
        let version = after_space(release);
        let complete = format!("cuDNN{version}");
        let (mut summary, mut ways, mut helps) = (String::new(), Vec::new(), Vec::new());
        for part in foreign {
            let dir = part.path.parent().unwrap_or(part.path);
            if summary.is_empty() {
                let mut same = Vec::new();
                for other in foreign {
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
                    self.folder().display(),
                    names(&same),
                    dir.display()
                );
            }
            let way = part.origin.to_string();
            // A complete cuDNN of this version would use that file too, which may belong to a complete cuDNN.
            let help = match (is_absent(part.path, release), part.origin) {
                (true, LoadOrigin::Cache | LoadOrigin::System(_)) => format!(
                    "install a cuDNN that includes {} in `{}`",
                    names(&[part.path]),
                    self.folder().display()
                ),
                (
                    true,
                    origin @ (LoadOrigin::LibraryPath(_)
                    | LoadOrigin::Rpath(_, None)
                    | LoadOrigin::Runpath(_, None)),
                ) => origin.removal(part.path),
                _ => part.help(self.folder(), &complete),
            };
            if !ways.contains(&way) {
                ways.push(way);
            }
            if !helps.contains(&help) {
                helps.push(help);
            }
        }
        let (finding, lines) = match &mixed {
            Some(mixed) => (mixed.with_summary(summary), mixed.lines()),
            None => (FindingId::PartsMixed.error(summary), Vec::new()),
        };
        let finding = finding.with_lines("origin", ways).helps(helps);
        finding.with_lines("sub-libs", lines)
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

/// The largest number of files that a headline names.
const MOST_NAMES: usize = 3;

/// Returns the file names, or the number of files if there are many.
pub fn names(files: &[impl AsRef<Path>]) -> String {
    if files.len() > MOST_NAMES {
        return format!("{} libraries", files.len());
    }
    let mut names = Vec::new();
    for file in files {
        let name = file.as_ref().file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        names.push(format!("`{name}`"));
    }
    listed(&names)
}
