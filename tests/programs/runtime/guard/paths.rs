//! Unusual paths and processes that are not a fault of cuDNN.

use super::program::{GPU, check, command, run, run_in};
use crate::support::installation::{Folder, libraries, library_path, sound};
use crate::support::rows;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Where the program starts, its library path, the name by which it opens cuDNN, and where the guard found that.
const OPENED: &str = "\
. | deep/lib | libcudnn.so.9 | LD_LIBRARY_PATH, its entry `deep/lib`
deep/lib | :/nowhere | libcudnn.so.9 | -
deep/lib | /nowhere | ./libcudnn.so.9 | -
. | /nowhere | deep/../deep/lib/libcudnn.so.9 | -
";

#[test]
fn a_program_that_changes_its_directory_keeps_its_cudnn() {
    let folder = Folder::new().with_cudnn_in("deep/lib", "9.14.0");
    let shim = folder.file("deep/lib/libcudnn.so.9");
    let lib = folder.file("deep/lib");
    let out = Folder::new();
    let moved = ("TEST_MOVE", "/");
    for [from, library_path, open, via] in rows(OPENED) {
        for task in ["check", "version"] {
            let ran = run_in(
                &folder.file(from),
                task,
                &out.0,
                &[
                    GPU,
                    moved,
                    ("LD_LIBRARY_PATH", library_path),
                    ("TEST_OPEN", open),
                ],
            );
            if task == "check" {
                ran.must_be("pass", &[]);
            }
            let path = ran.json["loaded"]["path"].as_str().unwrap();
            assert_eq!(Path::new(path).canonicalize().unwrap(), shim, "{open}");
            assert!(Path::new(path).is_absolute(), "{path}");
            if via != "-" {
                assert_eq!(ran.json["loaded"]["found_via"], via);
            }
        }
    }
    // Without the change the result is the same, and the entry is shown.
    let ran = run_in(
        &lib,
        "check",
        &out.0,
        &[GPU, ("LD_LIBRARY_PATH", ":/nowhere")],
    );
    ran.must_be("pass", &[]);
    assert_eq!(ran.json["loaded"]["path"], shim.to_str().unwrap());
    assert_eq!(
        ran.json["loaded"]["found_via"],
        "LD_LIBRARY_PATH, its entry `.`"
    );
}

#[test]
fn a_path_that_is_not_utf_8_works() {
    let cudnn = sound();
    let place = Folder::new();
    let odd = place.0.join(OsString::from_vec(b"caf\xe9 a\nb".to_vec()));
    symlink(&cudnn.0, &odd).unwrap();
    let report = place.file("json");
    let status = command("check", &odd)
        .envs([GPU, ("TEST_JSON", report.to_str().unwrap())])
        .env("TEST_TEXT", place.file("text"))
        .status()
        .unwrap();
    assert!(status.success());
    let text = std::fs::read_to_string(report).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["verdict"], "pass", "{text}");
    assert_eq!(json["findings"].as_array().unwrap().len(), 0, "{text}");
    let via = json["loaded"]["found_via"].as_str().unwrap();
    assert!(via.starts_with("LD_LIBRARY_PATH"), "{via}");
}

/// The names as in cudarc's sources, compiled for CUDA 11.4.
#[test]
fn the_names_that_cudarc_opens_are_known_in_order() {
    use cudnn_guard::internals::facts::Version;
    let names = |cudarc| {
        let names = cudnn_guard::internals::loader::file_name::of_cudarc(
            cudarc,
            Some(Version::new(11, 4, 0)),
        );
        // The CUDA version of the cudarc feature that this crate enables.
        #[cfg(feature = "cudarc")]
        if cudarc.is_none() {
            assert_eq!(names, cudarc::get_lib_name_candidates("cudnn"));
        }
        names.join(" ").replace("libcudnn", "")
    };
    let newest = ".so 64.so 64_11.so 64_114.so 64_114_0.so 64_110_4.so 64_10.so 64_11.so 64_12.so 64_110_0.so 64_9.so \
        .so.11 .so.12 .so.11 .so.10 .so.9 .so.1";
    assert_eq!(names(None), newest);
    assert_eq!(names(Some(Version::new(0, 19, 2))), newest);
    let before = ".so 64.so 64_11.so 64_114.so 64_114_0.so 64_110_4.so 64_10.so 64_11.so 64_110_0.so 64_9.so \
        .so.11 .so.11 .so.10 .so.1";
    assert_eq!(names(Some(Version::new(0, 19, 1))), before);
    assert_eq!(names(Some(Version::new(0, 18, 2))), before);
}

#[test]
fn files_that_the_loader_skips_are_skipped() {
    let cudnn = sound();
    let other = if cfg!(target_arch = "x86_64") {
        183
    } else {
        62
    };
    // A directory of libraries for another CPU and one of 32-bit libraries precede the right one.
    let foreign = [(18, other), (4, 1)].map(|(at, byte)| {
        let names = libraries(&cudnn.0);
        let change = |folder: Folder, name: &String| folder.with_byte(name, at, byte);
        names.iter().fold(sound(), change)
    });
    let way = library_path(&[&foreign[0], &foreign[1], &cudnn]);
    for task in ["check", "version"] {
        let ran = run(task, &cudnn.0, &[GPU, ("LD_LIBRARY_PATH", way)]);
        ran.must_be("pass", &[]);
        assert_eq!(ran.json["loaded"]["parts"][0]["version"], "9.14.0");
    }
    // The loader uses the damaged file behind them, and would crash.
    let cut = Folder::new()
        .with_cudnn("9.14.0")
        .cut("libcudnn.so.9", 5000);
    let way = library_path(&[&foreign[0], &cut]);
    check(&cudnn, &[GPU, ("LD_LIBRARY_PATH", way)]).must_be("fail", &["library-damaged"]);
    // If there is no other file, the foreign one is reported.
    let whole = foreign[0].file("libcudnn.so.9");
    std::fs::copy(cudnn.file("libcudnn.so.9"), whole).unwrap();
    let [foreign, _] = &foreign;
    check(foreign, &[GPU]).must_be("fail", &["wrong-architecture"; 7]);
}
