//! An installed cuDNN: the files that are used for its sub-libraries, their versions, and the missing ones.

use crate::runtime::binary::{BoundedFile, files_in};
use crate::runtime::facts::{
    CudnnTargets, LibraryName, SourcedVersion, TENSOR_IR, Version, VersionSource, cudnn_file,
    majors, sub_libraries,
};
use crate::runtime::install::SubLibraryFile;
use crate::runtime::judge::gpu_support;
use crate::runtime::loader::LoadOrigin;
use crate::runtime::system;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Installed {
    /// The library that opens the others.
    pub main: SubLibraryFile,
    /// The number in its SONAME.
    pub major: u32,
    /// The sub-libraries that exist, the needed ones first, in the order in which they can be opened.
    pub list: Vec<SubLibraryFile>,
    /// The sub-library that this version opens although it does not contain it, if that exists elsewhere.
    pub stray: Option<SubLibraryFile>,
    /// The names of the files that a convolution needs and that do not exist.
    pub missing: Vec<String>,
    /// The names of other missing files, which the program declares that it uses.
    pub missing_declared: Vec<String>,
    /// `true` if it contains only the sub-libraries for graphs that are compiled at run time.
    pub jit_only: bool,
}

/// Returns the file that is used for a sub-library of this name. The version may be part of the file names that cuDNN
/// tries. The last argument is `true` if a convolution or the program needs the file.
pub type FindFile<'f> = dyn FnMut(&str, Option<Version>, bool) -> Option<PathBuf> + 'f;

/// The facts that determine which sub-libraries belong to a cuDNN.
#[derive(Default)]
pub struct Expected<'a> {
    /// The sub-libraries in the directory of the main library.
    pub beside: &'a [(String, PathBuf)],
    /// The version of the headers, which is used if no library shows its version.
    pub header_version: Option<Version>,
    /// The words by which the program declares the sub-libraries that it uses.
    pub declared: &'a [String],
    /// `true` if only graphs that are compiled at run time are used.
    pub jit_only: bool,
}

/// Files that a cuDNN needs and that do not exist.
pub struct MissingSubLibraries<'a> {
    pub installed: &'a Installed,
    /// `true` if the program declares that it uses them; else a convolution does.
    pub is_declared: bool,
    /// `true` if the cuDNN may not need the files, because this cudnn-guard does not know its version or major, or may get
    /// them: the main library, which names the directories, cannot be read, or is a Python package's copy; the files may
    /// be mounted later, or be on an unknown PATH.
    pub is_uncertain: bool,
    /// The major of the main library, if it is a Python package's copy.
    pub bundled: Option<u32>,
    /// The directories that the loader searched, if they are known.
    pub looked_at: Vec<String>,
}

