//! The search for shared libraries, as a linker does it.

use crate::model::{Kind, Library, Os, Platform, Toolkit};
use crate::runtime::facts::{LibraryName, Version};
use crate::search::install_layout;
use crate::system::{Host, files};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};

/// Returns the file that the linker finds in the toolkit for this name.
pub fn shared_file(toolkit: &Toolkit, name: &str, platform: &Platform) -> Option<PathBuf> {
    file_in(&toolkit.link_dirs, name, platform, toolkit.version)
}

/// Returns the file that the linker finds in these directories.
pub fn file_in(
    dirs: &[PathBuf],
    name: &str,
    platform: &Platform,
    cuda: Option<Version>,
) -> Option<PathBuf> {
    let mut dirs = dirs.iter();
    dirs.find_map(|dir| Some(dir.join(library_in(dir, name, platform, cuda)?.file(platform.os))))
}

/// Returns the archive of the runtime in a toolkit for Linux.
pub fn static_cudart(toolkit: &Toolkit, platform: &Platform) -> Option<PathBuf> {
    match platform.os {
        Os::Linux => files::find_in(&toolkit.link_dirs, "libcudart_static.a"),
        _ => None,
    }
}

/// Returns `true` if the linker finds a shared library of this name in its default directories.
pub fn is_on_linker_path(name: &str, host: &Host) -> bool {
    let short = Some(Library::Dynamic(name.to_string()));
    linker_path(host)
        .iter()
        .any(|dir| library_in(dir, name, &host.platform, None) == short)
}

/// Returns the default directories of the linker.
pub fn linker_path(host: &Host) -> Vec<PathBuf> {
    let platform = &host.platform;
    let root = host.root.as_deref().unwrap_or(Path::new("/"));
    let (variable, separator) = match platform.os {
        Os::Windows => ("LIB", ';'),
        _ => ("LIBRARY_PATH", ':'),
    };
    let listed = host.env.var(variable).unwrap_or_default();
    let mut dirs = Vec::new();
    for dir in listed.split(separator) {
        dirs.push(PathBuf::from(dir));
    }
    for usr in ["usr", "usr/local", ""] {
        let usr = root.join(usr);
        let tree = install_layout::system(Kind::Cudnn, platform, &usr);
        dirs.extend(files::below(&usr, &tree.lib));
    }
    files::keep(&mut dirs, &Path::is_absolute);
    dirs
}

/// Returns how to link a shared library in this directory, if it exists. If the link without a version is missing,
/// returns the version with the toolkit's own major, or else the newest: distributions have several in one directory.
pub fn library_in(
    dir: &Path,
    name: &str,
    platform: &Platform,
    cuda: Option<Version>,
) -> Option<Library> {
    if platform.os == Os::Windows {
        return files::is_file(&dir.join(format!("{name}.lib")))
            .then(|| Library::Dynamic(name.to_string()));
    }
    if files::is_file(&dir.join(format!("lib{name}.so"))) {
        return Some(Library::Dynamic(name.to_string()));
    }
    let prefix = format!("lib{name}.so.");
    let files = files::list_named(dir, &|file| file.starts_with(&prefix)).unwrap_or_default();
    let mut best = None;
    for path in &files {
        if let Some(file) = LibraryName::of(path) {
            let own = cuda.map(|cuda| cuda.major) == file.major();
            // The SONAME is the shortest of `libx.so.13` and `libx.so.13.0.48`.
            let length = Reverse(file.numbers.len());
            let rank = (own, file.major(), length, file.numbers.clone());
            if best.as_ref().is_none_or(|(known, _)| rank > *known) {
                best = Some((rank, path));
            }
        }
    }
    let file = best?.1.file_name()?.to_str()?;
    Some(Library::Verbatim(file.to_string()))
}
