//! The output of `cudnn-guard doctor` in a crate, which reports as missing only what the crate uses.

use super::super::{file, folder, must_exit, text};
use super::{doctor_with_cargo, library, unpacked};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A build script that only compiles kernels, as `init --write` leaves it.
const KERNELS: &str = "// Add `.cudnn(..)` to find cuDNN.
fn main() {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().cuda(\">=12.0\").probe()?;
        gpu.kernels().files(\"src/*.cu\").compile(\"kernels\")
    });
}
";

/// Packages of the registry: the name, the manifest's features and dependencies, and the build script.
const REGISTRY: [(&str, &str, &str); 6] = [
    ("cudnn-guard", "", ""),
    ("plain", "", ""),
    ("runtime-of-models", "[features]\ncuda = []\n", ""),
    (
        "cudarc",
        "[features]\ncudnn = []\ncublas = []\n",
        "println!(\"{}\", \"cudnn\");",
    ),
    (
        "candle-core",
        "[features]\ncuda = [\"cudarc/cublas\"]\ncudnn = [\"cuda\", \"cudarc/cudnn\"]\n\
         [dependencies]\ncudarc = \"0.1\"\n",
        "",
    ),
    (
        "dnn-sys",
        "",
        "println!(\"cargo:rustc-env=X={:?}\", std::env::var(\"CUDNN_PATH\"));",
    ),
];

/// Creates a toolkit, and a registry of crates.
fn machine(root: &Path) {
    file(root, "cuda/include/cuda.h", "#define CUDA_VERSION 12000\n");
    library(root, "cuda/lib64/libcudart.so");
    for (name, manifest, script) in REGISTRY {
        let manifest = format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n{manifest}");
        let script = format!("fn main() {{ {script} }}");
        let files = [("Cargo.toml", &*manifest), ("build.rs", &script)];
        unpacked(root, &format!("{name}-0.1.0"), &files);
    }
}

/// Writes a crate with these lines of its manifest and this build script, if it has one.
fn crate_at(root: &Path, dir: &str, manifest: &str, script: &str) {
    let manifest = format!(
        "[package]\nname = \"app{}\"\nversion = \"0.1.0\"\n{manifest}",
        dir.len()
    );
    file(root, &format!("{dir}/Cargo.toml"), &manifest);
    file(root, &format!("{dir}/src/main.rs"), "fn main() {}\n");
    let path = root.join(dir).join("build.rs");
    match script {
        "" => _ = fs::remove_file(path),
        script => fs::write(path, script).expect("a build script"),
    }
}

fn cargo(root: &Path, dir: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(std::env::var_os("CARGO").expect("run by cargo"));
    command.args(arguments).current_dir(root.join(dir));
    command.env("CARGO_HOME", root.join("cargo"));
    command.output().expect("cargo runs")
}

/// Runs doctor in a directory of this machine, which has no cuDNN.
fn doctor(root: &Path, dir: &str, arguments: &[&str]) -> Output {
    let mut command = doctor_with_cargo(root, dir, arguments);
    command.env("CUDNN_PATH", root.join("none"));
    command.env("CUDA_HOME", root.join("cuda"));
    command.output().expect("cudnn-guard runs")
}

/// The exit code and output for a crate.
const REQUIRED: (i32, &str) = (1, "  ✗ error: CUDNN_PATH is set to");
const UNUSED: (i32, &str) = (0, "  – cuDNN     not required\n");
const UNKNOWN: (i32, &str) = (0, "  ! warning: CUDNN_PATH is set to");

#[track_caller]
fn answer(output: &Output, (code, wanted): (i32, &str)) {
    must_exit(output, code);
    let shown = text(output);
    assert!(shown.contains(wanted), "{shown}");
    assert_eq!(shown.contains("CUDNN_PATH"), wanted != UNUSED.1, "{shown}");
    assert_eq!(
        shown.contains("unknown for this crate"),
        wanted == UNKNOWN.1
    );
    let doubt = "this crate may require CUDA or cuDNN";
    assert_eq!(shown.contains(doubt), wanted == UNKNOWN.1, "{shown}");
}

