//! The sub-libraries of the cuDNN that a program uses, read as files: none of their code runs here.

use crate::runtime::binary::Image;
use crate::runtime::binary::bounded_file::files_in;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::sub_libraries::{self, TENSOR_IR};
use crate::runtime::facts::{Built, Finding, FindingId, SourcedVersion, Version, VersionSource};
use crate::runtime::install::file_versions::FileVersions;
use crate::runtime::install::mixed_sub_libraries::Foreign;
use crate::runtime::install::package_owner;
use crate::runtime::install::refusal::{Need, UnusableFile};
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::install::sub_library_lookup::SubLibraryLookup;
use crate::runtime::judge::gpu_support;
use crate::runtime::loader::file_name;
use crate::runtime::loader::search_path::{LoadOrigin, SearchPath};
use crate::runtime::system::platform::{self, Library};
use std::path::{Path, PathBuf};

/// The sub-libraries of a cuDNN, from its files.
#[derive(Clone, Debug, Default)]
pub struct SubLibraries {
    /// The sub-libraries that exist, the needed ones first, in the order in which they can be opened.
    pub list: Vec<SubLibraryFile>,
    /// The faults that their files show.
    pub findings: Vec<Finding>,
    /// `true` if only graphs that are compiled at run time are supported.
    pub jit_only: bool,
    pub main: SubLibraryFile,
    /// The names of the needed files that do not exist.
    pub missing: Vec<String>,
    /// On Windows, the needed sub-libraries beside the main library that Windows does not find by their names.
    pub not_found: Vec<PathBuf>,
    /// The directories that stay in the way of another cuDNN, from `mixed_sub_libraries`.
    pub lasting: Vec<(PathBuf, Option<Version>)>,
}

/// Files that a cuDNN needs and that do not exist.
pub struct MissingSubLibraries<'a> {
    /// The directory of the main library.
    pub folder: &'a Path,
    pub release: Option<Version>,
    pub files: Vec<String>,
    /// `true` if the program declares that it uses them; else a convolution does.
    pub is_declared: bool,
    /// `true` if the version is newer than this cudnn-guard knows, so that the cuDNN may not need the files, or if the
    /// main library, which names the directories, cannot be read.
    pub is_uncertain: bool,
    /// `true` if this cuDNN never contained them.
    pub jit_only: bool,
    /// The command that installs its package again.
    pub reinstall: Option<String>,
    pub looked_at: Vec<String>,
}

/// A sub-library of another version that the loader finds for a cuDNN that does not contain it. It causes a failure
/// only if the loader can open it.
pub struct StraySubLibrary<'a> {
    /// The directory of the main library.
    pub folder: &'a Path,
    pub release: Version,
    pub path: &'a Path,
    pub version: SourcedVersion,
    pub origin: LoadOrigin,
}

