//! A guarded program on Windows, under Wine, with a simulated cuDNN as DLLs. `.ci/foreign` installs the requirements.

pub mod cudarc;
pub mod driver;
pub mod msvc;
pub mod processes;
pub mod reports;

use crate::support::simulated::{copy, for_windows};
use crate::support::{Ran, consumers, fresh, program, run, scratch, write_if_new};
use crate::windows::wine::windows::{Windows, built, path};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

type Release = (u32, u32, u32);

const V8_9: Release = (8, 9, 7);
const V9_1: Release = (9, 1, 0);
const V9_10: Release = (9, 10, 2);
const V9_14: Release = (9, 14, 0);
const V9_28: Release = (9, 28, 0);

/// Calls cuDNN as any program does, with the numbers 1 to 9 and 1 to 4. The memory of the simulated GPU is ordinary
/// memory.
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

/// Returns the Windows that all tests of this file share, one at a time. It has the simulated driver, but no cuDNN.
pub fn windows() -> MutexGuard<'static, Windows> {
    static ONE: LazyLock<Mutex<Windows>> =
        LazyLock::new(|| Mutex::new(Windows::boot("wine-guard")));
    let windows = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let driver = for_windows(V9_14).join("driver/nvcuda.dll");
    fs::copy(driver, windows.system("nvcuda.dll")).unwrap();
    windows
}

/// Runs a program with these directories at the start of PATH.
fn start(
    windows: &Windows,
    program: &Path,
    folders: &[&Path],
    arguments: &[&str],
    env: &[(&str, &str)],
) -> Ran {
    let folders: Vec<String> = folders.iter().map(|folder| path(folder)).collect();
    let first = folders.join(";");
    let env = [&[("WINEPATH", &first[..])], env].concat();
    windows.start(program, arguments, &env)
}

fn circumstances() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| built(consumers(), &["-p", "circumstances"], "circumstances"))
}

/// Runs the program that opens cuDNN itself, guarded for `>=9.10, <10`.
fn guarded(windows: &Windows, folders: &[&Path], acts: &[&str], env: &[(&str, &str)]) -> Ran {
    start(windows, circumstances(), folders, acts, env)
}

fn cudnn(release: Release) -> PathBuf {
    for_windows(release).join("bin")
}

/// Copies these DLLs, so that a test can change them.
fn copied(name: &str, release: Release) -> PathBuf {
    let into = fresh(&format!("wine-guard-{name}"));
    copy(&cudnn(release), &into);
    into
}

/// The report of `check`.
struct Report(Value);

impl Report {
    /// Runs `check` with the simulated driver, these directories at the start of PATH and these variables.
    #[track_caller]
    fn by_check(folders: &[&Path], env: &[(&str, &str)]) -> Self {
        let windows = &*windows();
        let ran = guarded(windows, folders, &["check"], env).exits_with(0);
        let json = serde_json::from_str(&ran.stdout);
        Self(json.unwrap_or_else(|error| panic!("{error}: {}", ran.text())))
    }

    /// Runs `check` on a working 9.14 with this simulated fault.
    #[track_caller]
    fn of_fault(fault: &str) -> Self {
        Self::by_check(&[&cudnn(V9_14)], &[("SIM_FAULT", fault)])
    }

    /// Checks the verdict and the first finding. Findings that may be its cause can follow.
    #[track_caller]
    fn must_be(self, verdict: &str, id: &str) -> Self {
        let first = self.0["findings"][0]["id"].as_str().unwrap_or_default();
        let actual = self.0["verdict"].as_str().unwrap();
        assert_eq!((actual, first), (verdict, id), "{:#}", self.0);
        self
    }

    /// Checks that convolutions were tested, and that all of them passed.
    #[track_caller]
    fn must_have_tested(self) {
        let report = self.must_be("pass", "").0;
        let rows = report["convolution"].as_array().unwrap();
        assert!(!rows.is_empty(), "{report:#}");
        assert!(rows.iter().all(|row| row["verdict"] == "pass"), "{rows:?}");
    }

    /// Checks the headline and the evidence of the first finding.
    #[track_caller]
    fn says(self, words: &str) -> Self {
        let first = &self.0["findings"][0];
        let text = format!("{} {}", first["summary"], first["evidence"]);
        assert!(text.contains(words), "no {words:?} in {text}");
        self
    }
}

