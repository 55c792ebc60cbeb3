//! `/etc/ld.so.cache`: which file the system's configuration gives to a library name.

use crate::runtime::loader::load_origin::CACHE;
use std::path::{Path, PathBuf};

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
    let entries = cache
        .get(HEADER..)
        .unwrap_or(&[])
        .chunks_exact(ENTRY)
        .take(count);
    entries
        .filter(|entry| read_u32(entry, 4).and_then(|at| string(cache, at)) == Some(name))
        .filter_map(|entry| string(cache, read_u32(entry, 8)?).map(PathBuf::from))
        .collect()
}

fn read_u32(bytes: &[u8], at: usize) -> Option<usize> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    let value = field
        .iter()
        .rev()
        .fold(0_u32, |value, byte| value << 8 | u32::from(*byte));
    std::convert::TryFrom::try_from(value).ok()
}

fn string(cache: &[u8], at: usize) -> Option<&str> {
    let rest = cache.get(at..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(rest.get(..end)?).ok()
}
