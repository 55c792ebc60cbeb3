//! A guarded program on Windows, under Wine, with NVIDIA's own DLLs. `.ci/foreign` installs the requirements, and
//! CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`.
//!
//! There is no driver under Wine, so a program with a working cuDNN reports that and continues.

pub mod farm;
pub mod judged;
pub mod layouts;
pub mod setups;
pub mod unsearched;

use cudnn_guard::internals::facts::{Loader, record};
use farm::Farm;
use judged::{Start, ids, windows};

const V8_9_5: &str = "cudnn-win-cu11-8.9.5";
const V8_9_7: &str = "cudnn-win-cu12-8.9.7";
const V9_10: &str = "cudnn-win-cu11-9.10";
const V9_14: &str = "cudnn-win-cu13-9.14";
const V9_28_CUDA_12: &str = "cudnn-win-cu12-9.28";
const V9_28: &str = "cudnn-win-cu13-9.28";

/// The version of each file, and the source of the version: S is a symbol, R a resource.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn versions_sub_libraries_and_paths_match_the_files() {
    let of_8 = "ops_infer S cnn_infer S adv_infer S adv_train R cnn_train R ops_train S";
    let of_9 = "graph S ops S cnn R heuristic - engines_precompiled R engines_runtime_compiled R \
                engines_tensor_ir - adv S ext R";
    let windows = &*windows();
    for (set, release, parts, way, found_via) in [
        (
            "8.9.7",
            "8.9.7",
            of_8,
            r"PATH C:\cuDNN",
            r"PATH, its entry `C:\cuDNN`",
        ),
        (
            "9.28",
            "9.28.0",
            of_9,
            r"does default-directories, does add-dll-directory C:\cuDNN",
            r"a directory added by AddDllDirectory, `C:\cuDNN`",
        ),
    ] {
        Farm::of(windows, "cuDNN", set);
        let report = Start::parse(windows, "eight", way).json(windows, "version");
        let (loaded, major) = (&report["loaded"], &release[..1]);
        assert_eq!(report["verdict"], "pass", "{report:#}");
        assert_eq!(loaded["version"], release);
        let file = |name: &str| format!(r"C:\cuDNN\cudnn{name}64_{major}.dll");
        assert_eq!(loaded["path"], file(""));
        assert_eq!(loaded["found_via"], found_via);
        let mut found = Vec::new();
        for part in loaded["parts"].as_array().unwrap() {
            let name = part["name"].as_str().unwrap();
            assert_eq!(part["path"], file(&format!("_{name}")));
            let by = match part["told_by"].as_str() {
                Some("version symbol") => "S",
                Some("version resource") => "R",
                other => other.unwrap_or("-"),
            };
            assert_eq!(part["version"].as_str(), (by != "-").then_some(release));
            found.extend([name, by]);
        }
        assert_eq!(found.join(" "), parts, "{release}");
    }
}

/// The loaded versions, oldest first: the columns of the table below.
const LOADED: [&str; 5] = ["8.9.5", "8.9.7", "9.10", "9.14", "9.28"];

/// A version built with, and the verdict of each column in the notation of `crate::runtime::matrix::verdict`.
const COMPATIBLE: &[(&str, &str)] = &[
    //            8.9.5 8.9.7 9.10 9.14 9.28
    ("8.9.5", /*  */ "= = ? ? ?"),
    ("8.9.7", /*  */ "= = ? ? ?"),
    ("9.10.2", /* */ "? ? = = ="),
    ("9.14.0", /* */ "? ? x = ="),
    ("9.28.0", /* */ "? ? x x ="),
    // The patch level does not matter, in either direction.
    ("9.10.9", /* */ "? ? = = ="),
    ("8.9.0", /*  */ "= = ? ? ?"),
];

/// A check opens no cuDNN of another major version, so a process checks a column: the other major version first.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn every_cell_has_the_expected_verdict() {
    let windows = &*windows();
    for (column, set) in LOADED.into_iter().enumerate() {
        let farm = Farm::of(windows, "cuDNN", set);
        let major = &set[..1];
        let (own, other) = COMPATIBLE
            .iter()
            .partition::<Vec<_>, _>(|row| row.0.starts_with(major));
        for linked in [false, true] {
            let mut start = Start::of("nine").path(&farm.path);
            let mut loader = Loader::Dlopen;
            if linked {
                start = start.does(&["load", &format!("cudnn64_{major}.dll")]);
                loader = Loader::Linked;
            }
            let mut expected = Vec::new();
            for (built, cells) in other.iter().chain(&own) {
                let built = crate::runtime::matrix::built("compatible", built, loader);
                start = start.does(&["as-built", &record::text(&built)]);
                let cell = cells.split(' ').nth(column).unwrap();
                expected.push(crate::runtime::matrix::verdict(cell, linked));
            }
            let ran = start.run(windows, &[]).exits_with(0);
            let verdict = |line: &str| {
                let report: serde_json::Value = serde_json::from_str(line).unwrap();
                let verdict = [report["verdict"].as_str().unwrap()];
                verdict
                    .into_iter()
                    .chain(ids(&report))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            let found: Vec<String> = ran.stdout.lines().map(verdict).collect();
            assert_eq!(found, expected, "{set} {linked}: {}", ran.stdout);
        }
    }
}
