//! Programs with ONNX Runtime, whose CUDA provider is a separate file: without it, they compute on the CPU.

use super::image::{Image, ids, linked};
use super::made::DllSpec;
use crate::support::run;
use std::fs;
use std::process::Command;

const PROVIDER: &str = "opt/ort/libonnxruntime_providers_cuda.so";
const SHARED: &str = "opt/ort/libonnxruntime_providers_shared.so";

/// Creates a file that is linked with the libraries of the real provider for CUDA 12, which are not in the image.
pub fn built_for_12(image: &Image, file: &str) {
    let needed = ["libcublasLt.so.12", "libcudart.so.12", "libcudnn.so.9"];
    for name in needed {
        image.library(&format!("tmp/{name}"), "int nothing;", &[]);
    }
    let paths = needed.map(|name| format!("IMAGE/tmp/{name}"));
    let mut flags = vec!["-Wl,--no-as-needed"];
    flags.extend(paths.iter().map(String::as_str));
    image.library(file, "int nothing;", &flags);
    fs::remove_dir_all(image.at("tmp")).unwrap();
}

/// Creates an image with ONNX Runtime in `/opt/ort`, built for CUDA 12, and a program that is linked with it.
fn image(name: &str) -> Image {
    let image = Image::new(name);
    built_for_12(&image, PROVIDER);
    image.library(SHARED, "int nothing;", &[]);
    image.library("opt/ort/libonnxruntime.so.1", "int nothing;", &[]);
    let library = "IMAGE/opt/ort/libonnxruntime.so.1";
    image.program(&[], &[library, "-Wl,-rpath,/opt/ort"]);
    image
}

/// Creates a toolkit with this version in its header. A toolkit for CUDA 12 also contains the provider's libraries.
pub fn toolkit(image: &Image, dir: &str, version: u32) {
    let header = image.at(dir).join("include/cuda.h");
    fs::create_dir_all(header.parent().unwrap()).unwrap();
    fs::write(&header, format!("#define CUDA_VERSION {version}\n")).unwrap();
    let major = version / 1000;
    for name in ["libcublasLt", "libcudart"] {
        image.library(
            &format!("{dir}/lib64/{name}.so.{major}"),
            "int nothing;",
            &[],
        );
    }
}

/// Returns the findings about the provider, each in one line.
fn about_provider(image: &Image) -> String {
    let output = image.findings(&image.inspect(&[]));
    let mut blocks = output
        .split("\n  ! warning: ")
        .map(|block| block.trim_start_matches("  ! warning: "));
    let about = blocks.find(|block| block.contains("onnxruntime_providers"));
    let about = about.unwrap_or_default();
    about.split("\n\n").next().unwrap().to_string()
}

/// trusty-tools#695, onnxruntime#21684: ONNX Runtime for CUDA 12 silently falls back to the CPU if CUDA 13 is installed.
#[test]
fn a_provider_for_another_cuda_major_is_reported() {
    let image = image("provider-other-major");
    toolkit(&image, "usr/local/cuda", 13000);
    image.cudnn("usr/local/cuda/lib64", 14);
    let install = "= help: install the libraries of CUDA 12: `pip install --target ~/cuda12 \
        \"cuda-toolkit[cublas,cudart,cufft,curand,nvrtc]==12.*\" \"nvidia-cudnn-cu12==9.*\"`, then run \
        `export LD_LIBRARY_PATH=$(echo ~/cuda12/nvidia/*/lib | tr ' ' :)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}`\n";
    let missing = "result      ONNX Runtime computes on the CPU and only logs the reason\n      \
        not found   libcublasLt.so.12, libcudart.so.12, libcudnn.so.9\n      \
        searched    ";
    let wanted = format!(
        "`/{PROVIDER}` was built for CUDA 12, but the toolkit and cuDNN are for CUDA 13  [cuda-flavour-mismatch]\n      \
        = help: use an ONNX Runtime that was built for CUDA 13\n      {install}      {missing}"
    );
    let about = about_provider(&image);
    assert!(about.starts_with(&wanted), "{about}");
    // The provider is not a reason to stop the program, which computes on the CPU.
    let ran = image.flat(&[]).exits_with(0);
    ran.says("verdict: unknown (ONNX Runtime may compute on the CPU; ");

    // The toolkit of the right major is also installed, but not on the loader's search path.
    toolkit(&image, "usr/local/cuda-12.8", 12080);
    let about = about_provider(&image);
    let wanted = format!(
        "`/{PROVIDER}` was built for CUDA 12, but cuDNN is for CUDA 13  [cuda-flavour-mismatch]\n      \
        = help: use an ONNX Runtime that was built for CUDA 13\n      \
        = help: add `/usr/local/cuda-12.8/lib64` to LD_LIBRARY_PATH\n      "
    );
    // That toolkit does not include cuDNN.
    assert!(about.starts_with(&(wanted.clone() + install)), "{about}");
    let cudnn = "usr/local/cuda-12.8/lib64/libcudnn.so.9";
    image.library(cudnn, "int nothing;", &[]);
    let about = about_provider(&image);
    assert!(about.starts_with(&(wanted + "result")), "{about}");

    // Without any toolkit.
    for dir in ["usr/local/cuda", "usr/local/cuda-12.8"] {
        fs::remove_dir_all(image.at(dir)).unwrap();
    }
    let wanted = format!(
        "`/{PROVIDER}` needs libcublasLt.so.12, which the loader cannot find  [library-not-found]\n      \
        {install}      {missing}"
    );
    let about = about_provider(&image);
    assert!(about.starts_with(&wanted), "{about}");

    // A cuDNN that the loader finds is not installed again.
    image.library("lib64/libcudnn.so.9", "int nothing;", &[]);
    let about = about_provider(&image);
    assert!(about.contains("nvrtc]==12.*\"`, then"), "{about}");
}

