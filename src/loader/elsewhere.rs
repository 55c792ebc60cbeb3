//! The libraries that this system's loader finds, and the sub-libraries that it finds in other directories than the main
//! library's.

use crate::cudnn::parts::{OpenFiles, assemble};
use crate::loader::dll_search::DllSearchPath;
use crate::loader::shadowing::named_path;
use crate::model::{Cudnn, Os};
use crate::runtime::binary::defect::Defect;
use crate::runtime::binary::elf::Elf;
use crate::runtime::facts::LibraryName;
use crate::runtime::facts::sub_libraries::{self, TENSOR_IR};
use crate::runtime::install::file_reader::FileReader;
use crate::runtime::loader::file_name;
use crate::runtime::loader::search_path::LoadOrigin;
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

/// Adds the sub-libraries that this system's loader finds in other directories: those that are not beside the main
/// library, those that it skips there, and one that cuDNN opens although it does not contain it.
pub fn add_sub_libraries(cudnn: &mut Cudnn, host: &Host) {
    let is_linux = host.platform.os == Os::Linux;
    let mut names: Vec<String> = Vec::new();
    for file in &cudnn.installed.missing {
        let name = LibraryName::read(file).and_then(|file| Some(file.sub_library()?.to_string()));
        names.extend(name);
    }
    // A file that only this user cannot read stays, since the program may be able to read it.
    let is_skipped = |it: &Defect| {
        let is_closed = matches!(it, Defect::Forbidden | Defect::Closed(_));
        matches!(it, Defect::Cpu(..)) || it.is_passed_over() && !is_closed
    };
    for file in &cudnn.installed.list {
        if is_linux && file.defect.as_ref().is_some_and(is_skipped) {
            names.push(file.name.clone());
        }
    }
    let has_own = cudnn
        .installed
        .list
        .iter()
        .any(|file| file.name == TENSOR_IR);
    let version = cudnn.library_version.filter(|_| is_linux);
    if !has_own && version.is_some_and(sub_libraries::opens_absent_part) {
        names.push(TENSOR_IR.into());
    }
    let mut opened = OpenFiles::new(host.sysroot(), &host.platform);
    let mut open = |name: &str, path: &Path| opened.open(name, path);
    let mut reader = FileReader::new(&mut open);
    let mut found = Vec::new();
    for name in names {
        // cuDNN opens the sub-library that it does not contain by its plain name.
        let mut files = file_name::precise(&name, version.filter(|_| name != TENSOR_IR));
        files.push(cudnn.installed.file_name(&name));
        let loaded = loaded_file(&files, cudnn.library.as_deref(), host);
        if let Some((origin, path)) = loaded {
            let mut file = reader.read(&name, path);
            file.origin = Some(origin);
            found.push(file);
        }
    }
    if found.is_empty() {
        return;
    }
    for file in cudnn.installed.files() {
        if !found.iter().any(|other| other.name == file.name) {
            found.push(file.clone());
        }
    }
    cudnn.installed = assemble(cudnn, &found);
}

/// Returns the file that this system's loader finds for a library under the first of these names that it finds, and the
/// reason.
pub fn loaded_file(
    names: &[String],
    opener: Option<&Path>,
    host: &Host,
) -> Option<(LoadOrigin, PathBuf)> {
    if let Some(dlls) = DllSearchPath::from_host(host) {
        let file = names.iter().find_map(|name| dlls.file(name))?;
        return Some((dlls.path.finds(&file)?, file));
    }
    if !host.is_target() && host.root.is_none() {
        return None;
    }
    let (cpu, sysroot) = (&*host.platform.cpu, host.sysroot());
    let mut path = named_path(host);
    path.system = system(host, host.platform.loader(), cpu);
    path.directories.extend(path.system.directories());
    if let Some((elf, file)) = opener.and_then(|file| Some((Elf::read(file).ok()?, file))) {
        path = path.of_library(&elf, file);
    }
    for place in &mut path.directories {
        if !host.is_inside(&place.dir) {
            place.dir = path.system.path(&place.dir);
        }
    }
    for (origin, file) in names.iter().flat_map(|name| path.candidates(name)) {
        // The loader skips files for another CPU. An absolute link in an image is relative to the image.
        if let Some(file) = sysroot.file(&file) {
            if Elf::read(&file).is_ok_and(|file| file.cpu() == Some(cpu)) {
                return Some((origin, file));
            }
        }
    }
    None
}
