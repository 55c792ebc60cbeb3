//! Sub-libraries of different versions in one program: which ones, what makes the loader use them, what helps.

use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use crate::runtime::install::mixed_folder::{in_one_folder, names, with_files};
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::loader::file_name;
use crate::runtime::loader::library_names;
use crate::runtime::loader::search_path::{LoadOrigin, SearchPath};
use crate::runtime::system;
use crate::runtime::system::platform::LIBRARY_PATH;
use std::path::{Path, PathBuf};

/// Returns the finding for sub-libraries of different versions: they do not work together, even if cuDNN itself does
/// not notice.
pub fn finding(parts: &SubLibraries, foreign: &[Foreign<'_>]) -> Option<Finding> {
    let (release, _) = parts.release()?;
    let folder = parts.folder();
    let mut files = vec![&parts.main];
    files.extend(&parts.list);
    files.iter().find(|file| file.is_other_than(release))?;
    let mut elsewhere = foreign.to_vec();
    elsewhere.retain(|part| part.version.is_some_and(|version| version != release));
    let finding = if elsewhere.is_empty() {
        let dir = folder.display().to_string();
        in_one_folder(&files, &dir, release, file_name::ALL)
    } else {
        from_elsewhere(Some(release), folder, &elsewhere)
    };
    Some(with_files(finding, &files, release))
}

/// A sub-library from another folder than that of the main library.
#[derive(Clone)]
pub struct Foreign<'a> {
    /// Its file.
    pub path: &'a Path,
    /// Its version, if known.
    pub version: Option<Version>,
    /// The reason why the loader uses it.
    pub origin: LoadOrigin,
    /// Whether the folder of the main library has a file of that name, too.
    pub has_own: bool,
    /// Whether the main library's own would be used if LD_LIBRARY_PATH named its folder first.
    pub yields: bool,
}

impl<'a> Foreign<'a> {
    fn new(part: &'a SubLibraryFile, folder: &Path, major: u32, search_path: &SearchPath) -> Self {
        let plain = file_name::of_part(&part.name, major);
        let origin = search_path.to(&part.path);
        let has_own = system::is_file(&folder.join(&plain));
        Self {
            path: &part.path,
            version: part.version,
            has_own,
            // A name with all numbers is asked for before the plain one.
            yields: if has_own {
                part.path.file_name() == Some(plain.as_ref())
            } else {
                search_path.is_before(folder, &origin)
            },
            origin,
        }
    }

    fn help(&self, folder: &Path, whole: &str) -> String {
        let folder = folder.display();
        let install = format!("install {whole} in `{folder}`, whole");
        match &self.origin {
            LoadOrigin::LibraryPath(entry) => {
                let take = format!("take `{}` out of {LIBRARY_PATH}", entry.display());
                match (self.has_own, self.yields) {
                    (true, true) => format!("{take}, or put `{folder}` before it"),
                    (true, false) => take,
                    (false, true) => install,
                    (false, false) => format!("{install}, and {take}"),
                }
            }
            LoadOrigin::Application(dir)
            | LoadOrigin::DllDirectory(dir)
            | LoadOrigin::WorkingDirectory(dir)
                if self.has_own || !self.yields =>
            {
                let remove = format!(
                    "remove the `cudnn*.dll` files from `{}`, where Windows looks before it looks into `{}`",
                    dir.display(),
                    folder
                );
                match self.has_own {
                    true => remove,
                    false => format!("{install}, and {remove}"),
                }
            }
            LoadOrigin::Preload
            | LoadOrigin::Preloads
            | LoadOrigin::Library(_)
            | LoadOrigin::Elsewhere => self
                .origin
                .help(self.path.parent().unwrap_or(self.path), whole),
            _ => install,
        }
    }
}

/// Puts the help first that takes the main library out of LD_PRELOAD: without it the others may be of one version.
pub fn add_preload_help(mixed: &mut Finding, main_library: &Path) {
    let mut help = vec![format!(
        "take `{}` out of LD_PRELOAD",
        main_library.display()
    )];
    for other in &mixed.help {
        help.push(format!("or {other}"));
    }
    mixed.help = help;
}

