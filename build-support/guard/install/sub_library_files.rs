//! The sub-libraries of the cuDNN that a program uses, read as files: none of their code runs here.

use crate::runtime::binary::{Image, files_in};
use crate::runtime::facts::tables::BUILD_ID_DIGITS;
use crate::runtime::facts::{Built, Finding, FindingId, LibraryName, Version, sub_libraries};
use crate::runtime::install::sub_library_lookup::SubLibraryLookup;
use crate::runtime::install::{
    Expected, FileContents, FileReader, Installed, MissingSubLibraries, mixed_sub_libraries,
};
use crate::runtime::loader::{LoadOrigin, SearchPath, file_name};
use crate::runtime::system::{self, Library, platform};
use std::path::{Path, PathBuf};

/// The sub-libraries of the program's cuDNN, and the faults of their files.
#[derive(Clone, Debug, Default)]
pub struct SubLibraries {
    pub installed: Installed,
    /// The faults that their files show.
    pub findings: Vec<Finding>,
    /// On Windows, the needed sub-libraries beside the main library that Windows does not find by their names.
    pub not_found: Vec<PathBuf>,
    /// The directories that stay in the way of another cuDNN, from `mixed_sub_libraries`.
    pub lasting: Vec<(PathBuf, Option<Version>)>,
}

impl SubLibraries {
    /// Reads the sub-libraries of a cuDNN of this major. `pinned`: the guard will open the files beside the main
    /// library by their paths; else the files that the loader would find count.
    pub fn locate(
        main_library: &Path,
        major: u32,
        search_path: &SearchPath,
        pinned: bool,
        built: &Built,
    ) -> Self {
        let folder = main_library.parent().unwrap_or(main_library);
        let files = ProcessFiles::new(&built.tables.build_ids);
        let mut open = |name: &str, path: &Path| files.open(name, path);
        let mut read = |name: &str, path| FileReader::new(&mut open).read(name, path);
        let main = read("cudnn", main_library.to_path_buf());
        // A DLL may be renamed. What it opens depends on its version.
        let major = match main.version {
            Some(version) if cfg!(windows) => version.major,
            _ => major,
        };
        let lookup = SubLibraryLookup::new(main_library, major, search_path);
        let expected = Expected {
            beside: &beside(folder, major, cfg!(windows)),
            declared: &built.needs,
            jit_only: is_jit_configured(),
            ..Expected::default()
        };
        let mut find = |name: &str, version, _| match pinned {
            true => lookup.beside_first(name, version),
            false => lookup.by_name(name, version),
        };
        let installed = Installed::locate(main, major, &expected, &mut find, &mut read);
        let mut not_found = Vec::new();
        for file in &installed.list {
            if file.needed && !pinned && !lookup.is_found(&file.name) {
                not_found.push(file.path.clone());
            }
        }
        Self {
            installed,
            not_found,
            ..Self::default()
        }
    }

    /// Adds the findings about the files. `main` is the reason why the loader uses the main library.
    pub fn judge(&mut self, search_path: &SearchPath, main: &LoadOrigin, built: &Built) {
        self.installed
            .add_origins(main, &|file| search_path.origin_of(file));
        let installed = &self.installed;
        for is_declared in [false, true] {
            let mut missing = MissingSubLibraries::new(installed, is_declared, &built.tables.gpus);
            if missing.files().is_empty() {
                continue;
            }
            missing.is_uncertain |= Image::open(&installed.main.path).is_err();
            missing.looked_at = search_path.with_own(Vec::new(), true).looked_at();
            self.findings.push(missing.finding());
        }
        let is_valid = |file: &Path| Image::open(file).is_ok();
        let of_files = installed.findings(Some(search_path), &is_valid);
        self.findings.extend(of_files);
        let foreign = mixed_sub_libraries::foreign(installed, Some(search_path));
        self.lasting = mixed_sub_libraries::lasting_folders(&foreign, main);
    }

    /// Returns `true` if they are known to be of different versions.
    pub fn is_mixed(&self) -> bool {
        let is_mixed = |finding: &Finding| finding.id == FindingId::PartsMixed;
        self.findings.iter().any(is_mixed)
    }
}

/// The files that this process has loaded or would load.
pub struct ProcessFiles<'a> {
    /// [`Tables::build_ids`](crate::runtime::facts::tables::Tables::build_ids)
    build_ids: &'a [(Version, String)],
    /// The paths of mapped files that were replaced later: the new file may be of another version.
    replaced: Vec<PathBuf>,
}

impl<'a> ProcessFiles<'a> {
    pub fn new(build_ids: &'a [(Version, String)]) -> Self {
        let replaced = platform::replaced(&|path| file_name::parse(path).is_some());
        Self {
            build_ids,
            replaced,
        }
    }

    /// Opens the file of a sub-library, for [`FileReader::new`].
    pub fn open(&self, name: &str, path: &Path) -> FileContents {
        let mut contents = FileContents::default();
        match Image::open(path) {
            Ok(_) if self.replaced.iter().any(|one| one == path) => {}
            Ok(image) => {
                contents.inside = image.release(name);
                if contents.inside.is_none() {
                    contents.path = system::canonical(path, None).unwrap_or_default();
                    contents.size = image.length();
                    contents.builds = self.builds(&image);
                }
            }
            Err(defect) if defect.is_unread() && Library::loaded(path).is_some() => {}
            Err(defect) => contents.defect = Some(defect),
        }
        contents
    }

    fn builds(&self, image: &Image) -> Vec<Version> {
        let id = image.as_elf().and_then(|elf| elf.build_id());
        let id = id.unwrap_or_default();
        let mut versions = Vec::new();
        let Some(digits) = id.get(..BUILD_ID_DIGITS) else {
            return versions;
        };
        for (version, ids) in self.build_ids {
            if ids.split(' ').any(|one| one == digits) {
                versions.push(*version);
            }
        }
        versions
    }
}

/// Returns the sub-libraries in a directory, sorted by name. A name without the full version comes first.
pub fn beside(folder: &Path, major: u32, is_dll: bool) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    for path in files_in(folder) {
        let Some(file) = LibraryName::of(&path) else {
            continue;
        };
        let is_own = file.is_dll == is_dll && file.major() == Some(major);
        if let Some(name) = file.sub_library().filter(|name| is_own && !name.is_empty()) {
            files.push((name.to_string(), path));
        }
    }
    files.sort_unstable();
    files.dedup_by(|one, other| one.0 == other.0);
    sub_libraries::drop_excess(&mut files, |(name, _)| name.clone());
    files
}

/// Returns `true` if cuDNN is configured to work without the other sub-libraries.
pub fn is_jit_configured() -> bool {
    std::env::var_os("CUDNN_LIB_CONFIG").is_some_and(|value| value == "GRAPH_JIT_ONLY")
}
