//! Reads an installed cuDNN from its files.

pub mod build_ids;
pub mod consistency;
#[cfg(feature = "cli")]
pub mod device_code;
pub mod nvidia_image;
pub mod package_owner;
pub mod parts;

pub mod headers;
pub mod no_library;
#[cfg(all(test, target_os = "linux"))]
pub mod tests;

pub use consistency::{Asker, SubLibraryFault, file_name, is_dll, is_same_minor, library_dir};

use crate::cudnn::headers::{header_in, missing_include, unversioned};
use crate::cudnn::no_library::{archives, obstacle};
use crate::cudnn::parts::OpenFiles;
use crate::model::{Cudnn, Library, Obstacle, Os, Owner, Platform};
use crate::runtime::binary::{Defect, Elf};
use crate::runtime::facts::{LibraryName, Version};
use crate::search::Tree;
use crate::system::{Binary, Sysroot, files};
use std::path::{Path, PathBuf};

/// Returns the cuDNN in this directory, if it contains a header with a version or a library, and the files that were
/// read.
pub fn read_install(
    top: &Path,
    tree: &Tree,
    sysroot: Sysroot,
    platform: &Platform,
) -> Option<(Cudnn, Vec<PathBuf>)> {
    let includes = files::below(top, &tree.include);
    let places = files::below(top, &tree.lib);
    let header = header(&includes, sysroot);
    let major = header.as_ref().map(|(version, ..)| version.major);
    let mut by_place = places.iter();
    let linked = match platform.os {
        Os::Windows => import_and_dll(&places, major, sysroot, platform),
        _ => by_place.find_map(|place| main_library_in(place, major, sysroot, platform)),
    };
    let is_linked = linked.is_some();
    let mut cudnn = linked.unwrap_or_default();
    cudnn.root = top.to_path_buf();
    let files = &mut cudnn.files;
    if !is_linked && platform.os != Os::Windows {
        (files.obstacle, files.unlinked) = obstacle(&places, major, sysroot, platform);
        // An inaccessible directory above is reported for that directory.
        let is_above =
            |met: &Obstacle| matches!(&met.defect, Defect::Closed(dir) if top.starts_with(dir));
        let met = files.obstacle.take().map(|met| met.seen_from(top));
        files.obstacle = met.filter(|met| !is_above(met));
        files.archives = archives(&places, major, sysroot);
    }
    match header {
        Some((version, file, dir)) => {
            let dir = sysroot.dir(&dir);
            let missing = |dir: &PathBuf| missing_include(&dir.join("cudnn.h"), &includes, sysroot);
            files.missing_header = dir.as_ref().and_then(missing);
            cudnn.include_dir = dir;
            cudnn.header = Some(file);
            cudnn.header_version = Some(version);
        }
        None if !is_linked && files.obstacle.is_none() => return None,
        None => {
            (files.unreadable_header, files.unversioned_header) = unversioned(&includes, sysroot)
        }
    }
    let cudnn = with_parts(cudnn, sysroot, platform);
    let mut read = Vec::new();
    read.extend(cudnn.header.clone());
    for file in cudnn.installed.files() {
        read.push(file.path.clone());
    }
    // For cargo, a missing file has changed.
    files::keep(&mut read, &files::is_file);
    Some((cudnn, read))
}

/// Returns the version in the headers, the header that contains it, and the directory that was searched.
fn header(dirs: &[PathBuf], sysroot: Sysroot) -> Option<(Version, PathBuf, PathBuf)> {
    // NVIDIA's Debian packages have a `cudnn_version_v9.h` in a directory without `cudnn.h`.
    for has_header in [true, false] {
        for dir in dirs {
            if sysroot.file(&dir.join("cudnn.h")).is_some() == has_header {
                if let Some((version, file)) = header_in(dir, sysroot) {
                    return Some((version, file, dir.clone()));
                }
            }
        }
    }
    None
}

