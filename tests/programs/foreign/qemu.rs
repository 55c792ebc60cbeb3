//! The guard and the terminal program on aarch64, under qemu, with NVIDIA's own cuDNN. There is no GPU and no driver,
//! so the verdict is unknown. `.ci/foreign` prepares the files.

use crate::build::lazy::{consumers as consumers_of_lazy, exports};
use crate::real::set;
use crate::support::{
    Ran, cargo, consumers, fresh, place, program, repository, run, scratch, simulator, target,
};
use std::path::{Path, PathBuf};
use std::process::Command;

const ARM: &str = "aarch64-unknown-linux-gnu";

pub const MAIN: &str = r#"mod cudnn_guard {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

fn main() {
    cudnn_guard::startup();
    println!("started");
}
"#;

pub fn cudnn(name: &str) -> PathBuf {
    set(name).join("nvidia/cudnn")
}

/// Builds a program for aarch64.
fn built(dir: &Path, arguments: &[&str], name: &str) -> PathBuf {
    let arguments = [&["build", "--target", ARM], arguments].concat();
    run(cargo(dir, &arguments)
        .env(
            "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
            "aarch64-linux-gnu-gcc",
        )
        .env("CUDA_HOME", set("cuda-cu13/nvidia/cu13"))
        .env("CUDNN_PATH", cudnn("cudnn-cu13-9.28-aarch64")))
    .exits_with(0);
    let target = target().join(ARM);
    target.join("debug").join(name)
}

/// Starts the program with these directories and Debian's own libraries in LD_LIBRARY_PATH.
pub fn start(path: &Path, first: &[PathBuf], arguments: &[&str]) -> Ran {
    run(&mut command(path, first, arguments))
}

fn command(path: &Path, first: &[PathBuf], arguments: &[&str]) -> Command {
    let debian = set("debian-arm64/lib/aarch64-linux-gnu");
    let dirs = first.iter().cloned().chain([debian]);
    let mut command = program("qemu-aarch64");
    command
        .args(["-L", "/usr/aarch64-linux-gnu"])
        .arg(path)
        .args(arguments)
        .env("LD_LIBRARY_PATH", std::env::join_paths(dirs).unwrap());
    command
}

/// Every sub-library file is checked, and a child process is created. Without a driver, nothing else is reported.
#[test]
#[ignore = "needs qemu and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_program_for_aarch64_reports_its_cudnn() {
    let lib = cudnn("cudnn-cu13-9.28-aarch64").join("lib");
    let linked = built(consumers(), &["-p", "linked"], "linked");
    let ran = start(&linked, &[], &[])
        .exits_with(0)
        .says("cudnnGetVersion() = 92800\n")
        .says("[driver-missing]\n")
        .says("\ncuDNN: unknown\n  built with  cuDNN 9.28.0, CUDA 13.")
        .says(&format!(
            "  loaded      {0}/libcudnn.so.9: 9.28.0, built for CUDA 13\n  \
             found via   the program's RUNPATH, its entry `{0}`\n  \
             sub-libs    {0}\n",
            lib.display()
        ));
    for part in ["graph", "ops", "cnn", "heuristic", "engines_precompiled"] {
        let start = format!("    libcudnn_{part}.so.9 ");
        let mut lines = ran.stdout.lines();
        let line = lines.find(|line| line.starts_with(&start));
        assert!(
            line.is_some_and(|line| line.contains(" 9.28.0 from ")),
            "{start:?} in\n{}",
            ran.text()
        );
    }
}

/// Uses a simulated GPU: the child computes, and a crash of the child does not crash the program.
#[test]
#[ignore = "needs qemu and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_program_for_aarch64_computes_in_its_child() {
    let into = fresh("qemu-simulated");
    simulator::build("aarch64-linux-gnu-gcc", (9, 14, 0), &into).unwrap();
    let dirs = [into.join("lib64"), into.join("driver")];
    let application = built(consumers(), &["-p", "application"], "application");
    start(&application, &dirs, &[])
        .exits_with(0)
        .says("cuDNN: pass\n")
        .says("Simulated GPU")
        .says("largest error");
    run(command(&application, &dirs, &[]).env("SIM_FAULT", "abort:cudnnCreate"))
        .exits_with(78)
        .says("[cudnn-aborted]\n");
    run(command(&application, &dirs, &[]).env("SIM_FAULT", "wrong"))
        .exits_with(78)
        .says("[convolution-wrong]\n");
}

