//! The way on which the loader of Linux comes to a library.

use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::elf::Elf;
use crate::runtime::binary::ld_so_cache::{self, CACHE};
use crate::runtime::loader::load_origin::{PRELOADS, expanded, lib_folders, preloads};
use crate::runtime::loader::search_path::{LoadOrigin, SearchPath};
use crate::runtime::loader::{opener, unlinked};
use crate::runtime::system;
use crate::runtime::system::platform;
use std::env::consts::ARCH;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

impl SearchPath {
    /// Asks the loader.
    pub fn of_program() -> Self {
        let (rpath, runpath) = platform::program_paths();
        let library_path = platform::first_environment("LD_LIBRARY_PATH");
        // A DT_RUNPATH switches a DT_RPATH off.
        let rpath = if runpath.is_some() { None } else { rpath };
        Self::new(&platform::search_path(), rpath, library_path, runpath)
    }

    /// The loader tells folders in its order (RPATH, LD_LIBRARY_PATH, RUNPATH, its own), but not who named them:
    /// `dlinfo(3)` has flags for it which glibc leaves at 0.
    pub fn new(
        folders: &[PathBuf],
        rpath: Option<OsString>,
        library_path: Option<OsString>,
        runpath: Option<OsString>,
    ) -> Self {
        let named = [
            split_entries(rpath),
            split_entries(library_path),
            split_entries(runpath),
        ];
        let mut stage = 0;
        let mut with = Vec::new();
        for folder in folders {
            let plain = normalized(folder);
            // As text: there may be thousands, and to compare paths takes them apart.
            let is = |one: &PathBuf| one.as_os_str() == plain.as_os_str();
            let from = (stage..named.len())
                .find(|stage| named.get(*stage).is_some_and(|list| list.iter().any(is)));
            stage = from.unwrap_or(stage);
            with.push(match from {
                Some(0) => LoadOrigin::Rpath(folder.clone()),
                Some(1) => LoadOrigin::LibraryPath(folder.clone()),
                Some(_) => LoadOrigin::Runpath(folder.clone()),
                None => LoadOrigin::System(folder.clone()),
            });
        }
        Self { folders: with }
    }

    /// What made the loader take this file for this name.
    pub fn to(&self, file: &Path) -> LoadOrigin {
        let name = file.file_name().unwrap_or_default();
        let hit = self.folders.iter().find(|origin| {
            let candidate = origin.folder().join(name);
            candidate == file
                || in_hwcaps_folder(&candidate, file)
                || platform::same_file(&candidate, file)
        });
        let preload = platform::first_environment("LD_PRELOAD").unwrap_or_default();
        let preload = preload.to_string_lossy();
        let gap: fn(char) -> bool = |c| c == ':' || c == ' ';
        if preload
            .split(gap)
            .any(|one| !one.is_empty() && Path::new(one) == file)
        {
            return LoadOrigin::Preload;
        }
        let everywhere = std::fs::read_to_string(PRELOADS).unwrap_or_default();
        if preloads(&everywhere)
            .iter()
            .any(|one| Path::new(one) == file)
        {
            return LoadOrigin::Preloads;
        }
        let cached = || {
            name.to_str()
                .is_some_and(|name| ld_so_cache::files(name).iter().any(|one| one == file))
        };
        match hit {
            // The cache is asked before the system's folders, and names what lies there.
            Some(LoadOrigin::System(_)) | None
                if cached() && !file.parent().is_some_and(ld_so_cache::is_default) =>
            {
                LoadOrigin::Cache
            }
            Some(origin) => origin.clone(),
            None => self
                .relative(file)
                .unwrap_or_else(|| match opener::find(file) {
                    Some(opener) => LoadOrigin::Library(opener),
                    None => LoadOrigin::Elsewhere,
                }),
        }
    }

    /// The relative entry that led to a file before the program changed its working directory.
    fn relative(&self, file: &Path) -> Option<LoadOrigin> {
        let name = file.file_name()?;
        let led = |origin: &&LoadOrigin| {
            let folder = normalized(origin.folder());
            folder.is_relative() && folder.iter().count() > 0 && file.ends_with(folder.join(name))
        };
        self.folders.iter().find(led).cloned()
    }

