//! What Windows does in its own way: opening NVIDIA's driver, which a build asks for its GPUs. The guard of a program
//! does not know Windows yet.

use crate::runtime::facts::linked_in::LinkedIn;
use std::ffi::{CString, OsStr, OsString, c_char, c_void};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub use crate::runtime::system::other::{
    SUPPORTED, first_environment, given_environment, is_privileged, is_program, mapped,
    most_in_a_file, pass_locks, path_of, program_paths, replaced, same_file, search_path,
    stderr_is_open, write_in_place,
};

/// The driver's library lies among Windows' own, and a file of its name elsewhere is not NVIDIA's.
const LOAD_LIBRARY_SEARCH_SYSTEM32: u32 = 0x800;
/// As long as a path can be.
const LONGEST: u32 = 1 << 15;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn LoadLibraryExW(name: *const u16, file: *mut c_void, flags: u32) -> *mut c_void;
    fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void;
    fn GetModuleFileNameW(module: *mut c_void, into: *mut u16, size: u32) -> u32;
}

/// A DLL of this process. It is never closed.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    module: *mut c_void,
}

// SAFETY: a module belongs to the process, not to a thread, and the loader takes calls from all of them.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Nothing: what is linked into a program is not known here.
    pub fn within(_functions: LinkedIn) -> Self {
        Self {
            module: std::ptr::null_mut(),
        }
    }

    /// Always an error.
    pub fn open_file(path: &Path) -> Result<Self, String> {
        Err(format!("cannot open {} on this system", path.display()))
    }

    /// Always none.
    pub fn loaded(_name: &str) -> Option<Self> {
        None
    }

    /// Always none.
    pub fn loaded_file(_path: &Path) -> Option<Self> {
        None
    }

    /// Opens a DLL of Windows' own directory.
    pub fn open(name: &str) -> Result<Self, String> {
        let wide = wide(name);
        // SAFETY: the name ends in zero. What runs here is the driver's own beginning.
        let module = unsafe {
            LoadLibraryExW(
                wide.as_ptr(),
                std::ptr::null_mut(),
                LOAD_LIBRARY_SEARCH_SYSTEM32,
            )
        };
        if module.is_null() {
            return Err(format!("{name}: {}", std::io::Error::last_os_error()));
        }
        Ok(Self { module })
    }

    /// The address of a function.
    pub fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        // SAFETY: the module is never closed; the name ends in zero.
        let address = unsafe { GetProcAddress(self.module, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    /// The file that it is in.
    pub fn path(&self) -> Option<PathBuf> {
        let mut text = vec![0; LONGEST as usize];
        // SAFETY: the module is never closed; no more words are written than there is room for.
        let length = unsafe { GetModuleFileNameW(self.module, text.as_mut_ptr(), LONGEST) };
        let text = text.get(..length as usize)?;
        (length > 0).then(|| OsString::from_wide(text).into())
    }
}

fn wide(name: &str) -> Vec<u16> {
    OsStr::new(name).encode_wide().chain([0]).collect()
}
