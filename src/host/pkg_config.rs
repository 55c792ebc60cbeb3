//! Reads the .pc files of CUDA and cuDNN.

use super::eyes::Eyes;
use super::files;
use crate::model::platform::Platform;
use crate::rules::pkg_config::{parse, release_in_name};
use crate::rules::step::{Kind, Tree};
use std::path::{Path, PathBuf};

/// A real one has a few hundred bytes.
const LARGEST: u64 = 1 << 16;

/// Where the .pc files in these directories lead, with the file: of each directory, the newest release first.
pub fn trees(
    dirs: &[PathBuf],
    sysroot: Option<&Path>,
    kind: Kind,
    eyes: Eyes,
    platform: &Platform,
) -> Vec<(PathBuf, Tree)> {
    let mut found = Vec::new();
    // `/usr/lib64` may be a link to `/usr/lib`.
    let dirs = dirs.iter().filter_map(|dir| eyes.dir(dir));
    for dir in files::each_once(dirs.map(|dir| eyes.canonical(&dir))) {
        let wanted = |name: &str| release_in_name(name, kind).is_some();
        let named = files::list_named(&dir, &wanted).unwrap_or_default();
        let release = |file: &PathBuf| release_in_name(file.file_name()?.to_str()?, kind);
        let mut named: Vec<_> = named
            .into_iter()
            .map(|file| (release(&file), file))
            .collect();
        // Of one release, `cudart` before `cuda`, which may stand for the driver alone.
        named.sort_by(|one, other| other.cmp(one));
        for (_, file) in named {
            let Some(path) = eyes.file(&file).filter(|path| files::size(path) < LARGEST) else {
                continue;
            };
            let text = files::read(&path).unwrap_or_default();
            let mut package = parse(&text, &file, sysroot);
            package.dirs().for_each(|dir| straighten(dir, eyes));
            found.extend(package.tree(kind, platform).map(|tree| (path, tree)));
        }
    }
    found
}

/// A package that can be moved names its directories from that of its file: `/opt/cuda/lib/pkgconfig/../..`.
fn straighten(dir: &mut PathBuf, eyes: Eyes) {
    if dir.iter().any(|part| part == "..") {
        *dir = eyes.canonical(dir);
    }
}
