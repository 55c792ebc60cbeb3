//! Windows: opening DLLs, listing them, and the loader's search path.

use crate::runtime::system::DRIVER;
use std::ffi::{CString, OsStr, OsString, c_char, c_void};
use std::io::{Error, Write};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub use crate::runtime::system::not_linux::*;

/// `true` if the guard supports this system. It does not support cuDNN for Windows on Arm, which exists since 9.26.1.
pub const SUPPORTED: bool = cfg!(target_arch = "x86_64");
/// The variable with the loader's directories.
pub const LIBRARY_PATH: &str = "PATH";

const LOAD_LIBRARY_SEARCH_SYSTEM32: u32 = 0x800;
/// The imports of a DLL are searched in its own directory first.
const LOAD_WITH_ALTERED_SEARCH_PATH: u32 = 8;
const SEM_FAILCRITICALERRORS: u32 = 1;
const BY_ADDRESS: u32 = 4;
const UNCHANGED_REFERENCES: u32 = 2;
/// The longest path, in words.
const LONGEST: u32 = 1 << 15;
/// A limit above the number of DLLs in a process.
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
    fn SetThreadErrorMode(mode: u32, old: *mut u32) -> i32;
}

type GetDllPath = unsafe extern "system" fn(*const u16, u32, *mut *mut u16, *mut *mut u16) -> i32;
type ReleasePath = unsafe extern "system" fn(*mut u16);

/// A DLL of this process. It is never closed.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    module: *mut c_void,
}

