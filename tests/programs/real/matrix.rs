//! Every real version built against, every real version loaded, every policy. CUDNN_GUARD_REAL is the directory of
//! `.ci/wheels.py`. Each cell runs in its own process, and its expected verdict is written by hand.

use crate::runtime::guard::farm::library;
use crate::runtime::matrix as table;
use cudnn_guard::internals::check;
use cudnn_guard::internals::facts::Loader;
use cudnn_guard::internals::system::platform::Library;
use std::io::Write;
use std::process::Command;

/// The loaded versions, oldest first: the columns of the tables below.
const LOADED: [&str; 6] = [
    "cudnn-cu11-8.5",
    "cudnn-cu12-8.9.7",
    "cudnn-cu12-9.1.0",
    "cudnn-cu12-9.10",
    "cudnn-cu13-9.14",
    "cudnn-cu13-9.28",
];

/// The version or requirement of the build, and the verdict of each column in the notation of `table::verdict`.
type Row = (&'static str, &'static str);

const COMPATIBLE: &[Row] = &[
    //            8.5 8.9.7 9.1 9.10 9.14 9.28
    ("8.5.0", /*  */ "= = ? ? ? ?"),
    ("8.9.7", /*  */ "x = ? ? ? ?"),
    ("9.1.0", /*  */ "? ? = = = ="),
    ("9.10.2", /* */ "? ? x = = ="),
    ("9.14.0", /* */ "? ? x x = ="),
    ("9.28.0", /* */ "? ? x x x ="),
    // The patch level is free, in both directions.
    ("9.10.9", /* */ "? ? x = = ="),
    ("8.9.0", /*  */ "x = ? ? ? ?"),
];
const SAME_MINOR: &[Row] = &[
    ("8.5.0", "= x ? ? ? ?"),
    ("8.9.7", "x = ? ? ? ?"),
    ("9.1.0", "? ? = x x x"),
    ("9.10.2", "? ? x = x x"),
    ("9.14.0", "? ? x x = x"),
    ("9.28.0", "? ? x x x ="),
    ("9.10.9", "? ? x = x x"),
    ("8.9.0", "x = ? ? ? ?"),
];
const EXACT: &[Row] = &[
    ("8.5.0", "= x ? ? ? ?"),
    ("8.9.7", "x = ? ? ? ?"),
    ("9.1.0", "? ? = x x x"),
    ("9.10.2", "? ? x = x x"),
    ("9.14.0", "? ? x x = x"),
    ("9.28.0", "? ? x x x ="),
    ("9.10.9", "? ? x x x x"),
    ("8.9.0", "x x ? ? ? ?"),
];
const REQUIREMENT: &[Row] = &[
    (">=8.5, <9", "= = ? ? ? ?"),
    (">=8.9, <10", "x = = = = ="),
    (">=9, <10", "? ? = = = ="),
    (">=9.10.2, <9.28", "? ? x = = x"),
    ("=9.14.0", "? ? x x = x"),
    (">=9.28", "? ? x x x ="),
    (">=8.6", "x = = = = ="),
];

/// Runs one cell, and returns the verdict with the ids of the findings, and the findings. A linked program loads its
/// cuDNN before `main`, whichever version it is. Any other program opens cuDNN by the SONAME of its major.
fn cell(policy: &str, built: &str, loaded: &str, linked: bool) -> (String, String) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "real::matrix::program",
            "--exact",
            "--ignored",
            "--nocapture",
            "--quiet",
        ])
        .env("LD_LIBRARY_PATH", library(loaded))
        .env("TEST_POLICY", policy)
        .env("TEST_BUILT", built)
        .env("TEST_LINKED", if linked { loaded } else { "" })
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    let (verdict, findings) = text.split_once('\n').expect(&text);
    (verdict.to_string(), findings.to_string())
}

#[test]
#[ignore = "this is the program that the other tests run"]
fn program() {
    let Ok(policy) = std::env::var("TEST_POLICY") else {
        return;
    };
    let text = std::env::var("TEST_BUILT").unwrap();
    let linked = std::env::var("TEST_LINKED").unwrap();
    let loader = if linked.is_empty() {
        Loader::Dlopen
    } else {
        Loader::Linked
    };
    let built = table::built(&policy, &text, loader);
    if !linked.is_empty() {
        let major = if linked.contains("-8.") { 8 } else { 9 };
        Library::open(&format!("libcudnn.so.{major}")).unwrap();
    }
    let (verdict, findings) = match check::check_version(&built) {
        Ok(report) => (report.verdict(), report.findings().to_vec()),
        Err(failure) => (failure.verdict(), failure.findings().to_vec()),
    };
    let mut text = verdict.to_string();
    for finding in &findings {
        text += &format!(" {}", finding.id);
    }
    for finding in &findings {
        text += &format!("\n{finding}");
    }
    writeln!(std::io::stderr(), "{text}").unwrap();
}

#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn every_cell_has_its_verdict() {
    let mut wrong = String::new();
    let mut cells = 0;
    let mut row = |policy: &str, built: &str, wanted: &str| {
        let wanted: Vec<&str> = wanted.split(' ').collect();
        assert_eq!(wanted.len(), LOADED.len(), "{built}");
        for (loaded, wanted) in LOADED.into_iter().zip(wanted) {
            for linked in [false, true] {
                let wanted = table::verdict(wanted, linked);
                let (found, text) = cell(policy, built, loaded, linked);
                cells += 1;
                if found != wanted {
                    let way = if linked { "linked" } else { "opened" };
                    wrong += &format!(
                        "{policy}, {built}, {loaded} {way}: {found}, not {wanted}\n{text}\n"
                    );
                }
            }
        }
    };
    for (policy, rows) in [
        ("compatible", COMPATIBLE),
        ("same minor", SAME_MINOR),
        ("exact", EXACT),
        ("requirement", REQUIREMENT),
    ] {
        for (built, wanted) in rows {
            row(policy, built, wanted);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(cells, 372);
}