    /// The file that the loader takes for a name that a library asks for, when that library has its own DT_RPATH
    /// (before LD_LIBRARY_PATH) or DT_RUNPATH (after it) with these folders.
    pub fn resolve(&self, name: &str, own: &[PathBuf], own_first: bool) -> Option<PathBuf> {
        // A RUNPATH of the program is for what it opens itself, and the library's own switches its RPATH off.
        let mut places = Vec::new();
        if own_first {
            places.extend(own.iter().map(PathBuf::as_path));
        }
        for origin in &self.folders {
            match origin {
                LoadOrigin::Rpath(folder) if own_first => places.push(folder.as_path()),
                LoadOrigin::LibraryPath(folder) => places.push(folder),
                _ => {}
            }
        }
        if !own_first {
            places.extend(own.iter().map(PathBuf::as_path));
        }
        self.first_usable(name, &places)
    }

    /// The file that the loader would take for a name that the program opens.
    pub fn program_file(&self, name: &str) -> Option<PathBuf> {
        let mut places = Vec::new();
        for origin in &self.folders {
            if !matches!(origin, LoadOrigin::System(_)) {
                places.push(origin.folder());
            }
        }
        self.first_usable(name, &places)
    }

    /// All files of that name on the way.
    pub fn program_files(&self, name: &str) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for origin in &self.folders {
            if matches!(origin, LoadOrigin::System(_)) {
                files.extend(ld_so_cache::files(name));
            }
            files.push(origin.folder().join(name));
        }
        files.retain(|file| system::is_file(file));
        files
    }

    /// What lies in the loader's way under a name that the program opens, and is no file. Of a directory that may not be
    /// entered nobody knows what is in it: that comes last.
    pub fn obstacle(&self, name: &str) -> Option<(PathBuf, Defect)> {
        let (mut closed, mut unlinked) = (None, None);
        for origin in &self.folders {
            let file = origin.folder().join(name);
            match Defect::in_the_way(&file) {
                None if unlinked.is_none() => {
                    unlinked = unlinked::find(origin.folder(), name);
                }
                None => {}
                Some(defect @ Defect::Closed(_)) => closed = closed.or(Some((file, defect))),
                Some(defect) => return Some((file, defect)),
            }
        }
        unlinked.or(closed)
    }

    /// The first file that the loader takes, in these folders and then where it always looks: it passes over what it
    /// may not read and what is for another CPU. If that is all there is, the first of those, so that it can be named.
    fn first_usable(&self, name: &str, named: &[&Path]) -> Option<PathBuf> {
        let mut files: Vec<_> = named.iter().map(|folder| folder.join(name)).collect();
        // The cache lists cuDNN by its SONAMEs, which end in the major.
        let numbers = name
            .strip_prefix("libcudnn")
            .and_then(|rest| rest.split_once(".so."));
        if numbers.is_none_or(|(_, numbers)| !numbers.contains('.')) {
            files.append(&mut ld_so_cache::files(name));
        }
        for origin in &self.folders {
            if let LoadOrigin::System(folder) = origin {
                files.push(folder.join(name));
            }
        }
        let mut passed_over = None;
        for file in files {
            if !platform::metadata(&file).is_ok_and(|data| !data.is_dir()) {
                continue;
            }
            match Elf::open(&file) {
                Err(defect) if defect.is_passed_over() => passed_over = passed_over.or(Some(file)),
                _ => return Some(file),
            }
        }
        passed_over
    }

    /// The folders, for "looked at".
    pub fn looked_at(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for origin in &self.folders {
            let line = match origin {
                LoadOrigin::System(folder) => folder.display().to_string(),
                named => named.to_string(),
            };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.push(CACHE.to_string());
        lines
    }
}

/// Whether the file lies in a folder for better CPUs below the one that was named:
/// `<folder>/glibc-hwcaps/x86-64-v3/<name>`.
fn in_hwcaps_folder(candidate: &Path, file: &Path) -> bool {
    let better = candidate.with_file_name("glibc-hwcaps");
    file.file_name() == candidate.file_name() && file.ancestors().nth(2) == Some(&*better)
}

/// The entries of a search path, as the loader reads them for this program.
fn split_entries(list: Option<OsString>) -> Vec<PathBuf> {
    let Some(list) = list else {
        return Vec::new();
    };
    let program = std::env::current_exe().unwrap_or_default();
    let origin = program.parent().unwrap_or(&program).as_os_str();
    let libs = lib_folders(ARCH);
    let mut folders = Vec::new();
    for entry in list.as_encoded_bytes().split(|byte| b":;".contains(byte)) {
        for path in expanded(entry, origin.as_encoded_bytes(), ARCH, &libs) {
            folders.push(normalized(&platform::path_of(path)));
        }
    }
    folders
}

/// Without the slash at its end; the empty entry is the working directory.
fn normalized(folder: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in folder.components() {
        if part != Component::CurDir {
            plain.push(part);
        }
    }
    plain
}
