//! The sub-libraries of a cuDNN.

use crate::cudnn::{build_ids, consistency, real_major};
use crate::model::{Copies, Cudnn, Platform, Unresolved};
use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::elf::Elf;
use crate::runtime::facts::{LibraryName, sub_libraries};
use crate::runtime::install::installed::Installed;
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::install::version_evidence::{VersionDetector, VersionEvidence};
use crate::system::files;
use crate::system::library_file::Binary;
use crate::system::sysroot::Sysroot;
use crate::toolkit::dependencies::imported_from;
use std::path::{Path, PathBuf};

/// The files of the main library and the sub-libraries, each with its name: `cudnn`, `graph`, ...
pub type Named = Vec<(String, PathBuf)>;

/// The size of a library and its build ID.
type Build = (u64, Option<String>);

/// The opened sub-libraries of a cuDNN.
pub struct SubLibraries {
    pub files: Vec<SubLibraryFile>,
    /// The real directories of the sub-libraries, with links resolved.
    directories: Vec<PathBuf>,
    binaries: Vec<Option<Binary>>,
}

impl SubLibraries {
    pub fn open(named: Named, sysroot: Sysroot, platform: &Platform) -> Self {
        let (mut files, mut binaries, mut evidence) = (Vec::new(), Vec::new(), Vec::new());
        for (name, path) in named {
            let (file, facts, binary) = open(&name, path, sysroot, platform);
            files.push(file);
            evidence.push(facts);
            binaries.push(binary);
        }
        let certain = |dir: &Path| {
            let mut versions = Vec::new();
            for file in &evidence {
                if file.path.parent() == Some(dir) {
                    let inside = file.inside.map(|(version, _)| version);
                    versions.extend(inside);
                }
            }
            versions
        };
        let mut detector = VersionDetector::new(&certain);
        let mut directories: Vec<PathBuf> = Vec::new();
        for (file, evidence) in files.iter_mut().zip(&evidence) {
            (file.version, file.told_by) = detector.version(evidence).unzip();
            let dir = evidence.path.parent().unwrap_or(&evidence.path);
            if !directories.iter().any(|known| known == dir) {
                directories.push(dir.to_path_buf());
            }
        }
        Self {
            files,
            directories,
            binaries,
        }
    }

    /// Returns this cuDNN with the facts about its sub-libraries.
    pub fn describe(self, mut cudnn: Cudnn) -> Cudnn {
        let cuda_major = || cuda_major(&|name| self.binary(name)?.cuda_major());
        cudnn.cuda_major = cudnn.cuda_major.or_else(cuda_major);
        cudnn.files.directories = self.directories;
        cudnn.parts = self.files;
        cudnn.library_version = determine_needed(&mut cudnn).version().map(|it| it.0);
        cudnn
    }

    /// Returns the CUDA majors that the sub-libraries were built for, if they differ, each with a file.
    pub fn different_cuda_majors(&self) -> Vec<(u32, PathBuf)> {
        let mut majors: Vec<(u32, PathBuf)> = Vec::new();
        for (file, binary) in self.files.iter().zip(&self.binaries) {
            // In cuDNN 9, only these contain the name of their cuBLASLt.
            if ["adv", "engines_precompiled"].contains(&&*file.name) {
                if let Some(major) = binary.as_ref().and_then(Binary::cuda_major) {
                    majors.push((major, file.path.clone()));
                }
            }
        }
        if majors.iter().all(|(major, _)| *major == majors[0].0) {
            majors.clear();
        }
        majors
    }

    /// Returns the sub-library of this name, if it could be opened.
    pub fn binary(&self, name: &str) -> Option<&Binary> {
        let place = self.files.iter().position(|file| file.name == name)?;
        self.binaries.get(place)?.as_ref()
    }

    /// Returns the functions that a sub-library imports from another one that does not define them. This is slow, so it
    /// is only done if a version is unknown. A library without a symbol table counts as complete.
    pub fn unresolved_symbols(&self) -> Vec<Unresolved> {
        let mut found = Vec::new();
        if self.files.iter().all(|file| file.version.is_some()) {
            return found;
        }
        for (file, library) in self.files.iter().zip(&self.binaries) {
            let Some(library) = library else { continue };
            let imports = library.named_imports();
            for (sibling, library) in self.files.iter().zip(&self.binaries) {
                let Some(library) = library else { continue };
                let called = imported_from(&imports, consistency::file_name(&sibling.path));
                let symbols = library.missing_symbols(called);
                if !symbols.is_empty() {
                    found.push(Unresolved {
                        part: file.path.clone(),
                        sibling: sibling.path.clone(),
                        symbols,
                    });
                }
            }
        }
        found
    }

