//! What Linux with glibc does in its own way: opening libraries, seeing what is mapped, making a child.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// A shared library of this process. It is never closed: a library with threads or exit handlers of its own must
/// not go away, and what was checked has to stay what it was.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    handle: *mut c_void,
}

impl Library {
    /// Opens a library as a program does with `dlopen(name, RTLD_LAZY)`; the error is in the loader's own words.
    pub fn open(name: &str) -> Result<Self, String> {
        Self::with_flags(name, RTLD_LAZY)
    }

    /// The library of this name or path, if it is in the process already.
    pub fn loaded(name: &str) -> Option<Self> {
        Self::with_flags(name, RTLD_LAZY | RTLD_NOLOAD).ok()
    }

    /// The address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        // SAFETY: the handle came from dlopen and is never closed; the name ends in NUL.
        let address = unsafe { dlsym(self.handle, name.as_ptr()) };
        if address.is_null() {
            None
        } else {
            Some(address)
        }
    }

    fn with_flags(name: &str, flags: c_int) -> Result<Self, String> {
        let text = CString::new(name).map_err(|_| format!("{:?} holds a NUL", name))?;
        // SAFETY: the name ends in NUL. Constructors of the library run here: callers look at the file first.
        let handle = unsafe { dlopen(text.as_ptr(), flags) };
        if handle.is_null() {
            // SAFETY: dlerror gives this thread's last message, valid until the next dl call.
            let words = unsafe { dlerror() };
            if words.is_null() {
                return Err(format!("{} is not loaded", name));
            }
            // SAFETY: a message of the loader ends in NUL.
            return Err(unsafe { CStr::from_ptr(words) }
                .to_string_lossy()
                .into_owned());
        }
        Ok(Self { handle })
    }
}
