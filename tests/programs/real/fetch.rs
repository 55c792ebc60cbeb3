//! `fetch` with NVIDIA's own wheels, which downloads about 1 GB for each CUDA version. Set `CUDNN_GUARD_REAL` and run
//! `cargo test --test programs real::fetch -- --ignored`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn fetch(to: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .args([
            "fetch",
            "--cuda",
            "13.0",
            "--cudnn",
            "9.14",
            "--write-config",
            "--to",
        ])
        .arg(to)
        .current_dir(to.parent().expect("a parent"))
        .output()
        .expect("cudnn-guard runs")
}

/// Runs `fetch --check`, and returns its success and its output.
fn check(to: &Path) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .args(["fetch", "--check", "--to"])
        .arg(to)
        .output()
        .expect("cudnn-guard runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), text)
}

/// Fetches CUDA 12 and 11, each with its cuDNN. `doctor` finds both without variables.
#[test]
#[ignore = "fetches NVIDIA's wheels: set CUDNN_GUARD_REAL"]
fn cuda_12_and_11_are_fetched_and_found() {
    assert!(
        std::env::var_os("CUDNN_GUARD_REAL").is_some(),
        "set CUDNN_GUARD_REAL: this test downloads 2 GB"
    );
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-fetch-12");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a directory");
    for (cuda, cudnn, library) in [
        ("12.4", "9.1", "libcudnn.so.9"),
        ("11", "8.9", "libcudnn.so.8"),
    ] {
        let run = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
            let command = command.args(arguments).current_dir(&dir);
            for name in ["CUDA_HOME", "CUDA_PATH", "CUDNN_PATH", "CUDNN_GUARD_HOME"] {
                command.env_remove(name);
            }
            let output = command.env("XDG_DATA_HOME", &dir).output();
            output.expect("cudnn-guard runs")
        };
        let text = must_succeed(&run(&[
            "fetch", "--cuda", cuda, "--cudnn", cudnn, "--with", "curand",
        ]));
        assert!(
            text.contains(&format!("  ✓ CUDA toolkit {cuda}.")),
            "{text}"
        );
        assert!(
            text.contains(&format!("  ✓ cuDNN        {cudnn}.")),
            "{text}"
        );
        assert!(
            text.contains("wheels for CUDA 11 and 12 do not contain it"),
            "{text}"
        );
        let nvidia = dir.join("cudnn-guard/nvidia");
        for file in [
            "cuda_runtime/include/cuda.h",
            "cuda_nvcc/bin/ptxas",
            "curand/lib/libcurand.so.10",
        ] {
            assert!(nvidia.join(file).is_file(), "{file}");
        }
        assert!(nvidia.join("cudnn/lib").join(library).is_file());
        let (passed, text) = check(&dir.join("cudnn-guard"));
        assert!(passed, "{text}");
        // This machine may not have a driver.
        let doctor = run(&["doctor"]);
        let text = String::from_utf8_lossy(&doctor.stdout);
        assert!(
            text.contains(&format!("at {}\n", nvidia.display())),
            "{text}"
        );
        assert!(
            text.contains(&format!(
                " for CUDA {} at {}/cudnn\n",
                &cuda[..2],
                nvidia.display()
            )),
            "{text}"
        );
    }
    fs::remove_dir_all(&dir).expect("removed");
}

#[track_caller]
fn must_succeed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

#[test]
#[ignore = "fetches NVIDIA's wheels: set CUDNN_GUARD_REAL"]
fn fetch_downloads_once_fixes_damage_and_leaves_nothing_outside() {
    assert!(
        std::env::var_os("CUDNN_GUARD_REAL").is_some(),
        "set CUDNN_GUARD_REAL: this test downloads 2 GB"
    );
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-fetch");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a directory");
    let to = dir.join("home");

    let text = must_succeed(&fetch(&to));
    assert!(text.contains("NVIDIA's licenses"), "{text}");
    assert!(text.contains("  ✓ CUDA toolkit 13.0."), "{text}");
    assert!(text.contains("  ✓ cuDNN        9.14."), "{text}");
    let nvcc = to.join("nvidia/cu13/bin/nvcc");
    let version = Command::new(&nvcc)
        .arg("--version")
        .output()
        .expect("nvcc runs");
    assert!(String::from_utf8_lossy(&version.stdout).contains("release 13.0"));
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
    assert!(
        config.starts_with(&format!("[env]\nCUDNN_GUARD_HOME = \"{}\"\n", to.display())),
        "{config}"
    );

    // Nothing is downloaded a second time.
    let text = must_succeed(&fetch(&to));
    assert!(!text.contains("fetching"), "{text}");
    assert_eq!(text.matches(" is installed: ").count(), 2, "{text}");
    assert!(
        text.ends_with("  ✓ .cargo/config.toml is up to date\n"),
        "{text}"
    );

    // A truncated file causes only its own component to be fetched again.
    let header = to.join("nvidia/cu13/include/cuda.h");
    fs::write(&header, "").expect("a damaged header");
    let text = must_succeed(&fetch(&to));
    assert!(
        text.contains("nvidia/cu13/include/cuda.h has 0 bytes instead of "),
        "{text}"
    );
    assert!(text.contains("fetching CUDA toolkit"), "{text}");
    assert!(!text.contains("fetching cuDNN"), "{text}");
    assert!(fs::metadata(&header).expect("the header").len() > 0);

    // A file of the same size with other contents is found by its hash, and the help fixes it.
    let (passed, text) = check(&to);
    assert!(passed, "{text}");
    assert_eq!(text.matches(" files checked: ").count(), 2, "{text}");
    let header = to.join("nvidia/cudnn/include/cudnn_version.h");
    let whole = fs::read(&header).expect("the header");
    fs::write(&header, vec![b' '; whole.len()]).expect("a damaged header");
    let (passed, text) = check(&to);
    assert!(!passed, "{text}");
    assert!(
        text.contains(&format!(
            "  = help: remove `{}`, then run `cudnn-guard fetch --cuda 13.0 --cudnn 9.14.0 --to ",
            header.display()
        )),
        "{text}"
    );
    assert!(
        text.ends_with(
            "\n  damaged     nvidia/cudnn/include/cudnn_version.h has different contents\n"
        ),
        "{text}"
    );
    fs::remove_file(&header).expect("the header removed");
    let text = must_succeed(&fetch(&to));
    assert!(!text.contains("fetching CUDA toolkit"), "{text}");
    assert!(text.contains("fetching cuDNN"), "{text}");
    assert_eq!(fs::read(&header).expect("the header"), whole);
    let (passed, text) = check(&to);
    assert!(passed, "{text}");

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
