//! A program that gives up its rights after it has loaded cuDNN: its files can no longer be read, but they are mapped.

use super::program::{GPU, command, run};
use crate::support::installation::{Folder, PARTS_9, sound};
use cudnn_guard::internals::system::platform::Library;
use std::ffi::{CString, c_char, c_int, c_long};
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

unsafe extern "C" {
    fn geteuid() -> u32;
    fn setuid(user: u32) -> c_int;
    fn chroot(path: *const c_char) -> c_int;
    fn mount(
        from: *const c_char,
        to: *const c_char,
        kind: *const c_char,
        flags: u64,
        _: usize,
    ) -> c_int;
    fn umount2(path: *const c_char, flags: c_int) -> c_int;
    fn prctl(option: c_int, ...) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

fn is_root() -> bool {
    // SAFETY: the function has no arguments and no side effects.
    unsafe { geteuid() == 0 }
}

/// Loads the files of cuDNN by name, as a program without the guard does. Panics if the loader refuses a file.
pub fn load_without_guard() {
    Library::open("libcudnn.so.9").unwrap();
    for part in &PARTS_9[..7] {
        Library::open(&format!("libcudnn_{part}.so.9")).unwrap();
    }
}

/// Gives up the right to read the directory in TEST_CLOSED, in the way that TEST_RIGHTS names.
pub fn give_up() {
    let closed = std::env::var("TEST_CLOSED").unwrap();
    match std::env::var("TEST_RIGHTS").unwrap().as_str() {
        "user" => {
            fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
            // SAFETY: a separate process of this test.
            assert_eq!(unsafe { setuid(65534) }, 0);
        }
        "root directory" => {
            let root = CString::new(std::env::var("TEST_ROOT").unwrap()).unwrap();
            // SAFETY: the path ends in NUL, in a separate process of this test.
            assert_eq!(unsafe { chroot(root.as_ptr()) }, 0);
        }
        "mounted directory" => assert!(unmount(Path::new(&closed))),
        "sandbox" => {
            // LANDLOCK_ACCESS_FS_READ_FILE and LANDLOCK_ACCESS_FS_READ_DIR, denied everywhere.
            let rights = [0b1100_u64];
            // SAFETY: `struct landlock_ruleset_attr` begins with this number; a separate process of this test.
            unsafe {
                let rules = syscall(444, &rights, 8_usize, 0_u32);
                assert!(rules >= 0, "no Landlock");
                assert_eq!(prctl(38, 1_usize, 0_usize, 0_usize, 0_usize), 0);
                assert_eq!(syscall(446, rules, 0_u32), 0);
            }
        }
        other => panic!("{other}"),
    }
    assert!(fs::read(Path::new(&closed).join("libcudnn.so.9")).is_err());
}

/// Makes a directory visible at another path, if the system permits it. See `mount(2)`.
fn bind(from: &Path, to: &Path) -> bool {
    let [from, to] = [from, to].map(|path| CString::new(path.as_os_str().as_bytes()).unwrap());
    // SAFETY: both paths end in NUL, and a bind mount (4096) has no type and no data.
    is_root() && unsafe { mount(from.as_ptr(), to.as_ptr(), std::ptr::null(), 4096, 0) == 0 }
}

/// Detaches a mounted directory, as `umount --lazy` does: its mapped files stay mapped.
fn unmount(dir: &Path) -> bool {
    let dir = CString::new(dir.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path ends in NUL.
    unsafe { umount2(dir.as_ptr(), 2) == 0 }
}

/// Returns `true` if this kernel lets a process restrict itself with Landlock.
fn has_landlock() -> bool {
    // SAFETY: LANDLOCK_CREATE_RULESET_VERSION only returns a number.
    let version = unsafe { syscall(444, std::ptr::null::<u64>(), 0_usize, 1_u32) };
    version > 0
}

#[test]
fn a_second_check_without_the_right_to_read_the_files_passes() {
    let ways = [
        ("user", is_root()),
        ("root directory", is_root()),
        ("sandbox", has_landlock()),
    ];
    for (way, is_possible) in ways {
        if !is_possible {
            continue;
        }
        let (cudnn, out) = (sound(), Folder::new());
        fs::set_permissions(&out.0, Permissions::from_mode(0o777)).unwrap();
        for name in ["text", "report.json"] {
            fs::write(out.file(name), "").unwrap();
            fs::set_permissions(out.file(name), Permissions::from_mode(0o666)).unwrap();
        }
        // In the new root directory, the files of the report have the same paths.
        let within = out.file(out.text().trim_start_matches('/'));
        fs::create_dir_all(within.parent().unwrap()).unwrap();
        symlink("/", within).unwrap();
        let variables = [
            GPU,
            ("LD_LIBRARY_PATH", cudnn.text()),
            ("TEST_CLOSED", cudnn.text()),
            ("TEST_RIGHTS", way),
            ("TEST_ROOT", out.text()),
        ];
        let ran = run("twice", &out.0, &variables);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{way}");
        assert_eq!(ran.json["verdict"], "pass", "{way}: {}", ran.text);
    }
}

#[test]
fn a_second_check_after_the_files_were_unmounted_passes() {
    let (files, mounted) = (sound(), Folder::new());
    if !bind(&files.0, &mounted.0) {
        return;
    }
    let mut command = command("twice", &mounted.0);
    let ran = command
        .env(GPU.0, GPU.1)
        .env("TEST_TEXT", files.file("text"))
        .env("TEST_JSON", files.file("report.json"))
        .env("TEST_CLOSED", mounted.text())
        .env("TEST_RIGHTS", "mounted directory")
        .output()
        .unwrap();
    // The program has detached it, unless it failed.
    unmount(&mounted.0);
    let text = fs::read_to_string(files.file("text")).unwrap();
    let stderr = String::from_utf8(ran.stderr).unwrap();
    assert_eq!((ran.status.code(), stderr.as_str()), (Some(0), ""));
    assert!(text.starts_with("cuDNN: pass"), "{text}");
}