/// A guard opens its cuDNN through the program's RUNPATH, and the provider uses the loaded one.
#[test]
fn a_provider_uses_the_cudnn_of_the_guard() {
    let image = image("provider-guard");
    toolkit(&image, "usr/lib", 12080);
    fs::rename(image.at("usr/lib/lib64"), image.at("lib64")).unwrap();
    image.cudnn("opt/cudnn", 14);
    let program = |records: &[&str]| {
        let library = "IMAGE/opt/ort/libonnxruntime.so.1";
        let rpath = "-Wl,--enable-new-dtags,-rpath,/opt/ort:/opt/cudnn";
        image.program(records, &[library, rpath]);
    };
    program(&[]);
    let about = about_provider(&image);
    let wanted = format!("`/{PROVIDER}` needs libcudnn.so.9, which the loader cannot find  ");
    assert!(about.starts_with(&wanted), "{about}");
    program(&[&linked("9.14.0").replace("loader linked", "loader dlopen")]);
    let about = about_provider(&image);
    let wanted = "but it loads a cuDNN that was built for CUDA 13  [cuda-flavour-mismatch]\n      \
        = help: install a cuDNN for CUDA 12, and put its directory first in LD_LIBRARY_PATH";
    assert!(about.contains(wanted), "{about}");
}

/// onnxruntime does not load any provider without this library.
#[test]
fn a_provider_without_the_shared_library_of_providers_is_reported() {
    let image = image("provider-without-shared");
    toolkit(&image, "usr", 12080);
    fs::remove_file(image.at(SHARED)).unwrap();
    let shared = "libonnxruntime_providers_shared.so";
    let about = about_provider(&image);
    let wanted = format!(
        "`{shared}` is not next to `/{PROVIDER}`  [library-not-found]\n      \
        = help: copy `{shared}` from the same ONNX Runtime into `/opt/ort`\n      \
        result      ONNX Runtime computes on the CPU and only logs the reason"
    );
    assert!(about.starts_with(&wanted), "{about}");
}

/// Valid setups that resemble the faulty ones.
#[test]
fn a_provider_that_loads_or_is_not_used_is_not_reported() {
    // A toolkit for CUDA 13 in the default location, and the libraries of CUDA 12 where the loader searches.
    let image = image("provider-sound");
    toolkit(&image, "usr/local/cuda", 13000);
    toolkit(&image, "opt/other", 12080);
    fs::rename(image.at("opt/other/lib64"), image.at("lib64")).unwrap();
    image.library("lib64/libcudnn.so.9", "int nothing;", &[]);
    let about = || about_provider(&image);
    assert_eq!(about(), "");
    // An ONNX Runtime for the CPU does not have a provider.
    fs::rename(image.at("lib64"), image.at("lib63")).unwrap();
    assert!(about().contains("[cuda-flavour-mismatch]"));
    fs::rename(image.at(PROVIDER), image.at("provider")).unwrap();
    assert_eq!(about(), "");
    // A provider beside a program that does not contain ONNX Runtime, as in `target/debug`.
    let beside = image.at("app/libonnxruntime_providers_cuda.so");
    fs::copy(image.at("provider"), &beside).unwrap();
    image.program(&[], &[]);
    assert_eq!(about(), "");
}

