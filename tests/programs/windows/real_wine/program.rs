//! Runs the acts in its arguments in order: they prepare the process, then call the guard.

mod cudnn_guard {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

use ::cudnn_guard::internals::check::check_version;
use ::cudnn_guard::internals::facts::record;
use std::ffi::{OsStr, c_char, c_void};
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn LoadLibraryW(name: *const u16) -> *mut c_void;
    fn GetProcAddress(module: *mut c_void, name: *const c_char) -> *mut c_void;
    fn SetDllDirectoryW(name: *const u16) -> i32;
    fn AddDllDirectory(name: *const u16) -> *mut c_void;
    fn SetDefaultDllDirectories(flags: u32) -> i32;
    fn SetCurrentDirectoryW(name: *const u16) -> i32;
}

fn main() {
    let mut acts = std::env::args_os().skip(1);
    while let Some(act) = acts.next() {
        match act.to_str().unwrap() {
            "startup" => cudnn_guard::startup(),
            "check" => println!("{}", to_json(cudnn_guard::check())),
            "version" => println!("{}", to_json(cudnn_guard::check_version())),
            // Checks against a build record passed as an argument.
            "as-built" => {
                let built = record::parse(acts.next().unwrap().to_str().unwrap());
                println!("{}", to_json(check_version(&built)));
            }
            "load" => {
                load(&acts.next().unwrap());
            }
            "set-dll-directory" => {
                let name = wide(&acts.next().unwrap());
                assert_ne!(unsafe { SetDllDirectoryW(name.as_ptr()) }, 0);
            }
            "add-dll-directory" => {
                let name = wide(&acts.next().unwrap());
                assert!(!unsafe { AddDllDirectory(name.as_ptr()) }.is_null());
            }
            // LOAD_LIBRARY_SEARCH_DEFAULT_DIRS: the directories of the program and of Windows, and the added ones.
            "default-directories" => assert_ne!(unsafe { SetDefaultDllDirectories(0x1000) }, 0),
            "change-directory" => {
                let name = wide(&acts.next().unwrap());
                assert_ne!(unsafe { SetCurrentDirectoryW(name.as_ptr()) }, 0);
            }
            // No other handle can be opened until this process exits.
            "hold" => {
                let mut options = std::fs::OpenOptions::new();
                let file = options.read(true).share_mode(0).open(acts.next().unwrap());
                std::mem::forget(file.unwrap());
            }
            "use" => println!("{}", used(load(&acts.next().unwrap()))),
            "went-on" => println!("went on"),
            other => panic!("{other}"),
        }
    }
}

fn load(name: &OsStr) -> *mut c_void {
    let module = unsafe { LoadLibraryW(wide(name).as_ptr()) };
    assert!(!module.is_null(), "{}", std::io::Error::last_os_error());
    module
}

fn answer(cudnn: *mut c_void) -> usize {
    unsafe {
        let address = GetProcAddress(cudnn, c"cudnnGetVersion".as_ptr());
        assert!(!address.is_null());
        let ask: extern "C" fn() -> usize = std::mem::transmute(address);
        ask()
    }
}

/// Calls the version checks of cuDNN, which open the sub-libraries. If one cannot be opened, cuDNN kills the process.
fn used(cudnn: *mut c_void) -> String {
    let mut answers = answer(cudnn).to_string();
    for check in [
        c"cudnnGraphVersionCheck",
        c"cudnnOpsVersionCheck",
        c"cudnnCnnVersionCheck",
        c"cudnnAdvVersionCheck",
    ] {
        unsafe {
            let address = GetProcAddress(cudnn, check.as_ptr());
            assert!(!address.is_null());
            let ask: extern "C" fn() -> i32 = std::mem::transmute(address);
            answers += &format!(" {}", ask());
        }
    }
    answers
}

fn wide(text: &OsStr) -> Vec<u16> {
    text.encode_wide().chain([0]).collect()
}

fn to_json(result: Result<cudnn_guard::Report, cudnn_guard::Failure>) -> String {
    match result {
        Ok(report) => report.to_json(),
        Err(failure) => failure.to_json(),
    }
}