#[test]
fn doctor_requires_only_what_a_crate_uses() {
    let root = folder("doctor-crates");
    machine(&root);
    let guard = "[build-dependencies]\ncudnn-guard = \"0.1\"\n";
    let with = |name: &str, features: &str| {
        format!("[dependencies]\n{name} = {{ version = \"0.1\", features = [{features}] }}\n")
    };
    let optional = KERNELS.replace(".probe", ".cudnn(\">=9\").optional(true).probe");
    let gated = "[features]\ncudnn = [\"candle-core/cudnn\"]\n".to_string()
        + &with("candle-core", "\"cuda\"");
    for (manifest, script, expected) in [
        (guard, KERNELS, UNUSED),
        (
            guard,
            &*KERNELS.replace(".probe", ".cudnn(\">=9\").probe"),
            REQUIRED,
        ),
        (guard, &*optional, UNKNOWN),
        (&*with("plain", ""), "", UNUSED),
        (&*with("cudarc", ""), "", UNUSED),
        (&*with("cudarc", "\"cudnn\""), "", REQUIRED),
        (&*with("candle-core", "\"cuda\""), "", UNUSED),
        (&*with("candle-core", "\"cudnn\""), "", REQUIRED),
        (&*gated, "", UNKNOWN),
        (&*with("dnn-sys", ""), "", UNKNOWN),
        (&*with("runtime-of-models", ""), "", UNUSED),
        (&*with("runtime-of-models", "\"cuda\""), "", UNKNOWN),
        (
            "",
            "fn main() { println!(\"cargo:rustc-link-lib=cudnn\") }",
            REQUIRED,
        ),
        (
            "",
            "fn main() { println!(\"{:?}\", std::env::var(\"CUDNN_PATH\")) }",
            UNKNOWN,
        ),
    ] {
        crate_at(&root, "app", manifest, script);
        let _ = fs::remove_file(root.join("app/Cargo.lock"));
        let locked = cargo(&root, "app", &["generate-lockfile", "--offline"]);
        must_exit(&locked, 0);
        answer(&doctor(&root, "app", &[]), expected);
    }
    // A requirement on the command line.
    crate_at(&root, "app", guard, KERNELS);
    answer(&doctor(&root, "app", &["--cudnn", ">=9"]), REQUIRED);
}

/// cargo resolves the dependencies later. The build script of the crate itself is known.
#[test]
fn doctor_in_a_crate_that_was_never_built() {
    let root = folder("doctor-new-crate");
    machine(&root);
    let guard = "[build-dependencies]\ncudnn-guard = \"0.1\"\n";
    crate_at(&root, "app", guard, KERNELS);
    answer(&doctor(&root, "app", &[]), UNKNOWN);
    let with_cudnn = KERNELS.replace(".probe", ".cudnn(\">=9\").probe");
    crate_at(&root, "app", guard, &with_cudnn);
    answer(&doctor(&root, "app", &[]), REQUIRED);
    assert!(!root.join("app/Cargo.lock").exists());
}

#[test]
fn doctor_in_a_workspace() {
    let root = folder("doctor-workspace");
    machine(&root);
    file(
        &root,
        "Cargo.toml",
        "[workspace]\nmembers = [\"app\", \"kernels\"]\nresolver = \"2\"\n",
    );
    let guard = "[build-dependencies]\ncudnn-guard = \"0.1\"\n";
    crate_at(&root, "app", "", "");
    crate_at(&root, "kernels", guard, KERNELS);
    must_exit(&cargo(&root, "", &["generate-lockfile", "--offline"]), 0);
    for dir in ["", "app", "kernels"] {
        answer(&doctor(&root, dir, &[]), UNUSED);
    }
    crate_at(
        &root,
        "kernels",
        guard,
        &KERNELS.replace(".probe", ".cudnn(\">=9\").probe"),
    );
    for (dir, expected) in [("", REQUIRED), ("app", UNUSED), ("kernels", REQUIRED)] {
        answer(&doctor(&root, dir, &[]), expected);
    }
}

/// A crate without CUDA needs no toolkit either.
#[test]
fn doctor_in_a_crate_without_cuda() {
    let root = folder("doctor-no-cuda");
    machine(&root);
    fs::remove_dir_all(root.join("cuda")).expect("removed");
    crate_at(&root, "app", "[dependencies]\nplain = \"0.1\"\n", "");
    must_exit(&cargo(&root, "app", &["generate-lockfile", "--offline"]), 0);
    let output = doctor(&root, "app", &[]);
    answer(&output, UNUSED);
    let shown = text(&output);
    assert!(shown.contains("  – toolkit   not required\n"), "{shown}");
    // Without a lock file, the dependencies are unknown.
    fs::remove_file(root.join("app/Cargo.lock")).expect("removed");
    must_exit(&doctor(&root, "app", &[]), 0);
    crate_at(&root, "app", "", "fn main() { println!(\"nvcc\") }");
    must_exit(&cargo(&root, "app", &["generate-lockfile", "--offline"]), 0);
    must_exit(&doctor(&root, "app", &[]), 1);
}
