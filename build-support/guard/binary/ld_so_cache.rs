//! `/etc/ld.so.cache`, which maps library names to files.

use crate::runtime::binary::{BoundedFile, number};
use crate::runtime::system::path_cache;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub const CACHE: &str = "/etc/ld.so.cache";

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// Limits above the size of any system's cache, and above the number of its files with the same name. A damaged cache
/// may refer to a long string many times.
const MOST: u64 = 4 << 20;
const MOST_FILES: usize = 64;
const LONGEST_PATH: usize = 4096;

/// Returns the files of this name in a cache, in its order.
pub fn files(cache: &Path, name: &str) -> Vec<PathBuf> {
    let read = || {
        let file = BoundedFile::open(cache).ok()?;
        file.read(0, file.length().min(MOST)).map(Rc::new)
    };
    path_cache::once("cached", &cache.join(name), || {
        let bytes = path_cache::once("cache", cache, read);
        parse(&bytes.unwrap_or_default(), name)
    })
}

/// Returns the directories below `/usr` that `$LIB` may stand for. Each loader has one of them compiled into it.
pub fn lib_folders(cpu: &str) -> [String; 3] {
    [
        format!("lib/{cpu}-linux-gnu"),
        "lib64".to_string(),
        "lib".to_string(),
    ]
}

/// Returns the files for this name in a cache of glibc 2.2 or later, whose format is described in its
/// `sysdeps/generic/dl-cache.h`: a header, one entry per library, then the strings. Before glibc 2.32, an older table
/// precedes it.
pub fn parse(bytes: &[u8], name: &str) -> Vec<PathBuf> {
    let bytes = bytes.get(..MOST as usize).unwrap_or(bytes);
    let mut windows = bytes.windows(MAGIC.len());
    let start = windows.position(|window| window == MAGIC);
    let Some(cache) = start.and_then(|start| bytes.get(start..)) else {
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
    Some(number(bytes, at, 4)? as usize)
}

fn path(text: &[u8]) -> Option<PathBuf> {
    let text = text.get(..LONGEST_PATH).unwrap_or(text);
    // `skip_until` is optimized even in debug builds, unlike a loop over bytes.
    let mut rest = text;
    let length = rest.skip_until(0).ok()?;
    let path = text.get(..length)?.strip_suffix(b"\0")?;
    Some(PathBuf::from(std::str::from_utf8(path).ok()?))
}
