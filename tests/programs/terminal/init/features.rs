//! Features that decide whether a crate uses CUDA and cuDNN.

use super::{complaint, file, init, must_exit, package, read, text};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use crate::support::{cargo, run};

#[test]
fn a_crate_that_uses_only_the_cpu_is_left_alone() {
    for (dependency, message) in [
        (
            "candle-core = \"0.11\"\ncandle-nn = \"0.11\"",
            "candle-core is used without its feature `cudnn`, so this crate does not use cuDNN\n  \
             = help: add `cudnn` to the features of candle-core in Cargo.toml, and run the same command again\n",
        ),
        (
            "ort = \"2\"",
            "ort is used without its feature `cuda`, so this crate does not use cuDNN\n  \
             = help: add `cuda` to the features of ort in Cargo.toml, and run the same command again\n",
        ),
        (
            "cudarc = \"0.19\"",
            "cudarc is used without its feature `cudnn`, so this crate does not use cuDNN\n  \
             = help: add `cudnn` to the features of cudarc in Cargo.toml, and run the same command again\n",
        ),
    ] {
        let dir = package("cpu", &format!("\n[dependencies]\n{dependency}\n"));
        let before = read(&dir, "Cargo.toml");
        let scripts = [None, Some("fn main() {}\n")];
        for script in scripts {
            if let Some(script) = script {
                file(&dir, "build.rs", script);
            }
            let refused = init(&dir, &["--write"]);
            must_exit(&refused, 1);
            assert_eq!(complaint(&refused), message);
            assert_eq!(read(&dir, "Cargo.toml"), before);
        }
        assert_eq!(read(&dir, "build.rs"), "fn main() {}\n");
    }
}

/// The feature stands for the crate's own code, unless it only enables cudarc.
#[test]
fn a_crate_with_its_own_feature_may_use_a_dependency_on_the_cpu() {
    for (dependency, feature, code) in [
        ("candle-core = \"0.11\"", "cuda", 0),
        ("ort = \"2\"", "cudnn", 0),
        ("cudarc = \"0.19\"", "cudnn", 0),
        ("cudarc = \"0.19\"", "cuda", 1),
        ("candle-core = \"0.11\"", "fast", 1),
    ] {
        let lines = format!("\n[features]\n{feature} = []\n\n[dependencies]\n{dependency}\n");
        let shown = init(&package("own-feature", &lines), &[]);
        must_exit(&shown, code);
        let line = format!("+    #[cfg(feature = \"{feature}\")]\n+    gpu::startup();\n");
        assert_eq!(text(&shown).contains(&line), code == 0, "{lines}");
    }
}

/// Kernels of a crate without cuDNN stay as they are.
#[test]
fn a_crate_without_cudnn_gets_no_guard_for_its_kernels() {
    let dir = package("no-cudnn", "\n[dependencies]\ncudarc = \"0.19\"\n");
    let script = "fn main() {\n    std::process::Command::new(\"nvcc\").status().unwrap();\n}\n";
    file(&dir, "build.rs", script);
    let written = text(&init(&dir, &["--write"]));
    assert!(
        written.contains("\nbuild.rs:2: this script compiles kernels with nvcc, "),
        "{written}"
    );
    assert_eq!(read(&dir, "build.rs"), script);
    assert!(!read(&dir, "src/main.rs").contains("gpu"));
}

