//! Follows the helps of `cuda-libraries-mixed` with pip, in an environment of NVIDIA's own wheels:
//! `cargo test --test programs real::mixed_wheels -- --ignored` downloads about 1 GB.

use crate::support::{fresh, program, run};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Creates a virtual environment with these wheels, without their dependencies.
fn environment(name: &str, wheels: &[&str]) -> PathBuf {
    let dir = fresh(name);
    run(program("python3").args(["-m", "venv"]).arg(&dir)).exits_with(0);
    let mut pip = program(dir.join("bin/pip"));
    run(pip.args(["install", "-q", "--no-deps"]).args(wheels)).exits_with(0);
    dir
}

fn below(environment: &Path, dir: &str) -> PathBuf {
    let lib = fs::read_dir(environment.join("lib")).unwrap().next();
    let site = lib.unwrap().unwrap().path().join("site-packages/nvidia");
    site.join(dir)
}

/// Compiles a program that is linked with this library.
fn linked(environment: &Path, library: &str) -> PathBuf {
    let (app, code) = (environment.join("app"), environment.join("app.c"));
    fs::write(&code, "int main(void) { return 0; }\n").unwrap();
    let library = below(environment, library);
    let mut cc = program("cc");
    cc.arg("-o").arg(&app).arg(&code).arg("-Wl,--no-as-needed");
    cc.arg(&library).arg("-Wl,--unresolved-symbols=ignore-all");
    let dir = library.parent().unwrap().display();
    run(cc.arg(format!("-Wl,-rpath,{dir}"))).exits_with(0);
    app
}

/// Returns the finding about CUDA libraries.
fn about_cuda(app: &Path) -> Option<Value> {
    let mut inspect = program(env!("CARGO_BIN_EXE_cudnn-guard"));
    let output = run(inspect.args(["inspect", "--json"]).arg(app)).stdout;
    let report: Value = serde_json::from_str(&output).unwrap();
    let mut findings = report["findings"].as_array().unwrap().iter();
    let ids = ["cuda-libraries-mixed", "library-not-found"];
    findings
        .find(|one| ids.iter().any(|id| one["id"] == *id))
        .cloned()
}

/// Runs the command of the first help in the environment.
fn do_help(environment: &Path, finding: &Value, wanted: &str) {
    let help = finding["help"][0].as_str().unwrap();
    assert_eq!(help, wanted);
    let mut path = vec![environment.join("bin")];
    path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    let mut shell = program("sh");
    shell.arg("-c").arg(help.split('`').nth(1).unwrap());
    run(shell.env("PATH", std::env::join_paths(path).unwrap())).exits_with(0);
}

#[test]
#[ignore = "fetches NVIDIA's wheels"]
fn a_cublas_that_is_older_than_cusolver_is_reported() {
    let wheels = [
        "nvidia-cublas-cu12==12.1.3.1",
        "nvidia-cusolver-cu12==11.7.5.82",
        "nvidia-cusparse-cu12==12.5.10.65",
        "nvidia-nvjitlink-cu12==12.9.86",
    ];
    let environment = environment("mixed-cusolver", &wheels);
    let app = linked(&environment, "cusolver/lib/libcusolver.so.11");
    let finding = about_cuda(&app).unwrap();
    assert_eq!(finding["id"], "cuda-libraries-mixed", "{finding}");
    let help = "run `pip install --upgrade nvidia-cublas-cu12 nvidia-cusolver-cu12`";
    do_help(&environment, &finding, help);
    assert_eq!(about_cuda(&app), None);
}

#[test]
#[ignore = "fetches NVIDIA's wheels"]
fn an_nvrtc_with_the_builtins_of_another_version_is_reported() {
    let environment = environment("mixed-nvrtc", &["nvidia-cuda-nvrtc-cu12==12.4.127"]);
    let app = linked(&environment, "cuda_nvrtc/lib/libnvrtc.so.12");
    assert_eq!(about_cuda(&app), None);
    let file = |release| {
        below(
            &environment,
            &format!("cuda_nvrtc/lib/libnvrtc-builtins.so.{release}"),
        )
    };
    fs::rename(file("12.4"), file("12.1")).unwrap();
    let finding = about_cuda(&app).unwrap();
    assert_eq!(finding["id"], "cuda-libraries-mixed", "{finding}");
    let help = "run `pip install --force-reinstall --no-deps 'nvidia-cuda-nvrtc-cu12==12.4.*'`";
    do_help(&environment, &finding, help);
    assert_eq!(about_cuda(&app), None);
}
