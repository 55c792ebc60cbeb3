//! Features that decide whether a crate uses CUDA and cuDNN.

use super::{file, init, package, read};
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use crate::support::cargo;
#[cfg(target_os = "linux")]
use {
    super::{command, folder},
    crate::support::run,
    crate::terminal::doctor::crate_with_cudarc,
    std::fs,
    std::os::unix::fs::PermissionsExt,
    std::path::Path,
};

const KERNELS: &str =
    "fn main() {\n    bindgen_cuda::Builder::default().build_lib(\"libadd.a\");\n}\n";

#[test]
fn a_crate_that_uses_only_the_cpu_is_left_alone() {
    for (krate, feature, more) in [
        ("candle-core", "cudnn", "candle-nn = \"0.11\""),
        ("ort", "cuda", ""),
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

/// A feature stands for the crate's own code or kernels. cudarc uses CUDA without any feature.
#[test]
fn the_guard_is_behind_the_features_of_the_crate() {
    // The features, the dependencies, and the gate.
    for row in [
        r#"cuda = [] | candle-core = "0.11" | feature = "cuda""#,
        r#"cudnn = [] | ort = "2" | feature = "cudnn""#,
        r#"cudnn = [] | cudarc = "0.19" | feature = "cudnn""#,
        r#"cuda = ["dep:cudarc"] | cudarc = { version = "0.19", optional = true } | feature = "cuda""#,
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

/// cudarc opens only the driver's library then.
#[test]
fn cudarc_without_cudnn_gets_a_guard_of_the_driver() {
    let dir = package("no-cudnn", "\n[dependencies]\ncudarc = \"0.19\"\n");
    file(&dir, "src/kernel.cu", "__global__ void add() {}\n");
    let reason = "This crate uses cudarc without its feature `cudnn`. The guard checks the driver and the GPU.\n\n";
    init(&dir, &[]).exits_with(0).says(reason);
    init(&dir, &["--write"]).exits_with(0);
    let block = "    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new().link(cudnn_guard::Link::Runtime).probe()?;
        gpu.guard().write()
    });
";
    assert_eq!(read(&dir, "build.rs"), format!("fn main() {{\n{block}}}\n"));
    init(&dir, &["--check"]).exits_with(0);
    // The calls of another tool stay.
    let dir = package("no-cudnn-tool", "\n[dependencies]\ncudarc = \"0.19\"\n");
    let nvcc = "    std::process::Command::new(\"nvcc\").status().unwrap();\n}\n";
    file(&dir, "build.rs", &format!("fn main() {{\n{nvcc}"));
    init(&dir, &["--write"]).says("\nbuild.rs:2: this script uses nvcc, ");
    assert_eq!(
        read(&dir, "build.rs"),
        format!("fn main() {{\n{block}{nvcc}")
    );
    assert!(read(&dir, "src/main.rs").contains("gpu::startup();"));
    // A linked cudarc may come from any directory.
    let linked = "cudarc = { version = \"0.19\", features = [\"dynamic-linking\"] }";
    let dir = package("no-cudnn-linked", &format!("\n[dependencies]\n{linked}\n"));
    init(&dir, &["--write"]).exits_with(0);
    let build = read(&dir, "build.rs");
    assert!(
        build.contains("gpu.link();") && !build.contains("cudnn(\""),
        "{build}"
    );
}

/// cuDNN is required if the code names one of its functions.
#[test]
fn kernels_without_a_build_script_are_compiled() {
    for (kernels, code, lines) in [
        (
            "src/kernels/add.cu",
            "",
            "        let gpu = cudnn_guard::Config::new().cuda(\">=11\").probe()?;
        gpu.link();
        gpu.kernels().files(\"src/**/*.cu\").compile(\"kernels\")?;
        gpu.guard().write()\n",
        ),
        (
            "kernels/add.cu",
            "// cudnnGetVersion()\n",
            "        let gpu = cudnn_guard::Config::new().cuda(\">=12.0\").cudnn(\">=9.1, <10\").probe()?;
        gpu.link();
        gpu.kernels().files(\"kernels/**/*.cu\").compile(\"kernels\")?;
        gpu.guard().write()\n",
        ),
    ] {
        let dir = package("own-kernels", "");
        file(&dir, kernels, "__global__ void add() {}\n");
        file(&dir, "src/main.rs", &(read(&dir, "src/main.rs") + code));
        init(&dir, &["--write"]).exits_with(0);
        let expected = format!("fn main() {{\n    cudnn_guard::build(|| {{\n{lines}    }});\n}}\n");
        assert_eq!(read(&dir, "build.rs"), expected);
        init(&dir, &["--check"]).exits_with(0);
    }
}

/// The script stays, and the user replaces these lines.
#[test]
fn fixed_paths_in_a_build_script_are_named() {
    let dir = package("fixed", "");
    let script = "fn main() {\n    println!(\"cargo:rustc-link-search=/usr/local/cuda/lib64\");\n    \
                  println!(\"cargo:rustc-link-lib=NAME\");\n}\n";
    for (name, has_cudnn) in [("cublas", false), ("cudnn", true)] {
        file(&dir, "build.rs", &script.replace("NAME", name));
        let shown = init(&dir, &[]).exits_with(0);
        let shown = shown.says("\nbuild.rs:2: this script uses fixed paths, ");
        let shown = shown.says(
            "\n  line 2: `/usr/local/cuda/lib64`, `find_cuda_lib_dirs()`\n    `gpu.link()`; ",
        );
        assert_eq!(
            shown.stdout.contains(".cudnn("),
            has_cudnn,
            "{}",
            shown.stdout
        );
    }
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

/// The findings of `doctor` about the locked cudarc, each with its first help.
#[cfg(target_os = "linux")]
#[test]
fn a_build_of_cudarc_that_would_fail_is_reported() {
    let toolkit = folder("init/a toolkit");
    file(&toolkit, "include/cuda.h", "#define CUDA_VERSION 13020\n");
    file(&toolkit, "bin/nvcc", "");
    let bin = toolkit.join("bin");
    fs::set_permissions(bin.join("nvcc"), fs::Permissions::from_mode(0o755)).expect("executable");
    let cargo = Path::new(env!("CARGO")).parent().expect("a directory");
    let shown = |dir: &Path, path: &[&Path]| {
        let mut command = command(Path::new("."), &[]);
        command.env("PATH", std::env::join_paths(path).expect("a list"));
        command
            .env("CUDA_HOME", &toolkit)
            .env("CARGO_HOME", dir.join("cargo"));
        run(command.current_dir(dir)).exits_with(0).stdout
    };
    let dir = folder("init/findings-of-cudarc");
    let sources = [
        (
            "Cargo.toml",
            "[package]\nname = \"cudarc\"\nversion = \"0.16.6\"\n[features]\ncuda-12080 = []\ncuda-13000 = []\n\
             cuda-version-from-build-system = []\ncudnn = []\n",
        ),
        (
            "build.rs",
            "// CUDARC_CUDA_VERSION\nCommand::new(\"nvcc\");\npanic!(\"Unsupported cuda toolkit version\");\n",
        ),
    ];
    let by_nvcc = "features = [\"cudnn\", \"cuda-version-from-build-system\"]";
    crate_with_cudarc(&dir, "", by_nvcc, &sources);
    let nvcc = format!(
        "the build of cudarc 0.16.6 fails: its feature `cuda-version-from-build-system` runs nvcc, which is not on PATH\n  \
         = help: add `{}` to PATH\n",
        bin.display()
    );
    let version = "cudarc 0.16.6 has no bindings for CUDA 13.2, the version of the installed toolkit\n  \
                   = help: set CUDARC_CUDA_VERSION=13000 for the build\n";
    let text = shown(&dir, &[cargo]);
    assert!(text.contains(&(nvcc + version)), "{text}");
    let text = shown(&dir, &[&bin, cargo]);
    assert!(text.contains(version) && !text.contains("PATH"), "{text}");
    // A feature chooses the version.
    let by_feature = "features = [\"cudnn\", \"cuda-12080\"]";
    crate_with_cudarc(&dir, "", by_feature, &sources);
    let text = shown(&dir, &[cargo]);
    assert!(
        !text.contains("PATH") && !text.contains(" bindings "),
        "{text}"
    );
}
