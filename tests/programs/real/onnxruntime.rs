//! The program of the guide with the crate ort, on the published onnxruntime and its CUDA provider.

use super::set;
use crate::support::circumstances::installed;
use crate::support::installation::compile;
use crate::support::{fresh, program, repository, run, scratch};
use std::fs;
use std::path::{Path, PathBuf};

/// A model with one ReLU that runs on the provider.
const MODEL: &[u8] = b"\x08\x08:3\n\x0c\n\x01x\x12\x01y\"\x04Relu\x12\x01gZ\x0f\n\x01x\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x01\
    b\x0f\n\x01y\x12\n\n\x08\x08\x01\x12\x04\n\x02\x08\x01B\x04\n\x00\x10\r";

/// Loads the model, and prints the cuDNN that the process has then loaded.
const RUN: &str = "
fn run(environment: &ort::environment::Environment) -> ort::Result<()> {
    let model = include_bytes!(\"../relu.onnx\");
    ort::session::Session::builder(environment)?.commit_from_memory(model)?;
    let maps = std::fs::read_to_string(\"/proc/self/maps\").unwrap();
    let line = maps.lines().find(|line| line.contains(\"/libcudnn.so\"));
    println!(\"loaded {}\", line.map_or(\"none\", |line| &line[line.find('/').unwrap()..]));
    Ok(())
}
";

/// Builds the program of the guide, and with its changes for older versions of ort.
#[test]
#[ignore = "needs real NVIDIA files and onnxruntime: CUDNN_GUARD_REAL"]
fn a_program_with_ort_reports_why_it_would_compute_on_the_cpu() {
    let new = "onnxruntime-cu13/onnxruntime/capi/libonnxruntime.so.1.31.1";
    let thirteen = [
        "libcublasLt.so.13",
        "libcublas.so.13",
        "libcurand.so.10",
        "libcudart.so.13",
    ];
    let thirteen = ("cudnn-cu13-9.28", &thirteen[..]);
    with_ort("rc15", &[], new, thirteen);
    let global = [
        ("let environment = ort::init()", "ort::init()"),
        ("run(&environment)", "run()"),
        ("environment: &ort::environment::Environment", ""),
        ("builder(environment)", "builder()"),
    ];
    // ort 2.0.0-rc.13 itself crashes at exit with onnxruntime 1.22.
    let rc13 = [("rc.15", "rc.13"), (".build()?", ".commit()")];
    let rc13 = [&rc13[..], &global].concat();
    with_ort("rc13", &rc13, new, thirteen);
    let twelve = [
        "libcublasLt.so.12",
        "libcublas.so.12",
        "libcurand.so.10",
        "libcufft.so.11",
        "libcudart.so.12",
        "libnvrtc.so.12",
    ];
    let old = "onnxruntime/onnxruntime/capi/libonnxruntime.so.1.22.0";
    let provider = ("ep::CUDA", "execution_providers::CUDAExecutionProvider");
    let rc10 = [("rc.15", "rc.10"), (".build()?", ".commit()?"), provider];
    let rc10 = [&rc10[..], &global].concat();
    with_ort("rc10", &rc10, old, ("cudnn-cu12-9.10", &twelve));
}

fn with_ort(name: &str, changes: &[(&str, &str)], library: &str, (cudnn, cuda): (&str, &[&str])) {
    let guide = fs::read_to_string(repository().join("docs/frameworks.md")).unwrap();
    let (_, section) = guide.split_once("\n## ort\n").unwrap();
    let change = |text: &str| {
        let mut text = text.to_string();
        for (old, new) in changes {
            text = text.replace(old, new);
        }
        text
    };
    let section = change(section);
    let block = |kind: &str| {
        let (_, block) = section.split_once(&format!("```{kind}\n")).unwrap();
        block.split("```").next().unwrap()
    };
    let dir = fresh(&format!("with-ort-{name}"));
    fs::create_dir_all(dir.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"with-ort\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{}\
         cudnn-guard = {{ path = {1:?}, default-features = false, features = [\"runtime\"] }}\n\n\
         [build-dependencies]\ncudnn-guard = {{ path = {1:?} }}\n\n[workspace]\n",
        block("toml"),
        repository()
    );
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    fs::write(dir.join("build.rs"), block("rust,no_run")).unwrap();
    let included = "mod gpu {\n    include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\"));\n}\n";
    let text = format!("{included}{}{}", block("rust,ignore"), change(RUN));
    fs::write(dir.join("src/main.rs"), text).unwrap();
    fs::write(dir.join("relu.onnx"), MODEL).unwrap();
    let target = scratch("with-ort-target");
    let mut build = program("cargo");
    build.arg("build").current_dir(&dir);
    // A shared target directory, so that dependencies are compiled once. These programs are not debugged.
    build.env("CARGO_TARGET_DIR", &target);
    run(build.env("CARGO_PROFILE_DEV_DEBUG", "false")).exits_with(0);

    let onnxruntime = set(library);
    let start = |cudnn: &Path, need: &str| {
        let mut started = program(target.join("debug/with-ort"));
        started
            .env("LD_LIBRARY_PATH", cudnn)
            .env("ORT_DYLIB_PATH", &onnxruntime);
        run(started.env("CUDNN_GUARD_REQUIRE_GPU", need))
    };
    // onnxruntime itself reports nothing.
    let none = PathBuf::from("/nowhere");
    let ran = start(&none, "0")
        .exits_with(0)
        .says("cannot load `libcudnn.so.9`  [cudnn-not-loadable]");
    assert_eq!(ran.stdout, "loaded none\n");
    let ran = start(&none, "1")
        .exits_with(78)
        .says("[cudnn-not-loadable]");
    assert_eq!(ran.stdout, "");
    let lib = set(cudnn).join("nvidia/cudnn/lib");
    let ran = start(&lib, "0").exits_with(0).says("[driver-missing]");
    let loaded = format!("loaded {}\n", lib.join("libcudnn.so.9").display());
    assert_eq!(ran.stdout, loaded);
    // With a GPU, the provider is read. A library of cuBLAS is missing, and then nothing is.
    let tree = installed((9, 14, 0));
    let simulated = format!("{0}/lib64:{0}/driver", tree.display());
    let missing = "which the loader cannot find  [library-not-found]";
    let simulated = Path::new(&simulated);
    start(simulated, "1").exits_with(78).says(missing);
    start(simulated, "0").exits_with(0).says(missing);
    let stand_ins = fresh(&format!("with-ort-{name}-cuda"));
    for library in cuda {
        compile("int nothing;", &stand_ins.join(library), &[]);
    }
    let complete = format!("{}:{}", simulated.display(), stand_ins.display());
    let ran = start(Path::new(&complete), "1").does_not_say("library-not-found");
    assert!(ran.stdout.starts_with("loaded "), "{}", ran.text());
}

/// Without cuDNN, the provider of 1.22 does not load, but that of 1.31 does.
#[test]
#[ignore = "needs real NVIDIA files and onnxruntime: CUDNN_GUARD_REAL"]
fn the_guide_names_the_provider_that_is_linked_with_cudnn() {
    let guide = fs::read_to_string(repository().join("docs/frameworks.md")).unwrap();
    for (name, is_linked, words) in [
        ("onnxruntime", true, "onnxruntime 1.22 is linked with cuDNN"),
        ("onnxruntime-cu13", false, "1.31 opens cuDNN itself"),
    ] {
        let provider = set(name).join("onnxruntime/capi/libonnxruntime_providers_cuda.so");
        let mut inspect = program(env!("CARGO_BIN_EXE_cudnn-guard"));
        let ran = run(inspect.args(["inspect", "--json"]).arg(provider));
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let needed = json["program"]["needed"].as_array().unwrap();
        assert_eq!(
            needed.contains(&"libcudnn.so.9".into()),
            is_linked,
            "{name}"
        );
        assert!(guide.contains(words), "{words}");
    }
}

/// The published onnxruntime 1.22 is for CUDA 12.
#[test]
#[ignore = "needs real NVIDIA files and onnxruntime: CUDNN_GUARD_REAL"]
fn inspect_names_the_cuda_of_the_provider() {
    let dir = fresh("inspect-onnxruntime");
    let capi = set("onnxruntime/onnxruntime/capi");
    for (name, link) in [
        ("libonnxruntime.so.1.22.0", "libonnxruntime.so.1"),
        ("libonnxruntime_providers_cuda.so", ""),
        ("libonnxruntime_providers_shared.so", ""),
    ] {
        let link = if link.is_empty() { name } else { link };
        std::os::unix::fs::symlink(capi.join(name), dir.join(link)).unwrap();
    }
    let code = "void *OrtGetApiBase(void); int main(void) { return OrtGetApiBase() == 0; }\n";
    fs::write(dir.join("main.c"), code).unwrap();
    let mut cc = program("cc");
    cc.args(["main.c", "-o", "app", "libonnxruntime.so.1"]);
    cc.arg(format!("-Wl,-rpath,{}", dir.display()));
    run(cc.current_dir(&dir)).exits_with(0);
    let findings = |cudnn: &str| {
        let mut inspect = program(env!("CARGO_BIN_EXE_cudnn-guard"));
        inspect.args(["inspect", "--json"]).arg(dir.join("app"));
        inspect.env("CUDA_HOME", set("cuda-cu13/nvidia/cu13"));
        let lib = set(cudnn).join("nvidia/cudnn/lib");
        let ran = run(inspect.env("LD_LIBRARY_PATH", lib)).exits_with(0);
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        json["findings"][0].clone()
    };
    let provider = dir.join("libonnxruntime_providers_cuda.so");
    let summary = |here: &str| {
        format!(
            "`{}` was built for CUDA 12, but {here} CUDA 13",
            provider.display()
        )
    };
    let finding = findings("cudnn-cu13-9.14");
    assert_eq!(
        finding["summary"],
        summary("the toolkit and cuDNN are for"),
        "{finding}"
    );
    let missing = "libcublasLt.so.12, libcublas.so.12, libcurand.so.10, libcufft.so.11, libcudart.so.12, libnvrtc.so.12";
    assert!(finding.to_string().contains(missing), "{finding}");
    let finding = findings("cudnn-cu12-9.10");
    assert_eq!(finding["summary"], summary("the toolkit is"), "{finding}");
}
