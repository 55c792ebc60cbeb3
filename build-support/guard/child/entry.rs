//! The entry of a child into the guard on Windows: before `main`, among the constructors of the program.

use crate::runtime::child::{Task, with_large_stack, work};
use crate::runtime::system::platform;
use std::ffi::{OsStr, c_void};
use std::fs::File;
use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::os::windows::io::FromRawHandle;
use std::sync::Mutex;

/// The variable that marks a child. It contains the offset of the child's guard in the program, and the token at the
/// end of its task.
pub const VARIABLE: &str = "CUDNN_GUARD_CHILD";

/// `SEM_FAILCRITICALERRORS`, `SEM_NOGPFAULTERRORBOX` and `SEM_NOOPENFILEERRORBOX`: no dialogs about a crash.
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

/// Returns the value of [`VARIABLE`] for a child of this program.
pub fn value_with(token: &str) -> String {
    // SAFETY: it is initialized. The read makes the linker keep it.
    let enter = unsafe { std::ptr::read_volatile(&ENTER) };
    // The address of a program varies, but the offsets in it do not. Two guards in a program have two offsets.
    let offset = (enter as usize).wrapping_sub(platform::own_module() as usize);
    format!("{offset:x}-{token}")
}

/// Ends a child that reaches its own check, which happens if the program has its own entry point that does not call
/// constructors. The child would start another child, and so on.
pub fn end_if_child() {
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
    // A DLL must not do anything in another program's process.
    if !platform::is_program() || value != value_with(token) {
        return;
    }
    // Programs that this process starts are not children of the guard.
    let name = platform::wide(OsStr::new(VARIABLE));
    // SAFETY: the name ends in zero, and a null value unsets the variable.
    unsafe { SetEnvironmentVariableW(name.as_ptr(), std::ptr::null()) };
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    // Without a complete task the parent is gone, and `main` must not run a second time.
    if read.is_ok() {
        // A panic must not unwind into the C runtime.
        let _ = std::panic::catch_unwind(|| answer(&text, token));
    }
    end_process();
}

fn end_process() {
    // SAFETY: ends this process at once: exit handlers of DLLs may hang.
    unsafe { TerminateProcess(GetCurrentProcess(), 0) };
}

/// Ends this process with the exception's code, without a crash reporter.
extern "system" fn end(_exception: *const c_void) -> i32 {
    EXCEPTION_EXECUTE_HANDLER
}

fn answer(text: &str, token: &str) {
    // SAFETY: these functions have no conditions.
    unsafe {
        SetErrorMode(NO_BOXES);
        SetUnhandledExceptionFilter(end);
    }
    let Some((pipe, task)) = Task::parse(text, token) else {
        return;
    };
    // SAFETY: this process owns the handle, which stays open until the end.
    let pipe = unsafe { ManuallyDrop::new(File::from_raw_handle(pipe as *mut _)) };
    let pipe = Mutex::new(pipe);
    let send = |text: &str| {
        if let Ok(mut pipe) = pipe.lock() {
            // The parent may no longer read.
            let _ = pipe.write_all(format!("{text}\n").as_bytes());
        }
    };
    with_large_stack(&|| work::run_task(&task, token, &send));
}
