//! The messages of a build, to the byte: `cargo check` of a small crate with simulated installations.

use crate::support::builds::{check, crate_of, cudnn, must_be_true, says, toolkit, wheel};
use crate::support::{cargo, fresh, project, run, target, write_if_new};
use std::fs;
use std::path::Path;

/// Runs a build, which must fail, and compares cargo's output with the text of this name in `fixtures/texts.txt`. In
/// the text, `$T` is the directory of the test, `$S` that of all tests, and `$B` that of cargo's output.
#[track_caller]
fn fails(test: &Path, name: &str, ask: &str, env: &[(&str, &Path)]) {
    let ran = run(check(&crate_of("ask"), ask, env).arg("--quiet")).exits_with(101);
    must_be_true(&ran.text());
    let all = test.parent().unwrap().to_str().unwrap();
    let mut shown = ran
        .text()
        .replace(test.to_str().unwrap(), "$T")
        .replace(all, "$S")
        .replace(target().to_str().unwrap(), "$B");
    // A path with a space is quoted in a command.
    while let Some(from) = shown.find("'$B") {
        shown.remove(from);
        let length = shown[from..].find('\'').expect("the closing quote");
        shown.remove(from + length);
    }
    // The number of the build.
    while let Some(at) = shown.find("/build/ask-") {
        let end = at + shown[at..].find("/out/").unwrap();
        shown.replace_range(at..end, "/build/..");
    }
    says(name, &shown);
}

#[test]
fn variables_that_name_the_wrong_place() {
    let test = fresh("builds-variables");
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, true);
    let (empty, absent) = (test.join("empty"), test.join("absent"));
    fs::create_dir_all(&empty).unwrap();
    for (text, name, value, ask) in [
        (
            "cuda-path-has-a-tilde",
            "CUDA_PATH",
            Path::new("~/cuda"),
            "cuda=>=12",
        ),
        (
            "nvcc-is-not-on-path",
            "NVCC",
            Path::new("nvcc"),
            "cuda=>=12",
        ),
        ("cudacxx-is-a-folder", "CUDACXX", &empty, "cuda=>=12"),
        (
            "cudnn-library-is-absent",
            "CUDNN_LIBRARY",
            &absent,
            "cudnn=>=9",
        ),
    ] {
        fails(&test, text, ask, &[(name, value)]);
    }
}

#[test]
fn invalid_requests_of_the_build_script() {
    let test = fresh("builds-config");
    let venv = test.join("venv");
    wheel(&venv, 13, (9, 14, 0));
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, true);
    let env: [(&str, &Path); 2] = [("VIRTUAL_ENV", &venv), ("CUDA_HOME", &cuda)];
    let absent = format!("root={};cudnn=>=9", test.join("absent").display());
    for (text, ask) in [
        ("requirement-is-empty", "cuda=>=12, <11"),
        ("root-is-absent", &absent),
        ("kernels-are-no-pattern", "kernels=src/["),
        ("no-sys-crate", "above=cudnn"),
    ] {
        fails(&test, text, ask, &env);
    }
}

/// Such an error stops the build like those of this crate, and does not mean that the machine has no CUDA.
#[test]
fn other_errors_in_a_build_script_are_errors_of_cargo() {
    let script = r#"fn main() {
    cudnn_guard::build(|| {
        let text = std::fs::read_to_string(std::env::var("CARGO_MANIFEST_PATH")?)?;
        std::env::var("NOBODY_SETS_THIS_VARIABLE")?;
        let gpu = cudnn_guard::Config::new().probe()?;
        println!("cargo::rustc-env=LENGTH={}", text.len());
        gpu.link();
        Ok(())
    });
}
"#;
    let dir = project("other-errors", script, "fn main() {}\n");
    run(&mut cargo(&dir, &["check", "--quiet"]))
        .exits_with(101)
        .says("error: other-errors@0.1.0: environment variable not found\n")
        .does_not_say("panicked");
}

#[test]
fn kernels_without_cuda_and_with_a_compiler_that_fails() {
    let test = fresh("builds-kernels");
    run(&mut check(&crate_of("ask"), "kernels=src/add.cu", &[]))
        .exits_with(101)
        .says("[cuda-not-found]");
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, true);
    write_if_new(&crate_of("ask").join("src/wrong.cu"), "mistake\n");
    fails(
        &test,
        "nvcc-fails",
        "archs=80;kernels=src/wrong.cu",
        &[("CUDA_HOME", &cuda)],
    );
}

