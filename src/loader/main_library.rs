//! The cuDNN that a program loads: the main library, and the sub-libraries that it opens.

use crate::cudnn::consistency;
use crate::cudnn::parts::{Named, SubLibraries};
use crate::loader::ldso::LoadGraph;
use crate::model::linkage::{LoadPhase, Object};
use crate::model::{Cudnn, Owner, Platform};
use crate::runtime::facts::sub_libraries::{self, TENSOR_IR};
use crate::runtime::facts::{LibraryName, Version, cudnn_file};
use crate::runtime::install::dlopen_dependencies::opened_by;
use crate::runtime::install::missing_dlopen::{MissingLink, PLAIN_DRIVER};
use crate::runtime::system::names::DRIVER_SO;
use crate::system::files;
use crate::system::library_file::Binary;
use crate::system::sysroot::Sysroot;
use std::path::{Path, PathBuf};

/// Returns the number in `libcudnn.so.9` or `cudnn64_9.dll`, or in the name of a bundled copy.
pub fn cudnn_major(name: &str) -> Option<u32> {
    match LibraryName::read(name)? {
        file if file.name == "cudnn" => file.major(),
        file if file.name.starts_with("cudnn-") && is_bundled(name) => file.major(),
        _ => None,
    }
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
    let major = loaded_major(object)?;
    let library = object.path.clone();
    let beside = beside(&library, major, platform);
    let jit_only = sub_libraries::is_jit_only(beside.iter().map(|(name, _)| name.as_str()));
    let file = |name: &str| cudnn_file(name, major, false);
    // The required sub-libraries depend on the version, which `graph` contains.
    let first = (major >= 9)
        .then(|| graph.open(&file("graph"), main_library, LoadPhase::Part))
        .flatten();
    let first = first.and_then(|index| Some(graph.objects.get(index)?.path.clone()));
    let version = first.and_then(|path| Binary::open(&path, platform.os).ok()?.release("graph"));
    let version = version.map_or(Version::new(major, 0, 0), |(version, _)| version);
    let needed = sub_libraries::needed(version, jit_only);
    let mut found: Vec<(String, PathBuf)> = vec![("cudnn".into(), library.clone())];
    let mut indices = Vec::new();
    for name in &needed {
        if let Some(index) = graph.open(&file(name), main_library, LoadPhase::Part) {
            indices.push((*name, index));
            let path = graph.objects.get(index).map(|part| part.path.clone());
            found.extend(path.map(|path| (name.to_string(), path)));
        }
    }
    let is_beside = beside.iter().any(|(name, _)| name == TENSOR_IR);
    if sub_libraries::opens_absent_part(version) && !is_beside {
        // cuDNN works without this file, so it does not count as missing.
        let missing = graph.missing.len();
        let index = graph.open(&file(TENSOR_IR), main_library, LoadPhase::Part);
        graph.missing.truncate(missing);
        let part = index.and_then(|index| graph.objects.get(index));
        found.extend(part.map(|part| (TENSOR_IR.to_string(), part.path.clone())));
    }
    for (name, path) in beside {
        if !needed.contains(&name.as_str()) {
            found.push((name, path));
        }
    }
    // A bundled copy of 9.1.0 works with the sub-libraries of 9.10.2, because the loader in it checks no version.
    if found.len() > 1
        && library
            .file_name()
            .is_some_and(|it| is_bundled(&it.to_string_lossy()))
    {
        found.remove(0);
    }
    let mut cudnn = read(library, found, graph.env.view.root.as_deref(), platform);
    use_own_version(&mut cudnn, &file("graph"), platform);
    cudnn.link_dir = Some(cudnn.root.clone());
    if let Some(cuda) = cudnn.cuda_major {
        for (name, index) in indices {
            let Some(part) = graph.objects.get(index) else {
                continue;
            };
            for names in opened_by(name, &part.path.clone(), cuda, false) {
                let mut followed = ["libcublasLt.", "libnvrtc.", PLAIN_DRIVER].iter();
                if followed.any(|known| names.iter().any(|name| name.starts_with(known))) {
                    open_any(graph, &names, index, cuda);
                }
            }
        }
    }
    Some(cudnn)
}