/// Adds the facts about the libraries and their packages.
fn with_parts(mut cudnn: Cudnn, sysroot: Sysroot, platform: &Platform) -> Cudnn {
    let mut wheels = Owner::of_wheels(&cudnn.root);
    let wheel = (wheels.len() == 1).then(|| wheels.remove(0));
    // Users install `cudnn`; its dependency `libcudnn` contains the libraries.
    let conda = || Owner::of_conda(&cudnn.root, &["cudnn", "libcudnn"]);
    let debian = || Owner::of_debian(cudnn.library.as_deref()?);
    let owner = wheel.or_else(conda).or_else(debian);
    cudnn.files.wheels = wheels;
    let wheel = owner
        .as_ref()
        .filter(|owner| owner.installer.is_for_wheels());
    let by_wheel = wheel.and_then(Owner::cuda_major);
    cudnn.cuda_major = by_wheel.or_else(|| directory_cuda_major(&cudnn, platform));
    if let Some(library) = cudnn.library.clone() {
        let (found, real_files, mut closed) = parts::beside(&library, sysroot, platform);
        let opened = OpenFiles::new(sysroot, platform);
        let mut found = opened.read_all(found);
        cudnn.files.directories = opened.directories(&found);
        cudnn.files.copies = opened.copies(real_files);
        cudnn.files.unresolved = opened.unresolved_symbols(&found);
        cudnn.files.cuda_majors = opened.different_cuda_majors(&found);
        let main = opened.binary(&library);
        let elf = main.as_ref().and_then(Binary::as_elf);
        cudnn.cpu = main.as_ref().and_then(Binary::cpu);
        cudnn.files.own_first = elf.and_then(Elf::rpath).is_some();
        let is_absent = |name: &String| sysroot.file(&library.with_file_name(name)).is_none();
        // Linked programs require the SONAME.
        cudnn.files.absent_soname = elf.and_then(Elf::soname).filter(is_absent);
        cudnn.installed = parts::assemble(&cudnn, &found);
        let missing = &cudnn.installed.missing;
        closed.retain(|file| missing.iter().any(|name| file.path.ends_with(name)));
        if !closed.is_empty() {
            found.append(&mut closed);
            cudnn.installed = parts::assemble(&cudnn, &found);
        }
        cudnn.library_version = cudnn.installed.version().map(|(version, _)| version);
        let by_files = || opened.cuda_major(&cudnn.installed.files());
        cudnn.cuda_major = cudnn
            .cuda_major
            .or_else(by_files)
            .or_else(|| package_owner::archive_cuda_major(&cudnn.root))
            .or_else(|| owner.as_ref()?.cuda_major());
    }
    cudnn.owner = owner.map(Box::new);
    // apt may upgrade only the package of the headers or only that of the library.
    let header = cudnn
        .header
        .as_deref()
        .filter(|_| cudnn.header_version != cudnn.library_version);
    cudnn.files.header_owner = header.and_then(Owner::of_debian);
    cudnn
}

/// Returns the bundled cuDNN of a Python package in this directory. It has no headers and is not linked.
pub fn bundled_copy(dir: &Path, tree: &Tree, platform: &Platform) -> Option<Cudnn> {
    let sysroot = Sysroot { root: None };
    let complete = read_install(dir, tree, sysroot, platform).map(|(cudnn, _)| cudnn);
    let mut cudnn = complete.or_else(|| renamed_in(dir))?;
    cudnn.link_dir = None;
    cudnn.link_library = None;
    Some(cudnn)
}

/// Returns a cuDNN that auditwheel renamed, with a hash in the name: `libcudnn-74a4c495.so.9.1.0`.
fn renamed_in(dir: &Path) -> Option<Cudnn> {
    let renamed = |name: &str| name.starts_with("libcudnn-") && name.contains(".so.");
    let library = files::list_named(dir, &renamed).ok()?.into_iter().next()?;
    let library_version = LibraryName::of(&library).and_then(|file| file.release());
    Some(Cudnn {
        root: dir.to_path_buf(),
        cpu: Elf::read(&library).ok().and_then(|library| library.cpu()),
        library: Some(library),
        library_version,
        ..Cudnn::default()
    })
}

