//! Reads what the files of a cuDNN say of it.

use super::eyes::Eyes;
use super::{dll, files, library, owner};
use crate::model::candidate::{Cudnn, LinkName, Part};
use crate::model::platform::{Os, Platform};
use crate::model::version::Version;
use crate::rules::header;
use crate::rules::step::Tree;
use std::path::{Path, PathBuf};

/// The cuDNN in this directory: there is one if a header tells a release or a library lies there. With it, the files
/// that were read.
pub fn in_tree(
    top: &Path,
    tree: &Tree,
    eyes: Eyes,
    platform: &Platform,
) -> Option<(Cudnn, Vec<PathBuf>)> {
    let mut cudnn = Cudnn {
        root: top.to_path_buf(),
        ..Cudnn::default()
    };
    let mut read = Vec::new();
    for dir in &tree.include {
        if let Some((version, header)) = header_in(&top.join(dir), eyes) {
            cudnn.include_dir = header.parent().map(Path::to_path_buf);
            cudnn.header_version = Some(version);
            read.push(header.clone());
            cudnn.header = Some(header);
            break;
        }
    }
    let major = cudnn.header_version.map(|version| version.major);
    if platform.os == Os::Windows {
        import_and_dll(&mut cudnn, top, tree, eyes, platform);
    } else {
        for place in &tree.lib {
            if let Some(shim) = shim_in(&top.join(place), major, eyes, platform) {
                cudnn.link_dir = Some(shim.dir.clone());
                cudnn.link_name = Some(shim.link_name);
                cudnn.library = shim.library;
                break;
            }
        }
    }
    if cudnn.header.is_none() && cudnn.link_dir.is_none() && cudnn.library.is_none() {
        return None;
    }
    read_libraries(&mut cudnn, eyes, platform);
    let library = cudnn.library.as_deref();
    cudnn.cpu = match platform.os {
        Os::Windows => library.and_then(dll::cpu),
        _ => library.and_then(library::cpu),
    };
    read.extend(cudnn.parts.iter().map(|part| part.path.clone()));
    Some((cudnn, read))
}

/// The header that tells the release; `cudnn.h` itself does so up to cuDNN 7.
fn header_in(dir: &Path, eyes: Eyes) -> Option<(Version, PathBuf)> {
    let names = [
        "cudnn_version.h",
        "cudnn_version_v9.h",
        "cudnn_version_v8.h",
        "cudnn.h",
    ];
    names.iter().find_map(|name| {
        let header = eyes.file(&dir.join(name))?;
        let version = header::cudnn(&files::read(&header).ok()?)?;
        Some((version, header))
    })
}

struct Shim {
    dir: PathBuf,
    link_name: LinkName,
    library: Option<PathBuf>,
}

/// The library that programs open, in a directory or named itself.
fn shim_in(
    place: &Path,
    header_major: Option<u32>,
    eyes: Eyes,
    platform: &Platform,
) -> Option<Shim> {
    let (dir, named_major) = match eyes.file(place) {
        Some(file) => {
            let name = file.file_name()?.to_str()?.to_string();
            (
                file.parent()?.to_path_buf(),
                name.strip_prefix("libcudnn.so").and_then(first_number),
            )
        }
        None => (place.to_path_buf(), None),
    };
    let dir = eyes.dir(&dir)?;
    // Asked for by name, since a directory such as /usr/lib64 is long; the upper end is open enough.
    let wanted = named_major
        .into_iter()
        .chain(header_major)
        .chain((5..=30).rev());
    let versioned = wanted
        .map(|major| platform.cudnn_library(major))
        .find_map(|name| {
            let path = dir.join(&name);
            let file = files::is_there(&path).then(|| eyes.file(&path))?;
            Some((file?, name))
        });
    let short = eyes.file(&dir.join("libcudnn.so"));
    let link_name = match (&short, &versioned) {
        (Some(_), _) => LinkName::Short("cudnn".into()),
        (None, Some((_, name))) => LinkName::Verbatim(name.clone()),
        (None, None) => return None,
    };
    let library = versioned.map(|(path, _)| path).or(short);
    let dir = library
        .as_deref()
        .and_then(Path::parent)
        .map_or(dir, Path::to_path_buf);
    Some(Shim {
        dir,
        link_name,
        library,
    })
}

/// What is linked against and what is opened lie apart, and there may be either without the other.
fn import_and_dll(cudnn: &mut Cudnn, top: &Path, tree: &Tree, eyes: Eyes, platform: &Platform) {
    let header_major = cudnn.header_version.map(|version| version.major);
    let places = || tree.lib.iter().map(|place| top.join(place));
    let named = places().find_map(|place| eyes.file(&place).filter(|file| has_end(file, "lib")));
    let import = named.or_else(|| places().find_map(|place| eyes.file(&place.join("cudnn.lib"))));
    if let Some(import) = import {
        cudnn.link_dir = import.parent().map(Path::to_path_buf);
        let name = import.file_stem().unwrap_or_default().to_string_lossy();
        cudnn.link_name = Some(LinkName::Short(name.into_owned()));
    }
    let wanted = header_major.into_iter().chain((5..=30).rev());
    let names: Vec<String> = wanted.map(|major| platform.cudnn_library(major)).collect();
    cudnn.library = places()
        .filter(|place| files::is_dir(place))
        .find_map(|place| names.iter().find_map(|name| eyes.file(&place.join(name))));
}