#[test]
fn candle_without_cudnn_gets_its_libraries_and_no_guard() {
    let candle = "candle-core = { version = \"0.11\", features = [\"cuda\"] }";
    let dir = package("candle-cuda", &format!("\n[dependencies]\n{candle}\n"));
    let main = read(&dir, "src/main.rs");
    let shown = text(&init(&dir, &[]));
    let reason = "This crate uses candle without its feature `cudnn`, so the program needs no guard. candle links six CUDA libraries.\n\n";
    assert!(shown.starts_with(reason), "{shown}");
    must_exit(&init(&dir, &["--write"]), 0);
    assert_eq!(
        read(&dir, "build.rs"),
        "fn main() {
    cudnn_guard::build(|| {
        let libs = [\"cublas\", \"cublasLt\", \"cuda\", \"cudart\", \"curand\", \"nvrtc\"];
        let gpu = cudnn_guard::Config::new().cuda(\">=12.0\").libs(libs).probe()?;
        gpu.link();
        Ok(())
    });
}
"
    );
    assert_eq!(read(&dir, "src/main.rs"), main);
    assert!(!read(&dir, "Cargo.toml").contains("runtime"));
    let again = init(&dir, &["--check"]);
    must_exit(&again, 0);
    assert_eq!(text(&again), "This crate already uses cudnn-guard.\n");
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
    must_exit(&init(&dir, &["--write"]), 0);
    assert_eq!(
        read(&dir, "build.rs"),
        "fn main() {
    #[cfg(feature = \"cudnn\")]
    cudnn_guard::build(|| {
        let libs = [\"cublas\", \"cublasLt\", \"cuda\", \"cudart\", \"curand\", \"nvrtc\"];
        let gpu = cudnn_guard::Config::new().cudnn(\">=9.1, <10\").libs(libs).probe()?;
        gpu.link();
        gpu.guard().write()
    });
}
"
    );
    assert_eq!(
        read(&dir, "src/main.rs"),
        "//! Adds.

use std::env;

#[cfg(feature = \"cudnn\")]
mod gpu {
    include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\"));
}

fn main() {
    #[cfg(feature = \"cudnn\")]
    gpu::startup();
    println!(\"{}\", env::args().count());
}
"
    );
    for features in ["", "gpu", "cudnn"] {
        let arguments = ["check", "--quiet", "--features", features];
        let checked = run(cargo(&dir, &arguments).env("CUDA_HOME", dir.join("none")));
        assert!(!checked.stderr.contains("warning"), "{}", checked.stderr);
        // With the feature, the build reads the variable.
        let is_guarded = features == "cudnn";
        assert_eq!(
            checked.stderr.contains("CUDA_HOME"),
            is_guarded,
            "{}",
            checked.stderr
        );
    }
    must_exit(&init(&dir, &["--check"]), 0);
}

#[test]
fn one_of_several_features_is_enough() {
    let lines = "\n[features]\ncuda11 = [\"candle-core/cudnn\"]\ncuda12 = [\"candle-core/cudnn\"]\n\n\
                 [dependencies]\ncandle-core = \"0.11\"\n";
    let dir = package("several", lines);
    let shown = text(&init(&dir, &[]));
    let line =
        "+    #[cfg(any(feature = \"cuda11\", feature = \"cuda12\"))]\n+    gpu::startup();\n";
    assert!(shown.contains(line), "{shown}");
}

/// A crate with its own kernels, and a script in which another tool compiles them.
#[test]
fn the_guard_is_gated_by_a_feature_named_cuda_or_of_cudnn() {
    let dir = package("own", "\n[features]\ncuda = []\n");
    must_exit(&init(&dir, &["--write"]), 0);
    let build = read(&dir, "build.rs");
    let start = "fn main() {\n    #[cfg(feature = \"cuda\")]\n    cudnn_guard::build(|| {\n";
    assert!(build.starts_with(start), "{build}");
    let lines = "\n[features]\ncudnn = [\"cudarc/cudnn\"]\n\n[dependencies]\n\
                 cudarc = { version = \"0.19\", default-features = false }\n\n[build-dependencies]\nbindgen_cuda = \"0.1\"\n";
    let dir = package("gated", lines);
    let script = "fn main() {\n    bindgen_cuda::Builder::default().build_lib(\"libadd.a\");\n}\n";
    file(&dir, "build.rs", script);
    must_exit(&init(&dir, &["--write"]), 0);
    let build = read(&dir, "build.rs");
    let start = "fn main() {\n    #[cfg(feature = \"cudnn\")]\n    cudnn_guard::build(|| {\n";
    assert!(build.starts_with(start), "{build}");
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
        let shown = text(&init(&dir, &[]));
        assert!(shown.contains(expected), "{shown}");
        must_exit(&init(&dir, &["--write"]), 0);
        let before = "[dependencies]\ncudnn-guard = { path = \"../x\", features = [\"build\", \"runtime\"] }\n\n\
                      [build-dependencies]\ncudnn-guard = { path = \"../x\" }\n";
        // An entry with the feature is complete.
        let manifest = read(&dir, "Cargo.toml");
        let (head, _) = manifest.split_once("[dependencies]").expect("a table");
        file(&dir, "Cargo.toml", &format!("{head}{before}"));
        must_exit(&init(&dir, &["--check"]), 0);
    }
}

#[test]
fn a_dependency_with_another_name_or_for_some_targets_is_left_alone() {
    for lines in [
        "[target.'cfg(unix)'.dependencies]\ncudnn-guard = { version = \"0.1\", features = [\"runtime\"] }\n",
        "[dependencies]\nguard = { version = \"0.1\", package = \"cudnn-guard\" }\n",
    ] {
        let lines = format!("\n{lines}\n[build-dependencies]\ncudnn-guard = \"0.1\"\n");
        let dir = package("elsewhere", &lines);
        let before = read(&dir, "Cargo.toml");
        must_exit(&init(&dir, &["--write"]), 0);
        assert_eq!(read(&dir, "Cargo.toml"), before);
        must_exit(&init(&dir, &["--check"]), 0);
    }
}
