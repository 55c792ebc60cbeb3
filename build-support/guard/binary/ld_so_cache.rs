//! `/etc/ld.so.cache`: which file the system's configuration gives to a library name.

use std::path::{Path, PathBuf};

/// Which file the system's configuration gives to a library name.
pub const CACHE: &str = "/etc/ld.so.cache";

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;

/// The files that the system's cache gives to this name, in its order.
pub fn files(name: &str) -> Vec<PathBuf> {
    match std::fs::read(Path::new(CACHE)) {
        Ok(bytes) => parse(&bytes, name),
        Err(_) => Vec::new(),
    }
}

/// Where the loader looks for this name, in its order: these folders are those that it tells.
pub fn candidates(folders: &[PathBuf], name: &str) -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    // The cache comes before the folders that every system has.
    let mut cached = files(name);
    for folder in folders {
        if is_default(folder) {
            candidates.append(&mut cached);
        }
        candidates.push(folder.join(name));
    }
    candidates.append(&mut cached);
    candidates
}

/// Whether every system has this folder: that the cache names it too tells nobody anything.
pub fn is_default(folder: &Path) -> bool {
    let folder = folder.to_string_lossy();
    let folder = folder.strip_prefix("/usr").unwrap_or(&folder);
    folder == "/lib"
        || folder == "/lib64"
        || (folder.starts_with("/lib/") && folder.ends_with("-linux-gnu"))
}

/// The files for this name in a cache of glibc 2.2 or later, whose format is described in its
/// `sysdeps/generic/dl-cache.h`: a header, one entry per library, then the strings. Before glibc 2.32 an older
/// table stands in front of it.
pub fn parse(bytes: &[u8], name: &str) -> Vec<PathBuf> {
    let Some(start) = bytes
        .windows(MAGIC.len())
        .position(|window| window == MAGIC)
    else {
        return Vec::new();
    };
    let Some(cache) = bytes.get(start..) else {
        return Vec::new();
    };
    let count = read_u32(cache, MAGIC.len()).unwrap_or(0).min(1 << 16);
    let mut files = Vec::new();
    let entries = cache.get(HEADER..).unwrap_or(&[]).chunks_exact(ENTRY);
    for entry in entries.take(count) {
        let text = |at| string(cache, read_u32(entry, at)?);
        if let (true, Some(file)) = (text(4) == Some(name), text(8)) {
            files.push(PathBuf::from(file));
        }
    }
    files
}

fn read_u32(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at..at.checked_add(4)?)? {
        [a, b, c, d] => Some(u32::from_le_bytes([*a, *b, *c, *d]) as usize),
        _ => None,
    }
}

fn string(cache: &[u8], at: usize) -> Option<&str> {
    let rest = cache.get(at..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(rest.get(..end)?).ok()
}
