//! The nvcc of a build for another system.

use crate::config::Config;
use std::fs;
use std::path::Path;

/// `Toolchain::nvcc` is the compiler of kernels: that of the build system, not one that cannot run there.
#[test]
fn the_nvcc_of_a_cross_build_runs_on_the_build_system() {
    let top = std::env::temp_dir().join(format!("cudnn-guard-cross-{}", std::process::id()));
    let write = |path: &str, bytes: &[u8]| {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    for toolkit in [
        "host",
        "aarch64-unknown-linux-gnu",
        "x86_64-pc-windows-msvc",
    ] {
        let header = format!("{toolkit}/include/cuda.h");
        write(&header, b"#define CUDA_VERSION 13000\n");
    }
    let nvcc = |target: &str| {
        let variable = format!("CUDA_HOME_{}", target.replace('-', "_"));
        let config = Config::new().cuda(">=13").target(target);
        let config = config.env("HOST", "x86_64-unknown-linux-gnu");
        let config = config.env("CUDA_HOME", top.join("host"));
        let toolchain = config.env(&variable, top.join(target)).survey();
        let shown = toolchain.report().toolkit.unwrap().nvcc;
        assert_eq!(toolchain.nvcc(), shown.as_deref());
        let nvcc = shown?;
        let nvcc = nvcc.strip_prefix(&top).unwrap_or(Path::new("elsewhere"));
        Some(nvcc.display().to_string())
    };
    let (arm, windows) = ("aarch64-unknown-linux-gnu", "x86_64-pc-windows-msvc");
    let mut elf = [0; 64];
    elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    (elf[16], elf[18]) = (2, 183);
    write(&format!("{arm}/bin/nvcc"), &elf);
    write(&format!("{windows}/bin/nvcc.exe"), b"MZ");
    // The machine that runs this test may have a toolkit.
    let is_absent = |nvcc: Option<String>| nvcc.is_none_or(|nvcc| nvcc == "elsewhere");
    assert!(is_absent(nvcc(arm)) && is_absent(nvcc(windows)));
    write("host/bin/nvcc", b"");
    let host = Some("host/bin/nvcc".to_string());
    assert_eq!([nvcc(arm), nvcc(windows)], [host.clone(), host]);
    // A script runs on each system.
    write(&format!("{arm}/bin/nvcc"), b"#!/bin/sh\n");
    assert_eq!(nvcc(arm).unwrap(), format!("{arm}/bin/nvcc"));
    fs::remove_dir_all(top).unwrap();
}

/// An x64 Windows does not run the arm64 nvcc.exe of the target's toolkit.
#[test]
fn an_nvcc_for_windows_on_arm_does_not_run_on_x64() {
    let top = std::env::temp_dir().join(format!("cudnn-guard-cross-arm-{}", std::process::id()));
    let write = |machine: u16| {
        let mut pe = vec![0; 1024];
        pe[..2].copy_from_slice(b"MZ");
        pe[60] = 64;
        pe[64..68].copy_from_slice(b"PE\0\0");
        pe[68..70].copy_from_slice(&machine.to_le_bytes());
        pe[84] = 240;
        pe[88..90].copy_from_slice(&0x20b_u16.to_le_bytes());
        fs::create_dir_all(top.join("cuda/bin")).unwrap();
        fs::create_dir_all(top.join("cuda/include")).unwrap();
        fs::write(
            top.join("cuda/include/cuda.h"),
            "#define CUDA_VERSION 13050\n",
        )
        .unwrap();
        fs::write(top.join("cuda/bin/nvcc.exe"), pe).unwrap();
        let config = Config::new().cuda(">=13").target("aarch64-pc-windows-msvc");
        let config = config.env("HOST", "x86_64-pc-windows-msvc");
        let config = config.env("CUDA_HOME_aarch64_pc_windows_msvc", top.join("cuda"));
        let nvcc = config.survey().nvcc().map(Path::to_path_buf);
        nvcc.is_some_and(|nvcc| nvcc.starts_with(&top))
    };
    assert!(write(0x8664));
    assert!(!write(0xaa64));
    fs::remove_dir_all(top).unwrap();
}
