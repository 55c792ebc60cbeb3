//! `/etc/ld.so.cache`: which file the system's configuration gives to a library name.

use crate::runtime::binary::bounded_file::BoundedFile;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Which file the system's configuration gives to a library name.
pub const CACHE: &str = "/etc/ld.so.cache";

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// More than the cache of any system has, and more files than one name has in it. A damaged one names one long text
/// again and again.
const MOST: u64 = 4 << 20;
const MOST_FILES: usize = 64;
const LONGEST_PATH: usize = 4096;

/// Returns the files that the system's cache gives to this name, in its order.
pub fn files(name: &str) -> Vec<PathBuf> {
    files_of(Path::new(CACHE), name)
}

/// Returns the files that this cache gives to a name.
pub fn files_of(cache: &Path, name: &str) -> Vec<PathBuf> {
    let bytes = BoundedFile::open(cache)
        .ok()
        .and_then(|file| file.read(0, file.length().min(MOST)));
    parse(&bytes.unwrap_or_default(), name)
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
    let bytes = bytes.get(..MOST as usize).unwrap_or(bytes);
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
        let text = |at| cache.get(read_u32(entry, at)?..);
        let behind = text(4).and_then(|text| text.strip_prefix(name.as_bytes()));
        if behind.is_some_and(|behind| behind.first() == Some(&0)) && files.len() < MOST_FILES {
            files.extend(text(8).and_then(path));
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

fn path(text: &[u8]) -> Option<PathBuf> {
    let text = text.get(..LONGEST_PATH).unwrap_or(text);
    // It comes compiled with optimisation; a loop over bytes in a build script does not.
    let mut rest = text;
    let length = rest.skip_until(0).ok()?;
    let path = text.get(..length)?.strip_suffix(b"\0")?;
    Some(PathBuf::from(std::str::from_utf8(path).ok()?))
}
