//! Programs for Windows, and NVIDIA's DLLs beside them.

use super::image::{Image, linked, record};
use super::made::DllSpec;
use super::programs::wheel;
use crate::support::{program, run};
use serde_json::Value;
use std::fs;

/// Returns a program with this record and these imports.
pub fn built_for_windows(text: &str, imports: &[&str]) -> Vec<u8> {
    let import = |name: &&str| (name.to_string(), vec!["one".to_string()]);
    let made = DllSpec {
        machine: 0x8664,
        imports: imports.iter().map(import).collect(),
        code: record(text),
        ..DllSpec::default()
    };
    let mut bytes = made.bytes();
    let mut names = bytes.windows(8);
    let section = names.position(|name| name == b".nv_fatb").unwrap();
    bytes[section..section + 8].copy_from_slice(b".cdnngrd");
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
    let inspect = |cudnn: &str| {
        fs::write(
            image.at("app/app.exe"),
            built_for_windows(&linked(cudnn), &[]),
        )
        .unwrap();
        let mut command = program(env!("CARGO_BIN_EXE_cudnn-guard"));
        let ran = run(command
            .arg("inspect")
            .arg("--json")
            .arg(image.at("app/app.exe")));
        serde_json::from_str::<Value>(&ran.stdout).unwrap()
    };
    let json = inspect("9.14.0");
    assert_eq!(json["verdict"], "unknown", "{json}");
    assert_eq!(json["cudnn"]["version"], "9.28.0");
    let own = format!(
        "the program's own directory, `{}`",
        image.at("app").display()
    );
    assert_eq!(json["cudnn"]["found_via"], own);
    assert_eq!(inspect("9.40.0")["verdict"], "fail");
}
