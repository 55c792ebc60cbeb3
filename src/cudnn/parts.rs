//! The sub-libraries of a cuDNN.

use crate::cudnn::{build_ids, consistency, named_major, real_major};
use crate::model::{Cudnn, Platform, Unresolved};
use crate::runtime::binary::{Defect, Elf};
use crate::runtime::facts::{LibraryName, majors, sub_libraries};
use crate::runtime::install::{Expected, FileContents, FileReader, Installed, SubLibraryFile};
use crate::runtime::system::path_cache;
use crate::system::{Binary, Sysroot, files};
use crate::toolkit::dependencies::imported_from;
use std::path::{Path, PathBuf};

/// The files of the main library and the sub-libraries, each with its name: `cudnn`, `graph`, ...
pub type Named = Vec<(String, PathBuf)>;

/// The size of a library and its build ID.
type Build = (u64, Option<String>);

/// The files of a cuDNN.
pub struct OpenFiles<'a> {
    sysroot: Sysroot<'a>,
    platform: &'a Platform,
}

impl<'a> OpenFiles<'a> {
    pub fn new(sysroot: Sysroot<'a>, platform: &'a Platform) -> Self {
        Self { sysroot, platform }
    }

    /// Returns what the file of a sub-library contains, for [`FileReader::new`].
    fn open(&self, name: &str, path: &Path) -> FileContents {
        let (real, own) = (self.sysroot.canonical(path), path.file_name());
        let key = real.join(name).join(own.unwrap_or_default());
        path_cache::once("contents", &key.join(&self.platform.triple), || {
            let mut contents = FileContents::default();
            match Binary::open(&real, self.platform.os) {
                Ok(binary) => {
                    contents.defect = binary.defect(path, self.platform);
                    contents.size = binary.length();
                    contents.inside = binary.release(name);
                    let elf = binary.as_elf().filter(|_| contents.inside.is_none());
                    let id = elf.and_then(Elf::build_id).unwrap_or_default();
                    contents.builds = build_ids::releases(&id);
                }
                Err(defect) => contents.defect = Some(defect),
            }
            contents.path = real;
            contents
        })
    }

    /// Reads the file of a sub-library.
    pub fn read(&self, name: &str, path: PathBuf) -> SubLibraryFile {
        FileReader::new(&mut |name, path| self.open(name, path)).read(name, path)
    }

    pub fn read_all(&self, named: Named) -> Vec<SubLibraryFile> {
        let named = named.into_iter();
        named.map(|(name, path)| self.read(&name, path)).collect()
    }

    /// Returns the file of this path, if it can be opened.
    pub fn binary(&self, path: &Path) -> Option<Binary> {
        Binary::open(&self.sysroot.canonical(path), self.platform.os).ok()
    }

    fn cuda_major_of(&self, path: &Path) -> Option<u32> {
        let real = self.sysroot.canonical(path);
        path_cache::once("cuda major", &real, || self.binary(path)?.cuda_major())
    }

    /// Returns the directories of these files, with links resolved.
    pub fn directories(&self, files: &[SubLibraryFile]) -> Vec<PathBuf> {
        let mut directories: Vec<PathBuf> = Vec::new();
        for file in files {
            let real = self.sysroot.canonical(&file.path);
            let dir = real.parent().unwrap_or(&real).to_path_buf();
            files::push_new(&mut directories, dir);
        }
        directories
    }

    /// Returns the CUDA major that a cuDNN with these files was built for.
    pub fn cuda_major(&self, files: &[&SubLibraryFile]) -> Option<u32> {
        let mut known = sub_libraries::ALL.iter().rev();
        known.find_map(|known| {
            known.version_symbol?;
            let file = files.iter().find(|file| file.name == known.name)?;
            self.cuda_major_of(&file.path)
        })
    }

    /// Returns the CUDA majors that the sub-libraries were built for, if they differ, each with a file.
    pub fn different_cuda_majors(&self, files: &[SubLibraryFile]) -> Vec<(u32, PathBuf)> {
        let mut majors: Vec<(u32, PathBuf)> = Vec::new();
        for file in files {
            // In cuDNN 9, only these contain the name of their cuBLASLt.
            if ["adv", "engines_precompiled"].contains(&&*file.name) {
                if let Some(major) = self.cuda_major_of(&file.path) {
                    majors.push((major, file.path.clone()));
                }
            }
        }
        if majors.iter().all(|(major, _)| *major == majors[0].0) {
            majors.clear();
        }
        majors
    }

