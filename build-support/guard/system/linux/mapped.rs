//! The files that are mapped into this process on Linux.

use crate::runtime::system;
use crate::runtime::system::platform::maps::{File, current_path, file_in, path};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::ErrorKind;
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

/// Returns the files of this process's libraries in load order, by the names under which they were found. The loader
/// lists them, so this needs no /proc.
pub fn mapped() -> Vec<PathBuf> {
    let files = list().into_iter();
    files
        .map(|(name, inside)| current_path(name, inside))
        .collect()
}

/// Returns the mapped files that match `filter` and were deleted, moved or replaced while the process runs, as by an
/// upgrade; empty without /proc.
pub fn replaced(filter: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").unwrap_or_default();
    let replaced = |(name, inside)| {
        let name = current_path(name, inside);
        let is_replaced = |file: File<'_>| is_other(&name, &file);
        let is_met = filter(&name) && file_in(&maps, inside).is_some_and(is_replaced);
        is_met.then_some(name)
    };
    list().into_iter().filter_map(replaced).collect()
}

/// Returns `true` if this path is now another file than the mapped one, or does not exist.
///
/// If the path cannot be checked, the result is `false`: PRoot, Guix packs and the like use other names than the
/// kernel, and some system call filters refuse `readlink` or `statx`.
fn is_other(name: &Path, file: &File) -> bool {
    let found = match system::canonical(name, None) {
        Ok(found) => found,
        Err(error) => return error.kind() == ErrorKind::NotFound,
    };
    // Overlays report another inode than the kernel's table, but the same path. The table escapes line breaks with
    // backslashes.
    let is_elsewhere = file.path != found.as_os_str().as_bytes() && !file.path.contains(&b'\\');
    match system::metadata(&found) {
        Ok(data) => data.ino() != file.inode && is_elsewhere,
        Err(_) => false,
    }
}

/// Returns the loader's names of the libraries, each with an address in the library.
fn list() -> Vec<(PathBuf, usize)> {
    extern "C" fn for_each_object(mapped: *const Mapped, _size: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid entry, and `data` is `names` below.
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
    // SAFETY: the callback is only called during this call.
    unsafe { dl_iterate_phdr(for_each_object, data.cast()) };
    names
}
