//! The kernel's table of the files that are mapped into this process.

use crate::runtime::system;
use crate::runtime::system::platform::same_file;
use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Returns the path of a library with the loader's name for it and an address in it.
///
/// A relative name is relative to the working directory at the time of loading, which may have changed. The kernel has
/// the absolute path. (The loader has it too, but RTLD_DI_ORIGIN follows a wild pointer if that directory was unknown.)
pub fn current_path(name: PathBuf, inside: usize) -> PathBuf {
    let bytes = name.as_os_str().as_bytes();
    // The kernel's `linux-vdso.so.1` is not a file.
    if name.is_absolute() || (bytes.starts_with(b"linux-") && !bytes.contains(&b'/')) {
        return name;
    }
    let here = std::env::current_dir().map(|here| here.join(&name));
    match (here, file_at(inside)) {
        (Ok(here), None) => here,
        (Ok(here), Some(file)) if same_file(&here, &file) => here,
        (_, Some(file)) => file,
        (Err(_), None) => name,
    }
}

/// Returns the file that is mapped at an address; `None` without /proc, or if the file no longer exists.
fn file_at(address: usize) -> Option<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").ok()?;
    let file = PathBuf::from(OsStr::from_bytes(file_in(&maps, address)?.path));
    system::is_file(&file).then_some(file)
}

/// A file in the kernel's table of mappings.
pub struct File<'a> {
    pub inode: u64,
    pub path: &'a [u8],
}

/// Returns the table's file at an address.
pub fn file_in(maps: &[u8], address: usize) -> Option<File<'_>> {
    let mut files = maps.split(|byte| *byte == b'\n').filter_map(parse_line);
    let (_, file) = files.find(|(range, _)| range.contains(&address))?;
    Some(file)
}

/// Parses the addresses and the file in a line of /proc/self/maps.
fn parse_line(line: &[u8]) -> Option<(Range<usize>, File<'_>)> {
    let start = line.iter().position(|byte| *byte == b'/')?;
    // The addresses, permissions, offset, device and inode.
    let mut words = std::str::from_utf8(line.get(..start)?).ok()?.split(' ');
    let (first, end) = words.next()?.split_once('-')?;
    let first = usize::from_str_radix(first, 16).ok()?;
    let end = usize::from_str_radix(end, 16).ok()?;
    let inode = words.nth(3)?.parse().ok()?;
    let path = line.get(start..)?;
    Some((first..end, File { inode, path }))
}

/// Converts a name of the loader's.
pub fn path(name: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}
