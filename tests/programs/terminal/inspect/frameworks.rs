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
