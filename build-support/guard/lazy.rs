//! Functions that open their library when they are first called (`Link::Lazy`). The build writes them in assembly; their
//! first call comes here.

use crate::runtime::binary::Image;
use crate::runtime::facts::{Finding, Version};
use crate::runtime::install::{contained_versions, refusal};
use crate::runtime::loader::misplaced::{Misplaced, Wanted};
use crate::runtime::loader::{SearchPath, file_name, off_the_way, search_path};
use crate::runtime::startup;
use crate::runtime::system::{DRIVER, Library, PathCache};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{PoisonError, RwLock};

/// A library, as its archive contains it.
#[repr(C)]
pub struct LazyLibrary {
    soname: *const c_char,
    /// The release that the program was built with: `cuDNN 9.28.0`.
    built_with: *const c_char,
    /// The names of the functions, one after the other. The version that introduced a function follows after a space:
    /// `cudnnBackendPopulateCudaGraph cuDNN 9.5.0`.
    names: *const c_char,
    /// The addresses that the functions jump to.
    slots: *const AtomicPtr<c_void>,
    count: usize,
}

/// A call of a function that is missing.
pub struct MissingFunction {
    pub function: String,
    /// The version that introduced the function; empty if it is unknown.
    pub introduced: String,
    pub soname: String,
    pub built_with: String,
    pub cause: Cause,
}

pub enum Cause {
    /// The loader's message about a library that it does not find, and the place of the library if it is elsewhere.
    NotFound(String, Option<Box<Misplaced>>),
    /// The finding about the file that the loader finds.
    Unusable(Box<Finding>),
    /// The loaded file, which does not contain the function, and its version if it is a cuDNN.
    NotContained(PathBuf, Option<Version>),
}

/// The type of [`resolve`].
pub type Resolve = unsafe extern "C" fn(*const LazyLibrary, usize) -> *mut c_void;

thread_local! {
    /// The handler, or a destructor at the exit, may call another function that is missing.
    static IS_REPORTING: Cell<bool> = const { Cell::new(false) };
}

unsafe extern "C" {
    fn _exit(code: c_int) -> !;
}

static HANDLER: RwLock<Option<fn(&Finding)>> = RwLock::new(None);

/// Sets a function that is called when the program calls a function whose library is missing or does not contain it. The
/// call cannot return: after the handler, even if it panics, the reason is printed and the program exits with 78.
pub fn on_missing(handler: fn(&Finding)) {
    *HANDLER.write().unwrap_or_else(PoisonError::into_inner) = Some(handler);
}

/// Returns `true` if the driver's library and all of these can be opened. Calls none of their functions.
pub fn available(sonames: &[&str]) -> bool {
    let mut all = sonames.iter().chain(&[DRIVER]);
    all.all(|soname| open(soname).is_ok())
}

/// Returns the address of a function, and stores it for later calls.
///
/// # Safety
/// Only the archives call it, with the library that they contain and the number of one of its functions.
#[unsafe(export_name = "cudnn_guard_resolve_0_1")]
pub unsafe extern "C" fn resolve(library: *const LazyLibrary, index: usize) -> *mut c_void {
    // SAFETY: the caller passes a structure of the program, which is never freed.
    let library = unsafe { &*library };
    let name = library.name(index);
    let (function, introduced) = name.split_once(' ').unwrap_or((&name, ""));
    let soname = text(library.soname);
    let address = find(&soname, function).unwrap_or_else(|cause| {
        let missing = MissingFunction {
            function: function.to_string(),
            introduced: introduced.to_string(),
            soname,
            built_with: text(library.built_with),
            cause,
        };
        missing.report()
    });
    if index < library.count {
        // SAFETY: the archive contains `count` slots.
        let slot = unsafe { &*library.slots.add(index) };
        // Threads that come here at the same time store the same address.
        slot.store(address, Ordering::Release);
    }
    address
}

// SAFETY: the archives only contain constants, except for the slots, which are atomic.
unsafe impl Sync for LazyLibrary {}

impl LazyLibrary {
    fn name(&self, index: usize) -> String {
        let mut name = self.names;
        for _ in 0..index.min(self.count.saturating_sub(1)) {
            // SAFETY: `count` names follow one another, each ending in NUL.
            name = unsafe { name.add(CStr::from_ptr(name).to_bytes_with_nul().len()) };
        }
        text(name)
    }
}

fn find(soname: &str, function: &str) -> Result<*mut c_void, Cause> {
    let library = open(soname)?;
    let absent = || not_contained(library, soname);
    library.symbol(function).ok_or_else(absent)
}