#[test]
fn everything_that_was_found_is_shown_on_request() {
    let test = fresh("builds-print");
    let venv = test.join("venv");
    wheel(&venv, 13, (9, 14, 0));
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, true);
    fails(
        &test,
        "print",
        "cuda=>=12;cudnn=>=9",
        &[
            ("VIRTUAL_ENV", &venv),
            ("CUDA_HOME", &cuda),
            ("CUDNN_GUARD_PRINT", Path::new("1")),
        ],
    );
}

#[test]
fn a_warning_is_shown_and_the_build_continues() {
    let test = fresh("builds-warning");
    let (one, other) = (test.join("one"), test.join("other"));
    cudnn(&one, (9, 14, 0), false);
    cudnn(&other, (9, 10, 2), false);
    let env: [(&str, &Path); 2] = [("CUDNN_PATH", &one), ("CUDNN_HOME", &other)];
    let ran = run(&mut check(&crate_of("warned"), "cudnn=>=9", &env)).exits_with(0);
    let warnings: Vec<String> = ran
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("warning: warned@0.1.0: "))
        .map(|line| line.replace(test.to_str().unwrap(), "$T"))
        .collect();
    assert_eq!(
        warnings.join("\n"),
        "CUDNN_PATH and CUDNN_HOME point to different cuDNN installations; using CUDNN_PATH  [variables-disagree]\n  \
         = help: unset CUDNN_HOME, or set both to the same directory\n  \
         used        CUDNN_PATH: $T/one/include/cudnn_version.h\n  \
         ignored     CUDNN_HOME: $T/other/include/cudnn_version.h"
    );
}

/// Returns the targets that the nvcc of the fixtures was to compile for.
fn compiled_for(cuda: &Path, ask: &str, env: &[(&str, &Path)]) -> String {
    let _ = fs::remove_file(cuda.join("calls"));
    let mut build = check(&crate_of("compiled"), ask, env);
    build.env("CUDA_HOME", cuda);
    run(&mut build).exits_with(0);
    let calls = fs::read_to_string(cuda.join("calls")).unwrap_or_default();
    let flags = calls.split_whitespace();
    let codes = flags.filter_map(|flag| flag.split_once("-gencode=arch=")?.1.split_once(",code="));
    let codes: Vec<&str> = codes.map(|(_, code)| code).collect();
    codes.join(" ")
}

/// A container without a GPU, a driver or `nvidia-smi`: kernels are compiled for all GPUs.
#[test]
fn without_a_gpu_all_majors_are_compiled_and_nothing_fails() {
    let test = fresh("builds-no-gpu");
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, true);
    let hidden: [(&str, &Path); 1] = [("CUDA_VISIBLE_DEVICES", Path::new(""))];
    assert_eq!(
        compiled_for(&cuda, "kernels=src/add.cu", &hidden),
        "sm_75 sm_80 sm_90 sm_100 sm_120 compute_120"
    );
}

/// No cuDNN from 9.11 on supports Maxwell to Volta.
#[test]
fn without_a_gpu_only_targets_that_cudnn_supports_are_compiled() {
    let test = fresh("builds-supported");
    let cuda = test.join("cuda");
    toolkit(&cuda, 12090, true);
    for (version, first) in [((9, 10, 2), "sm_50 sm_60 sm_70"), ((9, 14, 0), "sm_75")] {
        let cudnn = wheel(&test.join(first), 12, version);
        let env: [(&str, &Path); 4] = [
            ("CUDA_VISIBLE_DEVICES", Path::new("")),
            ("CUDNN_PATH", &cudnn),
            ("FAKE_NVCC_RELEASE", Path::new("12.9")),
            ("FAKE_NVCC_CODES", Path::new("50 60 70 75 80 86 90 100 120")),
        ];
        assert_eq!(
            compiled_for(&cuda, "cudnn=>=9;kernels=src/add.cu", &env),
            format!("{first} sm_80 sm_90 sm_100 sm_120 compute_120"),
        );
    }
}

/// Every GPU of the machine counts, not only the first, and their order does not matter.
#[test]
#[cfg(target_os = "linux")]
fn kernels_are_compiled_for_every_gpu_of_the_machine() {
    let test = fresh("builds-gpus");
    let cuda = test.join("cuda");
    toolkit(&cuda, 13000, true);
    let simulated = test.join("simulated");
    crate::support::simulated::install((9, 14, 0), &[], &simulated);
    let driver = simulated.join("driver");
    let gpus: [(&str, &Path); 3] = [
        ("LD_LIBRARY_PATH", &driver),
        ("SIM_DEVICES", Path::new("4")),
        ("SIM_CAPABILITY", Path::new("12.0,8.6,8.6,9.0")),
    ];
    assert_eq!(
        compiled_for(&cuda, "kernels=src/add.cu", &gpus),
        "sm_86 compute_86 sm_90 sm_120 compute_120"
    );
}
