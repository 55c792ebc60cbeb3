//! How a child enters the guard on Windows: before `main`, among the constructors of the program.

use crate::runtime::child::task::ToldTask;
use crate::runtime::child::work;
use crate::runtime::system::platform;
use std::ffi::{OsStr, c_void};
use std::fs::File;
use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::os::windows::io::FromRawHandle;
use std::sync::Mutex;

/// What a child finds set: where its guard lies in the program, and the token with which its task ends.
pub const VARIABLE: &str = "CUDNN_GUARD_CHILD";

/// `SEM_FAILCRITICALERRORS`, `SEM_NOGPFAULTERRORBOX` and `SEM_NOOPENFILEERRORBOX`: nobody is asked about a crash.
const NO_BOXES: u32 = 0x8003;
const EXCEPTION_EXECUTE_HANDLER: i32 = 1;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn SetErrorMode(mode: u32) -> u32;
    fn SetUnhandledExceptionFilter(filter: extern "system" fn(*const c_void) -> i32)
    -> *mut c_void;
    fn SetEnvironmentVariableW(name: *const u16, value: *const u16) -> i32;
    fn GetCurrentProcess() -> *mut c_void;
    fn TerminateProcess(process: *mut c_void, code: u32) -> i32;
}

// SAFETY: the C runtime calls every function in this section once, before `main`.
#[used]
#[unsafe(link_section = ".CRT$XCU")]
static ENTER: extern "C" fn() = enter;

/// The value of the variable for a child of this program.
pub fn value_with(token: &str) -> String {
    // SAFETY: it is initialised. A linker keeps what is read.
    let enter = unsafe { std::ptr::read_volatile(&ENTER) };
    // Programs are loaded at another address each time; two guards of one program lie at two places in it.
    let place = (enter as usize).wrapping_sub(platform::own_module() as usize);
    format!("{place:x}-{token}")
}

/// Ends a child that has come to its own check: the program was started without calling its constructors, as with an
/// entry point of its own. It would start a child as well, and that one another.
pub fn end_if_passed() {
    let value = std::env::var_os(VARIABLE).unwrap_or_default();
    if value.to_string_lossy().starts_with(&value_with("")) {
        end_process();
    }
}

extern "C" fn enter() {
    let Some(value) = std::env::var_os(VARIABLE) else {
        return;
    };
    let value = value.to_string_lossy().into_owned();
    let Some((_, token)) = value.split_once('-') else {
        return;
    };
    // A DLL must not do anything where the process is not its own.
    if !platform::is_program() || value != value_with(token) {
        return;
    }
    // What this process may start is no child of the guard's.
    let name = platform::wide(OsStr::new(VARIABLE));
    // SAFETY: the name ends in zero, and no value stands for none.
    unsafe { SetEnvironmentVariableW(name.as_ptr(), std::ptr::null()) };
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    // Without a whole task the parent is gone, and nobody has asked for a second run of `main`.
    if let Some(task) = ToldTask::parse(&text, token).filter(|_| read.is_ok()) {
        // A panic must not unwind into the C runtime.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| answer(&task, token)));
    }
    end_process();
}

fn end_process() {
    // SAFETY: ends this process at once: what DLLs do at their end may hang.
    unsafe { TerminateProcess(GetCurrentProcess(), 0) };
}

/// Ends this process with the exception's code, and starts nobody's crash reporter.
extern "system" fn end(_exception: *const c_void) -> i32 {
    EXCEPTION_EXECUTE_HANDLER
}

fn answer(task: &ToldTask, token: &str) {
    // SAFETY: the handle is this process's own, and stays open until the end.
    let pipe = unsafe {
        SetErrorMode(NO_BOXES);
        SetUnhandledExceptionFilter(end);
        ManuallyDrop::new(File::from_raw_handle(task.pipe as *mut _))
    };
    let pipe = Mutex::new(pipe);
    let send = |text: &str| {
        if let Ok(mut pipe) = pipe.lock() {
            // The parent may have given up.
            let _ = pipe.write_all(format!("{text}\n").as_bytes());
        }
    };
    work::whole(&task.opened(), token, &send);
}