/// The crate ort links ONNX Runtime into the program, or opens it through ORT_DYLIB_PATH or beside the program.
#[test]
fn the_provider_of_a_program_with_ort_is_found() {
    let image = image("provider-ort");
    let program = |word: &str, flags: &[&str]| {
        let code = format!("const char word[] = \"{word}\"; void _start(void) {{}}\n");
        image.compile("app/app", &code, flags);
    };
    program("libonnxruntime_providers_cuda.so", &[]);
    assert_eq!(about_provider(&image), "");
    for name in [
        "libonnxruntime_providers_cuda.so",
        "libonnxruntime_providers_shared.so",
    ] {
        fs::copy(image.at("opt/ort").join(name), image.at("app").join(name)).unwrap();
    }
    let about = about_provider(&image);
    let wanted = "`/app/libonnxruntime_providers_cuda.so` needs libcublasLt.so.12, ";
    assert!(about.starts_with(wanted), "{about}");

    program("ORT_DYLIB_PATH", &[]);
    assert_eq!(about_provider(&image), "");
    let library = image.at("opt/ort/libonnxruntime.so.1");
    fs::copy(&library, image.at("app/libonnxruntime.so")).unwrap();
    let about = about_provider(&image);
    assert!(about.starts_with(wanted), "{about}");
    fs::remove_file(image.at("app/libonnxruntime.so")).unwrap();

    // The variable of this machine counts only without `--root`.
    let inspect = |value: &str| {
        let ran = run(image.here().arg("--json").env("ORT_DYLIB_PATH", value));
        ran.stdout.contains("libonnxruntime_providers_cuda.so` ")
    };
    assert!(inspect(library.to_str().unwrap()));
    assert!(inspect("../opt/ort/libonnxruntime.so.1"));
    assert!(!inspect("/nowhere/libonnxruntime.so"));
    program("another word", &[]);
    assert!(!inspect(library.to_str().unwrap()));
}

/// Castwright#2534: a provider beside a program for Windows, whose PATH is not known here.
#[test]
fn the_provider_of_a_program_for_windows_is_found() {
    let image = Image::new("provider-windows");
    fs::create_dir_all(image.at("app")).unwrap();
    let dll = |name: &str, lines: &str| {
        fs::write(
            image.at("app").join(name),
            DllSpec::from_lines(lines, "x86_64"),
        )
        .unwrap();
    };
    dll("app", "imports onnxruntime.dll one");
    dll("onnxruntime.dll", "");
    dll("onnxruntime_providers_shared.dll", "");
    dll(
        "onnxruntime_providers_cuda.dll",
        "imports cublasLt64_12.dll one\nimports cudnn64_9.dll one",
    );
    assert_eq!(about_provider(&image), "");
    fs::remove_file(image.at("app/onnxruntime_providers_shared.dll")).unwrap();
    let about = about_provider(&image);
    let wanted = "`onnxruntime_providers_shared.dll` is not next to `/app/onnxruntime_providers_cuda.dll`  [library-not-found]\n";
    assert!(about.starts_with(wanted), "{about}");
    // A cuDNN for another CUDA major beside it.
    dll("cudnn64_9.dll", "version 9.14.0");
    dll(
        "cudnn_graph64_9.dll",
        "version 9.14.0\nimports cublasLt64_13.dll one",
    );
    dll("cublasLt64_12.dll", "");
    let json = image.json();
    assert!(ids(&json).contains(&"cuda-flavour-mismatch"), "{json}");
    // The program is given by a path relative to its own directory.
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command.args(["inspect", "app"]).env_clear();
    let output = run(command.current_dir(image.at("app"))).stdout;
    let help = "= help: copy the DLLs of a cuDNN for CUDA 12 next to the program";
    assert!(output.contains(help), "{output}");
}
