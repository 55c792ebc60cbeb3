//! The configuration of `ldconfig`, which lists the directories whose libraries are in the loader's cache.

use crate::runtime::binary::files_in;
use crate::runtime::loader::{LoadOrigin, System};
use crate::runtime::system::{path_cache, platform};
use std::path::{Path, PathBuf};

/// A limit above the number of files of any configuration.
const MOST_FILES: usize = 256;

/// The system's directories, or their ends.
const SYSTEM: &str = "/lib /lib64 /usr/lib /usr/lib64 /usr/local/lib /usr/local/lib64 x86_64-linux-gnu aarch64-linux-gnu";

/// Returns the directories in the configuration of a system, as they are named there, each after the file that lists
/// it, in the order of `ldconfig`.
pub fn read(system: &System) -> Vec<(PathBuf, PathBuf)> {
    let file = Path::new("/etc/ld.so.conf");
    path_cache::once("configuration", &system.path(file), || {
        read_file(file, system, &mut Vec::new())
    })
}

/// Returns the reason why the loader finds this file in its cache: the configuration file that lists its directory, or
/// `origin` if the directory has to stay, because it also contains libraries of the system or of a toolkit.
pub fn origin(origin: LoadOrigin, file: &Path, system: &System) -> LoadOrigin {
    let dir = file.parent().unwrap_or(file);
    let has = |file: &Path, name: &str| file.to_string_lossy().contains(name);
    let is_cudart = |other: &PathBuf| has(other, "/libcudart.so");
    if origin != LoadOrigin::Cache
        || has(file, "/libcuda.so") && files_in(dir).iter().any(is_cudart)
    {
        return origin;
    }
    for (conf, listed) in read(system) {
        let real = system.path(&listed);
        let is_of_system = SYSTEM.split(' ').any(|dir| listed.ends_with(dir));
        if !is_of_system && (real == dir || platform::same_file(&real, dir)) {
            return LoadOrigin::Configured(listed, system.path(&conf));
        }
    }
    origin
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
            places.push((file.to_path_buf(), line.trim_end_matches('/').into()));
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
    files
}