fn not_contained(library: Library, soname: &str) -> Cause {
    let path = library.path().unwrap_or_else(|| soname.into());
    let version = cudnn_version(&path);
    Cause::NotContained(path, version)
}

/// Returns the version of the sub-libraries beside the main library of a cuDNN.
fn cudnn_version(path: &Path) -> Option<Version> {
    let (_, major) = file_name::parse(path)?;
    let mut versions = contained_versions(path.parent()?, &mut |name, file| {
        Image::open(file).ok()?.release(name)
    });
    versions.retain(|one| Some(one.major) == major);
    versions.dedup();
    versions.pop().filter(|_| versions.is_empty())
}

/// Opens a library, unless opening its file could kill or block the process.
fn open(soname: &str) -> Result<Library, Cause> {
    let _cache = PathCache::start();
    if search_path::loaded(soname).is_none() {
        let search_path = SearchPath::of_program();
        let file = search_path.program_file(soname);
        let unsafe_file = file
            .and_then(|path| refusal::unsafe_file(&path, &Image::open(&path).err()?, &search_path));
        if let Some(finding) = unsafe_file {
            return Err(Cause::Unusable(Box::new(finding)));
        }
    }
    Library::open(soname).map_err(|message| not_loaded(soname, message))
}

fn not_loaded(soname: &str, message: String) -> Cause {
    match SearchPath::of_program().program_file(soname) {
        Some(file) => Cause::Unusable(Box::new(refusal::finding(&file, &message))),
        None => {
            let (names, suits) = ([soname.to_string()], &|_: &Path| true);
            let names = &names;
            let misplaced = off_the_way::find(&Wanted { names, suits });
            Cause::NotFound(message, misplaced.map(Box::new))
        }
    }
}

/// `DelayLoadInfo`: the call that Microsoft's delay-load helper cannot forward.
#[cfg(target_env = "msvc")]
#[repr(C)]
pub struct DelayLoadInfo {
    size: u32,
    descriptor: *const c_void,
    slot: *mut *mut c_void,
    dll: *const c_char,
    has_name: u32,
    /// The name of the function, or its number.
    name: *const c_char,
    module: *mut c_void,
    address: *mut c_void,
    error: u32,
}

/// The function that Microsoft's delay-load helper calls if it does not find a DLL or a function. The build makes the
/// linker use this definition instead of the helper's own, which is null.
#[cfg(target_env = "msvc")]
#[unsafe(export_name = "__pfnDliFailureHook2")]
pub static FAILURE_HOOK: unsafe extern "C" fn(u32, *const DelayLoadInfo) -> *mut c_void =
    on_failure;

#[cfg(target_env = "msvc")]
unsafe extern "C" fn on_failure(_: u32, info: *const DelayLoadInfo) -> *mut c_void {
    // SAFETY: the helper's structure exists until this function returns.
    let info = unsafe { &*info };
    let soname = text(info.dll);
    // For DLLs that are not CUDA's, the helper raises its exception.
    if !soname.starts_with("cu") && !soname.starts_with("nv") {
        return std::ptr::null_mut();
    }
    let function = match info.has_name {
        0 => format!("#{}", info.name as usize),
        _ => text(info.name),
    };
    let cause = match Library::loaded(&soname) {
        Some(library) => not_contained(library, &soname),
        None => {
            let message = std::io::Error::from_raw_os_error(info.error as i32);
            not_loaded(&soname, format!("{soname}: {message}"))
        }
    };
    let missing = MissingFunction {
        function,
        introduced: String::new(),
        soname,
        built_with: String::new(),
        cause,
    };
    missing.report()
}

fn text(start: *const c_char) -> String {
    // SAFETY: the archive, or the linker's table, contains texts that end in NUL.
    unsafe { CStr::from_ptr(start) }
        .to_string_lossy()
        .into_owned()
}

impl MissingFunction {
    fn report(self) -> ! {
        let finding = self.finding();
        let handler = *HANDLER.read().unwrap_or_else(PoisonError::into_inner);
        let is_again = IS_REPORTING.replace(true);
        if let Some(handler) = handler.filter(|_| !is_again) {
            // Most bindings declare functions through which a panic must not unwind. Its message is already printed.
            let _ = std::panic::catch_unwind(|| handler(&finding));
        }
        startup::print(&finding);
        if is_again {
            // SAFETY: it ends the process at once. The thread may already run `exit`, which must not be called again.
            unsafe { _exit(startup::EXIT) };
        }
        std::process::exit(startup::EXIT)
    }
}
