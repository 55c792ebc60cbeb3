//! The program of the guide with the real tch and PyTorch's wheel.

use crate::support::{fresh, program, repository, run};
use std::fs;
use std::path::{Path, PathBuf};

const MAIN: &str = r#"mod gpu {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

fn main() {
    gpu::startup();
    let ones = tch::Tensor::ones([2, 2], (tch::Kind::Float, tch::Device::Cpu));
    println!("{}", ones.sum(tch::Kind::Float).double_value(&[]));
}
"#;

/// CUDNN_GUARD_TORCH is a virtual environment after `pip install torch==2.9.0 numpy`, CUDNN_GUARD_REAL the directory of
/// `.ci/wheels.py`.
#[test]
#[ignore = "needs three gigabytes of PyTorch: CUDNN_GUARD_TORCH"]
fn tch_is_guarded() {
    let real = |name: &str| PathBuf::from(std::env::var_os(name).expect(name));
    let environment = real("CUDNN_GUARD_TORCH");
    let guide = fs::read_to_string(repository().join("docs/linking.md")).unwrap();
    let (_, section) = guide.split_once("\n## tch and burn\n").unwrap();
    let (_, block) = section.split_once("```rust,no_run\n").unwrap();
    let dir = fresh("with-tch");
    fs::create_dir_all(dir.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"with-tch\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\ntch = \"=0.22.0\"\n\
         cudnn-guard = {{ path = {0:?}, default-features = false, features = [\"runtime\"] }}\n\n\
         [build-dependencies]\ncudnn-guard = {{ path = {0:?} }}\n\n[workspace]\n",
        repository()
    );
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    fs::write(dir.join("build.rs"), block.split("```").next().unwrap()).unwrap();
    fs::write(dir.join("src/main.rs"), MAIN).unwrap();
    let mut path = vec![environment.join("bin")];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    let mut build = program("cargo");
    build.arg("build").current_dir(&dir);
    build.env("PATH", std::env::join_paths(path).unwrap());
    run(build.env("LIBTORCH_USE_PYTORCH", "1")).exits_with(0);

    let [python] = fs::read_dir(environment.join("lib"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap();
    let torch = python.join("site-packages/torch/lib");
    let start = |dirs: &[&Path]| {
        let mut started = program(dir.join("target/debug/with-tch"));
        run(started.env("LD_LIBRARY_PATH", std::env::join_paths(dirs).unwrap()))
    };
    // libtorch's CUDA library is loaded, with the cuDNN of its own wheel.
    let sound = start(&[&torch]).exits_with(0);
    assert_eq!(sound.stdout, "4\n");
    sound.says("[driver-missing]").does_not_say("cuDNN");
    let older = real("CUDNN_GUARD_REAL").join("cudnn-cu12-9.1.0/nvidia/cudnn/lib");
    start(&[&older, &torch])
        .exits_with(78)
        .says("libtorch_cuda.so`, a library in this process that searches there")
        .says("[parts-mixed]");
}
