//! The guard's declarations of cuDNN and the driver, compared with NVIDIA's own headers and libraries.
//!
//! `CUDNN_GUARD_REAL` is a directory with the targets of `pip install --target`: `cudnn-*` with one cuDNN each, and
//! `cuda-*` with the headers of CUDA.

use cudnn_guard::internals::convolution::case;
use cudnn_guard::internals::convolution::graph::{self, Graph};
use cudnn_guard::internals::cudnn::data_type::DataType;
use cudnn_guard::internals::cudnn::functions::Cudnn;
use cudnn_guard::internals::cudnn::graph_signatures as calls;
use cudnn_guard::internals::cudnn::owned_descriptor::OwnedDescriptor;
use cudnn_guard::internals::cudnn::shape::Layout;
use cudnn_guard::internals::system::platform::Library;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns the files that match this pattern, sorted. Panics if there are none.
#[track_caller]
fn real(pattern: &str) -> Vec<PathBuf> {
    let top = std::env::var("CUDNN_GUARD_REAL").expect("CUDNN_GUARD_REAL names the wheels");
    let found = glob::glob(&format!("{top}/{pattern}")).unwrap();
    let found: Vec<PathBuf> = found.map(Result::unwrap).collect();
    assert!(!found.is_empty(), "no {pattern} in {top}");
    found
}

/// Returns the include directories of every cuDNN.
#[track_caller]
fn headers() -> Vec<PathBuf> {
    let found = real("cudnn-*/nvidia/cudnn/include/cudnn.h");
    found
        .iter()
        .map(|file| file.parent().unwrap().to_path_buf())
        .collect()
}

