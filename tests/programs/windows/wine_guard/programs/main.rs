//! A guarded program that runs the acts in its arguments.

mod guard {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

use std::ffi::c_void;
use std::io::Read;

#[repr(C)]
struct Entry {
    size: u32,
    usage: u32,
    process: u32,
    heap: usize,
    module: u32,
    threads: u32,
    parent: u32,
    priority: i32,
    flags: u32,
    file: [u8; 260],
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetHandleInformation(handle: *mut c_void, flags: *mut u32) -> i32;
    fn CreateToolhelp32Snapshot(flags: u32, process: u32) -> *mut c_void;
    fn Process32First(snapshot: *mut c_void, entry: *mut Entry) -> i32;
    fn Process32Next(snapshot: *mut c_void, entry: *mut Entry) -> i32;
    fn CloseHandle(handle: *mut c_void) -> i32;
    fn AddDllDirectory(name: *const u16) -> *mut c_void;
    fn SetDefaultDllDirectories(flags: u32) -> i32;
}

fn main() {
    for act in std::env::args().skip(1) {
        match &*act {
            "startup" => guard::startup(),
            "value" => print!("{}", cudnn_guard::internals::child::process::entry::value_with("token")),
            "read" => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).unwrap();
                println!("read {text:?}");
            }
            "left" => {
                // Objects that are created only once remain.
                let _ = guard::check();
                let (handles, processes) = (handles(), children());
                for _ in 0..20 {
                    let _ = guard::check();
                }
                println!("{} handles, {} processes", self::handles() as i32 - handles as i32, children() - processes);
            }
            // Windows then searches only the directories of the program and of the system, and the added ones.
            add if add.starts_with("add=") => {
                let name: Vec<u16> = add[4..].encode_utf16().chain([0]).collect();
                assert!(!unsafe { AddDllDirectory(name.as_ptr()) }.is_null());
                assert_ne!(unsafe { SetDefaultDllDirectories(0x1000) }, 0);
            }
            other => std::fs::write(other, "went on").unwrap(),
        }
    }
}

/// Returns how many handles are open.
fn handles() -> usize {
    let is_open = |value: &usize| {
        let mut flags = 0;
        unsafe { GetHandleInformation(*value as *mut c_void, &mut flags) != 0 }
    };
    (4..1 << 16).step_by(4).filter(is_open).count()
}

/// Returns how many processes started by this one still exist.
fn children() -> i32 {
    let mut entry: Entry = unsafe { std::mem::zeroed() };
    entry.size = size_of::<Entry>() as u32;
    let mut count = 0;
    unsafe {
        let snapshot = CreateToolhelp32Snapshot(2, 0);
        let mut more = Process32First(snapshot, &mut entry);
        assert!(more != 0);
        while more != 0 {
            count += i32::from(entry.parent == std::process::id());
            more = Process32Next(snapshot, &mut entry);
        }
        CloseHandle(snapshot);
    }
    count
}
