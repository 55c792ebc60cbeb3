//! What Windows does in its own way: opening DLLs, which of them this process has, and where its loader looks.

use crate::runtime::system::names::DRIVER;
use std::ffi::{CString, OsStr, OsString, c_char, c_void};
use std::io::{Error, Write};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub use crate::runtime::system::not_linux::*;

/// Whether the guard knows this system. There is no cuDNN for Windows on another processor yet.
pub const SUPPORTED: bool = cfg!(target_arch = "x86_64");
/// The variable that names directories to the loader.
pub const LIBRARY_PATH: &str = "PATH";

const LOAD_LIBRARY_SEARCH_SYSTEM32: u32 = 0x800;
/// What a DLL imports is looked for beside it first.
const LOAD_WITH_ALTERED_SEARCH_PATH: u32 = 8;
const SEM_FAILCRITICALERRORS: u32 = 1;
const BY_ADDRESS: u32 = 4;
const UNCHANGED_REFERENCES: u32 = 2;
const STD_ERROR: u32 = -12_i32 as u32;
/// As long as a path can be.
const LONGEST: u32 = 1 << 15;
/// More DLLs than a process has.
const MOST_MODULES: usize = 1 << 16;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn LoadLibraryExW(name: *const u16, file: *mut c_void, flags: u32) -> *mut c_void;
    fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void;
    fn GetModuleFileNameW(module: *mut c_void, into: *mut u16, size: u32) -> u32;
    fn GetModuleHandleExW(flags: u32, name: *const u16, module: *mut *mut c_void) -> i32;
    fn GetModuleHandleW(name: *const u16) -> *mut c_void;
    fn K32EnumProcessModules(
        process: *mut c_void,
        modules: *mut *mut c_void,
        size: u32,
        needed: *mut u32,
    ) -> i32;
    fn GetCurrentProcess() -> *mut c_void;
    fn GetSystemDirectoryW(into: *mut u16, size: u32) -> u32;
    fn GetWindowsDirectoryW(into: *mut u16, size: u32) -> u32;
    fn GetDllDirectoryW(size: u32, into: *mut u16) -> u32;
    fn GetStdHandle(which: u32) -> *mut c_void;
    fn SetThreadErrorMode(mode: u32, old: *mut u32) -> i32;
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
    /// Opens a DLL as a program does with `LoadLibrary`; the error is in Windows' own words, behind the name. The driver's
    /// lies among Windows' own, and a file of its name elsewhere is not NVIDIA's.
    pub fn open(name: &str) -> Result<Self, String> {
        let flags = if name == DRIVER {
            LOAD_LIBRARY_SEARCH_SYSTEM32
        } else {
            0
        };
        Self::with_flags(OsStr::new(name), flags)
    }

    /// Opens the DLL in this file.
    pub fn open_file(path: &Path) -> Result<Self, String> {
        Self::with_flags(path.as_os_str(), LOAD_WITH_ALTERED_SEARCH_PATH)
    }

    /// The DLL of this name or path, if it is in the process already.
    pub fn loaded(name: &str) -> Option<Self> {
        Self::loaded_file(Path::new(name))
    }

    /// The DLL in this file, if it is in the process already.
    pub fn loaded_file(path: &Path) -> Option<Self> {
        let mut module = std::ptr::null_mut();
        let name = wide(path.as_os_str());
        // SAFETY: the name ends in zero; one pointer is written.
        let found = unsafe { GetModuleHandleExW(UNCHANGED_REFERENCES, name.as_ptr(), &mut module) };
        (found != 0 && !module.is_null()).then_some(Self { module })
    }

    fn with_flags(name: &OsStr, flags: u32) -> Result<Self, String> {
        let (wide, mut mode) = (wide(name), 0);
        // SAFETY: the name ends in zero. What runs here is the DLL's own beginning: callers look at the file first.
        // Without the error mode Windows asks whoever sits before it about a damaged file, and waits.
        let (module, failed) = unsafe {
            let changed = SetThreadErrorMode(SEM_FAILCRITICALERRORS, &mut mode);
            let module = LoadLibraryExW(wide.as_ptr(), std::ptr::null_mut(), flags);
            let failed = Error::last_os_error();
            if changed != 0 {
                SetThreadErrorMode(mode, std::ptr::null_mut());
            }
            (module, failed)
        };
        if module.is_null() {
            return Err(format!("{}: {}", name.to_string_lossy(), failed));
        }
        Ok(Self { module })
    }

    /// The address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        // SAFETY: the module is never closed; the name ends in zero.
        let address = unsafe { GetProcAddress(self.module, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    /// The file that it is in.
    pub fn path(&self) -> Option<PathBuf> {
        // SAFETY: the module is never closed; no more words are written than there is room for.
        written(&|into, size| unsafe { GetModuleFileNameW(self.module, into, size) })
    }
}

/// The files of this process's modules, in the order in which they were loaded.
pub fn mapped() -> Vec<PathBuf> {
    let mut modules: Vec<*mut c_void> = vec![std::ptr::null_mut(); 1 << 10];
    let size = size_of::<*mut c_void>();
    loop {
        let (room, mut needed) = (modules.len() * size, 0);
        // SAFETY: no more is written than there is room for, and one number.
        let listed = unsafe {
            K32EnumProcessModules(
                GetCurrentProcess(),
                modules.as_mut_ptr(),
                room as u32,
                &mut needed,
            )
        };
        let count = if listed != 0 {
            needed as usize / size
        } else {
            0
        };
        if count <= modules.len() || count > MOST_MODULES {
            modules.truncate(count);
            break;
        }
        modules.resize(count + 16, std::ptr::null_mut());
    }
    let mut files = Vec::new();
    for module in modules {
        files.extend(Library { module }.path());
    }
    files
}

/// Whether this code is the program's own, and not that of a DLL which something loaded into a process.
pub fn is_program() -> bool {
    // SAFETY: no name stands for the program.
    own_module() == unsafe { GetModuleHandleW(std::ptr::null()) }
}

/// The module that holds this code.
pub fn own_module() -> *mut c_void {
    let here: fn() -> bool = is_program;
    let mut module = std::ptr::null_mut();
    // SAFETY: in place of a name it takes an address; one pointer is written.
    unsafe {
        GetModuleHandleExW(
            BY_ADDRESS | UNCHANGED_REFERENCES,
            here as *const u16,
            &mut module,
        )
    };
    module
}

/// Windows' own directories, in the loader's order.
pub fn system_folders() -> Vec<PathBuf> {
    // SAFETY: no more words are written than there is room for.
    let system = written(&|into, size| unsafe { GetSystemDirectoryW(into, size) });
    // SAFETY: as above.
    let windows = written(&|into, size| unsafe { GetWindowsDirectoryW(into, size) });
    system.into_iter().chain(windows).collect()
}

/// The directory that the program gave to `SetDllDirectory`, which takes the working directory's place.
pub fn dll_directory() -> Option<PathBuf> {
    // SAFETY: no more words are written than there is room for.
    written(&|into, size| unsafe { GetDllDirectoryW(size, into) })
}

/// What a function writes that gives back the number of words; none where it wrote nothing.
fn written(write: &dyn Fn(*mut u16, u32) -> u32) -> Option<PathBuf> {
    let mut text = vec![0; LONGEST as usize];
    let length = write(text.as_mut_ptr(), LONGEST);
    let text = text.get(..length as usize)?;
    (length > 0).then(|| OsString::from_wide(text).into())
}

/// Whether two names stand for the same file.
pub fn same_file(one: &Path, other: &Path) -> bool {
    if one.as_os_str().eq_ignore_ascii_case(other.as_os_str()) {
        return true;
    }
    match (std::fs::canonicalize(one), std::fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one.as_os_str().eq_ignore_ascii_case(other.as_os_str()),
        _ => false,
    }
}

/// Whether whatever is printed has somewhere to go: a program with windows has no stderr.
pub fn stderr_is_open() -> bool {
    // SAFETY: GetStdHandle has no conditions.
    !unsafe { GetStdHandle(STD_ERROR) }.is_null()
}

/// A path from bytes that `OsStr::as_encoded_bytes` gave.
pub fn path_of(bytes: Vec<u8>) -> PathBuf {
    // SAFETY: they come from a process of this very program, which encodes as this one.
    PathBuf::from(unsafe { OsString::from_encoded_bytes_unchecked(bytes) })
}

/// Writes into a file or a device as it stands.
pub fn write_in_place(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).truncate(true);
    options.open(path)?.write_all(text.as_bytes())
}

/// The words of a name, and the zero that ends them. The loader asks for backslashes, and a PATH may have others.
pub fn wide(name: &OsStr) -> Vec<u16> {
    let backslash = |word: u16| if word == 0x2f { 0x5c } else { word };
    name.encode_wide().map(backslash).chain([0]).collect()
}