impl Installed {
    /// Locates the sub-libraries of a cuDNN. `read` reads a file.
    pub fn locate(
        main: SubLibraryFile,
        major: u32,
        expected: &Expected<'_>,
        find: &mut FindFile<'_>,
        read: &mut dyn FnMut(&str, PathBuf) -> SubLibraryFile,
    ) -> Self {
        let jit_only = sub_libraries::is_jit_only(expected.beside);
        let mut installed = Self {
            main,
            major,
            jit_only,
            ..Self::default()
        };
        // If its version is unknown, it is usually that of the sub-library beside it.
        let mut beside = expected.beside.iter().filter(|file| file.0 == "graph");
        let mut neighbor = || read("graph", beside.next()?.1.clone()).version;
        let named = installed.main.version.or_else(&mut neighbor);
        let (mut missing, mut missing_declared) = (Vec::new(), Vec::new());
        let mut seen: Vec<String> = Vec::new();
        let mut add = |list: &mut Vec<_>, name: &str, missing: Option<&mut Vec<String>>| {
            if seen.iter().any(|known| known == name) {
                return;
            }
            seen.push(name.to_string());
            let needed = missing.is_some();
            if let Some(path) = find(name, named, needed) {
                let file = read(name, path);
                list.push(SubLibraryFile { needed, ..file });
            } else if let Some(missing) = missing {
                missing.push(name.to_string());
            }
        };
        // The first sub-libraries determine the version, and the version determines which others are needed.
        let mut version = Version::new(major, 0, 0);
        for _ in 0..2 {
            for name in installed.needed(version, jit_only || expected.jit_only) {
                add(&mut installed.list, &name, Some(&mut missing));
            }
            let known = installed.version_of_list().map(|(version, _)| version);
            let known = known.or(installed.main.version);
            version = known.or(expected.header_version).unwrap_or(version);
        }
        for word in expected.declared {
            if let Some(name) = sub_libraries::named(word, major) {
                add(&mut installed.list, &name, Some(&mut missing_declared));
            }
        }
        for (name, _) in expected.beside {
            add(&mut installed.list, name, None);
        }
        if sub_libraries::opens_absent_part(version) {
            let plain = installed.file_name(TENSOR_IR);
            let mut files = installed.list.iter_mut();
            match files.find(|file| file.name == TENSOR_IR) {
                // cuDNN opens it by its plain name, and rejects another version.
                Some(own) => {
                    let is_opened = own.defect.is_none() && own.path.ends_with(&plain);
                    own.needed |= is_opened && own.is_other_than(version);
                }
                None => {
                    let path = find(TENSOR_IR, named, true);
                    installed.stray = path.map(|path| read(TENSOR_IR, path));
                }
            }
        }
        // A sub-library beside the main library shows its version, even if the main library uses another file or none.
        let first = installed.list.first();
        let is_asked = match first {
            Some(first) => !first.is_in(installed.folder()),
            None => installed.main.defect.is_none(),
        };
        if installed.main.version.is_none() && is_asked {
            let name = first.map_or("graph", |first| &first.name).to_string();
            let own = installed.folder().join(installed.file_name(&name));
            if system::metadata(&own).is_ok() {
                installed.main.version = read(&name, own).version;
                let is_known = installed.main.version.is_some();
                installed.main.told_by = is_known.then_some(VersionSource::Neighbor);
            }
        }
        // The sub-libraries may be of a later version than the main library.
        let version = installed.version().map(|(version, _)| version);
        let files = |names: Vec<String>| {
            let mut files = Vec::new();
            for name in names {
                let file = installed.file_name(&name);
                // The directories that an unreadable main library names are unknown.
                let is_unknown = installed.main.defect.is_some()
                    && system::is_file(&installed.folder().join(&file));
                if !is_unknown && !is_absent(Path::new(&file), version) {
                    files.push(file);
                }
            }
            files
        };
        (installed.missing, installed.missing_declared) = (files(missing), files(missing_declared));
        installed
    }

    /// Adds the reasons why the loader uses the main library and the files outside of its directory.
    pub fn add_origins(&mut self, main: &LoadOrigin, origin: &dyn Fn(&Path) -> LoadOrigin) {
        self.main.origin = Some(main.clone());
        let folder = self.folder().to_path_buf();
        for file in self.list.iter_mut().chain(&mut self.stray) {
            if !file.is_in(&folder) {
                file.origin = Some(origin(&file.path));
            }
        }
    }

    /// Returns the main library, if there is one, and all sub-libraries.
    pub fn files(&self) -> Vec<&SubLibraryFile> {
        let mut files = Vec::new();
        if !self.main.name.is_empty() {
            files.push(&self.main);
        }
        files.extend(&self.list);
        files.extend(&self.stray);
        files
    }

    /// Returns the sub-libraries that a convolution needs. An unknown major needs those that its main library names.
    fn needed(&self, version: Version, jit_only: bool) -> Vec<String> {
        let names = sub_libraries::needed(version, jit_only);
        if names.is_empty() {
            return named_in(&self.main.path);
        }
        names.into_iter().map(String::from).collect()
    }

    /// Returns the version of the main library, else of the sub-libraries.
    pub fn version(&self) -> Option<SourcedVersion> {
        match (self.main.sourced_version(), self.version_of_list()) {
            (Some(main), Some(list)) if main.0 == list.0 => Some(list),
            (main, list) => main.or(list),
        }
    }

