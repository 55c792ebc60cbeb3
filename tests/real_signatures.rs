//! What the guard believes of cuDNN and of the driver, held against NVIDIA's own headers and libraries.
//!
//! `CUDNN_GUARD_REAL` names a directory of folders that `pip install --target` made: `cudnn-*` with a cuDNN each,
//! and `cuda-*` with the headers of CUDA.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests touch the machine"
)]

#[path = "support/guard.rs"]
mod guard;

use guard::cudnn::Cudnn;
use guard::data_type::DataType;
use guard::kind;
use guard::platform::Library;
use guard::shape::Layout;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The files of this name that lie so below one of the folders, sorted, and none too few.
#[track_caller]
fn real(pattern: &str) -> Vec<PathBuf> {
    let top = std::env::var("CUDNN_GUARD_REAL").expect("CUDNN_GUARD_REAL names the wheels");
    let found = glob::glob(&format!("{top}/{pattern}")).unwrap();
    let found: Vec<PathBuf> = found.map(Result::unwrap).collect();
    assert!(!found.is_empty(), "no {pattern} in {top}");
    found
}

/// The include folders of every cuDNN.
#[track_caller]
fn headers() -> Vec<PathBuf> {
    let found = real("cudnn-*/nvidia/cudnn/include/cudnn.h");
    found
        .iter()
        .map(|file| file.parent().unwrap().to_path_buf())
        .collect()
}

fn compile(cudnn: &Path, arguments: &[&str], source: &Path) -> Output {
    // The wheels of CUDA 13 alone have all headers in one folder.
    let cuda = real("cuda-*/nvidia/cu13/include/cuda.h").remove(0);
    Command::new("cc")
        .args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror"])
        .arg("-Wno-deprecated-declarations")
        .arg("-isystem")
        .arg(cudnn)
        .arg("-isystem")
        .arg(cuda.parent().unwrap())
        .args(arguments)
        .arg(source)
        .output()
        .unwrap()
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[track_caller]
fn must_compile(output: &Output, cudnn: &Path) {
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {words}", cudnn.display());
}

#[test]
#[ignore = "needs real NVIDIA headers: CUDNN_GUARD_REAL"]
fn types_and_numbers_are_those_of_the_headers() {
    let source = here("tests/real/signatures.c");
    for cudnn in headers() {
        must_compile(&compile(&cudnn, &["-std=gnu11"], &source), &cudnn);
        // The same with one type and one number wrong: the check must be able to fail.
        for wrong in [
            "-DcudnnCreate=cudnnGetStream",
            "-DcudnnConvolutionBackwardData=cudnnConvolutionBackwardFilter",
            "-DCUDNN_FMA_MATH=2",
            "-DCUDNN_DATA_BFLOAT16=10",
            "-DCUDNN_CONVOLUTION_BWD_FILTER_ALGO_3=4",
        ] {
            let output = compile(
                &cudnn,
                &["-std=gnu11", "-include", "cudnn.h", wrong],
                &source,
            );
            assert!(!output.status.success(), "{}: {wrong}", cudnn.display());
        }
    }
}

#[test]
#[ignore = "needs real NVIDIA headers: CUDNN_GUARD_REAL"]
fn the_simulator_has_the_signatures_of_the_headers() {
    for cudnn in headers() {
        for source in [
            "driver", "cudart", "shim", "core", "graph", "ops", "cnn", "train", "rest",
        ] {
            let source = here(&format!("fixtures/simulator/{source}.c"));
            must_compile(&compile(&cudnn, &["-std=gnu99"], &source), &cudnn);
        }
    }
}

/// Descriptors and dimensions need no GPU. One process cannot hold two releases, so each gets its own.
#[test]
#[ignore = "needs real NVIDIA libraries: CUDNN_GUARD_REAL"]
fn the_real_libraries_take_the_descriptors() {
    let mut taken = 0;
    for shim in real("cudnn-*/nvidia/cudnn/lib/libcudnn.so.[89]") {
        if shim.to_string_lossy().contains("-aarch64/") {
            continue;
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "in_child", "--ignored", "--nocapture"])
            .env("GUARD_TEST_SHIM", &shim)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {told}", shim.display());
        if told.contains("needs cuBLAS") {
            continue;
        }
        taken += 1;
        assert!(
            told.contains("every kind but None"),
            "{}: {told}",
            shim.display()
        );
        if shim.ends_with("libcudnn.so.9") {
            assert!(
                told.contains("status: Some(2000) } \"inputTensorDesc"),
                "{told}"
            );
        } else {
            assert!(told.contains("status: Some(3) } \"\""), "{told}");
        }
    }
    assert!(taken > 0);
}

/// Not a test of its own: what the test above runs for each library.
#[test]
#[ignore = "run by the_real_libraries_take_the_descriptors"]
fn in_child() {
    let Some(shim) = std::env::var_os("GUARD_TEST_SHIM") else {
        return;
    };
    // Up to 8.8 the parts are linked to cuBLAS, and the shim aborts where that is missing.
    let part = shim
        .to_str()
        .unwrap()
        .replace("libcudnn.so.8", "libcudnn_ops_infer.so.8");
    if let Err(words) = Library::open(&part) {
        assert!(words.contains("libcublas"), "{words}");
        println!("needs cuBLAS: {words}");
        return;
    }
    let cudnn = Cudnn::of(Library::open(shim.to_str().unwrap()).unwrap());
    let mut unserved = Vec::new();
    for kind in kind::thorough() {
        let (shape, data_type, layout) = (kind.shape, kind.data_type, kind.layout);
        let x = cudnn.tensor(shape.x(), data_type, layout).unwrap();
        let w = cudnn.filter(shape.filter(), data_type, layout).unwrap();
        let convolution = cudnn.convolution(&shape, data_type).unwrap();
        // cuDNN's own arithmetic of what comes out is the guard's, groups and holes included.
        match cudnn.output(&x, &w, &convolution) {
            Ok(told) => assert_eq!(told, shape.y(), "{kind:?}"),
            Err(refused) => unserved.push((kind, refused)),
        }
    }
    cudnn.relu().unwrap();
    println!("every kind but {:?}", unserved.first());
    // A filter of other channels is refused, and 9 says why.
    let (shape, data_type, layout) = (kind::FIRST.shape, DataType::F32, Layout::Nchw);
    let x = cudnn.tensor(shape.x(), data_type, layout).unwrap();
    let other = cudnn.filter([8, 4, 3, 3], data_type, layout).unwrap();
    let convolution = cudnn.convolution(&shape, data_type).unwrap();
    let refused = cudnn.output(&x, &other, &convolution).unwrap_err();
    println!("{refused:?} {:?}", cudnn.last_error());
    // Every function is there. Without a handle the calls are refused before they look at anything else, so only
    // their names are asked for.
    for call in [
        "cudnnGetConvolutionForwardAlgorithm_v7",
        "cudnnGetConvolutionForwardWorkspaceSize",
        "cudnnGetConvolutionBackwardDataWorkspaceSize",
        "cudnnGetConvolutionBackwardFilterWorkspaceSize",
        "cudnnConvolutionForward",
        "cudnnConvolutionBackwardData",
        "cudnnConvolutionBackwardFilter",
        "cudnnConvolutionBiasActivationForward",
    ] {
        let shim = Library::open(shim.to_str().unwrap()).unwrap();
        assert!(shim.symbol(call).is_some(), "no {call}");
    }
}