    /// Returns the functions that a sub-library imports from another one that does not define them. This is slow, so it
    /// is only done if a version is unknown. A library without a symbol table counts as complete.
    pub fn unresolved_symbols(&self, files: &[SubLibraryFile]) -> Vec<Unresolved> {
        let mut found = Vec::new();
        if files.iter().all(|file| file.version.is_some()) {
            return found;
        }
        for file in files {
            let Some(library) = self.binary(&file.path) else {
                continue;
            };
            let imports = library.named_imports();
            for sibling in files {
                let Some(library) = self.binary(&sibling.path) else {
                    continue;
                };
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

    /// Returns the files of each sub-library that exists several times, if the file that programs load is a different
    /// build than the others.
    pub fn copies(&self, real_files: Named) -> Vec<Vec<PathBuf>> {
        let mut copies = Vec::new();
        for (name, opened) in &real_files {
            let mut same = real_files.clone();
            same.retain(|(other, _)| other == name);
            let is_opened = LibraryName::of(opened).is_some_and(|name| name.numbers.len() == 1);
            if !is_opened || same.len() < 2 {
                continue;
            }
            let Some(own) = self.build(opened) else {
                continue;
            };
            let (mut paths, mut is_other) = (Vec::new(), false);
            for (_, path) in same {
                if let Some(build) = self.build(&path) {
                    is_other |= build != own;
                    paths.push(path);
                }
            }
            if is_other {
                files::push_new(&mut copies, paths);
            }
        }
        copies
    }

    /// Returns the build of a library; `None` for a linker script.
    fn build(&self, path: &Path) -> Option<Build> {
        let library = self.binary(path)?;
        library.cpu()?;
        Some((library.length(), library.as_elf().and_then(Elf::build_id)))
    }
}

/// Determines what the cuDNN with this library consists of, from its files: the main library, and the sub-libraries
/// that its loader finds.
pub fn assemble(cudnn: &Cudnn, files: &[SubLibraryFile]) -> Installed {
    let Some(library) = &cudnn.library else {
        return Installed::default();
    };
    let header_version = cudnn.header_version;
    let by_parts = || files.iter().find_map(|file| named_major(&file.path));
    let major = named_major(library).or_else(by_parts);
    let major = major.or_else(|| Some(header_version?.major));
    let (mut main, mut beside) = (SubLibraryFile::default(), Named::new());
    for file in files {
        if file.name == "cudnn" {
            main = file.clone();
        } else if file.origin.is_none() {
            // What is elsewhere does not show what this cuDNN contains.
            beside.push((file.name.clone(), file.path.clone()));
        }
    }
    let expected = Expected {
        beside: &beside,
        header_version: header_version.filter(|version| Some(version.major) == major),
        ..Expected::default()
    };
    let file = |name: &str| files.iter().find(|file| file.name == name);
    let mut find = |name: &str, _, _| Some(file(name)?.path.clone());
    let mut read = |name: &str, path| {
        let file = file(name).filter(|file| file.path == path);
        file.cloned().unwrap_or_default()
    };
    let major = major.unwrap_or_default();
    let mut installed = Installed::locate(main, major, &expected, &mut find, &mut read);
    for file in files {
        let mut known = installed.files().into_iter();
        let is_known = known.any(|known| known.name == file.name);
        if file.origin.is_some() && !is_known {
            installed.list.push(file.clone());
        }
    }
    // A `libcudnn.so` without a number may point anywhere, and the needs of a later major are unknown.
    if library.ends_with("libcudnn.so") || !majors::CUDNN.contains(&major) {
        installed.missing.clear();
    }
    installed
}

/// Returns the main library with the sub-libraries beside it. The second list contains every file that is not a link,
/// for [`OpenFiles::copies`]; the third contains the sub-libraries that exist but cannot be used.
pub fn beside(
    library: &Path,
    sysroot: Sysroot,
    platform: &Platform,
) -> (Named, Named, Vec<SubLibraryFile>) {
    let major = named_major(library);
    let mut found: Named = vec![("cudnn".into(), library.to_path_buf())];
    let mut real_files = Named::new();
    let mut closed = Vec::new();
    let dir = library.parent().unwrap_or(library);
    let mut paths = files::list_named(dir, &|name| name.contains("cudnn")).unwrap_or_default();
    let name = |path: &PathBuf| platform.cudnn_part(path).unzip().0.unwrap_or_default();
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
                let mut file = SubLibraryFile::new(&sub_library, path.clone(), None, true);
                file.defect = Some(defect);
                closed.push(file);
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
