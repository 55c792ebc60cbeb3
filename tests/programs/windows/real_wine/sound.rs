//! Unusual setups that work: nothing is reported about cuDNN.

use super::farm::Farm;
use super::judged::{SetUp, Start, ids, windows};
use super::{V8_9_7, V9_10, V9_14, V9_28};
use crate::windows::wine::windows::Windows;
use std::fs;
use std::os::unix::fs::symlink;

/// All setups, by name.
pub const ALL: &[SetUp<Start>] = &[
    ("on PATH", on_path),
    ("beside the program", beside_the_program),
    ("a non-ASCII path", any_letters),
    ("a long path", a_long_path),
    ("slashes", slashes),
    ("another case", another_case),
    ("twice on PATH", twice_on_path),
    ("a newer minor", a_newer_minor),
    ("8.9.7 if cuDNN 8 is allowed", eight),
    ("junk before", junk_before),
    ("a relative entry of PATH", relative),
    ("a link to the directory", a_link),
    ("an older cuDNN behind", an_older_one_behind),
    ("both majors", both_majors),
    ("SetDllDirectory", set_dll_directory),
    ("an unused sub-library of another version", unreached_part),
];

#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn working_setups_are_silent() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    for (name, made) in ALL {
        let start = made(windows);
        let report = start.json(windows, "check");
        assert_eq!(ids(&report), ["driver-missing"], "{name}: {report:#}");
        assert_eq!(report["verdict"], "unknown", "{name}");
        let ran = start.run(windows, &["startup", "went-on"]).exits_with(0);
        assert_eq!(ran.stdout, "went on\n", "{name}");
        assert_eq!(
            ran.stderr,
            "cudnn-guard: unknown: `nvcuda.dll`, the library of NVIDIA's driver, cannot be opened, so no GPU can be used  [driver-missing]\n  \
             = help: install NVIDIA's driver, or run on a machine that has a GPU\n  \
             loader      nvcuda.dll: Module not found. (os error 126)\n",
            "{name}"
        );
    }
}

fn on_path(windows: &Windows) -> Start {
    let farm = Farm::of(windows, "cuDNN", V9_28);
    Start::of("nine").path(&farm.path)
}

fn beside_the_program(windows: &Windows) -> Start {
    let own = Farm::of(windows, "own", V9_28);
    let older = Farm::of(windows, "older", V9_10);
    let start = Start::of("nine").path(&older.path);
    start.within(windows, &own.path)
}

fn any_letters(windows: &Windows) -> Start {
    let farm = Farm::of(windows, "Meine Bücher 书", V9_28);
    Start::of("nine").path(&farm.path)
}

/// Longer than `MAX_PATH`, which is 260.
fn a_long_path(windows: &Windows) -> Start {
    let name = "d".repeat(48);
    let farm = Farm::of(windows, &[&name[..]; 6].join("\\"), V9_28);
    assert!(farm.path.len() > 260);
    Start::of("nine").path(&farm.path)
}

fn slashes(windows: &Windows) -> Start {
    let farm = Farm::of(windows, r"deep\cuDNN", V9_28);
    let path = farm.path.replace('\\', "/");
    Start::of("nine").path(&format!(r"{path}/;{}\", farm.path))
}

fn another_case(windows: &Windows) -> Start {
    let farm = Farm::of(windows, "cuDNN", V9_28);
    Start::of("nine").path(&farm.path.to_uppercase().replace('C', "c"))
}

fn twice_on_path(windows: &Windows) -> Start {
    let farm = Farm::of(windows, "cuDNN", V9_28);
    Start::of("nine").path(&format!(r"{0};{0}\;{0}\.", farm.path))
}

fn a_newer_minor(windows: &Windows) -> Start {
    let farm = Farm::of(windows, "cuDNN", V9_28);
    Start::of("eight").path(&farm.path)
}

fn eight(windows: &Windows) -> Start {
    let farm = Farm::of(windows, "cuDNN", V8_9_7);
    Start::of("eight").path(&farm.path)
}

fn junk_before(windows: &Windows) -> Start {
    let farm = Farm::of(windows, "cuDNN", V9_28);
    let junk = Farm::empty(windows, "junk")
        .with("cudnn.h", b"")
        .with("cudnn_old.dll", b"MZ");
    Start::of("nine").path(&format!(r"{};C:\gone;;{}", junk.path, farm.path))
}

/// Relative to the directory in which the program is started, which is `C:\`.
fn relative(windows: &Windows) -> Start {
    Farm::of(windows, r"deep\cuDNN", V9_28);
    Start::of("nine").path(r"\gone;deep\cuDNN")
}

fn a_link(windows: &Windows) -> Start {
    let farm = Farm::of(windows, "cuDNN", V9_28);
    let link = windows.drive().join("current");
    let _ = fs::remove_file(&link);
    symlink(farm.file(""), link).unwrap();
    Start::of("nine").path(r"C:\current")
}

fn an_older_one_behind(windows: &Windows) -> Start {
    let (good, older) = (
        Farm::of(windows, "cuDNN", V9_14),
        Farm::of(windows, "older", V9_10),
    );
    Start::of("nine").path(&format!("{};{}", good.path, older.path))
}

/// Neither major version is in the way of the other.
fn both_majors(windows: &Windows) -> Start {
    let farm = Farm::of(windows, "cuDNN", V8_9_7).install(V9_28);
    Start::of("nine").path(&farm.path)
}

fn set_dll_directory(windows: &Windows) -> Start {
    let farm = Farm::of(windows, "cuDNN", V9_28);
    Start::of("nine").does(&["set-dll-directory", &farm.path])
}

fn unreached_part(windows: &Windows) -> Start {
    let farm = Farm::of(windows, "cuDNN", V9_28);
    let behind = Farm::empty(windows, "behind").from(V9_14, "cudnn_ops64_9.dll");
    Start::of("nine").path(&format!("{};{}", farm.path, behind.path))
}
