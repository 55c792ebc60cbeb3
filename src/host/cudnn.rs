//! Reads what the files of a cuDNN say of it.

use super::eyes::Eyes;
use super::{files, library, owner};
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
    let major = cudnn.header_version.map(|version| version.major);
    for place in &tree.lib {
        let place = top.join(place);
        let shim = match platform.os {
            Os::Windows => import_library(&place, eyes),
            _ => shim_in(&place, major, eyes, platform),
        };
        if let Some(shim) = shim {
            cudnn.link_dir = Some(shim.dir.clone());
            cudnn.link_name = Some(shim.link_name);
            cudnn.library = shim.library;
            break;
        }
    }
    if cudnn.header.is_none() && cudnn.link_dir.is_none() {
        return None;
    }
    read_libraries(&mut cudnn, eyes);
    cudnn.cpu = cudnn.library.as_deref().and_then(library::cpu);
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
        cpu: library::cpu(&library),
        library: Some(library),
        library_version,
        ..Cudnn::default()
    })
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
    // Asked for by name, since a directory such as /usr/lib64 is long; the upper end is open enough.
    let wanted = named_major
        .into_iter()
        .chain(header_major)
        .chain((5..=30).rev());
    let versioned = wanted
        .map(|major| platform.cudnn_library(major))
        .find_map(|name| Some((eyes.file(&dir.join(&name))?, name)));
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

fn import_library(place: &Path, eyes: Eyes) -> Option<Shim> {
    let file = eyes.file(&place.join("cudnn.lib"))?;
    let dir = file.parent()?.to_path_buf();
    Some(Shim {
        dir,
        link_name: LinkName::Short("cudnn".into()),
        library: None,
    })
}

/// The shim and every part beside it, each with the release that it tells.
fn read_libraries(cudnn: &mut Cudnn, eyes: Eyes) {
    let (Some(library), Some(dir)) = (&cudnn.library, &cudnn.link_dir) else {
        return;
    };
    let major = library
        .file_name()
        .and_then(|name| first_number(name.to_str()?.strip_prefix("libcudnn.so")?));
    let mut files: Vec<(String, PathBuf)> = vec![("cudnn".into(), library.clone())];
    for path in files::list(dir).unwrap_or_default() {
        let Some((name, tail)) = part_name(&path) else {
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
        let (version, told_by) = release_of(&name, &path, eyes).unzip();
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
    cudnn.cuda_major = owner::wheel_cuda_major(&cudnn.root).or_else(|| {
        let likely = ["adv", "ops_infer", "ops", "graph"];
        let part = |name: &&str| cudnn.parts.iter().find(|part| part.name == **name);
        likely
            .iter()
            .filter_map(part)
            .find_map(|part| library::cuda_major(&part.path))
            .or_else(|| owner::archive_cuda_major(&cudnn.root))
    });
}

/// `graph` and `.9` of `libcudnn_graph.so.9`.
fn part_name(path: &Path) -> Option<(String, String)> {
    let (name, tail) = path
        .file_name()?
        .to_str()?
        .strip_prefix("libcudnn_")?
        .split_once(".so")?;
    (tail.is_empty() || tail.starts_with('.')).then(|| (name.to_string(), tail.to_string()))
}

fn release_of(part: &str, path: &Path, eyes: Eyes) -> Option<(Version, String)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::layout;

    /// CFG-11: NVIDIA's packages on Debian keep `cudnn_version_v9.h` in one directory and `cudnn.h` in another.
    #[test]
    fn the_directory_of_headers_is_the_one_that_a_program_can_include_from() {
        let usr = std::env::temp_dir().join(format!("cudnn-guard-headers-{}", std::process::id()));
        let macros = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 0\n";
        for (file, text) in [
            ("include/cudnn.h", ""),
            ("include/cudnn_version.h", macros),
            ("include/x86_64-linux-gnu/cudnn_v9.h", ""),
            ("include/x86_64-linux-gnu/cudnn_version_v9.h", macros),
        ] {
            std::fs::create_dir_all(usr.join(file).parent().unwrap()).unwrap();
            std::fs::write(usr.join(file), text).unwrap();
        }
        let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
        let tree = layout::system_cudnn(&platform, &usr);
        let (cudnn, _) = in_tree(&usr, &tree, Eyes { root: None }, &platform).unwrap();
        assert_eq!(cudnn.include_dir, Some(usr.join("include")));
        std::fs::remove_dir_all(&usr).unwrap();
    }
}