// SAFETY: a module belongs to the process, not to a thread, and all threads may call the loader.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Opens a DLL as a program does with `LoadLibrary`. The error is the name and Windows' message. The driver's DLL
    /// is in System32; a file with its name elsewhere is not NVIDIA's.
    pub fn open(name: &str) -> Result<Self, String> {
        let flags = if name == DRIVER {
            LOAD_LIBRARY_SEARCH_SYSTEM32
        } else {
            0
        };
        Self::with_flags(OsStr::new(name), flags)
    }

    pub fn open_file(path: &Path) -> Result<Self, String> {
        Self::with_flags(path.as_os_str(), LOAD_WITH_ALTERED_SEARCH_PATH)
    }

    /// Returns the DLL of this name or path, if it is already loaded.
    pub fn loaded(name: impl AsRef<OsStr>) -> Option<Self> {
        let mut module = std::ptr::null_mut();
        let name = wide(name.as_ref());
        // SAFETY: the name ends in zero; one pointer is written.
        let found = unsafe { GetModuleHandleExW(UNCHANGED_REFERENCES, name.as_ptr(), &mut module) };
        (found != 0 && !module.is_null()).then_some(Self { module })
    }

    fn with_flags(name: &OsStr, flags: u32) -> Result<Self, String> {
        let (wide, mut mode) = (wide(name), 0);
        // SAFETY: the name ends in zero. The DLL's entry point runs here: callers check the file first. Without the
        // error mode Windows shows a dialog about a damaged file, and waits.
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

    pub fn symbol(&self, name: &str) -> Option<*mut c_void> {
        let name = CString::new(name).ok()?;
        // SAFETY: the module is never closed; the name ends in zero.
        let address = unsafe { GetProcAddress(self.module, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    pub fn path(&self) -> Option<PathBuf> {
        // SAFETY: the module is never closed; at most `size` words are written.
        written(&|into, size| unsafe { GetModuleFileNameW(self.module, into, size) })
    }
}

/// Returns the files of this process's modules in load order.
pub fn mapped() -> Vec<PathBuf> {
    let mut modules: Vec<*mut c_void> = vec![std::ptr::null_mut(); 1 << 10];
    let size = size_of::<*mut c_void>();
    loop {
        let (capacity, mut needed) = (modules.len() * size, 0);
        // SAFETY: at most `capacity` bytes and one number are written.
        let listed = unsafe {
            K32EnumProcessModules(
                GetCurrentProcess(),
                modules.as_mut_ptr(),
                capacity as u32,
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
    let file = |module| Library { module }.path();
    modules.into_iter().filter_map(file).collect()
}

/// Returns `true` if this code is in the program, and `false` in a DLL that was loaded into a process.
pub fn is_program() -> bool {
    // SAFETY: a null name means the program.
    own_module() == unsafe { GetModuleHandleW(std::ptr::null()) }
}

pub fn own_module() -> *mut c_void {
    let here: fn() -> bool = is_program;
    let mut module = std::ptr::null_mut();
    // SAFETY: with BY_ADDRESS the name is an address; one pointer is written.
    unsafe {
        GetModuleHandleExW(
            BY_ADDRESS | UNCHANGED_REFERENCES,
            here as *const u16,
            &mut module,
        )
    };
    module
}

/// Returns Windows' own directories, in the loader's order.
pub fn system_folders() -> Vec<PathBuf> {
    // SAFETY: at most `size` words are written.
    let system = written(&|into, size| unsafe { GetSystemDirectoryW(into, size) });
    // SAFETY: as above.
    let windows = written(&|into, size| unsafe { GetWindowsDirectoryW(into, size) });
    system.into_iter().chain(windows).collect()
}

/// Returns the directory that the program passed to `SetDllDirectory`, which replaces the working directory.
pub fn dll_directory() -> Option<PathBuf> {
    // SAFETY: at most `size` words are written.
    written(&|into, size| unsafe { GetDllDirectoryW(size, into) })
}

/// Returns the directories that Windows searches for a DLL that this process opens by its name, separated by `;`. They
/// depend on `SetDefaultDllDirectories` and `AddDllDirectory`, which have no other query. `LoadLibrary` itself calls this
/// function, which Windows 8 and later have.
pub fn dll_search_path() -> Option<OsString> {
    let name = wide(OsStr::new("cudnn.dll"));
    let (mut list, mut other) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: ntdll is in each process. Its function takes a name that ends in zero and writes two pointers; the first
    // text ends in zero, and belongs to this function until it is released.
    unsafe {
        let ntdll = Library {
            module: GetModuleHandleW(wide(OsStr::new("ntdll.dll")).as_ptr()),
        };
        let query: GetDllPath = std::mem::transmute(ntdll.symbol("LdrGetDllPath")?);
        let release: ReleasePath = std::mem::transmute(ntdll.symbol("RtlReleasePath")?);
        if query(name.as_ptr(), 0, &mut list, &mut other) != 0 || list.is_null() {
            return None;
        }
        let length = (0..LONGEST as usize * 4).take_while(|at| *list.add(*at) != 0);
        let text = std::slice::from_raw_parts(list, length.count());
        let text = OsString::from_wide(text);
        release(list);
        Some(text)
    }
}

/// Returns the path that a function writes. The function returns the number of words; `None` if it writes nothing.
fn written(write: &dyn Fn(*mut u16, u32) -> u32) -> Option<PathBuf> {
    let mut text = vec![0; LONGEST as usize];
    let length = write(text.as_mut_ptr(), LONGEST);
    let text = text.get(..length as usize)?;
    (length > 0).then(|| OsString::from_wide(text).into())
}

pub fn same_file(one: &Path, other: &Path) -> bool {
    if one.as_os_str().eq_ignore_ascii_case(other.as_os_str()) {
        return true;
    }
    match (std::fs::canonicalize(one), std::fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one.as_os_str().eq_ignore_ascii_case(other.as_os_str()),
        _ => false,
    }
}

/// Creates a path from bytes of `OsStr::as_encoded_bytes`.
pub fn path_of(bytes: Vec<u8>) -> PathBuf {
    // SAFETY: the bytes come from a process of the same program, with the same encoding.
    PathBuf::from(unsafe { OsString::from_encoded_bytes_unchecked(bytes) })
}

/// Writes to a file or a device without replacing it.
pub fn write_in_place(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).truncate(true);
    options.open(path)?.write_all(text.as_bytes())
}

/// Converts a name to words that end in zero. The loader requires backslashes, and a PATH may have slashes.
pub fn wide(name: &OsStr) -> Vec<u16> {
    let backslash = |word: u16| if word == 0x2f { 0x5c } else { word };
    name.encode_wide().map(backslash).chain([0]).collect()
}
