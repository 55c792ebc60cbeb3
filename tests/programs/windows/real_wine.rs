//! A guarded program on Windows, under Wine, with NVIDIA's own DLLs. `.ci/foreign` installs the requirements, and
//! CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`.
//!
//! There is no driver under Wine, so a program with a working cuDNN reports that and continues.

pub mod agreement;
pub mod farm;
pub mod faults;
pub mod held_open;
pub mod judged;
pub mod layouts;
pub mod sound;
pub mod texts;
pub mod unfit;
pub mod unsearched;

use cudnn_guard::internals::facts::built::Loader;
use cudnn_guard::internals::facts::record;
use farm::Farm;
use judged::{Start, ids, windows};

const V8_9_5: &str = "cudnn-win-cu11-8.9.5";
const V8_9_7: &str = "cudnn-win-cu12-8.9.7";
const V9_10: &str = "cudnn-win-cu11-9.10";
const V9_14: &str = "cudnn-win-cu13-9.14";
const V9_28_CUDA_12: &str = "cudnn-win-cu12-9.28";
const V9_28: &str = "cudnn-win-cu13-9.28";

/// The version of each file, and the source of the version.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn versions_sub_libraries_and_paths_match_the_files() {
    let of_8 = [
        "ops_infer S",
        "cnn_infer S",
        "adv_infer S",
        "adv_train R",
        "cnn_train R",
        "ops_train S",
    ];
    let of_9 = [
        "graph S",
        "ops S",
        "cnn R",
        "heuristic -",
        "engines_precompiled R",
        "engines_runtime_compiled R",
        "adv S",
    ];
    let of_9_28 = [
        "graph S",
        "ops S",
        "cnn R",
        "heuristic -",
        "engines_precompiled R",
        "engines_runtime_compiled R",
        "engines_tensor_ir -",
        "adv S",
        "ext R",
    ];
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    for (set, release, parts) in [
        (V8_9_5, "8.9.5", &of_8[..]),
        (V8_9_7, "8.9.7", &of_8),
        (V9_10, "9.10.2", &of_9),
        (V9_14, "9.14.0", &of_9),
        (V9_28, "9.28.0", &of_9_28),
    ] {
        let farm = Farm::of(windows, "cuDNN", set);
        let report = Start::of("eight").path(&farm.path).json(windows, "version");
        let (loaded, major) = (&report["loaded"], &release[..1]);
        assert_eq!(report["verdict"], "pass", "{report:#}");
        assert_eq!(loaded["version"], release);
        assert_eq!(
            loaded["path"],
            format!("{}\\cudnn64_{major}.dll", farm.path)
        );
        assert_eq!(
            loaded["found_via"],
            format!("PATH, its entry `{}`", farm.path)
        );
        let mut found = Vec::new();
        for part in loaded["parts"].as_array().unwrap() {
            let name = part["name"].as_str().unwrap();
            let file = format!("{}\\cudnn_{name}64_{major}.dll", farm.path);
            assert_eq!(part["path"], file);
            let by = match part["told_by"].as_str() {
                Some("version symbol") => "S",
                Some("version resource") => "R",
                other => other.unwrap_or("-"),
            };
            assert_eq!(part["version"].as_str(), (by != "-").then_some(release));
            found.push(format!("{name} {by}"));
        }
        assert_eq!(found, parts, "{release}");
    }
}

/// The loaded versions, oldest first: the columns of the tables below.
const LOADED: [&str; 5] = [V8_9_5, V8_9_7, V9_10, V9_14, V9_28];

/// A version built with or a requirement, and the verdict of each column in the notation of
/// `crate::runtime::matrix::verdict`.
type Row = (&'static str, &'static str);

const COMPATIBLE: &[Row] = &[
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
const SAME_MINOR: &[Row] = &[
    ("8.9.5", "= = ? ? ?"),
    ("8.9.7", "= = ? ? ?"),
    ("9.10.2", "? ? = x x"),
    ("9.14.0", "? ? x = x"),
    ("9.28.0", "? ? x x ="),
    ("9.10.9", "? ? = x x"),
    ("8.9.0", "= = ? ? ?"),
];
const EXACT: &[Row] = &[
    ("8.9.5", "= x ? ? ?"),
    ("8.9.7", "x = ? ? ?"),
    ("9.10.2", "? ? = x x"),
    ("9.14.0", "? ? x = x"),
    ("9.28.0", "? ? x x ="),
    ("9.10.9", "? ? x x x"),
    ("8.9.0", "x x ? ? ?"),
];
const REQUIREMENT: &[Row] = &[
    (">=8.5, <9", "= = ? ? ?"),
    (">=8.9, <10", "= = = = ="),
    (">=9, <10", "? ? = = ="),
    (">=9.10.2, <9.28", "? ? = = x"),
    ("=9.14.0", "? ? x = x"),
    (">=9.28", "? ? x x ="),
    (">=8.6", "= = = = ="),
];

/// Each cell is a separate process.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn every_cell_has_the_expected_verdict() {
    let windows = windows();
    let windows = windows.as_ref().unwrap();
    let (mut wrong, mut cells) = (String::new(), 0);
    for (column, set) in LOADED.into_iter().enumerate() {
        let farm = Farm::of(windows, "cuDNN", set);
        let major = if column < 2 { 8 } else { 9 };
        for (policy, rows) in [
            ("compatible", COMPATIBLE),
            ("same minor", SAME_MINOR),
            ("exact", EXACT),
            ("requirement", REQUIREMENT),
        ] {
            for (built, wanted) in rows {
                for linked in [false, true] {
                    let mut start = Start::of("nine").path(&farm.path);
                    let loader = if linked {
                        start = start.does(&["load", &format!("cudnn64_{major}.dll")]);
                        Loader::Linked
                    } else {
                        Loader::Dlopen
                    };
                    let record =
                        record::text(&crate::runtime::matrix::built(policy, built, loader));
                    let report = start.does(&["as-built", &record]).last_json(windows);
                    let mut found = report["verdict"].as_str().unwrap().to_string();
                    for id in ids(&report) {
                        found += &format!(" {id}");
                    }
                    let cell = wanted.split(' ').nth(column).unwrap();
                    let wanted = crate::runtime::matrix::verdict(cell, linked);
                    cells += 1;
                    if found != wanted {
                        let way = if linked { "linked" } else { "opened" };
                        wrong += &format!(
                            "{policy}, {built}, {set} {way}: {found}, not {wanted}\n{report:#}\n"
                        );
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(cells, 280);
}