/// Like the loader, the guard skips libraries for another CPU.
#[test]
#[ignore = "needs qemu and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_cudnn_for_another_cpu_is_skipped() {
    let lib = cudnn("cudnn-cu13-9.28-aarch64").join("lib");
    let other = cudnn("cudnn-cu13-9.28").join("lib");
    let application = built(consumers(), &["-p", "application"], "application");
    start(&application, &[other.clone(), lib.clone()], &[])
        .exits_with(0)
        .says(&format!(
            "  found via   LD_LIBRARY_PATH, its entry `{}`\n",
            lib.display()
        ))
        .says("[driver-missing]\n");
    // Without a GPU, the verdict is unknown, and the program continues.
    start(&application, &[other], &[])
        .exits_with(0)
        .says("is for x86_64, but this program is for aarch64  [cudnn-not-loadable]\n");
}

#[test]
#[ignore = "needs qemu and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn the_doctor_for_aarch64_finds_its_cudnn() {
    let root = scratch("qemu-root");
    let from = cudnn("cudnn-cu13-9.28-aarch64");
    place(&from, &root.join("opt/sbsa"));
    let link = root.join("usr/local/cudnn");
    if !link.is_symlink() {
        std::fs::create_dir_all(root.join("usr/local")).unwrap();
        // An absolute link, which is resolved inside the root.
        std::os::unix::fs::symlink("/opt/sbsa", &link).unwrap();
    }
    let program = ["--features", "cli", "--bin", "cudnn-guard"];
    let doctor = built(repository(), &program, "cudnn-guard");
    let library = root.join("opt/sbsa/lib/libcudnn.so.9");
    start(&doctor, &[], &["doctor", "--root", root.to_str().unwrap()])
        .says("✓ cuDNN     9.28.0 for CUDA 13 at ")
        .says(&format!("✓ library   9.28.0 in {}\n", library.display()));
}

/// Each of 5,000 functions is called through `Link::Lazy`.
#[test]
#[ignore = "needs qemu: .ci/foreign"]
fn every_function_is_called_through_on_aarch64() {
    let ran = exports::call_all(ARM, "aarch64-linux-gnu-gcc", |program| {
        start(program, &[], &[])
    });
    let expected = format!("0 of {} failed\n", exports::COUNT);
    assert_eq!(ran.exits_with(0).stdout, expected);
}

/// A linked program starts without CUDA, and calls NVIDIA's cuDNN where it exists.
#[test]
#[ignore = "needs qemu and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_lazy_program_for_aarch64_starts_without_cuda() {
    let toolkit = fresh("lazy-aarch64-toolkit");
    let wheel = set("cuda-cu13-aarch64/nvidia/cu13");
    consumers_of_lazy::with_stub(&wheel, &toolkit, "aarch64-linux-gnu-gcc");
    let away = fresh("lazy-aarch64-cudnn");
    place(&cudnn("cudnn-cu13-9.28-aarch64"), &away.join("cudnn"));
    let dir = consumers_of_lazy::all_kinds("lazy-aarch64");
    let mut build = cargo(&dir, &["build", "--target", ARM]);
    let linker = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER";
    build.env(linker, "aarch64-linux-gnu-gcc");
    build
        .env("CUDA_HOME", &toolkit)
        .env("CUDNN_PATH", away.join("cudnn"));
    run(&mut build).exits_with(0);
    let program = target().join(ARM).join("debug/lazy-aarch64");
    let ran = start(&program, &[], &["call"]).exits_with(0);
    assert_eq!(ran.stdout, "92800 92800 92800\n");
    // Without cuDNN and the driver.
    std::fs::rename(away.join("cudnn"), away.join("moved")).unwrap();
    let ran = start(&program, &[], &[]).exits_with(0);
    assert_eq!((&*ran.stdout, &*ran.stderr), ("computing on the CPU\n", ""));
    start(&program, &[], &["call"])
        .exits_with(78)
        .says("this program calls `cudnnGetVersion`, but `libcudnn.so.9` cannot be loaded  [cudnn-not-loadable]");
}