/// A folder of LD_LIBRARY_PATH whose sub-libraries any other main library would get, and their version.
pub type LastingFolder = (PathBuf, Option<Version>);

/// Returns the folders that stay in the way of another cuDNN. `main` is the reason why the loader uses the main
/// library.
pub fn lasting_folders(foreign: &[Foreign<'_>], main: &LoadOrigin) -> Vec<LastingFolder> {
    let mut folders: Vec<LastingFolder> = Vec::new();
    for part in foreign {
        let LoadOrigin::LibraryPath(entry) = &part.origin else {
            continue;
        };
        // Behind the entry that leads to the first library, it comes to an end with that.
        let is_behind = matches!(main, LoadOrigin::LibraryPath(_)) && !part.has_own && part.yields;
        // Those that tell their release speak for the others.
        let is_told = |(folder, version): &LastingFolder| {
            folder == entry && (part.version.is_none() || *version == part.version)
        };
        if !is_behind && !folders.iter().any(is_told) {
            folders.retain(|(folder, version)| folder != entry || version.is_some());
            folders.push((entry.clone(), part.version));
        }
    }
    folders
}

/// Returns the help that puts a complete cuDNN in the place of this file.
pub fn replacement_help(
    main: &LoadOrigin,
    taken: &Path,
    wanted: &str,
    lasting: &[LastingFolder],
    fits: &dyn Fn(Version) -> bool,
) -> String {
    let (mut entries, mut fitting) = (String::new(), None);
    for (entry, version) in lasting {
        match version.filter(|version| fits(*version)) {
            Some(version) => fitting = Some(version),
            None => {
                let entry = format!("`{}`", entry.display());
                if !entries.contains(&entry) {
                    entries += if entries.is_empty() { "" } else { " and " };
                    entries += &entry;
                }
            }
        }
    }
    let help = |wanted: &str| {
        let folder = taken.parent().unwrap_or(taken);
        main.help(folder, &library_names::wanted_for(taken, wanted))
    };
    match fitting {
        _ if !entries.is_empty() => {
            let help = help(wanted);
            format!("take {entries} out of {LIBRARY_PATH}, and {help}")
        }
        // What is there already goes with its own release alone.
        Some(version) => help(&format!("cuDNN {version}")),
        None => help(wanted),
    }
}

/// Returns the sub-libraries that are outside of this folder, each with what makes the loader take it.
pub fn foreign<'a>(
    folder: &Path,
    major: u32,
    parts: &'a [SubLibraryFile],
    search_path: &SearchPath,
) -> Vec<Foreign<'a>> {
    let outside = parts.iter().filter(|part| !part.is_in(folder));
    let foreign = outside.map(|part| Foreign::new(part, folder, major, search_path));
    foreign.collect()
}

/// Returns the finding for a cuDNN of this version that gets these sub-libraries from other folders.
pub fn from_elsewhere(release: Option<Version>, folder: &Path, foreign: &[Foreign<'_>]) -> Finding {
    let whole = match release {
        Some(release) => format!("cuDNN {release}"),
        None => "one cuDNN".to_string(),
    };
    let (mut summary, mut ways, mut helps) = (String::new(), Vec::new(), Vec::new());
    for part in foreign {
        let dir = part.path.parent().unwrap_or(part.path);
        if summary.is_empty() {
            let mut there = Vec::new();
            for other in foreign {
                if other.path.parent() == Some(dir) && other.version == part.version {
                    there.push(other.path);
                }
            }
            summary = format!(
                "cuDNN{} at `{}` gets {} from `{}`, where {} of {}",
                release.map_or_else(String::new, |release| format!(" {release}")),
                folder.display(),
                names(&there),
                dir.display(),
                match there.len() {
                    1 => "it is",
                    _ => "they are",
                },
                match part.version {
                    Some(version) => version.to_string(),
                    None => "another release".to_string(),
                }
            );
        }
        let (way, help) = (part.origin.to_string(), part.help(folder, &whole));
        if !ways.contains(&way) {
            ways.push(way);
        }
        if !helps.contains(&help) {
            helps.push(help);
        }
    }
    let mut finding =
        Finding::error(FindingId::PartsMixed, summary).with("by way of", ways.join("\n"));
    finding.help = helps;
    finding
}
