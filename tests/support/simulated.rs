//! Simulated installations for tests. Each version is compiled once for all test programs, and each test has a copy.
#![allow(dead_code, reason = "each test takes what it needs")]

pub use super::installation::copy;
use super::simulated_windows;
use super::simulator::{self, Release};
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Returns the simulated installation of this version, with all sub-libraries.
#[track_caller]
pub fn simulated(cudnn: Release) -> PathBuf {
    without(cudnn, &[])
}

/// Like [`simulated`], but without these sub-libraries.
#[track_caller]
pub fn without(cudnn: Release, parts: &[&str]) -> PathBuf {
    static MADE: Mutex<Option<BTreeMap<String, PathBuf>>> = Mutex::new(None);
    let (major, minor, patch) = cudnn;
    let name = format!("{major}.{minor}.{patch}-without-{}", parts.join("-"));
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.get_or_insert_default()
        .entry(name)
        .or_insert_with_key(|name| {
            let into = below(concat!(env!("CARGO_CRATE_NAME"), "-trees")).join(name);
            let _ = fs::remove_dir_all(&into);
            install(cudnn, parts, &into);
            into
        })
        .clone()
}

/// Copies this version into the test's own directory, without these sub-libraries.
#[track_caller]
pub fn install(cudnn: Release, leave_out: &[&str], into: &Path) {
    copy(&compiled(cudnn), into);
    let lib64 = into.join("lib64");
    for part in leave_out {
        fs::remove_file(lib64.join(format!("libcudnn_{part}.so.{}", cudnn.0))).unwrap();
        fs::remove_file(lib64.join(format!("libcudnn_{part}.so"))).unwrap();
    }
}

/// Like [`simulated`], but for Windows. No test changes it: see [`copy`].
#[track_caller]
pub fn for_windows(cudnn: Release) -> PathBuf {
    made_once("windows-", cudnn, &simulated_windows::build)
}

/// Returns the installation that all copies are made from.
#[track_caller]
fn compiled(cudnn: Release) -> PathBuf {
    made_once("", cudnn, &|cudnn, into| {
        simulator::build("cc", cudnn, into)
    })
}

/// Returns an installation for all test programs. Its name contains a hash of its sources, so that other sources have
/// another installation. It is moved into place complete, since two test programs may run at the same time.
#[track_caller]
fn made_once(
    system: &str,
    cudnn: Release,
    build: &dyn Fn(Release, &Path) -> Result<(), String>,
) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut hasher = DefaultHasher::new();
    include_str!("simulator.rs").hash(&mut hasher);
    include_str!("simulated_windows.rs").hash(&mut hasher);
    for dir in [simulator::sources(), simulator::sources().join("include")] {
        let entries = fs::read_dir(dir).unwrap().map(|it| it.unwrap().path());
        let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
        files.sort();
        for file in files {
            fs::read(file).unwrap().hash(&mut hasher);
        }
    }
    let (major, minor, patch) = cudnn;
    let name = format!("{system}{major}.{minor}.{patch}-{:016x}", hasher.finish());
    let into = below("simulated").join(&name);
    if !into.is_dir() {
        let making = below("simulated").join(format!("{name}.{}", std::process::id()));
        let _ = fs::remove_dir_all(&making);
        // Any output of the C compiler fails the test.
        if let Err(words) = build(cudnn, &making) {
            panic!("{words}");
        }
        if let Err(error) = fs::rename(&making, &into) {
            assert!(into.is_dir(), "{}: {error}", into.display());
            fs::remove_dir_all(&making).unwrap();
        }
    }
    into
}

fn below(name: &str) -> PathBuf {
    super::temporary().join(name)
}
