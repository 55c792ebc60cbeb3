//! Programs for Windows: their imports, the DLLs beside them, and facts that cannot be known here.

use super::image::{Image, PARTS, ids, linked, record};
use super::made::DllSpec;
use super::programs::wheel;
use crate::support::{program, run};
use serde_json::Value;
use std::fs;

/// Records are read from programs for every system and CPU.
#[test]
fn the_record_of_a_program_for_windows_is_read() {
    let image = Image::new("windows");
    fs::create_dir_all(image.at("app")).unwrap();
    fs::write(image.at("app/app"), for_windows(0xaa64, &linked("9.14.0"))).unwrap();
    let json = image.json();
    assert_eq!(json["program"]["format"], "pe");
    assert_eq!(json["program"]["cpu"], "aarch64");
    assert_eq!(json["program"]["guards"][0]["crate"], "app 0.1.0");
    assert_eq!(json["verdict"], "unknown");
}

/// Returns a program that contains only a record.
fn for_windows(machine: u16, text: &str) -> Vec<u8> {
    let record = record(text);
    let mut bytes = vec![0; 0x200];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, b"MZ");
    put(0x3c, &[0x40]);
    put(0x40, b"PE\0\0");
    put(0x44, &machine.to_le_bytes());
    put(0x46, &[1]);
    put(0x54, &[144]);
    put(0x58, &[0x0b, 0x02]);
    let section = 0x58 + 144;
    put(section, b".cdnngrd");
    let size = u32::try_from(record.len()).unwrap();
    for (at, value) in [(12, 0x1000), (16, size), (20, 0x200)] {
        put(section + at, &u32::to_le_bytes(value));
    }
    bytes.extend(record);
    bytes
}

/// Uses NVIDIA's own files.
#[test]
#[ignore = "needs real NVIDIA files: CUDNN_GUARD_REAL"]
fn real_dlls_beside_a_program_are_found() {
    let image = Image::new("real-windows");
    fs::create_dir_all(image.at("app")).unwrap();
    for entry in fs::read_dir(wheel("cudnn-win-cu13-9.28").join("bin")).unwrap() {
        let dll = entry.unwrap().path();
        std::os::unix::fs::symlink(&dll, image.at("app").join(dll.file_name().unwrap())).unwrap();
    }
    let windows = |cudnn: &str| {
        fs::write(image.at("app/app.exe"), for_windows(0x8664, &linked(cudnn))).unwrap();
        let mut command = program(env!("CARGO_BIN_EXE_cudnn-guard"));
        let ran = run(command
            .arg("inspect")
            .arg("--json")
            .arg(image.at("app/app.exe")));
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let json = windows("9.14.0");
    assert_eq!(json["verdict"], "unknown", "{json}");
    assert_eq!(json["cudnn"]["version"], "9.28.0");
    let own = format!(
        "the program's own directory, `{}`",
        image.at("app").display()
    );
    assert_eq!(json["cudnn"]["found_via"], own);
    assert_eq!(windows("9.40.0")["verdict"], "fail");
}

/// Creates a Windows program with this record and these imports, and DLLs, each described by its lines.
fn beside(image: &Image, facts: &str, imports: &[&str], dlls: &[(&str, &str)]) {
    fs::create_dir_all(image.at("app")).unwrap();
    let imports: Vec<(String, Vec<String>)> = imports
        .iter()
        .map(|name| (name.to_string(), vec!["one".to_string()]))
        .collect();
    let made = DllSpec {
        machine: 0x8664,
        imports,
        code: record(facts),
        ..DllSpec::default()
    };
    let mut bytes = made.bytes();
    let at = bytes
        .windows(8)
        .position(|name| name == b".nv_fatb")
        .unwrap();
    bytes[at..at + 8].copy_from_slice(b".cdnngrd");
    fs::write(image.at("app/app"), bytes).unwrap();
    for (path, lines) in dlls {
        let path = image.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, DllSpec::from_lines(lines, "x86_64")).unwrap();
    }
}

/// Creates a cuDNN in this directory of an image.
fn cudnn(image: &Image, folder: &str, release: &str) {
    let file = |name: &str| image.at(&format!("{folder}/{name}"));
    fs::create_dir_all(image.at(folder)).unwrap();
    let text = format!("version {release}");
    fs::write(file("cudnn64_9.dll"), DllSpec::from_lines(&text, "x86_64")).unwrap();
    for part in PARTS {
        let name = format!("cudnn_{part}64_9.dll");
        let text = format!("version {release}\nimports cublasLt64_13.dll one");
        fs::write(file(&name), DllSpec::from_lines(&text, "x86_64")).unwrap();
    }
}

