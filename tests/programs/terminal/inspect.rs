//! `cudnn-guard inspect` on programs and libraries compiled here, in images made for the tests.

#[allow(dead_code)]
mod made {
    include!("../../../src/system/library_file/made_dll.rs");
}
pub mod bundled;
pub mod cuda_libraries;
pub mod escapes;
pub mod frameworks;
pub mod image;
pub mod interpreter;
pub mod openers;
pub mod programs;
pub mod providers;
pub mod search;
pub mod stubs;
pub mod surroundings;
pub mod windows;

use crate::support::{repository, run};
use image::{Image, ids, linked};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Two crates of one program have different requirements.
#[test]
fn every_guard_of_a_program_is_checked() {
    let image = Image::new("older");
    image.cudnn("opt/lib", 14);
    let other = linked("9.20.0").replace("app 0.1.0", "other 2.0.0");
    image.program(
        &[&linked("9.1.0"), &other],
        &["IMAGE/opt/lib/libcudnn.so.9", "-Wl,-rpath,/opt/lib"],
    );
    let ran = image.inspect(&[]).exits_with(1);
    let wanted = "  ✗ error: loaded cuDNN 9.14.0 is older than 9.20.0, which this program was built with  [cudnn-version-mismatch]\n      \
         = help: install cuDNN 9.20 or later 9.x in `/opt/lib`, or add its directory to LD_LIBRARY_PATH\n      \
         loaded      /opt/lib/libcudnn.so.9\n      \
         found via   the program's RUNPATH, its entry `/opt/lib`\n      \
         crate       other 2.0.0\n      \
         built with  9.20.0 (compatible: 9.20 or later 9.x)\n";
    let output = image.findings(&ran);
    assert!(output.starts_with(wanted), "{output}");
    let json = image.json();
    let guards = json["program"]["guards"].as_array().unwrap();
    assert_eq!(guards.len(), 2);
    // The linker decides which one comes first.
    let other = guards.iter().find(|guard| guard["crate"] == "other 2.0.0");
    assert_eq!(other.unwrap()["cudnn"], "9.20.0");
}

/// A sub-library and a library opened by name are missing, and a sub-library needs the driver.
#[test]
fn missing_dependencies_of_sub_libraries_are_reported() {
    let image = Image::with_cudnn("parts", 14);
    image.library("tmp/libcuda.so.1", "int x;", &[]);
    image.library(
        "opt/lib/libcudnn_engines_runtime_compiled.so.9",
        "int nothing;",
        &["-Wl,--no-as-needed", "IMAGE/tmp/libcuda.so.1"],
    );
    fs::remove_dir_all(image.at("tmp")).unwrap();
    let json = image.json();
    assert_eq!(json["verdict"], "unknown", "{json}");
    assert_eq!(
        ids(&json),
        ["driver-missing", "library-not-found", "library-not-found"]
    );
    let missing = json["missing"].as_array().unwrap().iter();
    let missing: Vec<&Value> = missing.map(|one| &one["name"]).collect();
    let wanted = ["libcuda.so.1", "libnvrtc.so.13", "libcublasLt.so.13"];
    assert_eq!(missing, wanted);

    fs::remove_file(image.at("opt/lib/libcudnn_cnn.so.9")).unwrap();
    let json = image.json();
    assert_eq!(json["verdict"], "fail", "{json}");
    let mut findings = json["findings"].as_array().unwrap().iter();
    let finding = findings.find(|one| one["id"] == "parts-missing").unwrap();
    assert_eq!(finding["severity"], "error");
    let summary = finding["summary"].as_str().unwrap();
    assert!(
        summary.contains("is missing `libcudnn_cnn.so.9`"),
        "{summary}"
    );
}

/// Jetson images contain empty files as mount points for the machine's own libraries.
#[test]
fn files_that_are_mounted_later_are_unknown() {
    let image = Image::with_cudnn("mounted", 14);
    fs::write(image.at("opt/lib/libcudnn.so.9"), "").unwrap();
    image
        .flat(&[])
        .exits_with(0)
        .says("libcudnn.so.9`, which is only a placeholder so far")
        .says("libcudnn.so.9 may be mounted later");
}

