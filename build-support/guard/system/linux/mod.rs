//! Linux with glibc: opening libraries, and the loader's search path.

pub mod mapped;
pub mod maps;
pub mod process;
#[cfg(feature = "runtime")]
pub mod stack;
#[cfg(feature = "runtime")]
pub mod stream;

use crate::runtime::facts::LinkedIn;
use crate::runtime::system::path_cache;
use crate::runtime::system::platform::maps::{current_path, path};
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_long, c_uint, c_void};
use std::fs::{Metadata, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

pub use crate::runtime::system::platform::mapped::{mapped, replaced};
pub use crate::runtime::system::platform::process::*;
#[cfg(feature = "runtime")]
pub use crate::runtime::system::platform::stack::stack_left;
#[cfg(feature = "runtime")]
pub use crate::runtime::system::platform::stream::{is_temporary, write_in_place, write_stderr};

/// `true` if the guard supports this system. In a static program, a library would load a second C library.
pub const SUPPORTED: bool = !cfg!(target_feature = "crt-static");
/// The variable with the loader's directories.
pub const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

const RTLD_LAZY: c_int = 1;
const RTLD_NOLOAD: c_int = 4;
const RTLD_DI_LINKMAP: c_int = 2;
const RTLD_DL_LINKMAP: c_int = 2;
const RTLD_DI_SERINFO: c_int = 4;
const RTLD_DI_SERINFOSIZE: c_int = 5;
const O_PATH: c_int = 0o10_000_000;
#[cfg(target_arch = "x86_64")]
const O_NOFOLLOW: c_int = 0o400_000;
#[cfg(target_arch = "aarch64")]
const O_NOFOLLOW: c_int = 0o100_000;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
    fn dlinfo(handle: *mut c_void, request: c_int, into: *mut c_void) -> c_int;
    fn dladdr(address: *const c_void, info: *mut [*const c_char; 4]) -> c_int;
    fn dladdr1(
        address: *const c_void,
        info: *mut [usize; 4],
        extra: *mut *const LinkMap,
        flags: c_int,
    ) -> c_int;
}

/// The beginning of `struct link_map`.
#[repr(C)]
pub struct LinkMap {
    pub address: usize,
    name: *const c_char,
    /// Tags and values.
    pub dynamic: *const [c_long; 2],
}

/// The head of `Dl_serinfo`; its entries follow.
#[repr(C)]
struct SearchHead {
    size: usize,
    count: c_uint,
}

/// `Dl_serpath`.
#[repr(C)]
struct SearchEntry {
    name: *const c_char,
    flags: c_uint,
}

/// A shared library of this process. It is never closed: a library with its own threads or exit handlers must not be
/// unloaded, and the checked library has to stay the same.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    handle: *mut c_void,
    within: Option<LinkedIn>,
}

// SAFETY: a handle of dlopen belongs to the process, not to a thread, and all threads may call the loader.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

impl Library {
    /// Opens a library as a program does with `dlopen(name, RTLD_LAZY)`. The error is the loader's message.
    pub fn open(name: &str) -> Result<Self, String> {
        Self::with_flags(OsStr::new(name), RTLD_LAZY)
    }

    pub fn open_file(path: &Path) -> Result<Self, String> {
        Self::with_flags(path.as_os_str(), RTLD_LAZY)
    }

    /// Returns the library of this name or path, if it is already loaded.
    pub fn loaded(name: impl AsRef<OsStr>) -> Option<Self> {
        Self::with_flags(name.as_ref(), RTLD_LAZY | RTLD_NOLOAD).ok()
    }

    /// Creates a library that is linked into the program. The loader does not know its functions by name.
    pub fn within(functions: LinkedIn) -> Self {
        Self {
            handle: std::ptr::null_mut(),
            within: Some(functions),
        }
    }