    /// Returns the version of the sub-library that `cudnnGetVersion` is in, else of any other. Files in the directory
    /// of the main library come first.
    fn version_of_list(&self) -> Option<SourcedVersion> {
        let mut best: Option<((bool, bool), SourcedVersion)> = None;
        for file in &self.list {
            let known = sub_libraries::find(&file.name);
            let reports = known.is_some_and(|known| known.reports_version);
            if let (Some(version), true) = (file.sourced_version(), file.needed || reports) {
                let rank = (!file.is_in(self.folder()), !reports);
                if best.is_none_or(|(other, _)| rank < other) {
                    best = Some((rank, version));
                }
            }
        }
        Some(best?.1)
    }

    /// Returns `true` if all files are in the directory of the main library.
    pub fn is_together(&self) -> bool {
        let mut files = self.list.iter();
        files.all(|file| file.is_in(self.folder()))
    }

    /// Returns the directory of the main library.
    pub fn folder(&self) -> &Path {
        self.main.path.parent().unwrap_or(&self.main.path)
    }

    pub fn is_dll(&self) -> bool {
        let end = self.main.path.extension();
        end.is_some_and(|end| end.eq_ignore_ascii_case("dll"))
    }

    /// Returns the name of this sub-library's file.
    pub fn file_name(&self, name: &str) -> String {
        cudnn_file(name, self.major, self.is_dll())
    }
}

impl<'a> MissingSubLibraries<'a> {
    /// Creates the fault of the files that the program declares, or else of those that a convolution needs. `rows`: the
    /// known versions.
    pub fn new(installed: &'a Installed, is_declared: bool, rows: &[CudnnTargets]) -> Self {
        let version = installed.version().map(|(version, _)| version);
        let newest = version.and_then(|version| gpu_support::newest_before(rows, version));
        Self {
            installed,
            is_declared,
            is_uncertain: newest.is_some() || !majors::CUDNN.contains(&installed.major),
            bundled: None,
            looked_at: Vec::new(),
        }
    }

    pub fn files(&self) -> &[String] {
        match self.is_declared {
            true => &self.installed.missing_declared,
            false => &self.installed.missing,
        }
    }

    /// Returns `true` if they are in the directory of the main library, where the loader of Linux does not search.
    pub fn is_beside(&self) -> bool {
        let folder = self.installed.folder();
        let mut files = self.files().iter();
        !self.installed.is_dll() && files.all(|file| system::is_file(&folder.join(file)))
    }
}

/// Returns `true` if this version does not contain the sub-library with this file name.
pub fn is_absent(file: &Path, version: Option<Version>) -> bool {
    let file = LibraryName::of(file);
    let known = file.and_then(|file| sub_libraries::find(file.sub_library()?));
    known
        .zip(version)
        .is_some_and(|(known, version)| !known.is_in(version))
}

/// Returns the sub-libraries that the strings of a main library name; none if the file is too large for a quick search.
fn named_in(main_library: &Path) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let file = BoundedFile::open(main_library).ok();
    let file = file.filter(|file| file.length() < 1 << 20);
    let bytes = file.and_then(|file| file.read(0, file.length()));
    let bytes = bytes.unwrap_or_default();
    for text in bytes.split(|byte| *byte == 0) {
        if !text.starts_with(b"libcudnn_") && !text.starts_with(b"cudnn_") {
            continue;
        }
        let text = String::from_utf8_lossy(text);
        let name = LibraryName::read(&text).and_then(|file| Some(file.sub_library()?.to_string()));
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}

/// Returns the file with the highest numbers after the plain name: 9.14.0 before 9.9.0.
pub fn full_name(folder: &Path, plain: &str) -> Option<PathBuf> {
    let plain = LibraryName::read(plain)?;
    let mut last = None;
    for path in files_in(folder) {
        if let Some(LibraryName { name, numbers, .. }) = LibraryName::of(&path) {
            let is_longer = numbers.len() > plain.numbers.len();
            if is_longer && name == plain.name && numbers.starts_with(&plain.numbers) {
                last = last.max(Some((numbers, path)));
            }
        }
    }
    Some(last?.1)
}
