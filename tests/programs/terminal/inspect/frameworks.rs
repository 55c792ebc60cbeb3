//! The framework that a build with the crate ort would use, on a machine with a GPU.

use super::image::Image;
use crate::support::run;
use crate::terminal::machine::everything;
use std::fs;
use std::process::Command;

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
        let (ort, dirs) = (
            image.at("ort"),
            ["driver", "lib64"].map(|dir| root.join(dir)),
        );
        command.args(["doctor", "--link", "ort"]).current_dir(&ort);
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command.envs([
            ("CUDA_HOME", &root),
            ("CUDNN_PATH", &root),
            ("ORT_LIB_PATH", &ort),
        ]);
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
    // The same provider, beside a program that contains ONNX Runtime.
    let code = "const char word[] = \"libonnxruntime_providers_cuda.so\"; void _start(void) {}";
    image.compile("app/app", code, &[]);
    for file in [
        "libonnxruntime_providers_cuda.so",
        "libonnxruntime_providers_shared.so",
    ] {
        let (from, to) = (format!("ort/{file}"), format!("app/{file}"));
        fs::copy(image.at(&from), image.at(&to)).unwrap();
    }
    let doubt = "no code for this GPU was found in `";
    for (capability, is_doubtful) in [("9.0", true), ("8.6", false)] {
        let mut inspect = image.here();
        inspect.env("LD_LIBRARY_PATH", root.join("driver"));
        let ran = run(inspect.env("SIM_CAPABILITY", capability));
        assert_eq!(ran.stdout.contains(doubt), is_doubtful, "{}", ran.text());
    }
    // No provider, and a build whose variables are unknown here.
    fs::remove_file(image.at(provider)).unwrap();
    let on_cpu = "ort may compute on the CPU)\n";
    doctor("8.6").says(on_cpu);
    fs::create_dir_all(image.at("ort/.cargo")).unwrap();
    let config = "[env]\nORT_LIB_PATH = \"/opt/ort\"\n";
    fs::write(image.at("ort/.cargo/config.toml"), config).unwrap();
    doctor("8.6").says(on_cpu);
}

/// Returns the C code of a fatbin of NVIDIA's format in this section, with code of this kind for a compute capability:
/// 1 for PTX, 2 for machine code.
fn fatbin(section: &str, kind: u8, number: u8, code: &str) -> String {
    let constant = if section == ".data" { "" } else { "const " };
    format!(
        "__attribute__((section(\"{section}\"), used, aligned(8))) {constant}unsigned char fatbin{kind}_{number}[96] = {{ \
            0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 80, [16] = {kind}, [20] = 64, [24] = 16, [44] = {number}, {code} }};"
    )
}

/// Kernels of libraries that the program loads, which have machine code or PTX for some GPUs.
#[test]
fn a_library_without_code_for_the_gpu_is_named() {
    let (root, image) = (everything("gpu-code"), Image::new("gpu-code"));
    let library = image.at("lib/libkernels.so");
    let inspect = |name: &str, code: &str, words: &[&str]| {
        let path = format!("lib/{name}");
        image.library(&path, code, &[]);
        let file = format!("IMAGE/{path}");
        image.program(&[], &[&file, "-Wl,-rpath,IMAGE/lib"]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command.args(words).arg(image.at("app/app")).env_clear();
        command.env("LD_LIBRARY_PATH", root.join("driver"));
        run(command.env("SIM_CAPABILITY", "9.0"))
    };
    let check = |name: &str, code: &str| inspect(name, code, &["inspect"]);
    let old = fatbin(".nv_fatbin", 2, 86, "");
    let finding = format!(
        "warning: `{}` contains no code for Simulated GPU (compute capability 9.0) [kernels-not-covering-gpu] \
         = help: install a version of `libkernels.so` that supports this GPU, or build it with \
         `-gencode arch=compute_90,code=sm_90` compiled sm_86",
        library.display()
    );
    let ran = check("libkernels.so", &old).exits_with(0);
    ran.says_in_words(&finding).says("\nverdict: unknown (");
    let ran = inspect("libkernels.so", &old, &["run"]);
    assert!(
        ran.stderr.contains("contains no code for Simulated GPU"),
        "{}",
        ran.text()
    );
    // The code of the program.
    image.compile("app/app", &format!("{old} void _start(void) {{}}"), &[]);
    let mut here = image.here();
    here.env("LD_LIBRARY_PATH", root.join("driver"));
    let ran = run(here.env("SIM_CAPABILITY", "9.0")).exits_with(0);
    ran.says_in_words("app/app` contains no code for Simulated GPU");
    // Neighbors whose code runs on this GPU, and files without any.
    let linker = fatbin(".nv_fatbin", 2, 75, "[80] = 0x7f, 'E', 'L', 'F'");
    for (name, code) in [
        ("libkernels.so", fatbin(".nv_fatbin", 2, 90, "")),
        ("libkernels.so", fatbin(".nv_fatbin", 1, 75, "")),
        (
            "libkernels.so",
            old.clone() + &fatbin(".nv_fatbin", 1, 86, ""),
        ),
        (
            "libkernels.so",
            old.clone() + &fatbin(".kernels", 2, 90, ""),
        ),
        ("libkernels.so", linker.clone()),
        ("libkernels.so", "int nothing;".to_string()),
        ("libcufft.so.12", linker + &fatbin(".data", 2, 90, "")),
        ("libcudart.so.12", "int nothing;".to_string()),
    ] {
        let ran = check(name, &code).exits_with(0);
        let ran = ran.does_not_say("kernels-not-covering-gpu");
        ran.does_not_say("no code").does_not_say("was not read");
    }
    // Code among the data is read, and damaged code is not.
    let ran = check("libcufft.so.12", &fatbin(".data", 2, 80, ""));
    ran.says_in_words("libcufft.so.12` contains no code for Simulated GPU");
    let damaged = old.replace("80, [16]", "81, [16]");
    let ran = check("libkernels.so", &damaged).does_not_say("kernels-not-covering-gpu");
    ran.says(&format!(
        "the GPU code in `{}` was not read",
        library.display()
    ));
}
