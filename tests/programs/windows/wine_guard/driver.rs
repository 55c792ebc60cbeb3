//! NVIDIA's driver on Windows: its version, its answers, and invalid files.

use super::{Report, V9_14, circumstances, cudnn, guarded, windows};
use crate::support::run;
use crate::support::simulated::for_windows;
use crate::windows::wine::windows::path;
use serde_json::Value;
use std::fs;

/// Returns the verdict and the ids of the findings.
fn ids(json: &Value) -> String {
    let findings = json["findings"].as_array().unwrap();
    let ids: Vec<&str> = findings
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    format!("{} {}", json["verdict"].as_str().unwrap(), ids.join(" "))
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn the_driver_version_is_read() {
    let report = Report::by_check(&[&cudnn(V9_14)], &[]).must_be("pass", "");
    assert_eq!(
        report.0["driver"],
        serde_json::json!({ "library": r"C:\windows\system32\nvcuda.dll", "version": "560.94", "cuda": "13.0" })
    );
}

/// The directories of Linux mean nothing on Windows, where anyone may create them.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn the_directories_of_linux_are_not_searched() {
    Report::by_check(&[&cudnn(V9_14)], &[("SIM_DEVICES", "0")])
        .must_be("unknown", "no-gpu")
        .says("NVIDIA's driver reports no GPU");
    let windows = &*windows();
    let check = || {
        let mut command = windows.command(circumstances());
        command.arg("check").env("WINEPATH", path(&cudnn(V9_14)));
        let ran = run(command.current_dir(windows.drive())).exits_with(0);
        ids(&serde_json::from_str(&ran.stdout).unwrap())
    };
    let (shared, wsl) = ("tmp/nvidia-mps/control", "usr/lib/wsl/lib/libcuda.so.1");
    for file in [shared, wsl] {
        let file = windows.drive().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::copy(windows.system("nvcuda.dll"), file).unwrap();
    }
    let with_driver = check();
    fs::remove_file(windows.system("nvcuda.dll")).unwrap();
    let without = check();
    for folder in ["tmp", "usr"] {
        fs::remove_dir_all(windows.drive().join(folder)).unwrap();
    }
    assert_eq!(
        (&*with_driver, &*without),
        ("pass ", "unknown driver-missing")
    );
}

/// An invalid file in place of the driver is reported, and cuDNN is not called.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_file_that_is_not_a_driver_is_reported() {
    let windows = &*windows();
    let driver = windows.system("nvcuda.dll");
    let sound = fs::read(&driver).unwrap();
    let header = u32::from_le_bytes(sound[0x3c..0x40].try_into().unwrap()) as usize;
    let mut arm = sound.clone();
    arm[header + 4..header + 6].copy_from_slice(&0xaa64_u16.to_le_bytes());
    // A DLL that is not the driver.
    let other = fs::read(for_windows(V9_14).join("bin/cudart64_13.dll")).unwrap();
    let again = "reinstall NVIDIA's driver";
    for (bytes, is, help) in [
        (&sound[..sound.len() / 2], "unknown driver-missing", again),
        (&[], "unknown driver-missing", again),
        (
            &arm,
            "unknown driver-missing",
            "install NVIDIA's driver, or run on a machine that has a GPU",
        ),
        (
            &other,
            "unknown driver-error",
            "remove that file from the library path, or reinstall NVIDIA's driver",
        ),
    ] {
        fs::write(&driver, bytes).unwrap();
        let ran = guarded(windows, &[&cudnn(V9_14)], &["check"], &[]).exits_with(0);
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(ids(&json), is, "{json:#}");
        assert_eq!(json["findings"][0]["help"][0], help, "{json:#}");
    }
}