/// The main library loads the sub-libraries by name only, and Windows finds one beside the program.
#[test]
fn a_sub_library_beside_the_program_precedes_those_of_windows() {
    let image = Image::new("windows-stray");
    let dlls = [
        ("app/cudnn_ops64_9.dll", "version 9.10.0"),
        ("app/cublasLt64_13.dll", ""),
    ];
    beside(&image, &linked("9.14.0"), &["cudnn64_9.dll"], &dlls);
    cudnn(&image, "Windows/System32", "9.14.0");
    image
        .flat(&[])
        .exits_with(1)
        .says("loads `cudnn_ops64_9.dll` (version 9.10.0) from `")
        .says("/app` [parts-mixed] = help: remove the `cudnn*.dll` files from `");
    fs::remove_file(image.at("app/cudnn_ops64_9.dll")).unwrap();
    assert_eq!(ids(&image.json()), [""; 0]);
}

/// An imported DLL is not in any directory that can be searched.
#[test]
fn a_dll_that_is_not_beside_the_program_is_reported() {
    let image = Image::new("windows-missing");
    let dlls = [
        ("app/Own.dll", "imports cudart64_13.dll one"),
        ("app/nvrtc64_130_0.dll", "cpu aarch64"),
    ];
    beside(
        &image,
        &linked("9.14.0"),
        &[
            "own.DLL",
            "cudnn64_9.dll",
            "nvrtc64_130_0.dll",
            "nvcuda.dll",
        ],
        &dlls,
    );
    image
        .flat(&[])
        .exits_with(1)
        .says("/app/nvrtc64_130_0.dll` is for aarch64 [wrong-architecture] = help: replace it with the one for x86_64 needed by /")
        .says("! warning: `app` needs `cudnn64_9.dll`, but it is not next to the program [cudnn-not-loadable] = help: add the directory that contains it to PATH where the program runs, or copy all DLLs in that directory next to the program searched /")
        .says("! warning: `Own.dll` needs `cudart64_13.dll`, but it is not next to the program [library-not-found] = help: add the directory that contains it to PATH where the program runs, or copy all DLLs in that directory next to the program searched /");
    fs::remove_file(image.at("app/nvrtc64_130_0.dll")).unwrap();
    image
        .flat(&[])
        .exits_with(0)
        .says("cudart64_13.dll may be on the PATH where the program runs");
}

/// The program imports cuDNN, whose sub-libraries import a missing DLL.
#[test]
fn imports_of_sub_libraries_may_be_on_path() {
    let image = Image::new("windows-parts");
    beside(&image, &linked("9.14.0"), &["cudnn64_9.dll"], &[]);
    cudnn(&image, "app", "9.14.0");
    image.flat(&[]).exits_with(0).says(
        "needs `cublasLt64_13.dll`, which is not on Windows' search path [cudnn-not-loadable]",
    );
    fs::remove_file(image.at("app/cudnn_ops64_9.dll")).unwrap();
    let json = image.json();
    assert_eq!(json["verdict"], "unknown", "{json}");
    assert!(ids(&json).contains(&"parts-missing"), "{json}");
    // A program that opens cuDNN itself.
    let text = "guard 0.1.0\nrequirement >=9,<10\nfrom 9.0.0\nbelow 10.0.0\npolicy requirement\nloader dlopen\n";
    beside(&image, text, &[], &[]);
    assert_eq!(image.json()["cudnn"]["version"], "9.14.0");
}

/// MSVC's `/DELAYLOAD` defers loading to the first call.
#[test]
fn a_dll_that_is_loaded_at_its_first_call_is_checked() {
    let image = Image::new("windows-delayed");
    let dlls = [(
        "app/own.dll",
        "delays cudnn64_9.dll cudart64_13.dll user32.dll",
    )];
    beside(&image, &linked("9.14.0"), &["own.dll"], &dlls);
    cudnn(&image, "app", "9.10.0");
    image
        .flat(&[])
        .exits_with(1)
        .says("! warning: `own.dll` loads `cudart64_13.dll` on first use, but it is not next to the program [library-not-found] = help: add the directory that contains it to PATH where the program runs, or copy all DLLs in that directory next to the program searched /")
        .says("loaded cuDNN 9.10.0 is older than 9.14.0, which this program was built with");
    let json = image.json();
    let own = format!(
        "the program's own directory, `{}`",
        image.at("app").display()
    );
    assert_eq!(json["cudnn"]["found_via"], own);
}
