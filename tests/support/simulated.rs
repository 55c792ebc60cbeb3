//! Simulators for tests, each built once per test binary.
#![allow(dead_code, reason = "each test takes what it needs")]

#[path = "../../src/bin/cudnn-guard/simulator.rs"]
mod simulator;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The simulated installation of this release, all parts there.
#[track_caller]
pub fn simulated(cudnn: (u32, u32, u32)) -> PathBuf {
    tree(cudnn, "whole", |into| build(cudnn, &[], into))
}

/// The same with parts missing.
#[track_caller]
pub fn without(cudnn: (u32, u32, u32), parts: &[&str]) -> PathBuf {
    let whole = simulated(cudnn);
    tree(cudnn, &format!("without-{}", parts.join("-")), |into| {
        for folder in ["include", "lib64", "driver"] {
            fs::create_dir_all(into.join(folder)).unwrap();
            for entry in fs::read_dir(whole.join(folder)).unwrap() {
                let from = entry.unwrap().path();
                let name = from.file_name().unwrap();
                let stem = name.to_str().unwrap().split('.').next().unwrap();
                let part = stem.strip_prefix("libcudnn_").unwrap_or_default();
                if !parts.contains(&part) {
                    fs::copy(&from, into.join(folder).join(name)).unwrap();
                }
            }
        }
    })
}

/// Builds a simulator; what the C compiler says fails the test.
#[track_caller]
pub fn build(cudnn: (u32, u32, u32), leave_out: &[&str], into: &Path) {
    let what = simulator::Simulated {
        cudnn,
        cuda: (13, 0),
        leave_out: leave_out.iter().map(|part| (*part).to_string()).collect(),
    };
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/simulator");
    if let Err(words) = simulator::build(&sources, into, &what) {
        panic!("{words}");
    }
}

/// The folder of this name; what makes it runs once, while other tests wait.
fn tree((major, minor, patch): (u32, u32, u32), name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    static MADE: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);
    let name = format!("{major}.{minor}.{patch}-{name}");
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.get_or_insert_default()
        .entry(name)
        .or_insert_with_key(|name| {
            let into = Path::new(env!("CARGO_TARGET_TMPDIR"))
                .join(concat!(env!("CARGO_CRATE_NAME"), "-trees"))
                .join(name);
            let _ = fs::remove_dir_all(&into);
            make(&into);
            into
        })
        .clone()
}