impl SubLibraries {
    /// Reads the sub-libraries of a cuDNN of this major. `pinned`: the guard will open the files beside the main
    /// library by their paths; else the files that the loader would find count.
    pub fn locate_all(
        main_library: &Path,
        major: u32,
        search_path: &SearchPath,
        pinned: bool,
        built: &Built,
    ) -> Self {
        let folder = main_library.parent().unwrap_or(main_library);
        let mut detector = FileVersions::new(&built.tables.build_ids);
        let image = Image::open(main_library).ok();
        let version = image.as_ref();
        let version = version.and_then(|image| detector.part(image, "cudnn", main_library));
        let main = SubLibraryFile::new("cudnn", main_library.to_path_buf(), version, true);
        let release = main.version;
        // A DLL may be renamed. What it opens depends on its version.
        let major = release
            .filter(|_| cfg!(windows))
            .map_or(major, |one| one.major);
        let beside = beside(folder, major);
        let no_others = sub_libraries::is_jit_only(beside.iter().map(String::as_str));
        let jit_only = no_others || is_jit_configured();
        let needed = |version| {
            let names = sub_libraries::needed(version, jit_only);
            // An unknown major needs the sub-libraries that its main library names.
            if names.is_empty() {
                return named_in(main_library);
            }
            names.into_iter().map(String::from).collect()
        };
        // If its version is unknown, it is usually that of the sub-library beside it.
        let graph = || {
            let path = folder.join(file_name::of_part("graph", major));
            let image = Image::open(&path).ok()?;
            Some(detector.part(&image, "graph", &path)?.0)
        };
        let named = release.or_else(graph);
        let lookup = SubLibraryLookup::new(main_library, image.as_ref(), major, named, search_path);
        let mut parts = Self {
            jit_only,
            main,
            ..Self::default()
        };
        let (mut missing, mut declared_missing) = (Vec::new(), Vec::new());
        let mut seen: Vec<String> = Vec::new();
        let mut add = |parts: &mut Self, name: &String, missing: Option<&mut Vec<String>>| {
            if seen.contains(name) {
                return;
            }
            seen.push(name.clone());
            let file = if pinned {
                lookup.beside_first(name)
            } else {
                lookup.by_name(name)
            };
            match (file, missing) {
                (Some(path), needed) => {
                    if needed.is_some() && !pinned && !lookup.is_found(name) {
                        parts.not_found.push(path.clone());
                    }
                    parts.add_part(&mut detector, name, path, needed.is_some());
                }
                (None, Some(missing)) => missing.push(file_name::of_part(name, major)),
                (None, None) => {}
            }
        };
        // The first sub-libraries determine the version, and the version determines which others are needed.
        let first: Vec<String> = needed(Version::new(major, 0, 0));
        for name in &first {
            add(&mut parts, name, Some(&mut missing));
        }
        let version = parts.release_of_parts().map(|(version, _)| version);
        let release = version.or(release);
        if let Some(release) = release {
            let all: Vec<String> = needed(release);
            for name in &all {
                add(&mut parts, name, Some(&mut missing));
            }
        }
        for word in &built.needs {
            if let Some(name) = sub_libraries::named(word, major) {
                add(&mut parts, &name, Some(&mut declared_missing));
            }
        }
        for name in &beside {
            add(&mut parts, name, None);
        }
        // A sub-library beside the main library shows its version, even if the main library uses another file.
        if let (None, Some(first)) = (parts.main.version, parts.list.first()) {
            let own = folder.join(file_name::of_part(&first.name, major));
            if let (false, Ok(image)) = (first.is_in(folder), Image::open(&own)) {
                let version = detector.part(&image, &first.name, &own);
                parts.main.version = version.map(|(version, _)| version);
                parts.main.told_by = version.map(|_| VersionSource::Neighbor);
            }
        }
        let release_of_all = parts.release().map(|(version, _)| version);
        for (mut files, is_declared) in [(missing, false), (declared_missing, true)] {
            // The sub-libraries may be of a later version than the main library.
            files.retain(|file| !is_absent(Path::new(file), release_of_all));
            if !files.is_empty() {
                let is_newer = |release| gpu_support::is_newer(&built.tables.gpus, release);
                let mut missing = MissingSubLibraries {
                    folder,
                    release: release_of_all,
                    files,
                    is_declared,
                    is_uncertain: image.is_none() || release_of_all.is_some_and(is_newer),
                    jit_only: no_others,
                    reinstall: package_owner::reinstall_command(folder),
                    looked_at: search_path.with_own(Vec::new(), true).looked_at(),
                };
                parts.findings.push(missing.finding());
                parts.missing.append(&mut missing.files);
            }
        }
        for part in &parts.list {
            if let Some(defect) = &part.defect {
                let own = folder.join(part.path.file_name().unwrap_or_default());
                let need = match part.needed {
                    // A file that another program holds open may be valid.
                    true if *defect == Defect::Locked => Need::Needed,
                    true if !part.is_in(folder) && Image::open(&own).is_ok() => {
                        Need::Foreign(Foreign::new(part, folder, major, search_path), folder)
                    }
                    true => Need::Needed,
                    false => Need::Unneeded,
                };
                let file = UnusableFile::new(&part.path, defect, need);
                parts.findings.push(file.finding());
            }
        }
        let is_it = |part: &SubLibraryFile| part.name == TENSOR_IR;
        let has_own = parts.list.iter().any(is_it);
        let file = file_name::of_part(TENSOR_IR, major);
        let release =
            release.filter(|release| !has_own && sub_libraries::opens_absent_part(*release));
        if let Some((release, path)) = release.and_then(|one| Some((one, lookup.search(&file)?))) {
            let image = Image::open(&path).ok();
            let version = image.and_then(|image| detector.part(&image, TENSOR_IR, &path));
            if let Some(version) = version.filter(|(version, _)| *version != release) {
                let stray = StraySubLibrary {
                    folder,
                    release,
                    path: &path,
                    version,
                    origin: search_path.origin_of(&path),
                };
                parts.findings.push(stray.finding());
            }
        }
        parts
    }

