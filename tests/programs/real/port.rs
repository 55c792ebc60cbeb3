//! A build script that calls nvcc itself, before and after `cudnn-guard init --write`, with NVIDIA's nvcc.

use crate::support::{cargo, fresh, repository, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const BUILD: &str = r#"use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=src/add.cu");
    let out_dir = PathBuf::from(std::env::var("OUT_DIR").unwrap());

    let ptx = out_dir.join("add.ptx");
    let status = Command::new("nvcc")
        .arg("-ptx")
        .arg("-arch=sm_80")
        .args(["-I", "include", "-DN=2"])
        .arg("src/add.cu")
        .arg("-o")
        .arg(&ptx)
        .status()
        .expect("nvcc not found");
    assert!(status.success(), "nvcc failed");

    let lib = out_dir.join("libkernels.a");
    let output = Command::new("nvcc")
        .args(["-lib", "-O3", "-gencode", "arch=compute_80,code=sm_80", "-Xcompiler", "-fPIC", "src/mul.cu", "-o"])
        .arg(lib)
        .output()
        .unwrap();
    if !output.status.success() {
        panic!("nvcc: {}", String::from_utf8_lossy(&output.stderr));
    }
    println!("cargo:rustc-link-search=native={}", out_dir.display());
    println!("cargo:rustc-link-lib=static=kernels");
    println!("cargo:rustc-link-lib=cudart");
    println!("cargo:rustc-link-lib=stdc++");
}
"#;
const MAIN: &str = r#"const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/add.ptx"));

unsafe extern "C" {
    fn launch(a: *mut f32) -> i32;
}

fn main() {
    println!("{} {}", PTX.contains("add"), unsafe { launch(std::ptr::null_mut()) });
}
"#;
const ADD: &str =
    "#include \"add.h\"\nextern \"C\" __global__ void add(float *a) { a[threadIdx.x] += N * M; }\n";
const MUL: &str = "extern \"C\" __global__ void mul(float *a) { a[threadIdx.x] *= 2; }\n\
                   extern \"C\" int launch(float *a) { mul<<<1, 32>>>(a); return 7; }\n";

/// Returns the output of a release build in its OUT_DIR: the PTX without comments and source lines, and the symbols of
/// the library.
fn made(dir: &Path) -> (String, Vec<String>) {
    let build = dir.join("target/release/build");
    let outs = fs::read_dir(build)
        .unwrap()
        .map(|dir| dir.unwrap().path().join("out"));
    let mut outs: Vec<PathBuf> = outs.filter(|out| out.join("add.ptx").exists()).collect();
    outs.sort_by_key(|out| {
        fs::metadata(out.join("add.ptx"))
            .unwrap()
            .modified()
            .unwrap()
    });
    let out = outs.pop().unwrap();
    let ptx = fs::read_to_string(out.join("add.ptx")).unwrap();
    let lines = ptx.lines().filter(|line| !line.starts_with("//"));
    let ptx = lines.collect::<Vec<_>>().join("\n");
    let symbols = run(Command::new("nm")
        .args(["-g", "--defined-only"])
        .arg(out.join("libkernels.a")));
    let names = symbols
        .stdout
        .lines()
        .filter_map(|line| line.split(' ').nth(2));
    let mut names: Vec<String> = names.map(String::from).collect();
    names.sort();
    (ptx, names)
}

#[test]
#[ignore = "needs a real nvcc: CUDNN_GUARD_REAL"]
fn a_script_that_calls_nvcc_is_ported() {
    let real = std::env::var_os("CUDNN_GUARD_REAL")
        .expect("CUDNN_GUARD_REAL is the directory of .ci/wheels.py");
    let cuda = Path::new(&real).join("cuda-cu13/nvidia/cu13");
    let dir = fresh("port-of-nvcc");
    for (file, text) in [
        (
            "Cargo.toml",
            "[package]\nname = \"hand\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n",
        ),
        ("build.rs", BUILD),
        ("src/main.rs", MAIN),
        ("src/add.cu", ADD),
        ("src/mul.cu", MUL),
        ("include/add.h", "#define M 3\n"),
    ] {
        let file = dir.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let link = dir.join("link");
    fs::create_dir_all(&link).unwrap();
    std::os::unix::fs::symlink(cuda.join("lib/libcudart.so.13"), link.join("libcudart.so"))
        .unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", cuda.join("bin").display());
    let build = || {
        let mut cargo = cargo(&dir, &["run", "--release", "--target-dir", "target"]);
        cargo
            .env("PATH", &path)
            .env("LIBRARY_PATH", &link)
            .env("LD_LIBRARY_PATH", cuda.join("lib"));
        let ran = run(&mut cargo).exits_with(0);
        assert_eq!(ran.stdout, "true 7\n", "{}", ran.text());
    };
    build();
    let before = made(&dir);
    let mut init = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    run(init.args(["init", "--write"]).current_dir(&dir)).exits_with(0);
    let script = fs::read_to_string(dir.join("build.rs")).unwrap();
    assert!(
        !script.contains("Command") && script.contains("cudnn_guard::build"),
        "{script}"
    );
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
    assert!(
        manifest.contains(repository().to_str().unwrap()),
        "{manifest}"
    );
    build();
    assert_eq!(made(&dir), before);
}
