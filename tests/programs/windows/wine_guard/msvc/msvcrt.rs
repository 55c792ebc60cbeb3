//! A replacement for the code that Microsoft's linker takes from `msvcrt.lib` to start a program, as far as Rust's
//! standard library needs it.
#![no_std]
#![allow(non_upper_case_globals, reason = "these names are Microsoft's")]

use core::ffi::{c_int, c_void};
use core::ptr::null;

type Constructor = Option<unsafe extern "C" fn()>;
type Initialiser = Option<unsafe extern "C" fn() -> c_int>;

#[repr(transparent)]
pub struct Shared<T>(T);
// SAFETY: the contents are never written.
unsafe impl<T> Sync for Shared<T> {}

// The linker sorts the sections between these by the letters after the `$`.
#[unsafe(link_section = ".CRT$XIA")]
static FIRST_INITIALISER: Initialiser = None;
#[unsafe(link_section = ".CRT$XIZ")]
static LAST_INITIALISER: Initialiser = None;
#[unsafe(link_section = ".CRT$XCA")]
static FIRST_CONSTRUCTOR: Constructor = None;
#[unsafe(link_section = ".CRT$XCZ")]
static LAST_CONSTRUCTOR: Constructor = None;

/// `IMAGE_TLS_DIRECTORY64`, which describes thread-local storage.
#[repr(C)]
pub struct TlsDirectory {
    start: *const usize,
    end: *const usize,
    index: *const u32,
    callbacks: *const Constructor,
    zeroes: u32,
    flags: u32,
}

#[unsafe(link_section = ".tls")]
static mut TLS_START: usize = 0;
#[unsafe(link_section = ".tls$ZZZ")]
static mut TLS_END: usize = 0;
#[unsafe(link_section = ".CRT$XLA")]
static BEFORE_CALLBACKS: Constructor = None;
#[used]
#[unsafe(link_section = ".CRT$XLZ")]
static LAST_CALLBACK: Constructor = None;
#[unsafe(no_mangle)]
static mut _tls_index: u32 = 0;
#[unsafe(no_mangle)]
#[unsafe(link_section = ".rdata$T")]
static _tls_used: Shared<TlsDirectory> = Shared(TlsDirectory {
    start: &raw const TLS_START,
    end: &raw const TLS_END,
    index: &raw const _tls_index,
    callbacks: (&raw const BEFORE_CALLBACKS).wrapping_add(1),
    zeroes: 0,
    flags: 0,
});

/// A marker for the use of floating point.
#[unsafe(no_mangle)]
static _fltused: c_int = 0;
/// The function table of `type_info`. A panic refers to it for its type, and nothing calls its functions.
#[unsafe(export_name = "??_7type_info@@6B@")]
static TYPE_INFO: Shared<*const c_void> = Shared(null());

unsafe extern "C" {
    fn main(count: c_int, arguments: *const *const u8) -> c_int;
    fn _initterm(first: *const Constructor, last: *const Constructor);
    fn _initterm_e(first: *const Initialiser, last: *const Initialiser) -> c_int;
    fn exit(code: c_int) -> !;
}

/// The entry point of the program on Windows.
#[unsafe(no_mangle)]
unsafe extern "C" fn mainCRTStartup() -> ! {
    // SAFETY: each list is between its two ends. Rust gets the arguments from Windows.
    unsafe {
        if _initterm_e(&FIRST_INITIALISER, &LAST_INITIALISER) != 0 {
            exit(255);
        }
        _initterm(&FIRST_CONSTRUCTOR, &LAST_CONSTRUCTOR);
        exit(main(0, null()))
    }
}
