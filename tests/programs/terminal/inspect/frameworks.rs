//! `cudnn-guard doctor --link ort` and `--link tch` in images: the frameworks that a build with these crates would use.

use super::image::Image;
use super::providers::built_for_12;
use crate::support::{cache_of, run};
use crate::terminal::machine::everything;
use std::fs;
use std::process::Command;

const CAPI: &str = "venv/lib/python3.12/site-packages/onnxruntime/capi";
const TORCH: &str = "venv/lib/python3.12/site-packages/torch/lib";

/// Creates ONNX Runtime for CUDA 12 in this directory.
fn onnxruntime(image: &Image, dir: &str) {
    built_for_12(image, &format!("{dir}/libonnxruntime_providers_cuda.so"));
    for name in ["libonnxruntime_providers_shared.so", "libonnxruntime.so"] {
        image.library(&format!("{dir}/{name}"), "int nothing;", &[]);
    }
}

/// Creates the libraries of CUDA 12 where the loader searches.
fn cuda_12(image: &Image) {
    for name in ["libcublasLt.so.12", "libcudart.so.12", "libcudnn.so.9"] {
        image.library(&format!("lib64/{name}"), "int nothing;", &[]);
    }
}

/// Creates a toolkit for CUDA 13 with cuDNN.
fn cuda_13(image: &Image) {
    fs::create_dir_all(image.at("usr/local/cuda/include")).unwrap();
    let header = image.at("usr/local/cuda/include/cuda.h");
    fs::write(header, "#define CUDA_VERSION 13000\n").unwrap();
    image.library("usr/local/cuda/lib64/libcudart.so.13", "int nothing;", &[]);
    image.cudnn("usr/local/cuda/lib64", 14);
}

/// Returns the finding about the framework in one line, with the image as `/`.
fn about(image: &Image, link: &str, variables: &[(&str, &str)]) -> String {
    about_in(image, "", link, variables)
}

/// Like [`about`], but in this directory.
fn about_in(image: &Image, dir: &str, link: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command.args(["doctor", "--json", "--link", link, "--root"]);
    command.arg(&image.0).env_clear().current_dir(image.at(dir));
    for (name, path) in variables {
        command.env(name, image.at(path));
    }
    let output = run(&mut command).stdout;
    let report: serde_json::Value = serde_json::from_str(&output).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let text = |one: &serde_json::Value| {
        let help = one["help"][0].as_str().unwrap_or_default();
        format!("{} [{}] {help}", one["summary"], one["id"]).replace('"', "")
    };
    let mut all = findings.map(text);
    let parts = ["onnxruntime", "torch_cuda"];
    let found = all.find(|one| parts.iter().any(|part| one.contains(part)));
    let root = format!("{}/", image.0.display());
    found.unwrap_or_default().replace(&root, "/")
}

