//! The published crate candle-kernels 0.11.1, built by a real nvcc with a build script of this repository.

use super::set;
use crate::support::{fresh, program, repository, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = "fixtures/candle-kernels/build.rs";

/// The build script in the guide is the one that is built here.
#[test]
fn the_guide_shows_the_script() {
    let guide = fs::read_to_string(repository().join("docs/migration.md")).unwrap();
    let script = fs::read_to_string(repository().join(SCRIPT)).unwrap();
    assert!(guide.contains(&format!("```rust,no_run\n{script}```\n")));
}

/// Returns the directory of the crate as downloaded by cargo.
fn published(scratch: &Path) -> PathBuf {
    let fetched = scratch.join("fetched");
    fs::create_dir_all(fetched.join("src")).unwrap();
    fs::write(fetched.join("src/lib.rs"), "").unwrap();
    let manifest = "[package]\nname = \"fetched\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
                    [dependencies]\ncandle-kernels = \"=0.11.1\"\n[workspace]\n";
    fs::write(fetched.join("Cargo.toml"), manifest).unwrap();
    let vendor = ["vendor", "--quiet", "--versioned-dirs"];
    run(program("cargo").args(vendor).current_dir(&fetched)).exits_with(0);
    fetched.join("vendor/candle-kernels-0.11.1")
}

/// Returns tests that the library contains the functions declared in `src/ffi.rs`, and that the constants contain PTX.
fn symbols(ffi: &str) -> String {
    let declared = ffi.lines().filter_map(|line| {
        let (_, rest) = line.trim().split_once("fn ")?;
        rest.split('(').next().map(str::to_string)
    });
    let addresses: Vec<String> = declared
        .map(|name| format!("candle_kernels::ffi::{name} as *const () as usize"))
        .collect();
    assert!(addresses.len() > 20, "{addresses:?}");
    let modules = "AFFINE BINARY CAST CONV FILL INDEXING QUANTIZED REDUCE SORT TERNARY UNARY";
    let modules: Vec<String> = modules
        .split(' ')
        .map(|name| format!("candle_kernels::{name}.ptx()"))
        .collect();
    format!(
        "#[test]\nfn the_library_has_every_function() {{\n    let all = [{}];\n    assert!(all.iter().all(|one| \
         *one != 0));\n}}\n\n#[test]\nfn every_module_has_kernels() {{\n    for ptx in [{}] {{\n        \
         assert!(ptx.contains(\".target sm_80\") && ptx.contains(\".entry\"));\n    }}\n}}\n",
        addresses.join(", "),
        modules.join(", ")
    )
}

#[test]
#[ignore = "needs a real nvcc: CUDNN_GUARD_REAL"]
fn candle_kernels_is_ported() {
    let cuda = set("cuda-cu13/nvidia/cu13");
    let scratch = fresh("candle-kernels");
    let package = scratch.join("candle-kernels");
    run(Command::new("cp")
        .arg("-r")
        .arg(published(&scratch))
        .arg(&package))
    .exits_with(0);
    let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
    let own = format!(
        "[build-dependencies.cudnn-guard]\npath = {:?}\n\n[[test]]\nname = \"symbols\"\npath = \"tests/symbols.rs\"\n\n[workspace]\n",
        repository()
    );
    let manifest = manifest.replace(
        "[build-dependencies.cudaforge]\nversion = \"0.1.2\"\n",
        &own,
    );
    assert!(manifest.contains("cudnn-guard"), "{manifest}");
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    fs::copy(repository().join(SCRIPT), package.join("build.rs")).unwrap();
    let ffi = fs::read_to_string(package.join("src/ffi.rs")).unwrap();
    fs::create_dir_all(package.join("tests")).unwrap();
    fs::write(package.join("tests/symbols.rs"), symbols(&ffi)).unwrap();
    let mut build = program("cargo");
    build
        .args(["test", "--features", "cutile", "--test", "symbols"])
        .current_dir(&package);
    build
        .env("CUDA_HOME", cuda)
        .env("CUDNN_GUARD_ARCHS", "80")
        .env("CARGO_INCREMENTAL", "0");
    let ran = run(&mut build).exits_with(0).says("2 passed");
    ran.does_not_say("incompatible redefinition");
}

/// Runs the program of the guide with the real candle-core, its kernels and NVIDIA's wheels. Without a GPU, it reports
/// this and computes on the CPU. With an older cuDNN first, it reports the mismatch. CUDNN_GUARD_CANDLE is a directory
/// with a driver library in `driver` and a stub in `nvidia/cu13/lib/stubs`, created by `pip install --no-deps --target
/// DIR nvidia-cudnn-cu13 nvidia-curand nvidia-cublas==13.0.*`, and nvidia-cuda-nvcc, -runtime, -crt, -nvrtc, -cccl and
/// nvidia-nvvm, all of CUDA 13.0.
#[test]
#[ignore = "needs candle's libraries: CUDNN_GUARD_CANDLE; compiling its kernels takes 15 minutes"]
fn candle_core_is_guarded() {
    let real = |name: &str| PathBuf::from(std::env::var_os(name).expect(name));
    let wheels = real("CUDNN_GUARD_CANDLE");
    let guide = fs::read_to_string(repository().join("docs/linking.md")).unwrap();
    let (_, section) = guide.split_once("\n## candle\n").unwrap();
    let block = |kind: &str| {
        let (_, block) = section.split_once(&format!("```{kind}\n")).unwrap();
        block.split("```").next().unwrap().to_string()
    };
    let dir = fresh("candle-core");
    fs::create_dir_all(dir.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"with-candle\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         candle-core = {{ version = \"=0.11.1\", features = [\"cudnn\"] }}\n\
         cudnn-guard = {{ path = {0:?}, default-features = false, features = [\"runtime\"] }}\n\n\
         [build-dependencies]\ncudnn-guard = {{ path = {0:?} }}\n\n[workspace]\n",
        repository()
    );
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    fs::write(dir.join("build.rs"), block("rust,no_run")).unwrap();
    let program_text = format!(
        "use candle_core::{{DType, Device, Tensor}};\n\
         mod gpu {{ include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\")); }}\n\
         fn main() -> candle_core::Result<()> {{\n{}\
         let image = Tensor::ones((1, 1, 8, 8), DType::F32, &device)?;\n\
         let filter = Tensor::ones((1, 1, 3, 3), DType::F32, &device)?;\n\
         println!(\"{{}}\", image.conv2d(&filter, 0, 1, 1, 1)?.sum_all()?.to_scalar::<f32>()?);\n\
         Ok(())\n}}\n",
        block("rust,ignore")
    );
    fs::write(dir.join("src/main.rs"), program_text).unwrap();
    let cuda = wheels.join("nvidia/cu13");
    let mut path = vec![cuda.join("bin")];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    let mut build = program("cargo");
    build.arg("build").current_dir(&dir);
    build.env("PATH", std::env::join_paths(path).unwrap());
    // A shared target directory, so that the kernels are compiled only once.
    build.env("CARGO_TARGET_DIR", wheels.join("target"));
    build.env("CUDA_COMPUTE_CAP", "80").env("CUDA_HOME", &cuda);
    run(build.env("CUDNN_PATH", wheels.join("nvidia/cudnn"))).exits_with(0);

    let built = wheels.join("target/debug/with-candle");
    let start = |dirs: &[PathBuf]| {
        let dirs = std::env::join_paths(dirs).unwrap();
        run(program(&built).env("LD_LIBRARY_PATH", dirs)).exits_with(0)
    };
    let driver = wheels.join("driver");
    let ran = start(std::slice::from_ref(&driver)).says("[no-gpu]");
    assert_eq!(ran.stdout, "324\n");
    let old = set("cudnn-cu12-9.10/nvidia/cudnn/lib");
    start(&[old, driver.clone()]).says("[cudnn-version-mismatch]");

    // What the guide says about a program without a driver, here also without CUDA and cuDNN.
    let lazy = ".libs(libs).link(cudnn_guard::Link::Lazy).rpath(false)";
    let script = block("rust,no_run").replace(".libs(libs)", lazy);
    fs::write(dir.join("build.rs"), script).unwrap();
    run(&mut build).exits_with(0);
    run(Command::new("readelf").arg("-d").arg(&built))
        .exits_with(0)
        .does_not_say("Shared library: [libcu")
        .does_not_say("libnvrtc");
    let ran = start(&[]).says("[cudnn-not-loadable]");
    assert_eq!(ran.stdout, "324\n");
    let cudnn = wheels.join("nvidia/cudnn/lib");
    let ran = start(&[driver, cudnn, cuda.join("lib")]).says("[no-gpu]");
    assert_eq!(ran.stdout, "324\n");
}
