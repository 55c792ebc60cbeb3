//! The libraries that this system's loader finds, and the sub-libraries that it finds in other directories than the main
//! library's.

use crate::cudnn::consistency::{installed, missing_parts};
use crate::cudnn::parts::{Named, SubLibraries, determine_needed};
use crate::loader::dll_search::DllSearchPath;
use crate::loader::shadowing::named_path;
use crate::model::{Cudnn, Os};
use crate::runtime::binary::elf::Elf;
use crate::runtime::facts::LibraryName;
use crate::runtime::facts::sub_libraries::{self, TENSOR_IR};
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::loader::file_name;
use crate::runtime::loader::lookup::try_file;
use crate::runtime::loader::search_path::{LoadOrigin, SearchPath};
use crate::runtime::loader::system::{Loader, System};
use crate::system::{Host, files};
use std::path::{Path, PathBuf};

/// Returns the system of a host, whose programs have this loader.
pub fn system(host: &Host, loader: &str, cpu: &str) -> System {
    let sysroot = host.sysroot();
    let file = sysroot.canonical(&sysroot.at(loader));
    let bytes = files::bytes(&file).unwrap_or_default();
    let loader = Loader::parse(&bytes, &sysroot.inside(&file), cpu);
    System::at(sysroot.root, cpu, loader)
}

/// Replaces the sub-libraries beside the main library by those that this system's loader takes, and adds those that it
/// finds in other directories, also one that cuDNN opens although it does not contain it.
pub fn add_sub_libraries(cudnn: &mut Cudnn, host: &Host) {
    let (missing, installed) = (missing_parts(cudnn), installed(cudnn));
    let (search, sysroot) = (Search::new(cudnn.library.as_deref(), host), host.sysroot());
    let mut names: Vec<String> = Vec::new();
    let is_linux = host.platform.os == Os::Linux;
    for file in &missing {
        let name = LibraryName::read(file).and_then(|file| Some(file.sub_library()?.to_string()));
        names.extend(name);
    }
    // A file that only this user cannot read stays, since the program may be able to read it.
    let is_usable = |file: &SubLibraryFile| file.defect.as_ref().is_none_or(|it| !it.is_skipped());
    for part in cudnn.parts.iter().filter(|part| part.name != "cudnn") {
        let is_searched = is_linux && (search.is_certain || !is_usable(part));
        if is_searched && !names.contains(&part.name) {
            names.push(part.name.clone());
        }
    }
    let has_own = cudnn.parts.iter().any(|part| part.name == TENSOR_IR);
    let version = cudnn.library_version.filter(|_| is_linux);
    if !has_own && version.is_some_and(sub_libraries::opens_absent_part) {
        names.push(TENSOR_IR.into());
    }
    let mut found = Named::new();
    for name in names {
        // cuDNN opens the sub-library that it does not contain by its plain name.
        let mut files = file_name::precise(&name, version.filter(|_| name != TENSOR_IR));
        files.push(installed.file_name(&name));
        let own = cudnn.parts.iter().position(|part| part.name == name);
        let loaded = search.find(&files, host);
        if let Some(own) = own.and_then(|at| cudnn.parts.get(at)) {
            let is_usable = is_usable(own);
            let is_replaced = match &loaded {
                // The program may have another LD_LIBRARY_PATH than the build.
                Some((LoadOrigin::LibraryPath(_), _)) => !is_usable,
                Some((_, path)) => {
                    let dir = |path: &Path| sysroot.canonical(path.parent().unwrap_or(path));
                    !is_usable || dir(path) != dir(&own.path)
                }
                None => is_usable && search.is_certain,
            };
            if !is_replaced {
                continue;
            }
        }
        let is_found = loaded.is_some();
        if let Some((origin, path)) = loaded {
            cudnn.files.elsewhere.push((origin, path.clone()));
            found.push((name.clone(), path));
        }
        if is_found || search.is_certain {
            cudnn.parts.retain(|part| part.name != name);
        }
    }
    let opened = SubLibraries::open(found, sysroot, &host.platform);
    cudnn.parts.extend(opened.files);
    determine_needed(cudnn);
}

/// Returns the file that this system's loader finds for a library under the first of these names that it finds, and the
/// reason.
#[cfg(feature = "cli")]
pub fn loaded_file(names: &[String], host: &Host) -> Option<(LoadOrigin, PathBuf)> {
    Search::new(None, host).find(names, host)
}

/// The search of this system's loader for the libraries that a library opens.
struct Search {
    dlls: Option<DllSearchPath>,
    /// `None` if the program runs on another machine.
    path: Option<SearchPath>,
    /// `true` if a library that is not found does not exist for the opener.
    is_certain: bool,
}

impl Search {
    fn new(opener: Option<&Path>, host: &Host) -> Self {
        let mut search = Self {
            dlls: DllSearchPath::from_host(host),
            path: None,
            is_certain: false,
        };
        if search.dlls.is_some() || !host.is_target() && host.root.is_none() {
            return search;
        }
        let mut path = named_path(host);
        path.system = system(host, host.platform.loader(), &host.platform.cpu);
        path.directories.extend(path.system.directories());
        if let Some((elf, file)) = opener.and_then(|file| Some((Elf::read(file).ok()?, file))) {
            search.is_certain = elf.soname().is_some();
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

    fn find(&self, names: &[String], host: &Host) -> Option<(LoadOrigin, PathBuf)> {
        if let Some(dlls) = &self.dlls {
            let file = names.iter().find_map(|name| dlls.file(name))?;
            return Some((dlls.path.finds(&file)?, file));
        }
        let (path, sysroot) = (self.path.as_ref()?, host.sysroot());
        for name in names {
            for (origin, file) in path.candidates(name) {
                // An absolute link in an image is relative to the image.
                let real = sysroot.file(&file);
                let kind = (&*host.platform.cpu, true);
                match try_file(&file, real.as_deref(), sysroot.root, kind) {
                    None => {}
                    Some(Err(defect)) if defect.is_passed_over() => {}
                    Some(_) => return Some((origin, real.unwrap_or(file))),
                }
            }
        }
        None
    }
}
