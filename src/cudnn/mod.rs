//! Reads what the files of a cuDNN say of it.

pub mod build_ids;
pub mod consistency;
pub mod device_code;
pub mod fatbin;
pub mod gpu_code;
pub mod nvidia_image;
pub mod package_owner;
pub mod part_version;

pub mod headers;
#[cfg(all(test, target_os = "linux"))]
pub mod tests;

use crate::cudnn::part_version::Teller;
use crate::model::candidate::{Cudnn, LinkName, Part, Unresolved};
use crate::model::platform::{Os, Platform};
use crate::model::version::Version;
use crate::search::search_step::Tree;
use crate::system::files;
use crate::system::library_file::Binary;
use crate::system::library_file::elf_library::Library;
use crate::system::sysroot::Eyes;
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
    // NVIDIA's Debian packages keep `cudnn_version_v9.h` where no `cudnn.h` is.
    let whole = |dir: &&PathBuf| eyes.file(&top.join(dir).join("cudnn.h")).is_some();
    let (whole, rest): (Vec<_>, Vec<_>) = tree.include.iter().partition(whole);
    let mut headers = whole.into_iter().chain(rest);
    if let Some((dir, (version, header))) = headers.find_map(|dir| {
        let dir = top.join(dir);
        header_in(&dir, eyes).map(|told| (dir, told))
    }) {
        cudnn.include_dir = eyes.dir(&dir);
        cudnn.header_version = Some(version);
        read.push(header.clone());
        cudnn.header = Some(header);
    }
    if cudnn.header.is_none() {
        let dirs = tree.include.iter().map(|dir| top.join(dir));
        (cudnn.files.unreadable, cudnn.files.mute) = silent(dirs, eyes);
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
        // What an upgrade, or a copy of the links alone, leaves behind.
        if cudnn.link_dir.is_none() {
            let names = major.map(|major| platform.cudnn_library(major));
            let names: Vec<String> = names.into_iter().chain(["libcudnn.so".into()]).collect();
            let places = tree.lib.iter().map(|place| top.join(place));
            let mut links = places.flat_map(|place| names.iter().map(move |name| place.join(name)));
            cudnn.files.dangling = links.find(|link| files::is_link(link));
        }
        // Where there is a library, the archives are beside it.
        if let (None, Some(major)) = (&cudnn.link_dir, major) {
            let places = tree.lib.iter().map(|place| top.join(place));
            let mut dirs = places.filter_map(|place| eyes.dir(&place));
            cudnn.files.archives = dirs.find(|dir| holds_archives(dir, major));
        }
    }
    if cudnn.header.is_none() && cudnn.link_dir.is_none() && cudnn.library.is_none() {
        return None;
    }
    cudnn.owner = package_owner::of(&cudnn, eyes).map(Box::new);
    read_libraries(&mut cudnn, eyes, platform);
    cudnn.files.header_owner = package_owner::of_headers(&cudnn, eyes);
    read.extend(cudnn.parts.iter().map(|part| part.path.clone()));
    Some((cudnn, read))
}

/// The libraries of cuDNN that a Python package brought along in this directory. They have its headers nowhere, and
/// nothing is linked against them.
pub fn brought_along(dir: &Path, tree: &Tree, platform: &Platform) -> Option<Cudnn> {
    let eyes = Eyes { root: None };
    let whole = in_tree(dir, tree, eyes, platform).map(|(cudnn, _)| cudnn);
    let mut cudnn = whole.or_else(|| renamed_in(dir))?;
    cudnn.link_dir = None;
    cudnn.link_name = None;
    Some(cudnn)
}

