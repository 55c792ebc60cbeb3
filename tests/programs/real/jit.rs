//! NVIDIA's wheels of a cuDNN that only compiles graphs at run time (`nvidia-cudnn-jit-cu12`, `-cu13`). Files that
//! these wheels do not contain are not reported as missing. CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`.

use super::set;
use crate::runtime::guard::program::Ran;
use crate::support;
use std::path::{Path, PathBuf};

const GPU: (&str, &str) = ("TEST_GPU", "90");
const JIT_ONLY: (&str, &str) = ("CUDNN_LIB_CONFIG", "GRAPH_JIT_ONLY");
const SETS: [(&str, u32); 2] = [("cudnn-jit-cu13-9.27", 13), ("cudnn-jit-cu12-9.27", 12)];

fn library(name: &str) -> PathBuf {
    set(name).join("nvidia/cudnn_jit/lib")
}

/// Runs the guard of a program on this directory, with NVIDIA's own libcuda, to which an engine library is linked, and
/// with a fake GPU and convolution.
fn run(task: &str, folder: &Path, variables: &[(&str, &str)]) -> Ran {
    let driver = set("debian/usr/lib/x86_64-linux-gnu/nvidia/current");
    assert!(
        driver.join("libcuda.so.1").is_file(),
        "{}",
        driver.display()
    );
    let both = std::env::join_paths([folder, &driver]).unwrap();
    let own = support::fresh("real-jit-run");
    let mut all = vec![GPU, ("LD_LIBRARY_PATH", both.to_str().unwrap())];
    all.extend(variables);
    crate::runtime::guard::program::run(task, &own, &all)
}

/// Creates a directory with links to all libraries of a set except this one.
fn without(name: &str, file: &str) -> PathBuf {
    let farm = support::fresh(&format!("{name}-farm"));
    for entry in std::fs::read_dir(library(name)).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() != file {
            std::os::unix::fs::symlink(&path, farm.join(path.file_name().unwrap())).unwrap();
        }
    }
    farm
}

/// A single test, because its steps share a directory.
#[test]
#[ignore = "needs real NVIDIA files: CUDNN_GUARD_REAL"]
fn the_guard_recognizes_a_jit_only_cudnn() {
    for (name, cuda) in SETS {
        let folder = library(name);
        let at = folder.display();
        // Everything in the wheel is opened and queried, and nothing is reported as missing.
        let sound = run("check", &folder, &[JIT_ONLY]);
        // The test program is built for CUDA 13.
        let findings: &[&str] = if cuda == 13 {
            &[]
        } else {
            &["cuda-flavour-mismatch"]
        };
        sound.must_be("pass", findings);
        let loaded = &sound.json["loaded"];
        assert_eq!(loaded["version"], "9.27.0");
        assert_eq!(loaded["cuda_major"], cuda);
        assert_eq!(
            loaded["parts"],
            serde_json::json!([
                {
                    "name": "graph",
                    "path": folder.join("libcudnn_graph.so.9"),
                    "version": "9.27.0",
                    "told_by": "version symbol",
                },
                {
                    "name": "engines_runtime_compiled",
                    "path": folder.join("libcudnn_engines_runtime_compiled.so.9"),
                    "version": "9.27.0",
                    "told_by": "build-id",
                },
            ])
        );
        assert_eq!(sound.json["convolution"][0]["api"], "graph");
        run("startup", &folder, &[]).must_end_with(0).must_begin(
            "cudnn-guard: unknown: this cuDNN only compiles graphs at run time and is not configured for it, so no convolution was tested  [convolution-failed]\n  \
             = help: set CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY, which NVIDIA requires for a cuDNN without the other sub-libraries\n",
        );
        // A JIT-only cuDNN never contains the required sub-library, so reinstalling it would not help.
        run("startup", &folder, &[JIT_ONLY, ("TEST_NEEDS", "1")])
            .must_end_with(78)
            .must_begin(&format!(
                "\
cuDNN 9.27.0 at `{at}` is missing `libcudnn_adv.so.9`, which this program needs  [parts-missing]
  = help: replace it with a complete cuDNN: this one only compiles graphs at run time
  loaded      {at}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{at}`
  searched    {at}
"
            ));
        // One of its two sub-libraries is still required.
        let part = "libcudnn_engines_runtime_compiled.so.9";
        let farm = without(name, part);
        let at = farm.display();
        run("startup", &farm, &[JIT_ONLY])
            .must_end_with(78)
            .must_begin(&format!(
                "cuDNN 9.27.0 at `{at}` is missing `{part}`, which convolutions need  [parts-missing]\n"
            ));
    }
}

/// Builds and links a program, and checks its output on a machine without a GPU.
#[test]
#[ignore = "needs real NVIDIA files: CUDNN_GUARD_REAL"]
fn a_program_is_linked_with_a_jit_only_cudnn() {
    for (name, cuda) in SETS {
        support::run(
            support::cargo(support::consumers(), &["build", "-p", "linked"])
                .env("CUDA_HOME", set("cuda-cu13/nvidia/cu13"))
                .env("CUDNN_PATH", set(name).join("nvidia/cudnn_jit"))
                .env("CUDNN_GUARD_ALLOW", "cuda-flavour-mismatch"),
        )
        .exits_with(0);
        let line = format!(
            "{}/libcudnn.so.9: 9.27.0, built for CUDA {cuda}\n",
            library(name).display()
        );
        for variables in [&[][..], &[JIT_ONLY]] {
            let mut program = support::program(support::built("linked"));
            support::run(program.envs(variables.iter().copied()))
                .exits_with(0)
                .says("cudnnGetVersion() = 92700")
                .says(&line)
                .says("cuDNN: unknown\n")
                .does_not_say("[parts-missing]");
        }
    }
}

/// `doctor` knows the package, its sub-libraries and its GPUs, and finds no fault.
#[test]
#[cfg(feature = "cli")]
#[ignore = "needs real NVIDIA files: CUDNN_GUARD_REAL"]
fn doctor_finds_no_fault_in_a_jit_only_cudnn() {
    for (name, cuda) in SETS {
        let toolkit = if cuda == 13 {
            "cuda-cu13/nvidia/cu13"
        } else {
            "cuda-cu12/nvidia/cuda_runtime"
        };
        let ran = support::run(
            support::program(env!("CARGO_BIN_EXE_cudnn-guard"))
                .args(["doctor", "--json"])
                .env("CUDA_HOME", set(toolkit))
                .env("CUDNN_PATH", set(name).join("nvidia/cudnn_jit")),
        );
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let cudnn = &json["cudnn"];
        assert_eq!(cudnn["version"], "9.27.0");
        assert_eq!(cudnn["cuda_major"], cuda);
        let parts: Vec<&str> = cudnn["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["name"].as_str().unwrap())
            .collect();
        assert_eq!(parts, ["cudnn", "graph", "engines_runtime_compiled"]);
        let codes = cudnn["gpu_codes"].to_string();
        assert!(
            codes.contains("\"sm_90a\"") && codes.contains("\"sm_120f\""),
            "{codes}"
        );
        // Findings about this machine are not caused by cuDNN.
        let of_the_machine = [
            "driver-missing",
            "driver-error",
            "no-gpu",
            "partial-toolkit",
            // NVRTC, which neither this wheel nor these sets contain.
            "cudnn-not-loadable",
        ];
        let findings = json["findings"].as_array().unwrap().iter();
        let ids: Vec<&str> = findings.map(|it| it["id"].as_str().unwrap()).collect();
        assert!(ids.iter().all(|id| of_the_machine.contains(id)), "{ids:?}");
        assert_ne!(json["verdict"], "fail");
    }
}