    pub fn symbol(&self, name: &str) -> Option<*mut c_void> {
        if let Some(functions) = self.within {
            return functions.function(name);
        }
        let name = CString::new(name).ok()?;
        // SAFETY: the handle came from dlopen and is never closed; the name ends in NUL.
        let address = unsafe { dlsym(self.handle, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }

    /// Returns its file, by the name under which the loader found it.
    pub fn path(&self) -> Option<PathBuf> {
        if self.within.is_some() {
            return own_file();
        }
        Some(file_of(self.link_map()?))
    }

    pub fn link_map(self) -> Option<*const LinkMap> {
        let mut map: *const LinkMap = std::ptr::null();
        let into: *mut *const LinkMap = &mut map;
        // SAFETY: RTLD_DI_LINKMAP writes one pointer, valid as long as the handle is open: for ever.
        let failed = unsafe { dlinfo(self.handle, RTLD_DI_LINKMAP, into.cast()) } != 0;
        (!failed && !map.is_null()).then_some(map)
    }

    fn with_flags(name: &OsStr, flags: c_int) -> Result<Self, String> {
        let text = CString::new(name.as_bytes()).map_err(|_| format!("{name:?} holds a NUL"))?;
        Self::with_name(text.as_ptr(), flags).map_err(|message| {
            message.unwrap_or_else(|| format!("{} is not loaded", name.to_string_lossy()))
        })
    }

    /// Returns the program itself.
    pub fn program() -> Option<Self> {
        Self::with_name(std::ptr::null(), RTLD_LAZY).ok()
    }

    fn with_name(name: *const c_char, flags: c_int) -> Result<Self, Option<String>> {
        // SAFETY: the name ends in NUL or is null. Constructors of the library run here: callers check the file first.
        let handle = unsafe { dlopen(name, flags) };
        if !handle.is_null() {
            let within = None;
            return Ok(Self { handle, within });
        }
        // SAFETY: dlerror returns this thread's last message, valid until the next dl call.
        let message = unsafe { dlerror() };
        if message.is_null() {
            return Err(None);
        }
        // SAFETY: a message of the loader ends in NUL.
        let message = unsafe { CStr::from_ptr(message) };
        Err(Some(message.to_string_lossy().into_owned()))
    }
}

/// Returns the directories that the loader searches for a library that the program opens by name, in its order.
pub fn search_path() -> Vec<PathBuf> {
    let mut directories = Vec::new();
    let Some(program) = Library::program() else {
        return directories;
    };
    let mut head = SearchHead { size: 0, count: 0 };
    let into: *mut SearchHead = &mut head;
    // SAFETY: SERINFOSIZE only writes the head.
    if unsafe { dlinfo(program.handle, RTLD_DI_SERINFOSIZE, into.cast()) } != 0 {
        return directories;
    }
    // `u64`, for the alignment of the pointers in it.
    let mut buffer: Vec<u64> = vec![0; head.size / 8 + 2];
    let start: *mut u64 = buffer.as_mut_ptr();
    // SAFETY: the buffer has the size from SERINFOSIZE and begins with the head, as SERINFO requires. The entries
    // follow the head. Each name ends in NUL and is in the buffer.
    unsafe {
        start.cast::<SearchHead>().write(head);
        if dlinfo(program.handle, RTLD_DI_SERINFO, start.cast()) != 0 {
            return directories;
        }
        let count = (*start.cast::<SearchHead>()).count;
        let mut entry = start.cast::<SearchHead>().add(1).cast::<SearchEntry>();
        for _ in 0..count {
            if !(*entry).name.is_null() {
                directories.push(path(CStr::from_ptr((*entry).name)));
            }
            entry = entry.add(1);
        }
    }
    directories
}

/// Returns `true` if this code is in the program, and `false` in a library that was loaded into a process.
pub fn is_program() -> bool {
    let program = Library::program().and_then(Library::link_map);
    // If the loader does not report it, it counts as a program, which is more frequent.
    own_map().is_none_or(|map| program.is_none_or(|program| program == map))
}

/// Returns the file of this code: the program, or a library that was loaded into a process.
fn own_file() -> Option<PathBuf> {
    if is_program() {
        return std::env::current_exe().ok();
    }
    Some(file_of(own_map()?))
}

/// Returns the file of a library that is never unloaded. In fakechroot, the process can open the name that `dladdr`
/// returns, but not the one in the map.
fn file_of(map: *const LinkMap) -> PathBuf {
    let mut info = [std::ptr::null(); 4];
    // SAFETY: the map stays valid, and both names end in NUL; `Dl_info` is four pointers, a name first.
    let (name, inside) = unsafe {
        let (mut name, inside) = ((*map).name, (*map).dynamic);
        // For the program itself `dladdr` returns `argv[0]`.
        if *name != 0 && dladdr(inside.cast(), &mut info) != 0 && !info[0].is_null() {
            name = info[0];
        }
        (path(CStr::from_ptr(name)), inside as usize)
    };
    current_path(name, inside)
}

/// Returns the address of the program or library that contains this code.
pub fn own_module() -> *const c_void {
    // SAFETY: the map of running code is valid.
    own_map().map_or(std::ptr::null(), |map| unsafe {
        (*map).address as *const c_void
    })
}

fn own_map() -> Option<*const LinkMap> {
    let here: fn() -> bool = is_program;
    let (mut info, mut map): ([usize; 4], *const LinkMap) = ([0; 4], std::ptr::null());
    // SAFETY: `Dl_info` is four pointers; RTLD_DL_LINKMAP writes one more.
    let found =
        unsafe { dladdr1(here as *const c_void, &mut info, &mut map, RTLD_DL_LINKMAP) } != 0;
    (found && !map.is_null()).then_some(map)
}

/// Returns the metadata of a path, or of a link itself, through `open`, which the loader uses too: PRoot and the like,
/// which use other names than the kernel, support `open` better than `statx`.
pub fn metadata(path: &Path, follows: bool) -> std::io::Result<Metadata> {
    let flags = if follows { O_PATH } else { O_PATH | O_NOFOLLOW };
    let mut options = OpenOptions::new();
    match options.read(true).custom_flags(flags).open(path) {
        Ok(file) => file.metadata(),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
        // This process has no file descriptors left.
        Err(_) if follows => std::fs::metadata(path),
        Err(_) => std::fs::symlink_metadata(path),
    }
}

pub fn same_file(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(path_cache::metadata);
    match (one, other) {
        (Ok(one), Ok(other)) => one.dev() == other.dev() && one.ino() == other.ino(),
        _ => false,
    }
}