/// auditwheel puts a hash into the names: `libcudnn-74a4c495.so.9.1.0`.
fn renamed_in(dir: &Path) -> Option<Cudnn> {
    let mut files = files::list(dir).unwrap_or_default().into_iter();
    let (library, numbers) = files.find_map(|path| {
        let name = path.file_name()?.to_str()?;
        let numbers = name.strip_prefix("libcudnn-")?.split_once(".so.")?.1;
        let numbers: Vec<u32> = numbers
            .split('.')
            .filter_map(|one| one.parse().ok())
            .collect();
        Some((path, numbers))
    })?;
    let library_version = match numbers[..] {
        [major, minor, patch] => Some(Version::new(major, minor, patch)),
        _ => None,
    };
    Some(Cudnn {
        root: dir.to_path_buf(),
        cpu: Library::open(&library).and_then(|library| library.cpu()),
        library: Some(library),
        library_version,
        ..Cudnn::default()
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
    // Of two releases in one directory, the short name leads to one, and the headers may be the other's.
    let leads_to = short.as_deref().and_then(|path| real_major(path, eyes));
    let other = versioned.as_ref().is_some_and(|(_, name)| {
        let own = name.strip_prefix("libcudnn.so").and_then(first_number);
        eyes.file(place).is_none() && leads_to.is_some() && own.is_some() && leads_to != own
    });
    let link_name = match (&short, &versioned) {
        (_, Some((_, name))) if other => LinkName::Verbatim(name.clone()),
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

fn holds_archives(dir: &Path, major: u32) -> bool {
    let kinds = ["_ops", "_ops_infer", ""];
    kinds.iter().any(|kind| {
        let there =
            |end: String| files::is_file(&dir.join(format!("libcudnn{kind}_static{end}.a")));
        there(format!("_v{major}")) || there(String::new())
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

/// The shim and every part beside it, each with the release that it tells.
fn read_libraries(cudnn: &mut Cudnn, eyes: Eyes, platform: &Platform) {
    let Some((library, dir)) = cudnn
        .library
        .as_ref()
        .and_then(|library| Some((library, library.parent()?)))
    else {
        cudnn.cuda_major = package_owner::wheel_cuda_major(&cudnn.root)
            .or_else(|| folder_cuda_major(cudnn, platform));
        return;
    };
    let name = library.file_name().and_then(|name| name.to_str());
    let major = name.and_then(|name| {
        let windows = name.strip_prefix("cudnn64_");
        first_number(windows.or_else(|| name.strip_prefix("libcudnn.so"))?)
    });
    let mut found: Vec<(String, PathBuf)> = vec![("cudnn".into(), library.clone())];
    let mut whole: Vec<(String, PathBuf)> = Vec::new();
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
        let leads_to = tail.is_empty().then(|| real_major(&path, eyes)).flatten();
        if major.is_some_and(|major| leads_to.is_some_and(|other| other != major)) {
            continue; // the same, by its short name
        }
        let is_link = files::is_link(&path);
        let Some(path) = eyes.file(&path) else {
            continue;
        };
        if !is_link {
            whole.push((name.clone(), path.clone()));
        }
        match found.iter_mut().find(|(known, _)| *known == name) {
            None => found.push((name, path)),
            Some(known) if exact && name != "cudnn" => known.1 = path,
            Some(_) => {}
        }
    }
    let opened: Vec<(String, PathBuf, Option<Binary>)> = found
        .into_iter()
        .map(|(name, path)| {
            let library = Binary::open(&path, platform.os);
            (name, path, library)
        })
        .collect();
    let mut folders = Vec::new();
    let mut teller = Teller::new(opened.len());
    for (name, path, library) in &opened {
        let real = eyes.canonical(path);
        folders.extend(real.parent().map(Path::to_path_buf));
        teller.look(name, &real, library.as_ref());
        let flaw = library
            .as_ref()
            .and_then(|library| library.flaw(path, platform));
        if name == "cudnn" {
            cudnn.cpu = library.as_ref().and_then(Binary::cpu);
            let own_first = library.as_ref().and_then(Binary::own_first);
            cudnn.files.own_first = own_first == Some(true);
        }
        if let Some(flaw) = flaw {
            cudnn.files.flaws.push((name.clone(), path.clone(), flaw));
        }
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
    let folders = files::each_once(folders.into_iter());
    if folders.len() > 1 {
        cudnn.files.folders = folders;
    }
    cudnn.files.copies = copies(whole);
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
    cudnn.cuda_major = package_owner::wheel_cuda_major(&cudnn.root)
        .or_else(|| folder_cuda_major(cudnn, platform))
        .or_else(|| {
            let likely = ["adv", "ops_infer", "ops", "graph"];
            let part = |name: &&str| opened.iter().find(|(known, ..)| known == name);
            likely
                .iter()
                .filter_map(part)
                .find_map(|(_, _, library)| library.as_ref()?.cuda_major())
        })
        .or_else(|| package_owner::archive_cuda_major(&cudnn.root))
        .or_else(|| cudnn.owner.as_ref()?.cuda_major());
}

/// The files of each part that has more than one whole file of one size, where there should be one and links to it.
fn copies(whole: Vec<(String, PathBuf)>) -> Vec<Vec<PathBuf>> {
    let mut groups: Vec<(String, u64, Vec<PathBuf>)> = Vec::new();
    for (name, path) in whole {
        let size = files::size(&path);
        let known = groups
            .iter_mut()
            .find(|group| group.0 == name && group.1 == size);
        match known {
            Some((_, _, group)) => group.push(path),
            None => groups.push((name, size, vec![path])),
        }
    }
    groups.retain(|(_, _, group)| group.len() > 1);
    groups.into_iter().map(|(_, _, group)| group).collect()
}

/// What parts take from each other and do not find there. That takes long, and is asked only where a part does not
/// tell its release. One that does not tell its symbols lacks none.
pub fn unresolved(cudnn: &Cudnn, os: Os) -> Vec<Unresolved> {
    let mut found = Vec::new();
    if cudnn.parts.iter().all(|part| part.version.is_some()) {
        return found;
    }
    let opened: Vec<(&Path, Binary)> = cudnn
        .parts
        .iter()
        .filter_map(|part| Some((&*part.path, Binary::open(&part.path, os)?)))
        .collect();
    for (part, library) in &opened {
        let wants = library.wants();
        for (sibling, library) in &opened {
            let file = sibling.file_name().and_then(|name| name.to_str());
            let wanted = wants.iter().filter(|(name, _)| Some(name.as_str()) == file);
            let mut wanted = wanted.map(|(_, symbol)| &symbol[..]).peekable();
            if wanted.peek().is_none() {
                continue;
            }
            let symbols = library.lacks(wanted);
            if !symbols.is_empty() {
                found.push(Unresolved {
                    part: part.to_path_buf(),
                    sibling: sibling.to_path_buf(),
                    symbols,
                });
            }
        }
    }
    found
}

/// 9 of `libcudnn_ops.so`, if that is a link to `libcudnn_ops.so.9.14.0`.
fn real_major(path: &Path, eyes: Eyes) -> Option<u32> {
    let real = eyes.canonical(path);
    first_number(real.file_name()?.to_str()?.split_once(".so.")?.1)
}

/// 9 of `.9.14.0`.
fn first_number(tail: &str) -> Option<u32> {
    tail.trim_start_matches('.').split('.').next()?.parse().ok()
}

use headers::{header_in, silent};