fn has_end(file: &Path, end: &str) -> bool {
    file.extension()
        .is_some_and(|known| known.eq_ignore_ascii_case(end))
}

/// 12 of `bin/12.5/x64/cudnn64_9.dll`: NVIDIA's installer for Windows names a directory after the CUDA.
fn folder_cuda_major(cudnn: &Cudnn, platform: &Platform) -> Option<u32> {
    let dir = cudnn.library.as_deref().or(cudnn.link_dir.as_deref())?;
    let mut above = dir.ancestors().filter(|_| platform.os == Os::Windows);
    above.find_map(|dir| {
        let up = dir.parent()?;
        let (major, minor) = dir.file_name()?.to_str()?.split_once('.')?;
        minor.parse::<u32>().ok()?;
        let major = major.parse().ok()?;
        (up.ends_with("bin") || up.ends_with("lib")).then_some(major)
    })
}

/// The shim and every part beside it, each with the release that it tells.
fn read_libraries(cudnn: &mut Cudnn, eyes: Eyes, platform: &Platform) {
    let Some((library, dir)) = cudnn
        .library
        .as_ref()
        .and_then(|library| Some((library, library.parent()?)))
    else {
        cudnn.cuda_major =
            owner::wheel_cuda_major(&cudnn.root).or_else(|| folder_cuda_major(cudnn, platform));
        return;
    };
    let name = library.file_name().and_then(|name| name.to_str());
    let major = name.and_then(|name| {
        let windows = name.strip_prefix("cudnn64_");
        first_number(windows.or_else(|| name.strip_prefix("libcudnn.so"))?)
    });
    let mut files: Vec<(String, PathBuf)> = vec![("cudnn".into(), library.clone())];
    for path in files::list(dir).unwrap_or_default() {
        let name = path.file_name().and_then(|name| name.to_str());
        let Some((name, tail)) = name.and_then(|name| platform.cudnn_part(name)) else {
            continue;
        };
        // Of several files for one part, the one that the program asks the loader for.
        let exact = major.is_some_and(|major| tail == format!(".{major}"));
        if major.is_some_and(|major| first_number(&tail).is_some_and(|other| other != major)) {
            continue; // another cuDNN in the same directory
        }
        let Some(path) = eyes.file(&path) else {
            continue;
        };
        match files.iter_mut().find(|(known, _)| *known == name) {
            None => files.push((name, path)),
            Some(known) if exact => known.1 = path,
            Some(_) => {}
        }
    }
    for (name, path) in files {
        let (version, told_by) = release_of(&name, &path, eyes, platform).unzip();
        cudnn.parts.push(Part {
            name,
            path,
            version,
            told_by,
        });
    }
    // The shim of 9.x gives graph's release as its own, that of 8.x ops_infer's.
    let told = |names: &[&str]| {
        let named = cudnn
            .parts
            .iter()
            .filter(|part| names.contains(&part.name.as_str()));
        named.filter_map(|part| part.version).next()
    };
    cudnn.library_version = told(&["graph"])
        .or_else(|| told(&["ops_infer"]))
        .or_else(|| told(&["ops", "adv", "cnn_infer", "adv_infer", "cudnn"]));
    cudnn.cuda_major = owner::wheel_cuda_major(&cudnn.root)
        .or_else(|| folder_cuda_major(cudnn, platform))
        .or_else(|| {
            let likely = ["adv", "ops_infer", "ops", "graph"];
            let part = |name: &&str| cudnn.parts.iter().find(|part| part.name == **name);
            likely
                .iter()
                .filter_map(part)
                .find_map(|part| match platform.os {
                    Os::Windows => dll::cuda_major(&part.path),
                    _ => library::cuda_major(&part.path),
                })
        });
}

fn release_of(
    part: &str,
    path: &Path,
    eyes: Eyes,
    platform: &Platform,
) -> Option<(Version, String)> {
    if platform.os == Os::Windows {
        return dll::release(path, part);
    }
    if let Some((version, symbol)) = library::release(path, part) {
        return Some((version, format!("symbol {symbol}")));
    }
    // `libcudnn_cnn.so.9` is a link to `libcudnn_cnn.so.9.14.0` wherever there are links.
    let real = eyes.canonical(path);
    let (_, numbers) = real.file_name()?.to_str()?.split_once(".so.")?;
    let mut numbers = numbers.split('.').map(|number| number.parse().ok());
    match (
        numbers.next(),
        numbers.next(),
        numbers.next(),
        numbers.next(),
    ) {
        (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) => {
            Some((Version::new(major, minor, patch), "file name".to_string()))
        }
        _ => None,
    }
}

/// 9 of `.9.14.0`.
fn first_number(tail: &str) -> Option<u32> {
    tail.trim_start_matches('.').split('.').next()?.parse().ok()
}
