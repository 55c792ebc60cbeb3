//! Features that decide whether a crate uses CUDA and cuDNN.

use super::{file, init, package, read};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use crate::support::{cargo, run};

const KERNELS: &str =
    "fn main() {\n    bindgen_cuda::Builder::default().build_lib(\"libadd.a\");\n}\n";

#[test]
fn a_crate_that_uses_only_the_cpu_is_left_alone() {
    for (krate, feature, more) in [
        ("candle-core", "cudnn", "candle-nn = \"0.11\""),
        ("ort", "cuda", ""),
        ("cudarc", "cudnn", ""),
    ] {
        let dir = package(
            "cpu",
            &format!("\n[dependencies]\n{krate} = \"1\"\n{more}\n"),
        );
        let before = read(&dir, "Cargo.toml");
        for script in [None, Some("fn main() {}\n")] {
            script.inspect(|script| file(&dir, "build.rs", script));
            let refused = init(&dir, &["--write"]).exits_with(1);
            assert_eq!(
                refused.stderr,
                format!(
                    "{krate} is used without its feature `{feature}`, so this crate does not use cuDNN\n  \
                     = help: add `{feature}` to the features of {krate} in Cargo.toml, and run the same command again\n"
                )
            );
            assert_eq!(read(&dir, "Cargo.toml"), before);
        }
        assert_eq!(read(&dir, "build.rs"), "fn main() {}\n");
    }
}

/// A feature stands for the crate's own code or kernels, unless it only enables cudarc.
#[test]
fn the_guard_is_behind_the_features_of_the_crate() {
    // The features, the dependencies, and the gate.
    for row in [
        r#"cuda = [] | candle-core = "0.11" | feature = "cuda""#,
        r#"cudnn = [] | ort = "2" | feature = "cudnn""#,
        r#"cudnn = [] | cudarc = "0.19" | feature = "cudnn""#,
        r#"cuda = [] | cudarc = "0.19" | "#,
        r#"fast = [] | candle-core = "0.11" | "#,
        r#"cuda = [] | | feature = "cuda""#,
        r#"cuda11 = ["candle-core/cudnn"]; cuda12 = ["candle-core/cudnn"] | candle-core = "0.11" | any(feature = "cuda11", feature = "cuda12")"#,
        r#"cudnn = ["cudarc/cudnn"] | cudarc = { version = "0.19", default-features = false } | feature = "cudnn""#,
    ] {
        let row = row.replace("; ", "\n");
        let [features, dependency, gate] = row.split('|').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let gate = gate.trim();
        let mut lines = format!("\n[features]\n{features}\n\n[dependencies]\n{dependency}\n");
        let has_kernels = features.contains("cudarc/cudnn");
        if has_kernels {
            lines += "\n[build-dependencies]\nbindgen_cuda = \"0.1\"\n";
        }
        let dir = package("gates", &lines);
        if has_kernels {
            file(&dir, "build.rs", KERNELS);
        }
        let shown = init(&dir, &[]).exits_with(i32::from(gate.is_empty()));
        for line in ["gpu::startup();", "cudnn_guard::build(|| {"] {
            let line = format!("+    #[cfg({gate})]\n+    {line}\n");
            let is_shown = shown.stdout.contains(&line);
            assert_eq!(is_shown, !gate.is_empty(), "{lines}{}", shown.stdout);
        }
    }
}

/// Kernels of a crate without cuDNN stay as they are.
#[test]
fn a_crate_without_cudnn_gets_no_guard_for_its_kernels() {
    let dir = package("no-cudnn", "\n[dependencies]\ncudarc = \"0.19\"\n");
    let script = "fn main() {\n    std::process::Command::new(\"nvcc\").status().unwrap();\n}\n";
    file(&dir, "build.rs", script);
    init(&dir, &["--write"]).says("\nbuild.rs:2: this script compiles kernels with nvcc, ");
    assert_eq!(read(&dir, "build.rs"), script);
    assert!(!read(&dir, "src/main.rs").contains("gpu"));
}

