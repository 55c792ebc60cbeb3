//! The libraries that this system's loader finds, and the sub-libraries that it finds in other directories than the main
//! library's.

use crate::cudnn::parts::{OpenFiles, assemble};
use crate::loader::{DllSearchPath, named_path};
use crate::model::{Cudnn, Os};
use crate::runtime::binary::{Defect, Elf};
use crate::runtime::facts::{LibraryName, TENSOR_IR, sub_libraries};
use crate::runtime::install::SubLibraryFile;
use crate::runtime::loader::elf::candidates::try_file;
use crate::runtime::loader::{LoadOrigin, Loader, SearchPath, System, file_name};
use crate::runtime::system::path_cache;
use crate::system::{Host, files};
use std::path::{Path, PathBuf};

/// Returns the system of a host, whose programs have this loader.
pub fn system(host: &Host, loader: &str, cpu: &str) -> System {
    let sysroot = host.sysroot();
    let file = sysroot.canonical(&sysroot.at(loader));
    path_cache::once("loader", &file.join(cpu), || {
        let bytes = files::bytes(&file).unwrap_or_default();
        let loader = Loader::parse(&bytes, &sysroot.inside(&file), cpu);
        System::at(sysroot.root, cpu, loader)
    })
}

/// Replaces the sub-libraries beside the main library by those that this system's loader takes, and adds those that it
/// finds in other directories, also one that cuDNN opens although it does not contain it.
pub fn add_sub_libraries(cudnn: &mut Cudnn, host: &Host) {
    let (search, sysroot) = (Search::new(cudnn.library.as_deref(), host), host.sysroot());
    let is_linux = host.platform.os == Os::Linux;
    let mut names: Vec<String> = Vec::new();
    for file in &cudnn.installed.missing {
        let name = LibraryName::read(file).and_then(|file| Some(file.sub_library()?.to_string()));
        names.extend(name);
    }
    let is_skipped = |file: &SubLibraryFile| file.defect.as_ref().is_some_and(Defect::is_skipped);
    let (mut files, mut has_tensor_ir) = (Vec::new(), false);
    for file in cudnn.installed.files() {
        // A file that only this user cannot read stays, since the program may be able to read it.
        let is_searched = match &file.defect {
            Some(defect) if defect.is_passed_over() => defect.is_skipped(),
            _ => search.has_own,
        };
        if is_linux && is_searched && file.name != "cudnn" && !names.contains(&file.name) {
            names.push(file.name.clone());
        }
        has_tensor_ir |= file.name == TENSOR_IR;
        files.push(file.clone());
    }
    let version = cudnn.library_version.filter(|_| is_linux);
    if !has_tensor_ir && version.is_some_and(sub_libraries::opens_absent_part) {
        names.push(TENSOR_IR.into());
    }
    let opened = OpenFiles::new(sysroot, &host.platform);
    let mut is_changed = false;
    for name in names {
        // cuDNN opens the sub-library that it does not contain by its plain name.
        let mut tried = file_name::precise(&name, version.filter(|_| name != TENSOR_IR));
        tried.push(cudnn.installed.file_name(&name));
        // The program may have another search path than the build.
        let Some((origin, path)) = search.find(&tried, host) else {
            continue;
        };
        if let Some(beside) = files.iter().find(|file| file.name == name) {
            let dir = |path: &Path| sysroot.canonical(path.parent().unwrap_or(path));
            // The program may have another LD_LIBRARY_PATH than the build.
            let is_build_path = matches!(origin, LoadOrigin::LibraryPath(_));
            if !is_skipped(beside) && (is_build_path || dir(&path) == dir(&beside.path)) {
                continue;
            }
        }
        files.retain(|file| file.name != name);
        is_changed = true;
        let mut file = opened.read(&name, path);
        file.origin = Some(origin);
        files.push(file);
    }
    if is_changed {
        cudnn.installed = assemble(cudnn, &files);
    }
}

/// The search of this system's loader for the libraries that a library opens.
pub struct Search {
    /// `None` if the program runs on another machine.
    path: Option<SearchPath>,
    /// `true` if the opener names directories. Otherwise the program's own decide, which may not be known yet.
    has_own: bool,
}

impl Search {
    pub fn new(opener: Option<&Path>, host: &Host) -> Self {
        let mut search = Self {
            path: DllSearchPath::from_host(host).map(|dlls| dlls.path),
            has_own: false,
        };
        if search.path.is_some() || !host.is_target() && host.root.is_none() {
            return search;
        }
        let mut path = named_path(host);
        path.system = system(host, host.platform.loader(), &host.platform.cpu);
        path.directories.extend(path.system.directories());
        if let Some((elf, file)) = opener.and_then(|file| Some((Elf::read(file).ok()?, file))) {
            // A variable can name a cuDNN outside an image.
            search.has_own = elf.runpath().or(elf.rpath()).is_some() && host.is_inside(file);
            path = path.of_library(&elf, file);
        }
        for place in &mut path.directories {
            if !host.is_inside(&place.dir) {
                place.dir = path.system.path(&place.dir);
            }
        }
        search.path = Some(path);
        search
    }

    /// Returns the file that the loader finds under the first of these names that it finds, and the reason.
    pub fn find(&self, names: &[String], host: &Host) -> Option<(LoadOrigin, PathBuf)> {
        let (path, sysroot) = (self.path.as_ref()?, host.sysroot());
        for name in names {
            for (origin, file) in path.candidates(name) {
                if path.system.is_windows {
                    return Some((origin, file));
                }
                // An absolute link in an image is relative to the image.
                let real = sysroot.file(&file);
                match try_file(&file, real.as_deref(), sysroot.root, &host.platform.cpu) {
                    None => {}
                    Some(Err(defect)) if defect.is_passed_over() => {}
                    Some(_) => return Some((origin, real.unwrap_or(file))),
                }
            }
        }
        None
    }
}