    /// Returns the version of the main library, else of the sub-libraries.
    pub fn release(&self) -> Option<SourcedVersion> {
        match (self.main.sourced_version(), self.release_of_parts()) {
            (Some(main), Some(parts)) if main.0 == parts.0 => Some(parts),
            (main, parts) => main.or(parts),
        }
    }

    /// Returns the version of the sub-library that `cudnnGetVersion` is in, else of any other. Files in the directory
    /// of the main library come first.
    fn release_of_parts(&self) -> Option<SourcedVersion> {
        let mut best: Option<((bool, bool), SourcedVersion)> = None;
        for part in &self.list {
            let known = sub_libraries::find(&part.name);
            let reports = known.is_some_and(|known| known.reports_version);
            if let (Some(version), true) = (part.sourced_version(), part.needed || reports) {
                let rank = (!part.is_in(self.folder()), !reports);
                if best.is_none_or(|(other, _)| rank < other) {
                    best = Some((rank, version));
                }
            }
        }
        Some(best?.1)
    }

    /// Returns `true` if they are known to be of different versions.
    pub fn is_mixed(&self) -> bool {
        let is_mixed = |finding: &Finding| finding.id == FindingId::PartsMixed;
        self.findings.iter().any(is_mixed)
    }

    /// Returns `true` if all of them are in the directory of the main library, so that no other file is found first.
    pub fn is_together(&self) -> bool {
        let is_beside = |part: &SubLibraryFile| part.path.parent() == Some(self.folder());
        self.list.iter().all(is_beside)
    }

    /// Returns the directory of the main library.
    pub fn folder(&self) -> &Path {
        self.main.path.parent().unwrap_or(&self.main.path)
    }

    fn add_part(
        &mut self,
        detector: &mut FileVersions<'_>,
        name: &str,
        path: PathBuf,
        needed: bool,
    ) {
        let image = Image::open(&path);
        let version = image.as_ref().ok();
        let version = version.and_then(|image| detector.part(image, name, &path));
        let mut file = SubLibraryFile::new(name, path, version, needed);
        let is_loaded = || Library::loaded_file(&file.path).is_some();
        file.defect = image.err().filter(|it| !it.is_unread() || !is_loaded());
        self.list.push(file);
    }
}

/// Returns `true` if this version does not contain the sub-library with this file name.
pub fn is_absent(file: &Path, release: Option<Version>) -> bool {
    let part = file_name::parse(file).and_then(|(name, _)| sub_libraries::find(&name));
    part.zip(release)
        .is_some_and(|(part, release)| !part.is_in(release))
}

/// Returns the names of the sub-libraries in a directory, sorted.
fn beside(folder: &Path, major: u32) -> Vec<String> {
    let mut names = Vec::new();
    for file in files_in(folder) {
        match file_name::parse(&file) {
            Some((name, Some(own))) if own == major && !name.is_empty() => names.push(name),
            _ => {}
        }
    }
    names.sort_unstable();
    names.dedup();
    sub_libraries::drop_excess(&mut names, String::clone);
    names
}

/// Returns `true` if cuDNN is configured to work without the other sub-libraries.
pub fn is_jit_configured() -> bool {
    std::env::var_os("CUDNN_LIB_CONFIG").is_some_and(|value| value == "GRAPH_JIT_ONLY")
}

/// Returns the sub-libraries that the strings of a main library name; none if the file is too large for a quick search.
fn named_in(main_library: &Path) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    if !platform::metadata(main_library).is_ok_and(|data| data.len() < 1 << 20) {
        return names;
    }
    let bytes = std::fs::read(main_library).unwrap_or_default();
    for text in bytes.split(|byte| *byte == 0) {
        if !text.starts_with(b"libcudnn_") && !text.starts_with(b"cudnn_") {
            continue;
        }
        let text = String::from_utf8_lossy(text).into_owned();
        if let Some((name, _)) = file_name::parse(Path::new(&text)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}
