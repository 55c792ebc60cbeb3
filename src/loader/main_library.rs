//! The cuDNN that a program loads: the main library, and the sub-libraries that it opens.

use crate::cudnn::consistency;
use crate::cudnn::parts::OpenFiles;
use crate::loader::LoadGraph;
use crate::model::{Cudnn, LoadPhase, Missing, Object, Os, Owner, Platform};
use crate::runtime::facts::{LibraryName, TENSOR_IR, Version, cudnn_file};
use crate::runtime::install::dlopen_dependencies::opened_by;
use crate::runtime::install::missing_dlopen::{MissingLink, PLAIN_DRIVER};
use crate::runtime::install::sub_library_files::beside;
use crate::runtime::install::{Expected, Installed};
use crate::runtime::loader::{LoadOrigin, Opener, file_name};
use crate::runtime::system::DRIVER_SO;
use crate::system::Sysroot;
use std::path::{Path, PathBuf};

/// Returns the number in `libcudnn.so.9` or `cudnn64_9.dll`, or in the name of a bundled copy.
pub fn cudnn_major(name: &str) -> Option<u32> {
    let file = LibraryName::read(name)?;
    let is_copy = file.name.starts_with("cudnn-") && is_bundled(name);
    file.major().filter(|_| file.name == "cudnn" || is_copy)
}

/// Returns `true` for a copy that auditwheel renamed for a wheel, with its hash: `libcudnn-74a4c495.so.9.1.0`.
pub fn is_bundled(name: &str) -> bool {
    let name = name
        .split(".so")
        .next()
        .and_then(|stem| stem.rsplit_once('-'));
    name.is_some_and(|(_, hash)| hash.len() == 8 && hash.bytes().all(|it| it.is_ascii_hexdigit()))
}

/// Returns the cuDNN major of a loaded object, by its SONAME or else by the name it was requested by.
pub fn loaded_major(object: &Object) -> Option<u32> {
    let own = object.linkage.soname.as_deref();
    own.and_then(cudnn_major)
        .or_else(|| cudnn_major(&object.name))
}

/// Opens the sub-libraries that a convolution opens, and reads their versions.
pub fn cudnn(graph: &mut LoadGraph, main_library: usize, platform: &Platform) -> Option<Cudnn> {
    let object = graph.objects.get(main_library)?;
    let (major, library) = (loaded_major(object)?, object.path.clone());
    let via = object.via.clone().unwrap_or(LoadOrigin::Elsewhere);
    let root = graph.path.system.root.clone();
    let file = |name: &str| cudnn_file(name, major, false);
    let mut find = |name: &str, version, is_needed: bool| {
        let mut trial = graph.clone();
        let graph = if is_needed { &mut *graph } else { &mut trial };
        for precise in file_name::precise(name, version) {
            let mut trial = graph.clone();
            let opened = trial.open(&precise, main_library, LoadPhase::Part);
            let opened = opened.and_then(|index| trial.objects.get(index).cloned());
            // If the loader refuses the file, cuDNN tries the next name.
            if let Some(object) = opened.filter(|object| object.defect.is_none()) {
                *graph = trial;
                return Some(object.path);
            }
        }
        if let Some(index) = graph.open(&file(name), main_library, LoadPhase::Part) {
            return Some(graph.objects.get(index)?.path.clone());
        }
        let mut missing = graph.missing.iter();
        let missing = missing.find(|missing| missing.name == file(name))?;
        Some(missing.unfit.as_ref()?.path.clone())
    };
    let mut cudnn = locate(&library, major, platform, root.as_deref(), &mut find);
    cudnn.link_dir = Some(cudnn.root.clone());
    let installed = &mut cudnn.installed;
    installed.add_origins(&via, &|file| origin_of(graph, main_library, file));
    // cuDNN works without this file, so it does not count as missing.
    let is_missing =
        |one: &Missing| one.name != file(TENSOR_IR) || installed.missing.contains(&one.name);
    graph.missing.retain(is_missing);
    let unfit = graph.missing.iter().filter_map(|one| one.unfit.as_ref());
    for unfit in unfit {
        let mut files = installed.list.iter_mut();
        if let Some(file) = files.find(|file| file.path == unfit.path) {
            file.defect = Some(unfit.defect.clone());
            // The loader skips the file or stops, so its version does not count.
            (file.version, file.told_by) = (None, None);
        }
    }
    for part in installed.list.iter().filter(|part| part.needed) {
        let (Some(index), Some(cuda)) = (graph.loaded(&file(&part.name)), cudnn.cuda_major) else {
            continue;
        };
        for names in opened_by(&part.name, &part.path, cuda, false) {
            let mut followed = ["libcublasLt.", "libnvrtc.", PLAIN_DRIVER].iter();
            if followed.any(|known| names.iter().any(|name| name.starts_with(known))) {
                open_any(graph, &names, index, cuda);
            }
        }
    }
    Some(cudnn)
}