    /// Returns the files of each sub-library that exists several times: identical files instead of links to one file,
    /// or a file that programs load and that is a different build than the others.
    pub fn copies(&self, real_files: Named, platform: &Platform) -> Vec<Copies> {
        let mut groups: Vec<(&str, Vec<(&PathBuf, Build)>)> = Vec::new();
        for (name, path) in &real_files {
            let is_copy = |other: &(String, PathBuf)| other.0 == *name && other.1 != *path;
            if !real_files.iter().any(is_copy) {
                continue;
            }
            let Some(build) = self.build(path, platform) else {
                continue;
            };
            match groups.iter_mut().find(|(known, _)| known == name) {
                Some((_, files)) => files.push((path, build)),
                None => groups.push((name, vec![(path, build)])),
            }
        }
        let is_opened = |path| LibraryName::of(path).is_some_and(|name| name.numbers.len() == 1);
        let mut copies = Vec::new();
        for (_, files) in &groups {
            let paths = |matches: &dyn Fn(&Build) -> bool| {
                let mut paths = Vec::new();
                for (path, build) in files {
                    if matches(build) {
                        paths.push(path.to_path_buf());
                    }
                }
                paths
            };
            let opened = files.iter().find(|(path, _)| is_opened(path));
            if opened.is_some_and(|(_, opened)| files.iter().any(|(_, build)| build != opened)) {
                let (files, differ) = (paths(&|_| true), true);
                copies.push(Copies { files, differ });
                continue;
            }
            // Files of other versions are allowed, because no program opens them.
            for (first, build) in files {
                let (files, differ) = (paths(&|other| other == build), false);
                if files.len() > 1 && files[0] == **first {
                    copies.push(Copies { files, differ });
                }
            }
        }
        copies
    }

    /// Returns the build of a library; `None` for a linker script.
    fn build(&self, path: &Path, platform: &Platform) -> Option<Build> {
        let place = self.files.iter().position(|file| file.path == path);
        let opened;
        let library = match place {
            Some(place) => self.binaries.get(place)?.as_ref()?,
            None => {
                opened = Binary::open(path, platform.os).ok()?;
                &opened
            }
        };
        library.cpu()?;
        Some((library.length(), library.as_elf().and_then(Elf::build_id)))
    }
}

/// Determines which sub-libraries a convolution needs.
pub fn determine_needed(cudnn: &mut Cudnn) -> Installed {
    let installed = consistency::installed(cudnn);
    for part in &mut cudnn.parts {
        let is_needed = |file: &SubLibraryFile| file.name == part.name && file.needed;
        part.needed = part.name == "cudnn" || installed.list.iter().any(is_needed);
    }
    installed
}

/// Opens a sub-library, and returns the evidence of its version.
pub fn open(
    name: &str,
    path: PathBuf,
    sysroot: Sysroot,
    platform: &Platform,
) -> (SubLibraryFile, VersionEvidence, Option<Binary>) {
    let opened = Binary::open(&path, platform.os);
    let mut file = SubLibraryFile::new(name, path, None, false);
    file.defect = match &opened {
        Ok(binary) => binary.defect(&file.path, platform),
        Err(defect) => Some(defect.clone()),
    };
    let binary = opened.ok();
    let inside = binary.as_ref().and_then(|binary| binary.release(name));
    let elf = binary.as_ref().and_then(Binary::as_elf);
    let id = elf.filter(|_| inside.is_none()).and_then(Elf::build_id);
    let evidence = VersionEvidence {
        path: sysroot.canonical(&file.path),
        size: binary.as_ref().map_or(0, Binary::length),
        inside,
        builds: id.map_or_else(Vec::new, |id| build_ids::releases(&id)),
    };
    (file, evidence, binary)
}

/// Returns the CUDA major that a cuDNN was built for. `read` returns that of a sub-library.
pub fn cuda_major(read: &dyn Fn(&str) -> Option<u32>) -> Option<u32> {
    let mut known = sub_libraries::ALL.iter().rev();
    known.find_map(|part| part.version_symbol.and_then(|_| read(part.name)))
}

/// Returns the main library with the sub-libraries beside it. The second list contains every file that is not a link,
/// for [`SubLibraries::copies`]; the third contains the sub-libraries that exist but cannot be used, by file name.
pub fn beside(
    library: &Path,
    sysroot: Sysroot,
    platform: &Platform,
) -> (Named, Named, Vec<(String, SubLibraryFile)>) {
    let major = LibraryName::of(library).and_then(|file| file.major());
    let mut found: Named = vec![("cudnn".into(), library.to_path_buf())];
    let mut real_files = Named::new();
    let mut closed = Vec::new();
    let dir = library.parent().unwrap_or(library);
    let mut paths = files::list_named(dir, &|name| name.contains("cudnn")).unwrap_or_default();
    let name = |path: &PathBuf| {
        platform
            .cudnn_part(path)
            .map_or_else(String::new, |(name, _)| name)
    };
    sub_libraries::drop_excess(&mut paths, name);
    for path in &paths {
        let Some((sub_library, file)) = platform.cudnn_part(path) else {
            continue;
        };
        // The file that programs load precedes other files of the same sub-library.
        let exact = major.is_some_and(|major| file.numbers == [major]);
        let own = file.major().or_else(|| real_major(path, sysroot));
        if major.is_some() && own.is_some() && own != major {
            continue; // another cuDNN in the same directory
        }
        let is_link = files::is_link(path);
        let Some(path) = sysroot.file(path) else {
            if let Some(defect) = Defect::below(path, sysroot.root) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let mut file = SubLibraryFile::new(&sub_library, path.clone(), None, true);
                file.defect = Some(defect);
                closed.push((name.into_owned(), file));
            }
            continue;
        };
        if !is_link {
            real_files.push((sub_library.to_string(), path.clone()));
        }
        match found.iter_mut().find(|(known, _)| *known == sub_library) {
            None => found.push((sub_library.to_string(), path)),
            Some(known) if exact && sub_library != "cudnn" => known.1 = path,
            Some(_) => {}
        }
    }
    (found, real_files, closed)
}
