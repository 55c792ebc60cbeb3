//! A guarded program on Windows, under Wine, with a simulated cuDNN as DLLs. `.ci/foreign` installs the requirements.

pub mod cudarc;
pub mod driver;
pub mod msvc;
pub mod processes;
pub mod reports;

use crate::support::simulated::{copy, for_windows};
use crate::support::{Ran, consumers, fresh};
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

/// A program of each toolchain. A crash is reported with its exception code.
#[test]
#[ignore = "needs Wine: .ci/foreign"]
fn cudnn_is_tested_in_a_child() {
    let windows = &*windows();
    let (old, sound) = (cudnn(V9_1), cudnn(V9_14));
    for program in [circumstances(), msvc::circumstances()] {
        let startup = |folders: &[&Path], env: &[(&str, &str)]| {
            start(windows, program, folders, &["startup", "went-on"], env)
        };
        let ran = startup(&[&sound], &[]).exits_with(0);
        assert_eq!((&*ran.stdout, &*ran.stderr), ("went on\n", ""));
        startup(&[&old, &sound], &[])
            .exits_with(78)
            .says("[cudnn-version-mismatch]")
            .says(&path(&old))
            .does_not_say("went on");
        startup(&[&sound], &[("SIM_FAULT", "segv:cudnnCreate")])
            .exits_with(78)
            .says("[cudnn-aborted]")
            .does_not_say("went on");
        let check = |release: Release, fault: &str| {
            let deadline = if fault.starts_with("hang") { "5" } else { "60" };
            let env = [("SIM_FAULT", fault), ("CUDNN_GUARD_DEADLINE", deadline)];
            let ran = start(windows, program, &[&cudnn(release)], &["check"], &env);
            Report(serde_json::from_str(&ran.exits_with(0).stdout).unwrap())
        };
        check(V9_14, "").must_have_tested();
        check(V9_28, "").must_have_tested();
        // Eight MiB to each stream.
        check(V9_14, "flood").must_be("pass", "");
        for (how, code) in [("abort", "0xC0000409"), ("segv", "0xC0000005")] {
            check(V9_14, &format!("{how}:cudnnConvolutionForward"))
                .must_be("fail", "cudnn-aborted")
                .says(code)
                .says("running the forward convolution in f32 (NCHW, IMPLICIT_PRECOMP_GEMM)");
        }
        check(V9_14, "abort:cudnnConvolutionForward")
            .says("simulated: giving up in cudnnConvolutionForward");
        check(V9_14, "hang:cudnnConvolutionForward").must_be("unknown", "convolution-timeout");
    }
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
