//! What is mapped into this process on Linux, and from which files.

use crate::runtime::system;
use crate::runtime::system::platform::{metadata, same_file};
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

unsafe extern "C" {
    fn dl_iterate_phdr(
        each: extern "C" fn(*const Mapped, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// The beginning of `struct dl_phdr_info`.
#[repr(C)]
struct Mapped {
    address: usize,
    name: *const c_char,
    headers: *const c_void,
}

/// The files of this process's libraries, in the order in which they were loaded, by the names under which they
/// were found. It asks the loader, so it needs no /proc.
pub fn mapped() -> Vec<PathBuf> {
    let files: Vec<_> = listed()
        .into_iter()
        .map(|(name, inside)| current_path(name, inside))
        .collect();
    files
}

/// Those of them that are asked for and under whose names their files are no longer to be found: deleted, moved, or
/// replaced by others while the process runs, as an upgrade does. None without /proc.
pub fn replaced(asked: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let mut found = Vec::new();
    for (name, inside) in listed() {
        let name = current_path(name, inside);
        if !asked(&name) {
            continue;
        }
        if file_in(&maps, inside).is_some_and(|file| is_other(&name, &file)) {
            found.push(name);
        }
    }
    found
}

/// Whether another file than the mapped one lies under this name now, or none. What this process cannot look at is not
/// known to be another one: PRoot, Guix' packs and the like give it other names than the kernel has, and some filters
/// of system calls refuse it `readlink` or `statx`.
fn is_other(name: &Path, file: &File) -> bool {
    let there = match std::fs::canonicalize(name) {
        Ok(there) => there,
        Err(error) => return error.kind() == ErrorKind::NotFound,
    };
    // Overlays tell another number than the kernel's table has, but the same path. What cannot stand in a line is
    // written in another way.
    let is_elsewhere = file.path != there.as_os_str().as_bytes() && !file.path.contains(&b'\\');
    match metadata(&there) {
        Ok(data) => data.ino() != file.inode && is_elsewhere,
        Err(_) => false,
    }
}

/// The names, each with an address in that file.
fn listed() -> Vec<(PathBuf, usize)> {
    extern "C" fn for_each_object(mapped: *const Mapped, _size: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader hands over a valid entry, and `data` is the list that `mapped` below lends.
        unsafe {
            let name = (*mapped).name;
            if !name.is_null() && *name != 0 {
                let inside = (*mapped).headers as usize;
                (*data.cast::<Vec<(PathBuf, usize)>>()).push((path(CStr::from_ptr(name)), inside));
            }
        }
        0
    }
    let mut names: Vec<(PathBuf, usize)> = Vec::new();
    let data: *mut Vec<(PathBuf, usize)> = &mut names;
    // SAFETY: the callback is called during this call only.
    unsafe { dl_iterate_phdr(for_each_object, data.cast()) };
    names
}

/// A file that the loader knows by this name and that is mapped at this address. A name that was relative is so to
/// the working directory of its time, from which the program may have moved away; the kernel knows better. (So does
/// the loader, but RTLD_DI_ORIGIN follows a wild pointer where that directory could not be told.)
pub fn current_path(name: PathBuf, inside: usize) -> PathBuf {
    let bytes = name.as_os_str().as_bytes();
    // The kernel's own, `linux-vdso.so.1`, lies nowhere.
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

/// The file that is mapped at an address; none without /proc, or if it is no longer there.
fn file_at(address: usize) -> Option<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").ok()?;
    let file = PathBuf::from(OsStr::from_bytes(file_in(&maps, address)?.path));
    if system::is_file(&file) {
        Some(file)
    } else {
        None
    }
}

/// A file as the kernel's table of mappings has it.
pub struct File<'a> {
    inode: u64,
    pub path: &'a [u8],
}

/// The file that the table has at an address.
pub fn file_in(maps: &[u8], address: usize) -> Option<File<'_>> {
    for text in maps.split(|byte| *byte == b'\n') {
        match line(text) {
            Some((range, file)) if range.contains(&address) => return Some(file),
            _ => {}
        }
    }
    None
}

/// The addresses in a line of /proc/self/maps, and the file that is there.
fn line(line: &[u8]) -> Option<(Range<usize>, File<'_>)> {
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

/// A name of the loader's.
pub fn path(name: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(name.to_bytes()))
}
