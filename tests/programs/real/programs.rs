//! The consumers with NVIDIA's own files, downloaded by `.ci/wheels.py`. Without a GPU, the verdict is unknown.

use super::set;
use crate::support::installation::PARTS_9;
use crate::support::{Ran, built, cargo, consumers, fresh, program, run};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

fn wheels(name: &str) -> PathBuf {
    set(name).join("nvidia")
}

fn build(name: &str, cudnn: &str) {
    run(cargo(consumers(), &["build", "-p", name])
        .env("CUDA_HOME", wheels("cuda-cu13").join("cu13"))
        .env("CUDNN_PATH", wheels(cudnn).join("cudnn"))
        // The older versions are built for another CUDA major, as some tests require.
        .env("CUDNN_GUARD_ALLOW", "cuda-flavour-mismatch"))
    .exits_with(0);
}

fn start(name: &str, first: Option<&Path>) -> Ran {
    let mut command = program(built(name));
    if let Some(dir) = first {
        command.env("LD_LIBRARY_PATH", dir);
    }
    run(&mut command)
}

/// Creates a directory with links to the libraries of a set except one.
fn without(set: &str, part: &str) -> PathBuf {
    let farm = fresh(&format!("{set}-without-{part}"));
    for entry in fs::read_dir(wheels(set).join("cudnn/lib")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("libcudnn") && !name.starts_with(part) {
            symlink(entry.path(), farm.join(name)).unwrap();
        }
    }
    farm
}

/// A single test, because the consumers share a target directory and each step rebuilds one of them.
#[test]
#[ignore = "needs real NVIDIA files: CUDNN_GUARD_REAL"]
fn the_guard_checks_a_real_cudnn() {
    // A valid cuDNN: no faults, but the verdict is unknown without a GPU.
    build("linked", "cudnn-cu13-9.28");
    let lib = wheels("cudnn-cu13-9.28").join("cudnn/lib");
    let sound = start("linked", None)
        .exits_with(0)
        .says("cudnnGetVersion() = 92800")
        .says(&format!("\n  sub-libs    {}\n", lib.display()));
    for part in &PARTS_9[..7] {
        let file = format!("    libcudnn_{part}.so.9 ");
        let line = sound.stdout.lines().find(|line| line.starts_with(&file));
        assert!(
            line.is_some_and(|line| line.contains("  9.28.0 from ")),
            "{file:?} in\n{}",
            sound.text()
        );
    }

    // An older cuDNN first in LD_LIBRARY_PATH.
    let dir = wheels("cudnn-cu13-9.14").join("cudnn/lib");
    start("linked", Some(&dir))
        .exits_with(78)
        .says("loaded cuDNN 9.14.0 is older than 9.28.0")
        .says("[cudnn-version-mismatch]")
        .says(&format!("LD_LIBRARY_PATH, its entry `{}`", dir.display()))
        .says(&dir.join("libcudnn.so.9").display().to_string());

    // A sub-library is missing: cuDNN would abort, but the guard reports it.
    start(
        "linked",
        Some(&without("cudnn-cu13-9.28", "libcudnn_graph")),
    )
    .exits_with(78)
    .says("[parts-missing]")
    .says("libcudnn_graph.so.9");

    build("linked", "cudnn-cu12-9.1.0");
    start("linked", None)
        .exits_with(0)
        .says("cudnnGetVersion() = 90100");
    // RUNPATH points to one cuDNN, and LD_LIBRARY_PATH to sub-libraries of another, which cuDNN would load.
    let stale = without("cudnn-cu12-9.10", "libcudnn.so");
    let lib = wheels("cudnn-cu12-9.1.0").join("cudnn/lib");
    start("linked", Some(&stale))
        .exits_with(78)
        .says(&format!("cuDNN 9.1.0 at `{}` loads ", lib.display()))
        .says(&format!(
            " (version 9.10.2) from `{}`  [parts-mixed]",
            stale.display()
        ))
        .says(&format!(
            "remove `{}` from LD_LIBRARY_PATH, or add `{}` before it",
            stale.display(),
            lib.display()
        ))
        .says(&format!(
            "the program's RUNPATH, its entry `{}`",
            lib.display()
        ));
    build("linked", "cudnn-cu12-8.9.7");
    start("linked", None)
        .exits_with(0)
        .says("cudnnGetVersion() = 8907");
}

/// The driver finds no GPU: `cuInit` reports this, but `cuDriverGetVersion` still works.
#[test]
#[ignore = "needs real NVIDIA files: CUDNN_GUARD_REAL"]
fn nvidias_own_driver_without_a_gpu_is_unknown_and_named() {
    run(&mut cargo(consumers(), &["build", "-p", "application"])).exits_with(0);
    let real = wheels("debian").with_file_name("usr/lib/x86_64-linux-gnu/nvidia/current");
    let cudnn = wheels("cudnn-cu13-9.28").join("cudnn/lib");
    let path = format!("{}:{}", real.display(), cudnn.display());
    run(program(built("application")).env("LD_LIBRARY_PATH", path))
        .exits_with(0)
        .says("[no-gpu]")
        .says("supports CUDA 12.2")
        .says("9.28.0");
}

#[test]
#[ignore = "needs real NVIDIA files: CUDNN_GUARD_REAL"]
fn a_kernel_for_two_architectures_is_compiled_and_linked_with_the_real_cudnn() {
    build("kernel", "cudnn-cu13-9.28");
    start("kernel", None)
        .exits_with(0)
        .says("9.28.0")
        .says("unknown");
}
