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
const REGISTRY: [(&str, &str, &str); 8] = [
    ("cudnn-guard", "", ""),
    ("plain", "", ""),
    (
        "torch-sys",
        "",
        "println!(\"{:?}\", std::env::var(\"TORCH_CUDA_VERSION\"));",
    ),
    ("ort-sys", "[features]\ncuda = []\n", "println!(\"cuda\");"),
    ("runtime-of-models", "[features]\ncuda = []\n", ""),
    (
        "cudarc",
        "[features]\ncudnn = []\ncublas = []\ndynamic-loading = []\ndynamic-linking = []\ncuda-12000 = []\n\
         cuda-version-from-build-system = []\n",
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
    // Frameworks that contain CUDA or load it. The build needs none.
    let on_cpu = "warning: `libtorch_cuda.so` was not found, so tch computes on the CPU";
    for (package, is_tch) in [
        ("torch-sys = \"0.1\"", true),
        (
            "ort-sys = { version = \"0.1\", features = [\"cuda\"] }",
            false,
        ),
    ] {
        crate_at(&root, "app", &format!("[dependencies]\n{package}\n"), "");
        must_exit(&cargo(&root, "app", &["generate-lockfile", "--offline"]), 0);
        let output = doctor(&root, "app", &[]);
        answer(&output, UNUSED);
        let shown = text(&output);
        assert!(shown.contains("  – toolkit   not required\n"), "{shown}");
        assert_eq!(shown.contains(on_cpu), is_tch, "{shown}");
    }
    // An ONNX Runtime that a build may find is examined, if the crate uses CUDA.
    let capi = "venv/lib/python3.12/site-packages/onnxruntime/capi";
    library(&root, &format!("{capi}/libonnxruntime_providers_cuda.so"));
    let incomplete = "warning: `libonnxruntime_providers_shared.so` is not next to";
    for (features, is_examined) in [("\"cuda\"", true), ("", false)] {
        let ort = format!("ort-sys = {{ version = \"0.1\", features = [{features}] }}");
        crate_at(&root, "app", &format!("[dependencies]\n{ort}\n"), "");
        must_exit(&cargo(&root, "app", &["generate-lockfile", "--offline"]), 0);
        for link in [&[][..], &["--link", "runtime"]] {
            let mut command = doctor_with_cargo(&root, "app", link);
            command.env("VIRTUAL_ENV", root.join("venv"));
            let shown = text(&command.output().expect("cudnn-guard runs"));
            let is_found = shown.contains(incomplete);
            assert_eq!(is_found, is_examined && link.is_empty(), "{shown}");
        }
    }
    // Without a lock file, the dependencies are unknown.
    fs::remove_file(root.join("app/Cargo.lock")).expect("removed");
    must_exit(&doctor(&root, "app", &[]), 0);
    crate_at(&root, "app", "", "fn main() { println!(\"nvcc\") }");
    must_exit(&cargo(&root, "app", &["generate-lockfile", "--offline"]), 0);
    must_exit(&doctor(&root, "app", &[]), 1);
}

/// A build with cudarc's feature `dynamic-loading` needs no CUDA. The program opens it.
#[test]
fn doctor_in_a_crate_that_opens_cuda_at_run_time() {
    let root = folder("doctor-opens");
    machine(&root);
    fs::remove_dir_all(root.join("cuda")).expect("removed");
    let shown = |features: &str, script: &str| {
        let manifest =
            format!("[dependencies]\ncudarc = {{ version = \"0.1\", features = [{features}] }}\n");
        crate_at(&root, "app", &manifest, script);
        let _ = fs::remove_file(root.join("app/Cargo.lock"));
        must_exit(&cargo(&root, "app", &["generate-lockfile", "--offline"]), 0);
        text(&doctor(&root, "app", &[]))
    };
    let (opens, kernels) = ("\"dynamic-loading\"", "fn main() { println!(\"nvcc\") }");
    let (no_toolkit, no_cudnn) = ("error: CUDA_HOME is set", "error: CUDNN_PATH is set");
    for (features, script, has_toolkit_error, has_cudnn_error) in [
        ("\"cublas\"", "", true, false),
        (opens, "", false, false),
        (&*format!("{opens}, \"cudnn\""), "", false, true),
        (&format!("{opens}, \"dynamic-linking\""), "", true, false),
        // The kernels of the crate itself.
        (opens, kernels, true, false),
        (&format!("{opens}, \"cudnn\""), kernels, true, true),
        (
            &format!("{opens}, \"cuda-version-from-build-system\""),
            "",
            true,
            false,
        ),
    ] {
        let shown = shown(features, script);
        assert_eq!(
            shown.contains(no_toolkit),
            has_toolkit_error,
            "{features}: {shown}"
        );
        assert_eq!(
            shown.contains(no_cudnn),
            has_cudnn_error,
            "{features}: {shown}"
        );
    }
    // The build script of cudarc runs nvcc.
    let features =
        "[features]\ndynamic-loading = []\ncuda-12000 = []\ncuda-version-from-build-system = []\n";
    let manifest = format!("[package]\nname = \"cudarc\"\nversion = \"0.1.0\"\n{features}");
    let build = "fn main() { std::process::Command::new(\"nvcc\"); }";
    unpacked(
        &root,
        "cudarc-0.1.0",
        &[("Cargo.toml", &*manifest), ("build.rs", build)],
    );
    let detects = format!("{opens}, \"cuda-version-from-build-system\"");
    let fails = "  ✗ error: the build of cudarc 0.1.0 fails: its feature\n    `cuda-version-from-build-system` runs nvcc, which is \
        not on PATH\n    [nvcc-not-found]\n      = help: replace the feature `cuda-version-from-build-system` of cudarc\n              \
        with `cuda-12000` in Cargo.toml\n";
    let first = shown(&detects, "");
    assert!(first.starts_with(fails), "{first}");
    for sound in [opens, &format!("{detects}, \"cuda-12000\"")] {
        let sound = shown(sound, "");
        assert!(!sound.contains("runs nvcc"), "{sound}");
    }
}

/// cudarc's build script fails with "Both `dynamic-loading` and `dynamic-linking` features are active, this is a bug".
#[test]
fn features_of_cudarc_that_exclude_each_other() {
    let root = folder("doctor-exclusive");
    machine(&root);
    let manifest = "[package]\nname = \"cudarc\"\nversion = \"0.1.0\"\n[features]\n\
        default = [\"std\", \"dynamic-loading\"]\nstd = []\ndynamic-loading = []\ndynamic-linking = []\n\
        fallback-dynamic-loading = []\n";
    let rejects = "    #[cfg(all(feature = \"static-linking\", feature = \"dynamic-linking\"))]\n    \
        panic!(\"Both `static-linking` and `dynamic-linking` features are active, this is a bug\");\n    \
        #[cfg(all(feature = \"dynamic-loading\", feature = \"dynamic-linking\"))]\n    \
        panic!(\"Both `dynamic-loading` and `dynamic-linking` features are active, this is a bug\");\n    \
        #[cfg(feature = \"fallback-dynamic-loading\")]\n";
    let with = |script: &str| {
        unpacked(
            &root,
            "cudarc-0.1.0",
            &[("Cargo.toml", manifest), ("build.rs", script)],
        );
    };
    let burn = "[package]\nname = \"burn\"\nversion = \"0.1.0\"\n[features]\ngpu = [\"cudarc/dynamic-loading\"]\n\
        [dependencies]\ncudarc = { version = \"0.1\", default-features = false }\n";
    unpacked(&root, "burn-0.1.0", &[("Cargo.toml", burn)]);
    let headline = "  ✗ error: the build of cudarc 0.1.0 fails: its features `dynamic-loading` and\n    \
        `dynamic-linking` exclude each other  [config-invalid]\n";
    let soft = "      = help: replace the feature `dynamic-loading` of cudarc with\n              \
        `fallback-dynamic-loading`, which `dynamic-linking` overrides\n";
    let at = root.join("app").display().to_string();
    let shown = |kind: &str, burn: &str, cudarc: &str| {
        let lines = format!(
            "resolver = \"2\"\n[{kind}]\nburn = {{ version = \"0.1\", {burn} }}\n[dependencies]\ncudarc = {{ version = \"0.1\", {cudarc} }}\n"
        );
        crate_at(&root, "app", &lines, "");
        let _ = fs::remove_file(root.join("app/Cargo.lock"));
        must_exit(&cargo(&root, "app", &["generate-lockfile", "--offline"]), 0);
        text(&doctor(&root, "app", &[])).replace(&at, "$APP")
    };
    let linking = "default-features = false, features = [\"dynamic-linking\"]";
    let (gpu, runtime) = ("features = [\"gpu\"]", "target.'cfg(all())'.dependencies");
    with(rejects);
    let both = shown(runtime, gpu, linking);
    assert!(both.starts_with(&format!("{headline}{soft}")), "{both}");
    let evidence = "      enabled     `dynamic-loading` by burn feature gpu\n                  \
        `dynamic-linking` by app3 v0.1.0\n                    ($APP)\n";
    assert!(both.contains(evidence), "{both}");
    let by_default = shown(runtime, "", "features = [\"dynamic-linking\"]");
    let evidence = "`dynamic-loading` by the default features for app3 v0.1.0";
    assert!(by_default.starts_with(headline), "{by_default}");
    assert!(by_default.contains(evidence), "{by_default}");
    // The helps, followed, and separate builds for the program and for its build script.
    for (kind, burn, cudarc) in [
        (runtime, "", linking),
        (runtime, gpu, "features = [\"dynamic-loading\"]"),
        (
            runtime,
            gpu,
            "default-features = false, features = [\"fallback-dynamic-loading\"]",
        ),
        ("build-dependencies", gpu, linking),
    ] {
        let sound = shown(kind, burn, cudarc);
        assert!(!sound.contains("exclude"), "{sound}");
    }
    // Old versions do not have this rule.
    with("fn main() {}\n");
    let old = shown(runtime, gpu, linking);
    assert!(!old.contains("exclude"), "{old}");
}