/// trusty-tools#695: ONNX Runtime is for CUDA 12, but CUDA and cuDNN are for 13.
#[test]
fn an_onnxruntime_for_another_cuda_major_is_reported() {
    let image = Image::new("ort-other-major");
    onnxruntime(&image, CAPI);
    cuda_13(&image);
    let venv = [("VIRTUAL_ENV", "venv")];
    let wanted = |dir: &str| {
        format!(
            "`/{dir}/libonnxruntime_providers_cuda.so` was built for CUDA 12, but the toolkit and cuDNN are for CUDA 13 \
             [cuda-flavour-mismatch] use an ONNX Runtime that was built for CUDA 13"
        )
    };
    assert_eq!(about(&image, "ort", &venv), wanted(CAPI));
    // Nothing is reported without the option, or about an environment that is not active.
    assert_eq!(about(&image, "runtime", &venv), "");
    let none = about(&image, "ort", &[]);
    let no_provider = "`libonnxruntime_providers_cuda.so` was not found, so ort computes on the CPU \
        [library-not-found] set ORT_DYLIB_PATH to ";
    assert!(none.starts_with(no_provider), "{none}");

    // The variables of ort take precedence: a library, its directory, or the parent directory.
    onnxruntime(&image, "opt/ort/lib");
    for (variable, value) in [
        ("ORT_DYLIB_PATH", "opt/ort/lib/libonnxruntime.so"),
        ("ORT_LIB_PATH", "opt/ort/lib"),
        ("ORT_LIB_LOCATION", "opt/ort"),
    ] {
        let set = [("VIRTUAL_ENV", "venv"), (variable, value)];
        assert_eq!(about(&image, "ort", &set), wanted("opt/ort/lib"));
    }
    // An ONNX Runtime for the CPU does not have a provider, and no other one is used instead.
    image.library("opt/cpu/libonnxruntime.so", "int nothing;", &[]);
    let set = [
        ("VIRTUAL_ENV", "venv"),
        ("ORT_DYLIB_PATH", "opt/cpu/libonnxruntime.so"),
    ];
    let none = about(&image, "ort", &set);
    assert!(none.starts_with(no_provider), "{none}");

    // The libraries of CUDA 12 are also installed.
    cuda_12(&image);
    assert_eq!(about(&image, "ort", &venv), "");
    // A build does not find cuDNN, but the provider does.
    fs::remove_dir_all(image.at("usr/local")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command
        .args(["doctor", "--link", "ort", "--root"])
        .arg(&image.0);
    let venv = image.at("venv");
    run(command.env_clear().env("VIRTUAL_ENV", venv)).exits_with(0);
}

/// ONNX Runtimes that ort-sys downloads. The versions of ort-sys have tables and directories in different formats.
#[test]
fn the_onnxruntime_that_the_locked_ort_downloads_is_found() {
    let image = Image::new("ort-download");
    cuda_13(&image);
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    for (release, table, below) in [
        ("2.0.0-rc.10", "dist.txt", "/onnxruntime/lib"),
        ("2.0.0-rc.15", "build/download/dist.tsv", ""),
    ] {
        let hash = format!("AB12{}", release.len() + table.len());
        let sources = image.at(&format!("home/.cargo/registry/src/index/ort-sys-{release}"));
        let file = sources.join(table);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("cu12\t{triple}\thttps://x\t{hash}\n")).unwrap();
        let dir = format!("home/.cache/ort.pyke.io/dfbin/{triple}/{hash}{below}");
        onnxruntime(&image, &dir);
        let lock = format!(
            "version = 4\n\n[[package]]\nname = \"ort-sys\"\nversion = \"{release}\"\nsource = \"registry+https://example.org\"\n"
        );
        fs::write(image.at("Cargo.lock"), lock).unwrap();
        let finding = about(&image, "ort", &[("HOME", "home")]);
        assert!(
            finding.starts_with(&format!("`/{dir}/libonnxr")),
            "{finding}"
        );
    }
    // In a member of a workspace, and with directories from variables.
    fs::create_dir_all(image.at("member")).unwrap();
    fs::write(image.at("member/Cargo.toml"), "").unwrap();
    let in_member = |variables: &[(&str, &str)]| about_in(&image, "member", "ort", variables);
    let finding = in_member(&[("HOME", "home")]);
    assert!(finding.contains("/home/.cache"), "{finding}");
    fs::rename(image.at("home/.cache/ort.pyke.io"), image.at("cache")).unwrap();
    fs::rename(image.at("home/.cargo"), image.at("cargo")).unwrap();
    for cache in ["XDG_CACHE_HOME", "ORT_CACHE_DIR"] {
        let set = [("HOME", "home"), ("CARGO_HOME", "cargo"), (cache, "cache")];
        let finding = in_member(&set);
        assert!(finding.starts_with("`/cache/dfbin"), "{finding}");
    }
    // A variable that is set only for builds is not evaluated.
    fs::create_dir_all(image.at(".cargo")).unwrap();
    let config = image.at(".cargo/config.toml");
    fs::write(
        &config,
        "[env]\nORT_DYLIB_PATH = \"lib/libonnxruntime.so\"\n",
    )
    .unwrap();
    assert_eq!(in_member(&[]), "");
    fs::remove_file(config).unwrap();
    // Downloads of other versions do not count.
    fs::write(image.at("Cargo.lock"), "version = 4\n").unwrap();
    let finding = about(&image, "ort", &[("HOME", "home")]);
    assert!(
        finding.starts_with("`libonnxruntime_providers_cuda.so` was not found"),
        "{finding}"
    );
}

/// With the feature `load-dynamic`, ort opens the library that the loader finds.
#[test]
fn the_onnxruntime_that_the_loader_finds_is_used() {
    let image = Image::new("ort-loader");
    fs::create_dir_all(image.at("etc")).unwrap();
    onnxruntime(&image, "opt/ort");
    cuda_13(&image);
    let provider = "libonnxruntime_providers_cuda.so";
    let listed = cache_of(&[(provider, &format!("/opt/ort/{provider}"))]);
    fs::write(image.at("etc/ld.so.cache"), listed).unwrap();
    let finding = about(&image, "ort", &[]);
    assert!(finding.starts_with("`/opt/ort/libonnxr"), "{finding}");
}

