//! Reads what the files of a cuDNN say of it.

use super::eyes::Eyes;
use super::library::Library;
use super::releases::Teller;
use super::{files, owner};
use crate::model::candidate::{Cudnn, LinkName, Part, Unresolved};
use crate::model::flaw::Flaw;
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
    read_libraries(&mut cudnn, eyes, platform);
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
fn read_libraries(cudnn: &mut Cudnn, eyes: Eyes, platform: &Platform) {
    let (Some(library), Some(dir)) = (&cudnn.library, &cudnn.link_dir) else {
        return;
    };
    let major = library
        .file_name()
        .and_then(|name| first_number(name.to_str()?.strip_prefix("libcudnn.so")?));
    let mut found: Vec<(String, PathBuf)> = vec![("cudnn".into(), library.clone())];
    let mut whole: Vec<(String, PathBuf)> = Vec::new();
    for path in files::list(dir).unwrap_or_default() {
        let Some((name, tail)) = part_name(&path) else {
            continue;
        };
        // Of several files for one part, the one that the program asks the loader for.
        let exact = major.is_some_and(|major| tail == format!(".{major}"));
        if major.is_some_and(|major| first_number(&tail).is_some_and(|other| other != major)) {
            continue; // another cuDNN in the same directory
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
    let opened: Vec<(String, PathBuf, Option<Library>)> = found
        .into_iter()
        .map(|(name, path)| {
            let library = Library::open(&path);
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
            .and_then(|library| flaw(path, library, platform));
        if name == "cudnn" {
            cudnn.cpu = library.as_ref().and_then(Library::cpu);
            let own_first = library.as_ref().and_then(Library::own_first);
            cudnn.files.own_first = own_first == Some(true);
        }
        if let Some(flaw) = flaw {
            cudnn.files.flaws.push((name.clone(), path.clone(), flaw));
        }
    }
    let told = teller.tell();
    for ((name, path, _), told) in opened.iter().zip(told) {
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
    cudnn.cuda_major = owner::wheel_cuda_major(&cudnn.root).or_else(|| {
        let likely = ["adv", "ops_infer", "ops", "graph"];
        let part = |name: &&str| opened.iter().find(|(known, ..)| known == name);
        likely
            .iter()
            .filter_map(part)
            .find_map(|(_, _, library)| library.as_ref()?.cuda_major())
            .or_else(|| owner::archive_cuda_major(&cudnn.root))
    });
}

/// What is wrong with a file. A `libcudnn.so` without a number may be a script for the linker.
fn flaw(path: &Path, library: &Library, platform: &Platform) -> Option<Flaw> {
    let script = path.extension().is_some_and(|end| end == "so");
    match library.flaw() {
        Some(Flaw::NotElf(_)) if script => None,
        Some(flaw) => Some(flaw),
        None => library
            .cpu()
            .filter(|cpu| *cpu != platform.cpu)
            .map(Flaw::Cpu),
    }
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
pub fn unresolved(cudnn: &Cudnn) -> Vec<Unresolved> {
    let mut found = Vec::new();
    if cudnn.parts.iter().all(|part| part.version.is_some()) {
        return found;
    }
    let opened: Vec<(&Path, Library)> = cudnn
        .parts
        .iter()
        .filter_map(|part| Some((&*part.path, Library::open(&part.path)?)))
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

/// `graph` and `.9` of `libcudnn_graph.so.9`; the library that programs open is `cudnn`.
fn part_name(path: &Path) -> Option<(String, String)> {
    let file = path.file_name()?.to_str()?.strip_prefix("libcudnn")?;
    let (name, tail) = file.split_once(".so")?;
    let name = match name.strip_prefix('_') {
        Some(name) => name,
        None if name.is_empty() => "cudnn",
        None => return None,
    };
    (tail.is_empty() || tail.starts_with('.')).then(|| (name.to_string(), tail.to_string()))
}

/// 9 of `.9.14.0`.
fn first_number(tail: &str) -> Option<u32> {
    tail.trim_start_matches('.').split('.').next()?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    /// Two parts, one of which takes functions from the other under the name of a version, as NVIDIA's do.
    fn pair(dir: &Path, graph: &str) -> (Cudnn, Vec<Unresolved>) {
        let lib = dir.join("lib");
        std::fs::create_dir_all(&lib).unwrap();
        let cc = |part: &str, source: &str, more: &[&str]| {
            let file = |end: &str| lib.join(format!("libcudnn{part}.{end}"));
            std::fs::write(file("c"), source).unwrap();
            std::fs::write(
                file("map"),
                format!("libcudnn{part}.so.9 {{ global: *; }};\n"),
            )
            .unwrap();
            let mut cc = Command::new("cc");
            cc.args(["-shared", "-fPIC", "-Wl,--hash-style=gnu", "-o"])
                .args([file("so.9"), file("c")])
                .arg(format!("-Wl,-soname,libcudnn{part}.so.9"))
                .arg(format!("-Wl,--version-script={}", file("map").display()))
                .arg("-L")
                .arg(&lib)
                .args(more);
            assert!(cc.status().unwrap().success());
        };
        let whole = "void one(void) {} void two(void) {} void may(void) {}";
        cc("_graph", whole, &[]);
        // A weak one may be lacking.
        let needs = "void one(void); void two(void); void may(void) __attribute__((weak)); \
            void f(void) { one(); two(); if (may) may(); }";
        cc("_cnn", needs, &["-l:libcudnn_graph.so.9"]);
        cc("_graph", graph, &[]);
        cc(
            "",
            "void shim(void) {}",
            &["-Wl,-rpath,$ORIGIN", "-Wl,--disable-new-dtags"],
        );
        let platform =
            Platform::from_triple(&format!("{}-unknown-linux-gnu", std::env::consts::ARCH));
        let tree = crate::rules::layout::cudnn(&platform, dir, "");
        let (cudnn, _) = in_tree(dir, &tree, Eyes { root: None }, &platform).unwrap();
        let unresolved = unresolved(&cudnn);
        std::fs::remove_dir_all(dir).unwrap();
        (cudnn, unresolved)
    }

    #[test]
    fn functions_that_a_part_lacks_are_found() {
        let dir = std::env::temp_dir().join(format!("cudnn-guard-closure-{}", std::process::id()));
        let (whole, lacking) = pair(
            &dir,
            "void one(void) {} void two(void) {} void more(void) {}",
        );
        assert_eq!(lacking, []);
        assert_eq!(whole.files.flaws, []);
        assert!(whole.files.own_first, "a DT_RPATH");
        let (_, lacking) = pair(&dir, "void one(void) {}");
        assert_eq!(
            lacking,
            [Unresolved {
                part: dir.join("lib/libcudnn_cnn.so.9"),
                sibling: dir.join("lib/libcudnn_graph.so.9"),
                symbols: vec!["two".to_string()],
            }]
        );
    }

    #[test]
    fn a_record_that_the_parts_contradict_is_not_believed() {
        let site = std::env::temp_dir().join(format!("cudnn-guard-record-{}", std::process::id()));
        let told = |release: &str| {
            let dir = site.join("nvidia/cudnn");
            let wheel = site.join(format!("nvidia_cudnn_cu12-{release}.7.dist-info"));
            std::fs::create_dir_all(&wheel).unwrap();
            let lines = ["", "_cnn", "_graph"].map(|part| {
                let size = 64 + part.len();
                format!("nvidia/cudnn/lib/libcudnn{part}.so.9,sha256=x,{size}\n")
            });
            std::fs::write(wheel.join("RECORD"), lines.concat()).unwrap();
            let mut teller = Teller::new(2);
            let lib = dir.join("lib");
            std::fs::create_dir_all(&lib).unwrap();
            let source = site.join("graph.c");
            let symbol = "const unsigned char cudnn_graph_version[4] = {0, 1, 9, 0};";
            std::fs::write(&source, symbol).unwrap();
            let graph = lib.join("libcudnn_graph.so.9");
            let mut cc = Command::new("cc");
            cc.args(["-shared", "-Wl,--hash-style=gnu", "-o"]);
            assert!(cc.args([&graph, &source]).status().unwrap().success());
            let cnn = lib.join("libcudnn_cnn.so.9");
            std::fs::write(&cnn, [0; 68]).unwrap();
            for (name, path) in [("graph", &graph), ("cnn", &cnn)] {
                let real = path.canonicalize().unwrap();
                teller.look(name, &real, Library::open(path).as_ref());
            }
            let told = teller
                .tell()
                .into_iter()
                .map(|told| Some(told?.0.to_string()));
            let told: Vec<Option<String>> = told.collect();
            std::fs::remove_dir_all(&site).unwrap();
            told
        };
        assert_eq!(told("9.1.0"), [Some("9.1.0".into()), Some("9.1.0".into())]);
        assert_eq!(told("9.2.0"), [Some("9.1.0".into()), None]);
    }
}