/// Opens a library by the first of these names that the loader finds. If it finds none, only the first name counts as
/// missing.
fn open_any(graph: &mut LoadGraph, names: &[String], requester: usize, cuda: u32) {
    let is_here = graph.path.system.root.is_none();
    let has_driver = || graph.clone().open(DRIVER_SO, requester, LoadPhase::Later);
    // A missing driver is reported as such, and an image gets the links with the driver.
    if names == [PLAIN_DRIVER] && (!is_here || has_driver().is_none()) {
        return;
    }
    let mut opened = names.iter();
    let found = opened.find_map(|name| graph.open(name, requester, LoadPhase::Later));
    let (path, first) = (graph.search_path(requester), names.first());
    graph.missing.retain_mut(|missing| {
        let is_first = first == Some(&missing.name);
        if is_first && is_here {
            missing.link = MissingLink::find(&missing.name, Some(cuda), &path);
        }
        let is_other = missing.need != LoadPhase::Later || !names.contains(&missing.name);
        is_other || is_first && found.is_none()
    });
}

/// Returns a cuDNN of one of these majors that comes before the one that cudarc loads as `libcudnn.so`.
pub fn hidden_from_cudarc(
    graph: &LoadGraph,
    taken: usize,
    majors: &[u32],
    platform: &Platform,
) -> Option<Cudnn> {
    let (program, taken) = (graph.objects.first()?, graph.objects.get(taken)?);
    if taken.name != "libcudnn.so" {
        return None;
    }
    // A new graph is needed, because a loaded SONAME satisfies every request for the name.
    let (path, linkage) = (graph.path.clone(), program.linkage.clone());
    let mut graph = LoadGraph::resolve(&program.path, linkage, path);
    let hidden = majors.iter().find_map(|major| {
        let index = graph.open(&cudnn_file("", *major, false), 0, LoadPhase::Later)?;
        let (own, other) = (&graph.objects.get(index)?.origin, &taken.origin);
        let places = graph.search_path(0).directories;
        let first = places.iter().find(|one| [own, other].contains(&&one.dir))?;
        (own != other && first.dir == *own).then_some(index)
    })?;
    cudnn(&mut graph, hidden, platform)
}

/// Like [`cudnn`], but for any system. `find` returns the file that its loader uses for a sub-library of this version;
/// its last argument is `true` if a convolution needs the file.
pub fn locate(
    library: &Path,
    major: u32,
    platform: &Platform,
    root: Option<&Path>,
    find: &mut impl FnMut(&str, Option<Version>, bool) -> Option<PathBuf>,
) -> Cudnn {
    let (sysroot, os) = (Sysroot { root }, platform.os);
    let dir = library.parent().unwrap_or(library);
    let opened = OpenFiles::new(sysroot, platform);
    let main = opened.read("cudnn", library.to_path_buf());
    let own = beside(dir, major, os == Os::Windows);
    let own_file = |name: &str| sysroot.file(&own.iter().find(|(known, _)| known == name)?.1);
    let expected = Expected {
        beside: &own,
        ..Expected::default()
    };
    let mut find = |name: &str, version, is_needed| {
        // Windows searches the directory of the main library last.
        let found = find(name, version, is_needed);
        found.or_else(|| own_file(name).filter(|_| os == Os::Windows))
    };
    let mut read = |name: &str, path| opened.read(name, path);
    let mut installed = Installed::locate(main, major, &expected, &mut find, &mut read);
    // A bundled copy of 9.1.0 works with the sub-libraries of 9.10.2, because the loader in it checks no version.
    let name = consistency::file_name(library);
    if is_bundled(name) && !installed.list.is_empty() {
        // It does not count as a file whose version is unknown.
        installed.main.name.clear();
        (installed.main.version, installed.main.told_by) = (None, None);
    }
    let root = installed.folder().to_path_buf();
    let mut cudnn = Cudnn {
        library: Some(library.to_path_buf()),
        library_version: installed.version().map(|(version, _)| version),
        cuda_major: opened.cuda_major(&installed.files()),
        installed,
        ..Cudnn::default()
    };
    let wheels = root.parent().map(Owner::of_wheels);
    cudnn.files.wheels = wheels.filter(|wheels| wheels.len() > 1).unwrap_or_default();
    cudnn.root = root;
    cudnn
}

/// Returns the reason why the loader uses a file of a cuDNN.
fn origin_of(graph: &LoadGraph, main_library: usize, path: &Path) -> LoadOrigin {
    let objects = &graph.objects;
    let object = objects.iter().find(|object| object.path == path);
    let opener = object.and_then(|object| objects.get(object.requester?));
    let is_cudnn = |object: &Object| object.name.starts_with("libcudnn");
    // The graph does not contain the sub-libraries that no convolution needs.
    let searched = || graph.search_path(main_library).finds(path);
    match (object.and_then(|object| object.via.clone()), opener) {
        // The program itself has no name.
        (Some(_), Some(opener)) if !opener.name.is_empty() && !is_cudnn(opener) => {
            LoadOrigin::Library(Opener {
                path: opener.path.clone(),
                preloaded: opener.via == Some(LoadOrigin::Preload),
            })
        }
        (via, _) => via.or_else(searched).unwrap_or(LoadOrigin::Elsewhere),
    }
}