/// LIBTORCH takes precedence, unless torch-sys is configured to use Python's libtorch.
#[test]
fn a_libtorch_for_another_cuda_major_is_reported() {
    let image = Image::new("tch-other-major");
    cuda_13(&image);
    built_for_12(&image, &format!("{TORCH}/libtorch_cuda.so"));
    image.library("opt/libtorch/lib/libtorch_cpu.so", "int nothing;", &[]);
    fs::create_dir_all(image.at("venv/bin")).unwrap();
    fs::write(image.at("venv/bin/python3"), "").unwrap();
    // conda's package for C++, and the one that torch-sys downloads.
    let download = "target/debug/build/torch-sys-1a/out/libtorch/libtorch/lib";
    let none = "`libtorch_cuda.so` was not found, so tch computes on the CPU [library-not-found] \
         set LIBTORCH to the directory of a libtorch for CUDA";
    let wrong = |dir: &str| {
        format!(
            "`/{dir}/libtorch_cuda.so` was built for CUDA 12, but the toolkit and cuDNN are for CUDA 13 [cuda-flavour-mismatch] \
             use a libtorch that was built for CUDA 13"
        )
    };
    let (python, other) = (("LIBTORCH_USE_PYTORCH", "1"), ("LIBTORCH", "opt/libtorch"));
    let venv = ("VIRTUAL_ENV", "venv");
    for (variables, expected) in [
        (&[venv][..], wrong(TORCH)),
        (&[venv, other], none.to_string()),
        (&[venv, other, python], wrong(TORCH)),
        (&[("PATH", "venv/bin"), python], wrong(TORCH)),
        (&[("PATH", "venv/bin")], none.to_string()),
    ] {
        assert_eq!(about(&image, "tch", variables), expected, "{variables:?}");
    }
    for (dir, variables) in [
        ("conda/lib", &[("CONDA_PREFIX", "conda")][..]),
        (download, &[]),
    ] {
        built_for_12(&image, &format!("{dir}/libtorch_cuda.so"));
        assert_eq!(about(&image, "tch", variables), wrong(dir));
    }
    cuda_12(&image);
    assert_eq!(about(&image, "tch", &[venv]), "");
}

/// A provider whose kernels do not run on the GPU of this machine, or whose device code cannot be read.
#[test]
fn a_provider_without_code_for_the_gpu_does_not_pass() {
    let (root, image) = (everything("ort-codes"), Image::new("ort-codes"));
    image.library(
        "ort/libonnxruntime_providers_shared.so",
        "int nothing;",
        &[],
    );
    let provider = "ort/libonnxruntime_providers_cuda.so";
    let doctor = |capability: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command
            .args(["doctor", "--link", "ort"])
            .current_dir(image.at("ort"));
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("CUDA_HOME", &root);
        command
            .env("CUDNN_PATH", &root)
            .env("ORT_LIB_PATH", image.at("ort"));
        let dirs = ["driver", "lib64"].map(|dir| root.join(dir));
        command.env("LD_LIBRARY_PATH", std::env::join_paths(dirs).unwrap());
        run(command.env("SIM_CAPABILITY", capability)).exits_with(0)
    };
    let unknown = format!(
        "\nverdict: unknown (no code for this GPU was found in `{}`)\n",
        image.at(provider).display()
    );
    image.library(provider, "int nothing;", &[]);
    doctor("9.0").says(&unknown);
    // A fatbin of NVIDIA's format with machine code for 8.0.
    let code = "__attribute__((section(\".nv_fatbin\"))) const unsigned char code[96] = { \
        0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 80, [16] = 2, [20] = 64, [24] = 16, [44] = 80 };";
    image.library(provider, code, &[]);
    doctor("9.0").says(&unknown);
    doctor("8.6").says("\nverdict: pass (all versions are compatible)\n");
    // No provider, and a build whose variables are unknown here.
    fs::remove_file(image.at(provider)).unwrap();
    let on_cpu = "ort may compute on the CPU)\n";
    doctor("8.6").says(on_cpu);
    fs::create_dir_all(image.at("ort/.cargo")).unwrap();
    let config = "[env]\nORT_LIB_PATH = \"/opt/ort\"\n";
    fs::write(image.at("ort/.cargo/config.toml"), config).unwrap();
    doctor("8.6").says(on_cpu);
}
