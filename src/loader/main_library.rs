//! The cuDNN that a program comes to, with the parts that its first library opens.

use crate::cudnn::part_version::Teller;
use crate::loader::ldso::LoadGraph;
use crate::model::candidate::{Cudnn, Part};
use crate::model::library_name::LibraryName;
use crate::model::linkage::{Need, Object};
use crate::model::needs;
use crate::model::platform::Platform;
use crate::model::version::Version;
use crate::system::files;
use crate::system::library_file::Binary;
use crate::system::sysroot::Sysroot;
use std::path::{Path, PathBuf};

/// The number in `libcudnn.so.9` or `cudnn64_9.dll`.
pub fn cudnn_major(name: &str) -> Option<u32> {
    match LibraryName::read(name)? {
        file if file.name == "cudnn" => file.major(),
        _ => None,
    }
}

/// The same of an object, whichever name it was asked for by.
pub fn loaded_major(object: &Object) -> Option<u32> {
    let own = object.linkage.soname.as_deref();
    own.and_then(cudnn_major)
        .or_else(|| cudnn_major(&object.name))
}

/// Opens what a convolution opens, and reads the releases.
pub fn cudnn(way: &mut LoadGraph, shim: usize, platform: &Platform) -> Option<Cudnn> {
    let object = way.objects.get(shim)?;
    let major = loaded_major(object)?;
    let library = object.path.clone();
    let dir = library.parent().unwrap_or(&library).to_path_buf();
    let beside = beside(&dir, major, platform);
    let jit_only = beside.len() == needs::JIT.len()
        && beside
            .iter()
            .all(|(name, _)| needs::JIT.contains(&name.as_str()));
    // What is opened depends on the release, which this part tells.
    let first = (major >= 9)
        .then(|| way.open(&file("graph", major), shim, Need::Part))
        .flatten();
    let first = first.and_then(|index| Some(way.objects.get(index)?.path.clone()));
    let told = first.and_then(|path| Binary::open(&path, platform.os)?.release("graph"));
    let release = told.map_or(Version::new(major, 0, 0), |(version, _)| version);
    let needed = needs::of(release, jit_only).unwrap_or_default();
    let mut found: Vec<(String, PathBuf)> = vec![("cudnn".into(), library.clone())];
    let mut indices = Vec::new();
    for name in needed {
        if let Some(index) = way.open(&file(name, major), shim, Need::Part) {
            indices.push((*name, index));
            let path = way.objects.get(index).map(|part| part.path.clone());
            found.extend(path.map(|path| ((*name).into(), path)));
        }
    }
    for (name, path) in beside {
        if !needed.contains(&name.as_str()) {
            found.push((name, path));
        }
    }
    let mut cudnn = Cudnn {
        root: dir.clone(),
        link_dir: Some(dir),
        library: Some(library),
        ..Cudnn::default()
    };
    read(&mut cudnn, found, way.ground.root.as_deref(), platform);
    let of = |name: &str| indices.iter().find(|(known, _)| *known == name);
    let opener = |names: [&str; 2]| names.into_iter().find_map(of).map(|(_, index)| *index);
    if let Some(cuda) = cudnn.cuda_major {
        if let Some(part) = opener(["graph", "ops_infer"]) {
            way.open(&format!("libcublasLt.so.{cuda}"), part, Need::Later);
        }
        if let Some(part) = opener(["engines_runtime_compiled", "cnn_infer"]) {
            way.open(&format!("libnvrtc.so.{cuda}"), part, Need::Later);
        }
    }
    Some(cudnn)
}

fn file(name: &str, major: u32) -> String {
    format!("libcudnn_{name}.so.{major}")
}

/// The other parts in the folder.
fn beside(dir: &Path, major: u32, platform: &Platform) -> Vec<(String, PathBuf)> {
    let files = files::list_named(dir, &|name| name.contains("cudnn")).unwrap_or_default();
    let parts = files.iter().filter_map(|path| {
        let (name, file) = platform.cudnn_part(path)?;
        (file.numbers == [major] && name != "cudnn").then(|| (name.to_string(), path.clone()))
    });
    parts.collect()
}

fn read(
    cudnn: &mut Cudnn,
    found: Vec<(String, PathBuf)>,
    root: Option<&Path>,
    platform: &Platform,
) {
    let eyes = Sysroot { root };
    let opened: Vec<(String, PathBuf, Option<Binary>)> = found
        .into_iter()
        .filter_map(|(name, path)| {
            let path = eyes.file(&path)?;
            let binary = Binary::open(&path, platform.os);
            Some((name, path, binary))
        })
        .collect();
    let mut teller = Teller::new(opened.len());
    for (name, path, binary) in &opened {
        teller.look(name, &eyes.canonical(path), binary.as_ref());
        let flaw = binary
            .as_ref()
            .and_then(|binary| binary.defect(path, platform));
        cudnn
            .files
            .flaws
            .extend(flaw.map(|flaw| (name.clone(), path.clone(), flaw)));
    }
    for ((name, path, _), told) in opened.iter().zip(teller.tell()) {
        let (version, told_by) = told.unzip();
        cudnn.parts.push(Part {
            name: name.clone(),
            path: path.clone(),
            version,
            told_by,
        });
    }
    let told = |names: &[&str]| {
        let mut named = cudnn
            .parts
            .iter()
            .filter(|part| names.contains(&&*part.name));
        named.find_map(|part| part.version)
    };
    cudnn.library_version = told(&["graph"])
        .or_else(|| told(&["ops_infer"]))
        .or_else(|| told(&["ops", "cnn", "cnn_infer", "cudnn"]));
    let likely = ["adv", "adv_infer", "ops_infer", "ops", "graph"];
    cudnn.cuda_major = likely.iter().find_map(|name| {
        let part = opened.iter().find(|(known, ..)| known == name);
        part?.2.as_ref()?.cuda_major()
    });
}

/// The DLLs of a directory.
pub fn dlls(dir: &Path, major: u32, platform: &Platform) -> Cudnn {
    let library = dir.join(platform.cudnn_library(major));
    let mut found = vec![("cudnn".to_string(), library.clone())];
    found.extend(beside(dir, major, platform));
    let mut cudnn = Cudnn {
        root: dir.to_path_buf(),
        library: Some(library),
        ..Cudnn::default()
    };
    read(&mut cudnn, found, None, platform);
    cudnn
}
