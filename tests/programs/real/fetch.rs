//! `fetch` with NVIDIA's own wheels. Set `CUDNN_GUARD_REAL` and run `cargo test --test programs real::fetch -- --ignored`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn directory(name: &str) -> PathBuf {
    assert!(
        std::env::var_os("CUDNN_GUARD_REAL").is_some(),
        "set CUDNN_GUARD_REAL: this test downloads wheels"
    );
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a directory");
    dir
}

/// Returns the program, in this directory, without variables that name an installation.
fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command
        .args(arguments)
        .current_dir(dir)
        .env("XDG_DATA_HOME", dir);
    for name in ["CUDA_HOME", "CUDA_PATH", "CUDNN_PATH", "CUDNN_GUARD_HOME"] {
        command.env_remove(name);
    }
    command
}

fn run(dir: &Path, arguments: &[&str]) -> Output {
    command(dir, arguments).output().expect("cudnn-guard runs")
}

#[track_caller]
fn must_succeed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    text
}

/// Wheels of 80 MB.
const LOCK: &str = r"nvidia-cuda-crt==13.0.88 \
    --hash=sha256:2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4 \
    --hash=sha256:31e02c52916804ca15e31f272a96181d8fadaf40c4c82a77a6f78071a22eccf3 \
    --hash=sha256:ee2ea2a97073e02ee62bb27841f437332be2c248e3eac013df07997ada39c003
nvidia-cuda-runtime==13.0.96 \
    --hash=sha256:7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548 \
    --hash=sha256:ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55 \
    --hash=sha256:f79298c8a098cec150a597c8eba58ecdab96e3bdc4b9bc4f9983635031740492
nvidia-cudnn-jit-cu13==9.27.0.42 \
    --hash=sha256:7038db95da99d2c38bbabfe357b09e99d1a11694f1649cc3189c77b0dcf7e628 \
    --hash=sha256:d78f193e03ae0d884101d50e9019bffb9f99dabc5a58f50e069d145b84730c35
";