/// Opens a library by the first of these names that the loader finds. If it finds none, only the first name counts as
/// missing.
fn open_any(graph: &mut LoadGraph, names: &[String], requester: usize, cuda: u32) {
    let is_here = graph.env.view.root.is_none();
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
    let (env, linkage) = (graph.env.clone(), program.linkage.clone());
    let mut graph = LoadGraph::resolve(&program.path, linkage, env);
    let hidden = majors.iter().find_map(|major| {
        let index = graph.open(&cudnn_file("", *major, false), 0, LoadPhase::Later)?;
        let path = &graph.objects.get(index)?.path;
        precedes(&graph, path, &taken.path).then_some(index)
    })?;
    cudnn(&mut graph, hidden, platform)
}

/// Returns `true` if the program searches the directory of `one` before the directory of `other`.
fn precedes(graph: &LoadGraph, one: &Path, other: &Path) -> bool {
    let root = graph.env.view.root.as_deref();
    let real = |dir: &Path| Sysroot { root }.canonical(dir);
    let dir = |file: &Path| real(file.parent().unwrap_or(file));
    let (one, other) = (dir(one), dir(other));
    let places = graph.search_path(0).directories.into_iter();
    let mut dirs = places.map(|place| real(&place.dir));
    one != other && dirs.find(|dir| *dir == one || *dir == other) == Some(one)
}

/// Returns the sub-libraries in the directory of a main library.
fn beside(library: &Path, major: u32, platform: &Platform) -> Named {
    let dir = library.parent().unwrap_or(library);
    let files = files::list_named(dir, &|name| name.contains("cudnn")).unwrap_or_default();
    let mut parts = Named::new();
    for path in files {
        if let Some((name, file)) = platform.cudnn_part(&path) {
            if file.numbers == [major] && name != "cudnn" {
                parts.push((name.to_string(), path.clone()));
            }
        }
    }
    sub_libraries::drop_excess(&mut parts, |(name, _)| name.clone());
    parts
}

fn read(library: PathBuf, found: Named, root: Option<&Path>, platform: &Platform) -> Cudnn {
    let sysroot = Sysroot { root };
    let existing = |(name, path): (String, PathBuf)| Some((name, sysroot.file(&path)?));
    let found = found.into_iter().filter_map(existing).collect();
    let cudnn = Cudnn {
        root: library.parent().unwrap_or(&library).to_path_buf(),
        library: Some(library),
        ..Cudnn::default()
    };
    let mut cudnn = SubLibraries::open(found, sysroot, platform).describe(cudnn);
    let wheels = cudnn.root.parent().map(Owner::of_wheels);
    cudnn.files.wheels = wheels.filter(|wheels| wheels.len() > 1).unwrap_or_default();
    cudnn
}

/// Replaces the version if it comes from another cuDNN's sub-libraries.
fn use_own_version(cudnn: &mut Cudnn, graph: &str, platform: &Platform) {
    let dir = cudnn.root.clone();
    let part = |name| cudnn.parts.iter().find(|part| part.name == name);
    if part("graph").is_none_or(|graph| graph.path.parent() == Some(&dir)) {
        return;
    }
    // Otherwise the version is that of the `graph` beside the main library, which is not opened.
    let beside = || {
        let graph = Binary::open(&dir.join(graph), platform.os).ok()?;
        Some(graph.release("graph")?.0)
    };
    let own = part("cudnn").and_then(|own| own.version).or_else(beside);
    cudnn.library_version = own.or(cudnn.library_version);
    consistency::mark_needed(cudnn);
}

/// Like [`cudnn`], but for a Windows program. The main library opens the others by name, so a DLL on the program's
/// search path (`search`) precedes the one beside the library.
pub fn dlls(
    library: &Path,
    major: u32,
    platform: &Platform,
    search: &dyn Fn(&str) -> Option<PathBuf>,
) -> Cudnn {
    let file = |name: &str| cudnn_file(name, major, true);
    let mut found = vec![("cudnn".to_string(), library.to_path_buf())];
    let beside = beside(library, major, platform);
    let own = Binary::open(library, platform.os).ok();
    let release = own.and_then(|own| Some(own.release("cudnn")?.0));
    let release = release.unwrap_or(Version::new(major, 0, 0));
    let jit_only = sub_libraries::is_jit_only(beside.iter().map(|(name, _)| name.as_str()));
    let needed = sub_libraries::needed(release, jit_only);
    for name in needed {
        if !beside.iter().any(|(known, _)| known == name) {
            found.extend(search(&file(name)).map(|path| (name.to_string(), path)));
        }
    }
    for (name, path) in beside {
        let path = search(&file(&name)).unwrap_or(path);
        found.push((name, path));
    }
    let mut cudnn = read(library.to_path_buf(), found, None, platform);
    use_own_version(&mut cudnn, &file("graph"), platform);
    cudnn
}