/// The system contains the library, but not the required symbol version.
#[test]
fn a_system_library_that_is_too_old_is_reported() {
    let image = Image::new("too-old");
    let script = |versions: &[&str]| {
        let mut text = String::from("GLIBC_2.2 { one; };\n");
        for version in versions {
            text += &format!("{version} {{ two; }};\n");
        }
        fs::write(image.at("map"), text).unwrap();
    };
    let own = "-Wl,--version-script=IMAGE/map";
    script(&["GLIBC_2.38"]);
    image.library(
        "usr/lib/libm.so.6",
        "int one(void) { return 1; } int two(void) { return 2; }",
        &[own],
    );
    image.library(
        "usr/lib/libuser.so.1",
        "int two(void); int user(void) { return two(); }",
        &["IMAGE/usr/lib/libm.so.6"],
    );
    image.program(
        &[],
        &[
            "IMAGE/usr/lib/libuser.so.1",
            "-Wl,-rpath-link,IMAGE/usr/lib",
        ],
    );
    assert_eq!(image.json()["findings"], Value::Array(Vec::new()));
    script(&[]);
    image.library("usr/lib/libm.so.6", "int one(void) { return 1; }", &[own]);
    image
        .flat(&[])
        .exits_with(1)
        .says("/usr/lib/libm.so.6` does not define GLIBC_2.38, which")
        .says("/usr/lib/libuser.so.1` requires [library-not-found]")
        .says("= help: run the program on a system or in a container whose glibc is 2.38 or later");
}

/// The linker dropped cuDNN because the program calls none of its functions.
#[test]
fn a_program_whose_linker_dropped_cudnn_is_reported() {
    let image = Image::new("dropped");
    image.program(&[&linked("9.14.0")], &[]);
    image
        .flat(&[])
        .exits_with(0)
        .says("app 0.1.0 was built to be linked with cuDNN, but this program does not depend on cuDNN")
        .says("[not-loaded-yet]");
}

/// A program that opens cuDNN itself uses the newest version that it allows.
#[test]
fn a_program_that_opens_cudnn_itself_uses_the_newest() {
    let image = Image::new("opens");
    let text = "guard 0.1.0\nrequirement >=8\nfrom 8.0.0\npolicy requirement\nloader dlopen\n";
    image.program(&[text], &["-Wl,-rpath,/opt/lib"]);
    // No GPU was detected, so the program may run without cuDNN.
    image
        .flat(&[])
        .exits_with(0)
        .says("this program opens libcudnn.so.10 or libcudnn.so.9 or libcudnn.so.8, but the loader cannot find any of them")
        .says("= help: install cuDNN 9, or add its directory to LD_LIBRARY_PATH");
    image.cudnn("opt/lib", 14);
    // A program that is linked with nothing has no search path of its own: the loader's search path applies.
    let json = image.json();
    let missing = json["missing"].to_string();
    assert!(!missing.contains("libcudnn.so"), "{json}");
    assert_eq!(json["cudnn"]["version"], "9.14.0");
}

#[test]
fn cudnn_itself_was_not_found_via_another_file() {
    let image = Image::new("itself");
    image.cudnn("opt/lib", 14);
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command.args(["inspect", "/opt/lib/libcudnn.so.9", "--root"]);
    run(command.arg(&image.0))
        .says("  ✓ cuDNN     9.14.0 for CUDA 13 at ")
        .does_not_say("found via \n");
}

#[test]
fn a_file_that_is_not_a_program_is_an_error_of_the_caller() {
    let text = repository().join("README.md");
    for (file, message) in [
        (&*text, "is not an ELF or PE program  [io-error]"),
        (repository(), "is a directory, not a file  [io-error]"),
        (
            Path::new("/dev/null"),
            "`/dev/null` is a pipe or a device, not a file  [io-error]",
        ),
        (
            Path::new("/nowhere/app"),
            "`/nowhere/app` cannot be read: No such file or directory (os error 2)  [io-error]\n  \
             = help: pass the path of a compiled program that you can read\n",
        ),
    ] {
        run(Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
            .arg("inspect")
            .arg(file))
        .exits_with(2)
        .says(message);
    }
}
