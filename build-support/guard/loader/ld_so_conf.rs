//! The configuration of `ldconfig`, which lists the directories whose libraries are in the loader's cache.

use crate::runtime::binary::bounded_file::files_in;
use crate::runtime::binary::ld_so_cache::lib_folders;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::system::System;
use crate::runtime::system::platform;
use std::path::{Path, PathBuf};

/// A limit above the number of files of any configuration.
const MOST_FILES: usize = 256;

/// Returns the directories in the configuration of a system, each after the file that lists it, in the order of
/// `ldconfig`.
pub fn read(system: &System) -> Vec<(PathBuf, PathBuf)> {
    read_file(Path::new("/etc/ld.so.conf"), system, &mut Vec::new())
}

/// Returns the reason why the loader finds this file in its cache: `origin`, or the configuration files that list its
/// directory, if the directory can be removed from them. The system's directories contain other libraries.
pub fn origin(origin: LoadOrigin, file: &Path, system: &System) -> LoadOrigin {
    let dir = file.parent().unwrap_or(file);
    let prefixes = ["/", "/usr", "/usr/local"].map(|prefix| system.path(Path::new(prefix)));
    let folders = lib_folders(&system.cpu);
    let is_of_system = |prefix: &PathBuf| folders.iter().any(|lib| dir == prefix.join(lib));
    if origin != LoadOrigin::Cache
        || prefixes.iter().any(is_of_system)
        || is_driver_in_toolkit(file)
    {
        return origin;
    }
    let (mut named, mut confs) = (None, Vec::new());
    for (conf, listed) in read(system) {
        if (listed == dir || platform::same_file(&listed, dir)) && !confs.contains(&conf) {
            named = named.or(Some(listed));
            confs.push(conf);
        }
    }
    match named {
        Some(listed) => LoadOrigin::Configured(system.inside(&listed), confs),
        None => origin,
    }
}

/// Returns `true` for a library of the driver in a directory of a toolkit, whose other libraries may be needed.
fn is_driver_in_toolkit(file: &Path) -> bool {
    let starts = |file: &Path, start: &str| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(start)
    };
    let beside = || files_in(file.parent().unwrap_or(file));
    starts(file, "libcuda.so") && beside().iter().any(|other| starts(other, "libcudart.so"))
}

/// Reads a configuration file and its includes, each once.
fn read_file(file: &Path, system: &System, known: &mut Vec<PathBuf>) -> Vec<(PathBuf, PathBuf)> {
    let mut places = Vec::new();
    if known.len() == MOST_FILES || known.iter().any(|known| known == file) {
        return places;
    }
    known.push(file.to_path_buf());
    for line in system.read(file).lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.starts_with('/') {
            places.push((file.to_path_buf(), system.path(Path::new(line))));
        }
        let mut words = line.split_whitespace();
        if words.next() == Some("include") {
            for pattern in words {
                for included in matching(file, pattern, system) {
                    places.append(&mut read_file(&included, system, known));
                }
            }
        }
    }
    places
}

/// Returns the files that a pattern in this file matches. Like those of distributions, it may have a `*` in the file name.
fn matching(file: &Path, pattern: &str, system: &System) -> Vec<PathBuf> {
    let pattern = file.parent().unwrap_or(file).join(pattern);
    let (dir, name) = (pattern.parent(), pattern.file_name().unwrap_or_default());
    let (Some(dir), name) = (dir, name.to_string_lossy()) else {
        return Vec::new();
    };
    let Some((start, end)) = name.split_once('*') else {
        return vec![pattern];
    };
    let mut files = Vec::new();
    for file in files_in(&system.path(dir)) {
        let name = file.file_name().unwrap_or_default();
        let text = name.to_string_lossy();
        let is_hidden = start.is_empty() && text.starts_with('.');
        let rest = text.strip_prefix(start);
        if !is_hidden && rest.is_some_and(|rest| rest.ends_with(end)) {
            files.push(dir.join(name));
        }
    }
    files.sort_unstable();
    files
}