fn compile(cudnn: &Path, arguments: &[&str], source: &Path) -> Output {
    // Only the wheels of CUDA 13 contain all headers in one directory.
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
fn types_and_numbers_match_the_headers() {
    let source = here("tests/programs/real/signatures.c");
    for cudnn in headers() {
        must_compile(&compile(&cudnn, &["-std=gnu11"], &source), &cudnn);
        // With a wrong type or number, the check must fail.
        for wrong in [
            "-DcudnnCreate=cudnnGetStream",
            "-DcudnnConvolutionBackwardData=cudnnConvolutionBackwardFilter",
            "-DCUDNN_FMA_MATH=2",
            "-DCUDNN_DATA_BFLOAT16=10",
            "-DCUDNN_CONVOLUTION_BWD_FILTER_ALGO_1=4",
            "-DcudnnDestroy=cudnnBackendFinalize",
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
fn the_signatures_of_the_simulator_match_the_headers() {
    for cudnn in headers() {
        for source in [
            "driver", "cudart", "shim", "core", "graph", "ops", "cnn", "train", "rest",
        ] {
            let source = here(&format!("fixtures/simulator/{source}.c"));
            must_compile(&compile(&cudnn, &["-std=gnu99"], &source), &cudnn);
        }
    }
}

/// Returns the guard's constants of the graph API.
fn graph_numbers() -> Vec<(String, i32)> {
    let mut numbers: Vec<(String, i32)> = Vec::new();
    let mut is = |name: String, number: i32| numbers.push((format!("CUDNN_{name}"), number));
    for (sort, name) in [
        (&calls::CONVOLUTION, "CONVOLUTION"),
        (&calls::ENGINE, "ENGINE"),
        (&calls::ENGINECFG, "ENGINECFG"),
        (&calls::ENGINEHEUR, "ENGINEHEUR"),
        (&calls::EXECUTION_PLAN, "EXECUTION_PLAN"),
        (&calls::FORWARD, "OPERATION_CONVOLUTION_FORWARD"),
        (
            &calls::BACKWARD_FILTER,
            "OPERATION_CONVOLUTION_BACKWARD_FILTER",
        ),
        (&calls::BACKWARD_DATA, "OPERATION_CONVOLUTION_BACKWARD_DATA"),
        (&calls::OPERATIONGRAPH, "OPERATIONGRAPH"),
        (&calls::VARIANT_PACK, "VARIANT_PACK"),
        (&calls::TENSOR, "TENSOR"),
    ] {
        is(format!("BACKEND_{name}_DESCRIPTOR"), sort.number);
    }
    for (number, name) in [
        (calls::HANDLE, "HANDLE"),
        (calls::DATA_TYPE, "DATA_TYPE"),
        (calls::INT64, "INT64"),
        (calls::REAL, "FLOAT"),
        (calls::POINTER, "VOID_PTR"),
        (calls::CONVOLUTION_MODE, "CONVOLUTION_MODE"),
        (calls::HEUR_MODE, "HEUR_MODE"),
        (calls::NUMERICAL_NOTE, "NUMERICAL_NOTE"),
        (calls::DESCRIPTOR, "BACKEND_DESCRIPTOR"),
        (calls::BEHAVIOR_NOTE, "BEHAVIOR_NOTE"),
    ] {
        is(format!("TYPE_{name}"), number);
    }
    for (number, name) in [
        (calls::COMP_TYPE.0, "CONVOLUTION_COMP_TYPE"),
        (calls::CONV_MODE.0, "CONVOLUTION_CONV_MODE"),
        (calls::DILATIONS.0, "CONVOLUTION_DILATIONS"),
        (calls::FILTER_STRIDES.0, "CONVOLUTION_FILTER_STRIDES"),
        (calls::POST_PADDINGS.0, "CONVOLUTION_POST_PADDINGS"),
        (calls::PRE_PADDINGS.0, "CONVOLUTION_PRE_PADDINGS"),
        (calls::SPATIAL_DIMS.0, "CONVOLUTION_SPATIAL_DIMS"),
        (calls::HEUR_BY.0, "ENGINEHEUR_MODE"),
        (calls::HEUR_GRAPH.0, "ENGINEHEUR_OPERATION_GRAPH"),
        (calls::HEUR_RESULTS.0, "ENGINEHEUR_RESULTS"),
        (calls::CFG_ENGINE.0, "ENGINECFG_ENGINE"),
        (calls::PLAN_HANDLE.0, "EXECUTION_PLAN_HANDLE"),
        (calls::PLAN_CONFIG.0, "EXECUTION_PLAN_ENGINE_CONFIG"),
        (calls::PLAN_WORKSPACE.0, "EXECUTION_PLAN_WORKSPACE_SIZE"),
        (calls::GRAPH_HANDLE.0, "OPERATIONGRAPH_HANDLE"),
        (calls::GRAPH_OPS.0, "OPERATIONGRAPH_OPS"),
        (calls::ALIGNMENT.0, "TENSOR_BYTE_ALIGNMENT"),
        (calls::TENSOR_TYPE.0, "TENSOR_DATA_TYPE"),
        (calls::DIMENSIONS.0, "TENSOR_DIMENSIONS"),
        (calls::STRIDES.0, "TENSOR_STRIDES"),
        (calls::UNIQUE_ID.0, "TENSOR_UNIQUE_ID"),
        (calls::PACK_IDS.0, "VARIANT_PACK_UNIQUE_IDS"),
        (calls::PACK_POINTERS.0, "VARIANT_PACK_DATA_POINTERS"),
        (calls::PACK_WORKSPACE.0, "VARIANT_PACK_WORKSPACE"),
        (calls::ENGINE_INDEX.0, "ENGINE_GLOBAL_INDEX"),
        (calls::ENGINE_NOTES.0, "ENGINE_NUMERICAL_NOTE"),
        (calls::ENGINE_BEHAVIOR.0, "ENGINE_BEHAVIOR_NOTE"),
    ] {
        is(format!("ATTR_{name}"), number);
    }
    for ([alpha, x_number, w_number, y_number], name, [x, w, y]) in [
        (calls::OF_FORWARD, "FORWARD", ["X", "W", "Y"]),
        (calls::OF_BACKWARD_DATA, "BWD_DATA", ["DX", "W", "DY"]),
        (calls::OF_BACKWARD_FILTER, "BWD_FILTER", ["X", "DW", "DY"]),
    ] {
        for (number, word) in [
            (alpha, "ALPHA"),
            (alpha + 1, "BETA"),
            (alpha + 2, "CONV_DESC"),
            (x_number, x),
            (w_number, w),
            (y_number, y),
        ] {
            is(format!("ATTR_OPERATION_CONVOLUTION_{name}_{word}"), number);
        }
    }
    is("HEUR_MODE_A".into(), graph::HeuristicMode::Fast as i32);
    is(
        "HEUR_MODE_FALLBACK".into(),
        graph::HeuristicMode::Fallback as i32,
    );
    for (number, name) in [
        (graph::TENSOR_CORE, "TENSOR_CORE"),
        (graph::DOWN_CONVERT_INPUTS, "DOWN_CONVERT_INPUTS"),
        (graph::FFT, "FFT"),
        (graph::WINOGRAD, "WINOGRAD"),
        (graph::WINOGRAD_TILE_13X13, "WINOGRAD_TILE_13x13"),
    ] {
        is(format!("NUMERICAL_NOTE_{name}"), number);
    }
    is(
        "BEHAVIOR_NOTE_RUNTIME_COMPILATION".into(),
        graph::RUNTIME_COMPILATION,
    );
    numbers
}

#[test]
#[ignore = "needs real NVIDIA headers: CUDNN_GUARD_REAL"]
fn the_constants_of_the_graph_api_match_the_headers() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("graph-numbers.c");
    let mut releases = 0;
    for cudnn in headers() {
        let version = std::fs::read_to_string(cudnn.join("cudnn_version.h")).unwrap();
        if !version.contains("#define CUDNN_MAJOR 9") {
            continue;
        }
        releases += 1;
        let mut numbers = graph_numbers();
        let text = |numbers: &[(String, i32)]| {
            let lines = numbers.iter().map(|(name, number)| {
                format!("_Static_assert((int){name} == {number}, \"{name}\");\n")
            });
            format!("#include <cudnn.h>\n{}", lines.collect::<String>())
        };
        std::fs::write(&source, text(&numbers)).unwrap();
        must_compile(&compile(&cudnn, &["-std=gnu11"], &source), &cudnn);
        // With one wrong number, the check must fail.
        numbers[20].1 += 1;
        std::fs::write(&source, text(&numbers)).unwrap();
        let output = compile(&cudnn, &["-std=gnu11"], &source);
        assert!(!output.status.success(), "{}", cudnn.display());
    }
    assert!(releases > 2, "{releases}");
}

/// Runs a test of this file in a separate process for each library, since a process cannot load two versions. Returns
/// the output.
fn in_children(pattern: &str, test: &str) -> Vec<(PathBuf, String)> {
    let mut outputs = Vec::new();
    for shim in real(pattern) {
        if shim.to_string_lossy().contains("-aarch64/") {
            continue;
        }
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env("GUARD_TEST_SHIM", &shim)
            .output()
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}: {stdout}", shim.display());
        outputs.push((shim, stdout));
    }
    outputs
}

/// Without a GPU, every descriptor can be created except the graph itself, which requires a handle.
#[test]
#[ignore = "needs real NVIDIA libraries: CUDNN_GUARD_REAL"]
fn the_real_libraries_accept_the_descriptors_of_graphs() {
    let libraries = "cudnn-*/nvidia/cudnn/lib/libcudnn.so.9";
    let outputs = in_children(libraries, "real::signatures::graph_in_child");
    // Since 9.28, an engine library is linked to the driver, so tensors cannot be created without a driver.
    let is_driverless = |output: &str| output.contains("no tensor without the driver");
    let taken = outputs.iter().filter(|(_, output)| !is_driverless(output));
    let taken: Vec<_> = taken.collect();
    assert!(taken.len() > 1, "{outputs:?}");
    for (_, output) in taken {
        assert!(output.contains("24 operations"), "{output}");
    }
}

/// Not a test: the child process of the test above, for each library.
#[test]
#[ignore = "run by the_real_libraries_accept_the_descriptors_of_graphs"]
fn graph_in_child() {
    let Some(shim) = std::env::var_os("GUARD_TEST_SHIM") else {
        return;
    };
    let shim = Library::open(shim.to_str().unwrap()).unwrap();
    let graph = Graph::resolve(shim).unwrap();
    let kinds = case::thorough_graph();
    for kind in &kinds {
        let shape = kind.shape;
        let x = match graph.tensor(kind, shape.x, 1) {
            Err(refused) if refused.code == Some(1008) => {
                assert_eq!(refused.call, "cudnnBackendFinalize(TENSOR)");
                let driver = Library::open("libcuda.so.1");
                assert!(driver.is_err(), "{refused:?}");
                println!("no tensor without the driver");
                return;
            }
            x => x.unwrap(),
        };
        let w = graph.tensor(kind, shape.w, 2).unwrap();
        let y = graph.tensor(kind, shape.y(), 3).unwrap();
        let convolution = graph.convolution(kind).unwrap();
        let operation = graph.operation(kind.operation, &convolution, [&x, &w, &y]);
        operation.unwrap();
        // With input and filter swapped, the sizes are incompatible, and cuDNN must report this.
        let swapped = graph.operation(kind.operation, &convolution, [&w, &x, &y]);
        assert_eq!(swapped.err().and_then(|it| it.code), Some(2000));
    }
    println!("{} operations", kinds.len());
}

/// Descriptors and dimensions do not need a GPU.
#[test]
#[ignore = "needs real NVIDIA libraries: CUDNN_GUARD_REAL"]
fn the_real_libraries_accept_the_descriptors() {
    let libraries = "cudnn-*/nvidia/cudnn/lib/libcudnn.so.[89]";
    let mut outputs = in_children(libraries, "real::signatures::in_child");
    outputs.retain(|(_, output)| !output.contains("needs cuBLAS"));
    assert!(!outputs.is_empty());
    for (shim, output) in outputs {
        let refusal = if shim.ends_with("libcudnn.so.9") {
            "status 2000 \"inputTensorDesc"
        } else {
            "status 3 \"\""
        };
        for words in ["every kind but None", refusal] {
            assert!(output.contains(words), "{}: {output}", shim.display());
        }
    }
}

/// Returns the dimensions of the output that cuDNN reports, or its status.
fn output(
    cudnn: Library,
    x: &OwnedDescriptor,
    w: &OwnedDescriptor,
    convolution: &OwnedDescriptor,
) -> Result<[usize; 4], i32> {
    type Call = unsafe extern "C" fn(
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut i32,
        *mut i32,
        *mut i32,
        *mut i32,
    ) -> i32;
    let address = cudnn.symbol("cudnnGetConvolution2dForwardOutputDim");
    let [mut a, mut b, mut c, mut d] = [0; 4];
    // SAFETY: signatures.c compares the type with the headers.
    let status = unsafe {
        let call: Call = std::mem::transmute(address.unwrap());
        let (x, w, convolution) = (x.pointer, w.pointer, convolution.pointer);
        call(convolution, x, w, &mut a, &mut b, &mut c, &mut d)
    };
    match status {
        0 => Ok([a, b, c, d].map(|size| size as usize)),
        status => Err(status),
    }
}

/// Not a test: the child process of the test above, for each library.
#[test]
#[ignore = "run by the_real_libraries_accept_the_descriptors"]
fn in_child() {
    let Some(shim) = std::env::var_os("GUARD_TEST_SHIM") else {
        return;
    };
    // Up to 8.8, the sub-libraries are linked to cuBLAS, and the main library aborts if cuBLAS is missing.
    let part = shim
        .to_str()
        .unwrap()
        .replace("libcudnn.so.8", "libcudnn_ops_infer.so.8");
    if let Err(words) = Library::open(&part) {
        assert!(words.contains("libcublas"), "{words}");
        println!("needs cuBLAS: {words}");
        return;
    }
    let library = Library::open(shim.to_str().unwrap()).unwrap();
    let cudnn = Cudnn(library);
    let mut unsupported = Vec::new();
    for kind in case::thorough() {
        let (shape, data_type, layout) = (kind.shape, kind.data_type, kind.layout);
        let x = cudnn.tensor(shape.x, data_type, layout).unwrap();
        let w = cudnn.filter(shape.w, data_type, layout).unwrap();
        let convolution = cudnn.convolution(&shape, data_type).unwrap();
        // cuDNN computes the same output dimensions as the guard.
        match output(library, &x, &w, &convolution) {
            Ok(dimensions) => assert_eq!(dimensions, shape.y(), "{kind:?}"),
            Err(refused) => unsupported.push((kind, refused)),
        }
    }
    cudnn.relu().unwrap();
    println!("every kind but {:?}", unsupported.first());
    // cuDNN rejects a filter with a wrong number of channels, and cuDNN 9 reports the reason.
    let (shape, data_type, layout) = (case::FIRST.shape, DataType::F32, Layout::Nchw);
    let x = cudnn.tensor(shape.x, data_type, layout).unwrap();
    let other = cudnn.filter([8, 4, 3, 3], data_type, layout).unwrap();
    let convolution = cudnn.convolution(&shape, data_type).unwrap();
    let refused = output(library, &x, &other, &convolution).unwrap_err();
    println!("status {refused} {:?}", cudnn.last_error());
    // Every function exists. Without a handle, calls are rejected before they check anything else, so the functions are
    // only looked up by name.
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