/// Returns the main library in this directory, or this file itself.
fn main_library_in(
    place: &Path,
    header_major: Option<u32>,
    sysroot: Sysroot,
    platform: &Platform,
) -> Option<Cudnn> {
    let named = sysroot.file(place);
    let dir = match &named {
        Some(file) => sysroot.dir(file.parent()?)?,
        None => sysroot.dir(place)?,
    };
    let majors = majors([named.as_deref().and_then(named_major), header_major]);
    let versioned = majors.iter().find_map(|&major| {
        let name = platform.cudnn_library(major);
        let path = dir.join(&name);
        let file = files::exists(&path).then(|| sysroot.file(&path))?;
        Some((file?, name, major))
    });
    let short = sysroot.file(&dir.join("libcudnn.so"));
    // With two versions in one directory, the short name points to one, and the headers may belong to the other.
    let target_major = short.as_deref().and_then(|path| real_major(path, sysroot));
    let is_other = |own| named.is_none() && target_major.is_some_and(|other| other != own);
    let link_library = match &versioned {
        Some((_, name, own)) if short.is_none() || is_other(*own) => {
            Library::Verbatim(name.clone())
        }
        _ => Library::Dynamic("cudnn".into()),
    };
    let library = versioned.map(|(path, ..)| path).or(short)?;
    Some(Cudnn {
        link_dir: library.parent().map(Path::to_path_buf),
        link_library: Some(link_library),
        library: Some(library),
        ..Cudnn::default()
    })
}

/// Returns the majors to check by name, because listing a directory such as /usr/lib64 is slow. The range includes
/// future ones.
fn majors(likely: [Option<u32>; 2]) -> Vec<u32> {
    let mut majors = Vec::new();
    for major in likely {
        majors.extend(major);
    }
    majors.extend((5..=30).rev());
    majors
}

/// Returns the import library and the DLL, which are in different directories. Either can exist without the other.
fn import_and_dll(
    places: &[PathBuf],
    major: Option<u32>,
    sysroot: Sysroot,
    platform: &Platform,
) -> Option<Cudnn> {
    let first =
        |file: &dyn Fn(&Path) -> Option<PathBuf>| places.iter().find_map(|place| file(place));
    let is_import = |file: &PathBuf| {
        let end = file.extension();
        end.is_some_and(|end| end.eq_ignore_ascii_case("lib"))
    };
    let import = first(&|place| sysroot.file(place).filter(|file| is_import(file)))
        .or_else(|| first(&|place| sysroot.file(&place.join("cudnn.lib"))));
    let majors = majors([major, None]);
    let library = first(&|dir| {
        let mut majors = if files::is_dir(dir) { &majors[..] } else { &[] }.iter();
        majors.find_map(|major| sysroot.file(&dir.join(platform.cudnn_library(*major))))
    });
    if import.is_none() && library.is_none() {
        return None;
    }
    let stem = |import: &PathBuf| Some(import.file_stem()?.to_string_lossy().into_owned());
    let link_dir = import.as_deref().and_then(Path::parent);
    Some(Cudnn {
        link_dir: link_dir.map(Path::to_path_buf),
        link_library: import.as_ref().and_then(stem).map(Library::Dynamic),
        library,
        ..Cudnn::default()
    })
}

/// Returns 12 for `bin/12.5/x64/cudnn64_9.dll`: NVIDIA's installer for Windows has a directory for each CUDA version.
fn directory_cuda_major(cudnn: &Cudnn, platform: &Platform) -> Option<u32> {
    if platform.os != Os::Windows {
        return None;
    }
    let dir = cudnn.library.as_deref().or(cudnn.link_dir.as_deref())?;
    dir.ancestors().find_map(|dir| {
        let up = dir.parent()?;
        let (major, minor) = dir.file_name()?.to_str()?.split_once('.')?;
        minor.parse::<u32>().ok()?;
        let major = major.parse().ok()?;
        (up.ends_with("bin") || up.ends_with("lib")).then_some(major)
    })
}

/// Returns 9 for `libcudnn_ops.so` if it is a link to `libcudnn_ops.so.9.14.0`.
fn real_major(path: &Path, sysroot: Sysroot) -> Option<u32> {
    named_major(&sysroot.canonical(path))
}

/// Returns the major in the name of a file.
pub fn named_major(path: &Path) -> Option<u32> {
    LibraryName::of(path)?.major()
}
