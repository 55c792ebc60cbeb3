//! A guarded program on Windows, under Wine, with a simulated cuDNN as DLLs. `.ci/foreign` makes ready what that needs.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(
    clippy::disallowed_methods,
    reason = "tests make files and run programs"
)]

mod support;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use support::simulated::{copy, for_windows};
use support::wine::{Windows, built, path};
use support::{Ran, consumers, fresh, program, run, scratch, write_if_new};

const V9_10: (u32, u32, u32) = (9, 10, 2);
const V9_14: (u32, u32, u32) = (9, 14, 0);
const V9_28: (u32, u32, u32) = (9, 28, 0);
const V8_9: (u32, u32, u32) = (8, 9, 7);

/// Calls cuDNN as any program does, on memory of the simulated GPU, which is ordinary memory: 1 to 9 times 1 to 4.
const CONVOLUTION: &str = r#"
#include <cudnn.h>
#include <stdio.h>
#define TRY(call) do { int status = (call); if (status) { printf(#call ": %d\n", status); return 1; } } while (0)

int main(void) {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t by;
    float in[9], filter[4] = {1, 2, 3, 4}, out[4], one = 1, zero = 0;
    for (int i = 0; i < 9; i++)
        in[i] = (float)(i + 1);
    printf("%d\n", (int)cudnnGetVersion());
    TRY(cudnnCreate(&handle));
    TRY(cudnnCreateTensorDescriptor(&x));
    TRY(cudnnCreateTensorDescriptor(&y));
    TRY(cudnnCreateFilterDescriptor(&w));
    TRY(cudnnCreateConvolutionDescriptor(&by));
    TRY(cudnnSetTensor4dDescriptor(x, 0, 0, 1, 1, 3, 3));
    TRY(cudnnSetTensor4dDescriptor(y, 0, 0, 1, 1, 2, 2));
    TRY(cudnnSetFilter4dDescriptor(w, 0, 0, 1, 1, 2, 2));
    TRY(cudnnSetConvolution2dDescriptor(by, 0, 0, 1, 1, 1, 1, 1, 0));
    TRY(cudnnConvolutionForward(handle, &one, x, in, w, filter, by, 0, NULL, 0, &zero, y, out));
    printf("%g %g %g %g\n", out[0], out[1], out[2], out[3]);
    return 0;
}
"#;

/// It is one for all tests of this file, which take turns. The simulated driver is installed, and nothing else.
fn windows() -> MutexGuard<'static, Option<Windows>> {
    static ONE: Mutex<Option<Windows>> = Mutex::new(None);
    let mut one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let windows = one.get_or_insert_with(|| Windows::boot("wine-guard"));
    let driver = for_windows(V9_14).join("driver/nvcuda.dll");
    fs::copy(driver, windows.system("nvcuda.dll")).unwrap();
    one
}

/// A program on a machine where PATH begins with these folders.
fn start(windows: &Windows, program: &Path, folders: &[&Path], acts: &[&str], env: &[(&str, &str)]) -> Ran {
    let folders: Vec<String> = folders.iter().map(|folder| path(folder)).collect();
    let folders = folders.join(";");
    let env = [&[("WINEPATH", folders.as_str())], env].concat();
    windows.start(program, acts, &env)
}

/// The guarded program that opens cuDNN itself.
fn guarded(folders: &[&Path], acts: &[&str], env: &[(&str, &str)]) -> Ran {
    let windows = windows();
    let program = built(consumers(), &["-p", "circumstances"], "circumstances");
    start(windows.as_ref().unwrap(), &program, folders, acts, env)
}

fn cudnn(release: (u32, u32, u32)) -> PathBuf {
    for_windows(release).join("bin")
}

/// A copy of these DLLs, which the test changes.
fn changed(name: &str, release: (u32, u32, u32)) -> PathBuf {
    let into = fresh(&format!("wine-guard-{name}"));
    copy(&cudnn(release), &into);
    into
}

/// What `check` tells: the verdict, the ids, and all of it.
fn told(ran: &Ran) -> (String, Vec<String>, Value) {
    let json: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", ran.text()));
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let findings = json["findings"].as_array().unwrap();
    let ids = findings.iter().map(|it| text(&it["id"])).collect();
    (text(&json["verdict"]), ids, json)
}

#[track_caller]
fn must_be(ran: Ran, verdict: &str, ids: &[&str]) -> Value {
    let ran = ran.exits_with(0);
    let (said, found, json) = told(&ran);
    assert_eq!((said.as_str(), found.iter().map(String::as_str).collect::<Vec<_>>()), (verdict, ids.to_vec()), "{json:#}");
    json
}

/// What `check` tells of a sound 9.14 with this fault.
#[track_caller]
fn fault_must_be(fault: &str, verdict: &str, id: &str) -> Value {
    let env = [("SIM_FAULT", fault), ("CUDNN_GUARD_DEADLINE", "20")];
    let ran = guarded(&[&cudnn(V9_14)], &["check"], &env);
    let json = must_be(ran, verdict, &[id]);
    json["findings"][0].clone()
}

/// The simulator itself.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn the_simulated_dlls_compute() {
    let windows = windows();
    for (release, version) in [(V8_9, "8907"), (V9_10, "91002"), (V9_14, "91400"), (V9_28, "92800")] {
        let tree = for_windows(release);
        let dir = scratch("wine-guard-convolution");
        let (source, program_file) = (dir.join("convolution.c"), dir.join(format!("{version}.exe")));
        write_if_new(&source, CONVOLUTION);
        let library = format!("cudnn64_{}.dll", release.0);
        run(program("x86_64-w64-mingw32-gcc").arg("-I").arg(tree.join("include")).arg(&source).arg(tree.join("bin").join(library)).arg("-o").arg(&program_file)).exits_with(0);
        let ran = start(windows.as_ref().unwrap(), &program_file, &[&tree.join("bin")], &[], &[]);
        let ran = ran.exits_with(0);
        assert_eq!(ran.stdout.replace('\r', ""), format!("{version}\n37 47 67 77\n"));
        // What is asked for goes wrong.
        let refused = [("SIM_FAULT", "status:cudnnCreate:1001")];
        start(windows.as_ref().unwrap(), &program_file, &[&tree.join("bin")], &[], &refused).exits_with(1).says("cudnnCreate(&handle): 1001");
    }
}
