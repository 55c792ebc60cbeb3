//! Cross-compiled kernels: NVIDIA's nvcc for this machine, and the libraries to link for another system. `.ci/foreign`
//! prepares both, and CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`.

use crate::foreign::qemu::{cudnn, start};
use crate::real::set;
use crate::support::{Ran, cargo, consumers, fresh, project, run, simulator, target, write_if_new};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const ARM: &str = "aarch64-unknown-linux-gnu";

/// The build script of a program with kernels. KERNELS selects the output.
const BUILD: &str = r#"use cudnn_guard::{Config, Link};

fn main() {
    println!("cargo::rerun-if-env-changed=KERNELS");
    cudnn_guard::build(|| {
        let gpu = Config::new().link(Link::Runtime).probe()?;
        let kernels = gpu.kernels().files(["add.cu"]).archs(["90"]);
        match std::env::var("KERNELS").as_deref() {
            Ok("fatbin") => kernels.fatbin().map(drop),
            _ => kernels.compile("add"),
        }
    });
}
"#;

fn cuda(name: &str) -> PathBuf {
    set(name).join("nvidia/cu13")
}

/// Runs cargo for this target with these variables.
fn build(dir: &Path, triple: &str, arguments: &[&str], env: &[(&str, &Path)]) -> Ran {
    let arguments = [arguments, &["--target", triple]].concat();
    let mut command = cargo(dir, &arguments);
    let linker = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER";
    command.env(linker, "aarch64-linux-gnu-gcc");
    for name in ["CUDA_HOME", "CUDA_PATH", "CXX", "NVCC_CCBIN"] {
        command.env_remove(name);
    }
    command.envs(env.iter().copied());
    run(&mut command)
}

fn with_kernels(name: &str) -> PathBuf {
    let dir = project(name, BUILD, "fn main() {}\n");
    let source = "extern \"C\" __global__ void add(float *a) { a[threadIdx.x] += 1; }\n";
    write_if_new(&dir.join("add.cu"), source);
    dir
}

/// Tests both layouts of two CUDA toolkits: separate directories, or one directory with NVIDIA's cross packages.
#[test]
#[ignore = "needs qemu and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_kernel_for_aarch64_is_compiled_and_run() {
    let (own, other) = (cuda("cuda-cu13"), cuda("cuda-cu13-aarch64"));
    let both = fresh("cross-toolkit");
    for name in ["bin", "nvvm", "include"] {
        symlink(own.join(name), both.join(name)).unwrap();
    }
    std::fs::create_dir_all(both.join("targets/sbsa-linux")).unwrap();
    symlink(other.join("lib"), both.join("targets/sbsa-linux/lib")).unwrap();
    let into = fresh("cross-simulated");
    simulator::build("aarch64-linux-gnu-gcc", (9, 28, 0), &into).unwrap();
    let dirs = [into.join("lib64"), into.join("driver")];
    let (arm, cudnn) = (
        "CUDA_HOME_aarch64_unknown_linux_gnu",
        ("CUDNN_PATH", &*cudnn("cudnn-cu13-9.28-aarch64")),
    );
    for cuda in [
        &[("CUDA_HOME", &*own), (arm, &*other)][..],
        &[("CUDA_HOME", &*both)],
        &[(arm, &*both)],
    ] {
        let env = [cuda, &[cudnn]].concat();
        build(consumers(), ARM, &["build", "-p", "kernel"], &env).exits_with(0);
        let program = target().join(ARM).join("debug/kernel");
        // The simulated driver does not run kernels: CUDA's runtime for aarch64 calls it and gets an error.
        start(&program, &dirs, &[])
            .exits_with(0)
            .says("cuDNN: pass\n")
            .says("Simulated GPU")
            .says("\nkernel: not run, CUDA error ");
    }
}

/// Libraries for another CPU are not passed to the linker.
#[test]
#[ignore = "needs qemu and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn missing_toolkits_of_a_cross_build_are_named() {
    let (own, other) = (cuda("cuda-cu13"), cuda("cuda-cu13-aarch64"));
    let dir = with_kernels("cross-lacks");
    let name = dir.file_name().unwrap().to_str().unwrap();
    let error = |text: &str| {
        let lines = text.lines();
        let lines = lines.map(|line| format!("error: {name}@0.1.0: {line}\n"));
        lines.collect::<String>()
    };
    build(&dir, ARM, &["check"], &[("CUDA_HOME", &own)])
        .exits_with(101)
        .says(&error(&format!(
            "the CUDA toolkit at `{}` does not contain the runtime library for aarch64, which kernels require  [partial-toolkit]\n  \
             = help: run `pip install --platform manylinux2014_aarch64 --only-binary=:all: --no-deps --target DIR \
             'nvidia-cuda-runtime==13.5.*'`, and set CUDA_HOME_aarch64_unknown_linux_gnu to `DIR/nvidia/cu13`\n  \
             = help: install NVIDIA's cross-compilation packages, which add `targets/sbsa-linux` or \
             `targets/aarch64-linux`\n  \
             see         cudnn-guard explain partial-toolkit",
            own.display()
        )));
    let arm = ("CUDA_HOME_aarch64_unknown_linux_gnu", &*other);
    build(&dir, ARM, &["check"], &[arm])
        .exits_with(101)
        .says(&error(
            "cannot compile `add.cu`: no CUDA toolkit for `x86_64-unknown-linux-gnu`, where this build for `aarch64-unknown-linux-gnu` runs, includes nvcc  [nvcc-not-found]\n  \
             = help: set CUDA_HOME_x86_64_unknown_linux_gnu to a CUDA toolkit that contains `bin/nvcc`, or put its nvcc on PATH\n",
        ));
    // Follow the help.
    let nvcc = ("CUDA_HOME_x86_64_unknown_linux_gnu", &*own);
    build(&dir, ARM, &["build"], &[arm, nvcc]).exits_with(0);
}

/// Device code is the same for every system, and is compiled by the nvcc of the build machine.
#[test]
#[ignore = "needs Rust's libraries for Windows and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_cross_build_for_windows_compiles_only_device_code() {
    let dir = with_kernels("cross-windows");
    let name = dir.file_name().unwrap().to_str().unwrap();
    let own = cuda("cuda-cu13");
    for triple in ["x86_64-pc-windows-msvc", "x86_64-pc-windows-gnu"] {
        let check = |what: &str| {
            let env = [("CUDA_HOME", &*own), ("KERNELS", Path::new(what))];
            build(&dir, triple, &["check"], &env)
        };
        check("fatbin").exits_with(0);
        check("compile").exits_with(101).says(&format!(
            "error: {name}@0.1.0: nvcc compiles host code for Windows only on Windows, but this build for `{triple}` runs \
             on `x86_64-unknown-linux-gnu`  [host-compiler-unsupported]\n\
             error: {name}@0.1.0:   = help: build on Windows, with `--target x86_64-pc-windows-msvc` and Visual Studio's C++ tools\n\
             error: {name}@0.1.0:   = help: compile only device code: call `.fatbin()` in build.rs, and load it with `cuModuleLoadData`\n\
             error: {name}@0.1.0:   see         cudnn-guard explain host-compiler-unsupported\n"
        ));
    }
}