/// With uv if it is on PATH, else with pip. The settings of a user would make it install elsewhere, nothing, or links.
#[test]
#[ignore = "fetches NVIDIA's wheels: set CUDNN_GUARD_REAL"]
fn locked_wheels_are_installed_whatever_the_settings_of_the_user() {
    let dir = directory("real-fetch-lock");
    fs::write(dir.join("cuda.lock"), LOCK).expect("a file");
    let fetch = || {
        let mut command = command(&dir, &["fetch", "--lock", "cuda.lock"]);
        for (name, value) in [
            ("PIP_ROOT", "/nonexistent"),
            ("PIP_TARGET", "/nonexistent"),
            ("PIP_NO_DEPS", "1"),
            ("PIP_DRY_RUN", "1"),
            ("PIP_USER", "1"),
            ("PIP_REQUIRE_VIRTUALENV", "1"),
            ("UV_LINK_MODE", "symlink"),
        ] {
            command.env(name, value);
        }
        must_succeed(&command.output().expect("cudnn-guard runs"))
    };
    let text = fetch();
    assert!(text.contains("  ✓ cuDNN        9.27.0.42 in "), "{text}");
    let home = dir.join("cudnn-guard");
    let library = home.join("nvidia/cudnn_jit/lib/libcudnn.so.9");
    assert!(library.symlink_metadata().expect("the library").is_file());
    for link in ["cudnn_jit/lib64/libcudnn.so", "cu13/lib64/stubs/libcuda.so"] {
        assert!(home.join("nvidia").join(link).is_file(), "{link}");
    }
    must_succeed(&run(&dir, &["fetch", "--check"]));
    assert!(!fetch().contains("to fetch"));
    fs::write(&library, "damaged").expect("a damaged library");
    assert!(!run(&dir, &["fetch", "--check"]).status.success());
    assert!(fetch().contains("libcudnn.so.9 has 7 bytes instead of "));
    must_succeed(&run(&dir, &["fetch", "--check"]));
    let doctor = run(&dir, &["doctor"]);
    let text = String::from_utf8_lossy(&doctor.stdout);
    let found = format!("at {}/nvidia/cudnn_jit", home.display());
    assert!(text.contains(&found), "{text}");

    // The index has another hash.
    let other = LOCK.replace("sha256:7038", "sha256:0000");
    let other = other.replace("sha256:d78f", "sha256:0000");
    fs::write(dir.join("cuda.lock"), other).expect("a file");
    fs::remove_file(&library).expect("removed");
    let output = run(&dir, &["fetch", "--lock", "cuda.lock"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    let message = "failed to install NVIDIA's wheels  [fetch-failed]";
    assert!(errors.contains(message), "{errors}");
    fs::remove_dir_all(&dir).expect("removed");
}

/// Fetches CUDA 12 and 11, each with its cuDNN: about 2 GB. `doctor` finds both without variables.
#[test]
#[ignore = "fetches NVIDIA's wheels: set CUDNN_GUARD_REAL"]
fn cuda_12_and_11_are_fetched_and_found() {
    let dir = directory("real-fetch-12");
    for (cuda, cudnn, library) in [
        ("12.4", "9.1", "libcudnn.so.9"),
        ("11", "8.9", "libcudnn.so.8"),
    ] {
        let text = must_succeed(&run(
            &dir,
            &[
                "fetch", "--cuda", cuda, "--cudnn", cudnn, "--with", "curand",
            ],
        ));
        for shown in [
            format!("  ✓ CUDA toolkit {cuda}."),
            format!("  ✓ cuDNN        {cudnn}."),
            "wheels for CUDA 11 and 12 do not contain it".to_string(),
        ] {
            assert!(text.contains(&shown), "{text}");
        }
        let nvidia = dir.join("cudnn-guard/nvidia");
        for file in [
            "cuda_runtime/include/cuda.h",
            "cuda_nvcc/bin/ptxas",
            "curand/lib/libcurand.so.10",
        ] {
            assert!(nvidia.join(file).is_file(), "{file}");
        }
        assert!(nvidia.join("cudnn/lib").join(library).is_file());
        must_succeed(&run(&dir, &["fetch", "--check"]));
        // This machine may not have a driver.
        let doctor = run(&dir, &["doctor"]);
        let text = String::from_utf8_lossy(&doctor.stdout);
        let nvidia = nvidia.display();
        assert!(text.contains(&format!("at {nvidia}\n")), "{text}");
        let cudnn = format!(" for CUDA {} at {nvidia}/cudnn\n", &cuda[..2]);
        assert!(text.contains(&cudnn), "{text}");
    }
    fs::remove_dir_all(&dir).expect("removed");
}

/// Fetches CUDA 13: about 1 GB. Only the files of `fetch` are in the directory.
#[test]
#[ignore = "fetches NVIDIA's wheels: set CUDNN_GUARD_REAL"]
fn a_complete_toolkit_is_fetched_once_and_leaves_nothing_temporary() {
    let dir = directory("real-fetch");
    let to = dir.join("home");
    let fetch = || {
        let arguments = [
            "fetch",
            "--cuda",
            "13.0",
            "--cudnn",
            "9.14",
            "--write-config",
            "--to",
            "home",
        ];
        must_succeed(&run(&dir, &arguments))
    };
    let text = fetch();
    assert!(text.contains("NVIDIA's licenses"), "{text}");
    assert!(text.contains("  ✓ CUDA toolkit 13.0."), "{text}");
    assert!(text.contains("  ✓ cuDNN        9.14."), "{text}");
    let nvcc = Command::new(to.join("nvidia/cu13/bin/nvcc"))
        .arg("--version")
        .output();
    let version = nvcc.expect("nvcc runs").stdout;
    assert!(String::from_utf8_lossy(&version).contains("release 13.0"));
    for link in [
        "nvidia/cudnn/lib64/libcudnn.so",
        "nvidia/cudnn/lib/libcudnn_graph.so",
        "nvidia/cu13/lib64/libcudart.so",
        "nvidia/cu13/lib64/stubs/libcuda.so",
        "nvidia/cublas/lib/libcublasLt.so.13",
        "nvidia/cuda_nvrtc/lib/libnvrtc.so.13",
    ] {
        assert!(to.join(link).is_file(), "{link}");
    }
    let config = fs::read_to_string(dir.join(".cargo/config.toml")).expect("the configuration");
    let home = format!("[env]\nCUDNN_GUARD_HOME = \"{}\"\n", to.display());
    assert!(config.starts_with(&home), "{config}");

    let text = fetch();
    assert!(!text.contains("to fetch"), "{text}");
    let written = fs::read_to_string(dir.join(".cargo/config.toml")).expect("a file");
    assert_eq!(written, config);
    let mut left: Vec<String> = fs::read_dir(&to)
        .expect("the directory")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".dist-info"))
        .collect();
    left.sort();
    assert_eq!(left, [".cudnn-guard", ".fetch.lock", "nvidia"]);
    fs::remove_dir_all(&dir).expect("removed");
}
