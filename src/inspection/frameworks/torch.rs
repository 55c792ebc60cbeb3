//! The PyTorch with which the crate torch-sys is built.

use crate::compat::cargo_lock::{packages, texts};
use crate::compat::cudarc_sources::unpacked;
use crate::inspection::InspectionFault;
use crate::model::{Environment, Installer};
use crate::runtime::facts::{Finding, Version};
use crate::system::files;
use std::path::PathBuf;

/// Returns the reason why torch-sys refuses the first PyTorch above these directories of libraries, or why it computes on
/// the CPU. A Python package has a `version.py`, an unpacked libtorch a `build-version`.
pub fn check(library_dirs: &[PathBuf], is_python: bool, env: &Environment) -> Option<Finding> {
    // Downloads of other versions of torch-sys stay in its output directories.
    let is_named = is_python || env.os_var("LIBTORCH").is_some();
    let name = ["build-version", "version.py"][usize::from(is_python)];
    let mut dirs = library_dirs.iter().filter_map(|dir| dir.parent());
    let dir = dirs.find(|dir| is_named && files::is_file(&dir.join(name)))?;
    let text = files::read(&dir.join(name)).ok()?;
    // A line is `__version__ = '2.9.0+cpu'` or `cuda: Optional[str] = None`.
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(" = ")?.1.trim().trim_matches('\''))
    };
    let version = value("__version__").or((!is_python).then_some(text.trim()))?;
    let pip = is_python.then(|| Installer::of_environment(dir.parent().unwrap_or(dir)).pip());
    if let Some((sys, required)) = required(env) {
        if version.split('+').next() != Some(&required) {
            let fault = InspectionFault::OtherTorch(dir, version, &sys, &required, pip);
            return Some(fault.finding());
        }
    }
    let mut indexes = ["UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"].into_iter();
    let index = indexes.find(|name| is_python && env.os_var(name).is_some());
    let is_for_cpu = version.ends_with("+cpu") || value("cuda") == Some("None");
    is_for_cpu.then(|| InspectionFault::CpuTorch(dir, version, pip, index).finding())
}

/// Returns the version of the locked torch-sys, and the version of PyTorch that its build script requires.
fn required(env: &Environment) -> Option<(String, String)> {
    const BYPASS: &str = "LIBTORCH_BYPASS_VERSION_CHECK";
    let lock = texts(env, "Cargo.lock").next()?;
    let mut locked = packages(&lock).into_iter();
    let sys = locked.find(|one| one.name == "torch-sys")?;
    let script = files::read(&unpacked(sys.name, sys.version, env)?.join("build.rs")).ok()?;
    // Old versions do not compare. The version becomes part of a command.
    let is_compared = script.contains(BYPASS) && env.os_var(BYPASS).is_none();
    let (_, rest) = script.split_once("const TORCH_VERSION: &str = \"")?;
    let version = rest.split('"').next().filter(|_| is_compared)?;
    Version::parse(version)?;
    Some((sys.version.to_string(), version.to_string()))
}
