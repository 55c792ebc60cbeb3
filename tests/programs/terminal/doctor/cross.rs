//! The output of `cudnn-guard doctor` for other systems.

use super::super::{file, folder, text};
use super::library;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// The nvcc of the machine compiles for another system, not one of that system.
#[test]
fn doctor_shows_the_nvcc_that_compiles_for_a_target() {
    let root = folder("doctor-cross");
    file(&root, "host/include/cuda.h", "#define CUDA_VERSION 13000\n");
    library(&root, "host/lib64/libcudart.so");
    file(
        &root,
        "target/include/cuda.h",
        "#define CUDA_VERSION 13000\n",
    );
    let cpu = if cfg!(target_arch = "aarch64") {
        "x86_64"
    } else {
        "aarch64"
    };
    let linux = format!("{cpu}-unknown-linux-gnu");
    let windows = "x86_64-pc-windows-msvc";
    let shown = |triple: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command
            .args(["doctor", "--json", "--target", triple])
            .current_dir(&root);
        command.env_clear().env("CUDA_HOME", root.join("host"));
        let variable = format!("CUDA_HOME_{}", triple.replace('-', "_"));
        let output = command.env(variable, root.join("target")).output();
        let json: Value = serde_json::from_str(&text(&output.expect("it runs"))).expect("JSON");
        assert_eq!(json["toolkit"]["version"], "13.0", "{json}");
        assert!(!json["findings"].to_string().contains("nvcc"), "{json}");
        json["toolkit"]["nvcc"]
            .as_str()
            .unwrap_or_default()
            .to_string()
    };
    for (triple, own) in [(&*linux, "nvcc"), (windows, "nvcc.exe")] {
        let _ = fs::remove_file(root.join("host/bin/nvcc"));
        // A compiler that only runs on the target.
        library(&root, &format!("target/bin/{own}"));
        let path = root.join("target/bin").join(own);
        let mut bytes = fs::read(&path).expect("written");
        bytes[18] = if cfg!(target_arch = "aarch64") {
            62
        } else {
            183
        };
        fs::write(&path, bytes).expect("a compiler");
        // The machine that runs this test may have a toolkit.
        let nvcc = shown(triple);
        assert!(!nvcc.starts_with(root.to_str().expect("text")), "{nvcc}");
        file(&root, "host/bin/nvcc", "");
        let host = root.join("host/bin/nvcc");
        assert_eq!(shown(triple), host.to_str().expect("text"), "{triple}");
    }
}