#[test]
fn candle_without_cudnn_gets_its_libraries_and_a_guard_of_the_driver() {
    let candle = "candle-core = { version = \"0.11\", features = [\"cuda\"] }";
    let dir = package("candle-cuda", &format!("\n[dependencies]\n{candle}\n"));
    let reason = "This crate uses candle without its feature `cudnn`. candle links six CUDA libraries. The guard checks the driver and the GPU.\n\n";
    init(&dir, &[]).says(reason);
    init(&dir, &["--write"]).exits_with(0);
    assert_eq!(
        read(&dir, "build.rs"),
        "fn main() {
    cudnn_guard::build(|| {
        let libs = [\"cublas\", \"cublasLt\", \"cuda\", \"cudart\", \"curand\", \"nvrtc\"];
        let gpu = cudnn_guard::Config::new().cuda(\">=12.0\").libs(libs).probe()?;
        gpu.link();
        gpu.guard().write()
    });
}
"
    );
    assert!(read(&dir, "src/main.rs").contains("gpu::startup();"));
    assert!(read(&dir, "Cargo.toml").contains("runtime"));
    let again = init(&dir, &["--check"]).exits_with(0);
    assert_eq!(again.stdout, "This crate already uses cudnn-guard.\n");
}

/// The crate builds without CUDA unless its feature is enabled.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_guard_is_behind_the_feature_that_enables_cuda() {
    let lines = "\n[features]\ndefault = []\ngpu = [\"dep:candle\"]\ncudnn = [\"candle?/cudnn\", \"gpu\"]\nall = [\"cudnn\"]\n\n\
                 [dependencies]\ncandle = { package = \"candle-core\", path = \"candle\", optional = true }\n\n[workspace]\n";
    let dir = package("behind", lines);
    let manifest = "[package]\nname = \"candle-core\"\nversion = \"0.11.0\"\nedition = \"2024\"\n\n[features]\ncudnn = []\n";
    file(&dir, "candle/Cargo.toml", manifest);
    file(&dir, "candle/src/lib.rs", "");
    init(&dir, &["--write"]).exits_with(0);
    let gate = "    #[cfg(feature = \"cudnn\")]\n";
    let build = read(&dir, "build.rs");
    let start = format!("fn main() {{\n{gate}    cudnn_guard::build(|| {{\n");
    assert!(build.starts_with(&start), "{build}");
    let main = read(&dir, "src/main.rs");
    let start = "\n#[cfg(feature = \"cudnn\")]\nmod gpu {\n    include!(";
    assert!(main.contains(start), "{main}");
    let call = format!("\nfn main() {{\n{gate}    gpu::startup();\n");
    assert!(main.contains(&call), "{main}");
    for features in ["", "gpu", "cudnn"] {
        let arguments = ["check", "--quiet", "--features", features];
        let checked = run(cargo(&dir, &arguments).env("CUDA_HOME", dir.join("none")));
        assert!(!checked.stderr.contains("warning"), "{}", checked.stderr);
        // With the feature, the build reads the variable.
        let is_guarded = checked.stderr.contains("CUDA_HOME");
        assert_eq!(is_guarded, features == "cudnn", "{}", checked.stderr);
    }
    init(&dir, &["--check"]).exits_with(0);
}

/// `cargo add cudnn-guard` adds the features of a build script to the dependencies of the program.
#[test]
fn the_dependency_that_cargo_add_writes_is_completed() {
    for (line, expected) in [
        (
            "cudnn-guard = \"0.1.0\" # Ours.",
            " [dependencies]
-cudnn-guard = \"0.1.0\" # Ours.
+cudnn-guard = { version = \"0.1.0\", default-features = false, features = [\"runtime\"] } # Ours.
+
+[build-dependencies]
+cudnn-guard = { version = \"0.1.0\" }
",
        ),
        (
            "cudnn-guard = { version = \"0.1.0\", path = \"../x\" }",
            " [dependencies]
+cudnn-guard = { version = \"0.1.0\", path = \"../x\", default-features = false, features = [\"runtime\"] }
+
+[build-dependencies]
 cudnn-guard = { version = \"0.1.0\", path = \"../x\" }
",
        ),
    ] {
        let dir = package("added", &format!("\n[dependencies]\n{line}\n"));
        init(&dir, &[]).says(expected);
    }
}

/// A dependency with the feature is complete, and one with another name or for some targets is left alone.
#[test]
fn a_complete_dependency_stays() {
    for lines in [
        "[dependencies]\ncudnn-guard = { version = \"0.1\", features = [\"build\", \"runtime\"] }\n",
        "[target.'cfg(unix)'.dependencies]\ncudnn-guard = { version = \"0.1\", features = [\"runtime\"] }\n",
        "[dependencies]\nguard = { version = \"0.1\", package = \"cudnn-guard\" }\n",
    ] {
        let lines = format!("\n{lines}\n[build-dependencies]\ncudnn-guard = \"0.1\"\n");
        let dir = package("elsewhere", &lines);
        let before = read(&dir, "Cargo.toml");
        init(&dir, &["--write"]).exits_with(0);
        assert_eq!(read(&dir, "Cargo.toml"), before);
        init(&dir, &["--check"]).exits_with(0);
    }
}