/// The simulator itself, without a guard.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn the_simulated_dlls_compute() {
    let windows = &*windows();
    let dir = scratch("wine-guard-convolution");
    let source = dir.join("convolution.c");
    write_if_new(&source, CONVOLUTION);
    for release in [V8_9, V9_10, V9_14, V9_28] {
        let (major, minor, patch) = release;
        let tree = for_windows(release);
        let bin = tree.join("bin");
        let program_file = dir.join(format!("{major}.{minor}.{patch}.exe"));
        run(program("x86_64-w64-mingw32-gcc")
            .arg("-I")
            .arg(tree.join("include"))
            .arg(&source)
            .arg(bin.join(format!("cudnn64_{major}.dll")))
            .arg("-o")
            .arg(&program_file))
        .exits_with(0);
        let unit = if major == 8 { 1000 } else { 10_000 };
        let version = major * unit + minor * 100 + patch;
        let started = |env: &[(&str, &str)]| start(windows, &program_file, &[&bin], &[], env);
        let output = started(&[]).exits_with(0).stdout;
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines, [&version.to_string(), "37 47 67 77"]);
        started(&[("SIM_FAULT", "status:cudnnCreate:1001")])
            .exits_with(1)
            .says("cudnnCreate(&handle): 1001");
        // The low byte of 0xC0000409, and the message printed before the abort.
        started(&[("SIM_FAULT", "abort:cudnnConvolutionForward")])
            .exits_with(9)
            .says("simulated: giving up in cudnnConvolutionForward");
    }
}

/// The properties of each DLL, as Windows tools and the guard read them.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn the_simulated_dlls_have_their_version_in_the_same_place_as_nvidias() {
    use cudnn_guard::internals::binary::pe::Pe;
    use cudnn_guard::internals::facts::VersionSource;
    let describe = |release: Release, part: &str| {
        let (name, major) = (part.replace("cudnn_", ""), release.0);
        let file = cudnn(release).join(format!("{part}64_{major}.dll"));
        let pe = Pe::read(&file).unwrap();
        let (version, symbol) = pe.release(&name).unzip();
        let version = version.map_or_else(|| "none".to_string(), |it| it.to_string());
        let mut needs = pe.needs();
        needs.retain(|name| name.starts_with("cudnn"));
        let needs = needs.join(" ");
        let symbol = match symbol {
            Some(VersionSource::Symbol(symbol)) => symbol,
            _ => "",
        };
        format!("{version} {symbol} {needs}")
    };
    for (part, is) in [
        ("cudnn", "9.28.0  "),
        ("cudnn_graph", "9.28.0 cudnn_graph_version "),
        (
            "cudnn_ops",
            "9.28.0 cudnn_ops_infer_version cudnn_graph64_9.dll",
        ),
        ("cudnn_cnn", "9.28.0  cudnn_graph64_9.dll cudnn_ops64_9.dll"),
        ("cudnn_heuristic", "none  cudnn_graph64_9.dll"),
        ("cudnn_engines_precompiled", "9.28.0  cudnn_graph64_9.dll"),
    ] {
        assert_eq!(describe(V9_28, part), is, "{part}");
    }
    assert_eq!(
        describe(V8_9, "cudnn_cnn_train"),
        "8.9.7  cudnn_cnn_infer64_8.dll cudnn_ops_infer64_8.dll cudnn_ops_train64_8.dll"
    );
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_valid_cudnn_passes() {
    for release in [V9_14, V9_28] {
        Report::by_check(&[&cudnn(release)], &[]).must_have_tested();
    }
    let windows = &*windows();
    let acts = ["startup", "went-on"];
    let ran = guarded(windows, &[&cudnn(V9_14)], &acts, &[]).exits_with(0);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("went on\n", "")
    );
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_crash_is_reported_with_its_exception_code() {
    let doing = "running the forward convolution in f32 (NCHW, IMPLICIT_PRECOMP_GEMM)";
    for (how, code) in [("abort", "0xC0000409"), ("segv", "0xC0000005")] {
        let report = Report::of_fault(&format!("{how}:cudnnConvolutionForward"));
        let report = report.must_be("fail", "cudnn-aborted");
        let report = report.says(code).says(doing);
        if how == "abort" {
            report.says("simulated: giving up in cudnnConvolutionForward");
        }
    }
    let windows = &*windows();
    let fault = [("SIM_FAULT", "segv:cudnnCreate")];
    let acts = ["startup", "went-on"];
    guarded(windows, &[&cudnn(V9_14)], &acts, &fault)
        .exits_with(78)
        .says("[cudnn-aborted]")
        .does_not_say("went on");
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn a_hang_is_reported_at_the_deadline() {
    let env = [
        ("SIM_FAULT", "hang:cudnnConvolutionForward"),
        ("CUDNN_GUARD_DEADLINE", "5"),
    ];
    Report::by_check(&[&cudnn(V9_14)], &env).must_be("unknown", "convolution-timeout");
}

#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn without_a_driver_nothing_is_tested() {
    let windows = &*windows();
    fs::remove_file(windows.system("nvcuda.dll")).unwrap();
    let ran = guarded(windows, &[&cudnn(V9_14)], &["check"], &[]).exits_with(0);
    let json = serde_json::from_str(&ran.stdout).unwrap();
    Report(json).must_be("unknown", "driver-missing");
    let acts = ["startup", "went-on"];
    guarded(windows, &[&cudnn(V9_14)], &acts, &[])
        .exits_with(0)
        .says("[driver-missing]")
        .says("went on");
}
