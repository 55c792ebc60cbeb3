//! Functions that open their library when they are first called (`Link::Lazy`). The build writes them in assembly; their
//! first call comes here.

use crate::runtime::facts::finding::Finding;
use crate::runtime::loader::misplaced::Misplaced;
use crate::runtime::loader::off_the_way;
use crate::runtime::startup;
use crate::runtime::system::names::DRIVER_SO;
use crate::runtime::system::platform::Library;
use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{PoisonError, RwLock};

/// A library, as its archive contains it.
#[repr(C)]
pub struct LazyLibrary {
    soname: *const c_char,
    /// The release that the program was built with: `cuDNN 9.28.0`.
    built_with: *const c_char,
    /// The names of the functions, one after the other.
    names: *const c_char,
    /// The addresses that the functions jump to.
    slots: *const AtomicPtr<c_void>,
    count: usize,
}

/// A call of a function that is missing.
pub struct MissingFunction {
    pub function: String,
    pub soname: String,
    pub built_with: String,
    pub cause: Cause,
}

pub enum Cause {
    /// The loader's message, and the place of the library if it is elsewhere.
    NotLoaded(String, Option<Misplaced>),
    /// The loaded file, which does not contain the function.
    NotContained(PathBuf),
}

/// The type of [`resolve`].
pub type Resolve = unsafe extern "C-unwind" fn(*const LazyLibrary, usize) -> *mut c_void;

type Handler = fn(&Finding);

static HANDLER: RwLock<Option<Handler>> = RwLock::new(None);

/// Sets the function that is called when the program calls a function whose library is missing or does not contain it.
/// The function may panic, which unwinds through the call. If it returns, the reason is printed and the program exits
/// with 78, as without a handler.
pub fn on_missing(handler: fn(&Finding)) {
    *HANDLER.write().unwrap_or_else(PoisonError::into_inner) = Some(handler);
}

/// Returns `true` if the driver's library and all of these can be opened. Calls none of their functions.
pub fn available(sonames: &[&str]) -> bool {
    let mut all = sonames.iter().chain(&[DRIVER_SO]);
    all.all(|soname| Library::open(soname).is_ok())
}

/// Returns the address of a function, and stores it for later calls.
///
/// # Safety
/// Only the archives call it, with the library that they contain and the number of one of its functions.
#[unsafe(export_name = "cudnn_guard_resolve")]
pub unsafe extern "C-unwind" fn resolve(library: *const LazyLibrary, index: usize) -> *mut c_void {
    // SAFETY: the caller passes a structure of the program, which is never freed.
    let library = unsafe { &*library };
    let function = library.function(index);
    let address = match library.find(&function) {
        Ok(address) => address,
        Err(missing) => missing.report(),
    };
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
    fn function(&self, index: usize) -> String {
        let mut name = self.names;
        for _ in 0..index.min(self.count.saturating_sub(1)) {
            // SAFETY: `count` names follow one another, each ending in NUL.
            name = unsafe { name.add(CStr::from_ptr(name).to_bytes_with_nul().len()) };
        }
        text(name)
    }

    fn find(&self, function: &str) -> Result<*mut c_void, MissingFunction> {
        let soname = text(self.soname);
        let cause = match Library::open(&soname) {
            Ok(library) => match library.symbol(function) {
                Some(address) => return Ok(address),
                None => {
                    Cause::NotContained(library.path().unwrap_or_else(|| soname.clone().into()))
                }
            },
            Err(message) => {
                let misplaced = off_the_way::find(std::slice::from_ref(&soname));
                Cause::NotLoaded(message, misplaced)
            }
        };
        Err(MissingFunction {
            function: function.to_string(),
            soname,
            built_with: text(self.built_with),
            cause,
        })
    }
}

fn text(start: *const c_char) -> String {
    // SAFETY: the archive contains texts that end in NUL.
    unsafe { CStr::from_ptr(start) }
        .to_string_lossy()
        .into_owned()
}

impl MissingFunction {
    fn report(self) -> ! {
        let finding = self.finding();
        let handler = *HANDLER.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(handler) = handler {
            handler(&finding);
        }
        startup::stop(&finding)
    }
}
