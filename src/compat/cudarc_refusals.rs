//! The reasons why a cudarc in `Cargo.lock` does not accept the CUDA or the cuDNN of this machine, according to its own
//! sources: it has no bindings for the version, or it does not open the libraries by their names.

use crate::compat::cargo_lock::texts;
use crate::compat::cudarc_sources::{CHOICE, CUDA, CUDNN, LockedCudarc};
use crate::model::{Cudnn, Environment, Os, Toolkit};
use crate::runtime::facts::Version;
use crate::runtime::system::DRIVER_SO;
use crate::system::{files, programs};
use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};

/// The suffix of the features with which its build script detects a version.
pub const DETECT: &str = "version-from-build-system";

/// The prefixes of these features, and the messages with which the build script rejects a version.
const DETECTED: [(&str, &str); 2] = [
    (CUDA, "Unsupported cuda toolkit version"),
    (CUDNN, "Unsupported cuDNN version"),
];

/// The feature with which its build script accepts any version.
pub const ANY: &str = "fallback-latest";

/// The installations that a program gets on this machine.
pub struct Installed<'a> {
    pub env: &'a Environment,
    pub os: Os,
    pub toolkit: Option<&'a Toolkit>,
    pub cudnn: Option<&'a Cudnn>,
    /// The newest CUDA that the driver supports.
    pub driver: Option<Version>,
    /// Returns the file that the loader uses for a name.
    pub loads: &'a dyn Fn(&str) -> Option<PathBuf>,
}

/// A reason why a cudarc does not accept an installation.
pub enum CudarcRefusal {
    /// Two features that exclude each other, and what enables them.
    Exclusive([(String, String); 2]),
    /// Its build script runs nvcc, which is not on PATH: the toolkit's nvcc, and a CUDA version to choose instead.
    NoNvcc(Option<PathBuf>, Option<Version>),
    /// A version for which cudarc has no bindings, so that its build script fails.
    Unlisted {
        /// The prefix of its features.
        prefix: &'static str,
        version: Version,
        /// The versions for which it has bindings, in ascending order.
        listed: Vec<Version>,
        /// The newest of them that the installation and the driver support.
        choice: Option<Version>,
        /// `true` if cudarc has a feature that accepts any version.
        has_any: bool,
    },
    /// A library that cudarc does not open by any of its names.
    Unopened {
        library: PathBuf,
        /// The names that it opens, in its order.
        names: Vec<String>,
        /// The way to choose a CUDA version, if the library is of another major: the feature or variable without the
        /// version, and the version. A second choice would not compile.
        other_cuda: Option<(&'static str, Version)>,
        /// The newest CUDA of the library's major that cudarc and the driver support.
        choice: Option<Version>,
    },
}

/// Returns the reasons why a cudarc does not accept what is installed.
pub fn find(cudarc: &LockedCudarc, installed: &Installed) -> Vec<CudarcRefusal> {
    let cuda = installed.toolkit.and_then(|toolkit| toolkit.version);
    let is_chosen = is_chosen(cudarc, installed.env);
    let cuda = cuda.filter(|_| !is_chosen && !has_other_nvcc(installed));
    let driver = installed.driver;
    let cudnn = installed.cudnn.and_then(|cudnn| cudnn.header_version);
    let exclusive = cudarc.exclusive(installed.env);
    let mut found = Vec::new();
    found.extend(exclusive.map(CudarcRefusal::Exclusive));
    let runs_nvcc = cudarc.has(&format!("{CUDA}{DETECT}")) && !cudarc.has(ANY) && !is_chosen;
    let runs_nvcc = runs_nvcc && cudarc.build_script.contains("Command::new(\"nvcc\")");
    if runs_nvcc && nvcc_on_path(installed.env).is_none() {
        let nvcc = installed.toolkit.and_then(|one| one.nvcc.clone());
        let listed = cudarc.listed(CUDA);
        let newest = cuda.or(driver).or(listed.last().copied());
        let choice = newest.and_then(|newest| choice(&listed, newest, driver));
        found.push(CudarcRefusal::NoNvcc(nvcc, choice));
    }
    for (detected, version) in DETECTED.into_iter().zip([cuda, cudnn]) {
        found.extend(version.and_then(|version| unlisted(cudarc, detected, version, driver)));
    }
    for library in cudarc.opened_libraries() {
        found.extend(unopened(cudarc, &library, installed));
    }
    found
}

/// Returns the only CUDA that a feature or the variable chooses, with `true`, or else the newest that the build script
/// accepts. `None` if the build script accepts any, or it is unknown.
pub fn newest_accepted(cudarc: &LockedCudarc, env: &Environment) -> Option<(Version, bool)> {
    if let [version] = chosen(cudarc, env).1[..] {
        return Some((version, true));
    }
    let newer = Version::new(u32::MAX, 0, 0);
    let accepts_newer =
        is_chosen(cudarc, env) || unlisted(cudarc, DETECTED[0], newer, None).is_none();
    let newest = cudarc.listed(CUDA).pop()?;
    (!accepts_newer).then_some((newest, false))
}

/// Returns `true` if a feature or the variable, which cargo may set for a build, chooses the CUDA version.
fn is_chosen(cudarc: &LockedCudarc, env: &Environment) -> bool {
    !chosen(cudarc, env).1.is_empty()
        || texts(env, ".cargo/config.toml").any(|text| text.contains(CHOICE))
}

/// Returns `true` if the nvcc on PATH, which cudarc would run, belongs to another toolkit.
fn has_other_nvcc(installed: &Installed) -> bool {
    let real = |nvcc: &Path| files::canonical(nvcc, None).ok();
    let own = installed
        .toolkit
        .and_then(|toolkit| real(toolkit.nvcc.as_deref()?));
    nvcc_on_path(installed.env).is_some_and(|nvcc| real(&nvcc) != own)
}

fn nvcc_on_path(env: &Environment) -> Option<PathBuf> {
    programs::on_path(&format!("nvcc{EXE_SUFFIX}"), env.os_var("PATH")?)
}

/// Checks a version that the build script detects. A CUDA that is older than the newest listed one is not a fault.
fn unlisted(
    cudarc: &LockedCudarc,
    (prefix, refusal): (&'static str, &str),
    version: Version,
    driver: Option<Version>,
) -> Option<CudarcRefusal> {
    let listed = cudarc.listed(prefix);
    let is_it = |one: &Version| (one.major, one.minor) == (version.major, version.minor);
    let is_older = prefix == CUDA && version < *listed.last()?;
    let (before, _) = cudarc.build_script.rsplit_once(refusal)?;
    // The line before the message names the feature.
    let has_any = before.lines().rev().take(3).any(|line| line.contains(ANY));
    let is_accepted = listed.is_empty() || listed.iter().any(is_it) || is_older;
    if is_accepted || has_any && cudarc.has(ANY) || !cudarc.has(&format!("{prefix}{DETECT}")) {
        return None;
    }
    let driver = driver.filter(|_| prefix == CUDA);
    Some(CudarcRefusal::Unlisted {
        choice: choice(&listed, version, driver),
        prefix,
        version,
        listed,
        has_any,
    })
}

/// Returns the CUDA versions that the variable or features choose, and the text before the version in them.
fn chosen(cudarc: &LockedCudarc, env: &Environment) -> (&'static str, Vec<Version>) {
    let number = env.var(CHOICE).and_then(|text| text.parse().ok());
    match number.filter(|_| cudarc.reads_variable()) {
        Some(number) => ("CUDARC_CUDA_VERSION=", vec![Version::from_cuda(number)]),
        None => (CUDA, cudarc.chosen(CUDA)),
    }
}

/// Checks the names by which the program opens a library.
fn unopened(cudarc: &LockedCudarc, library: &str, installed: &Installed) -> Option<CudarcRefusal> {
    let toolkit = installed.toolkit.and_then(|toolkit| toolkit.version);
    let directory = |file: &Path| Vec::from_iter(file.parent().map(PathBuf::from));
    let (dirs, toolkit) = match library {
        "cudnn" => (directory(installed.cudnn?.library.as_deref()?), None),
        "cuda" => (directory(&(installed.loads)(DRIVER_SO)?), None),
        // Windows searches for DLLs in other directories than the linker.
        _ if installed.os == Os::Windows => {
            let bin = installed.toolkit?.root.join("bin");
            (vec![bin.join("x64"), bin], Some(toolkit?))
        }
        _ => (installed.toolkit?.link_dirs.clone(), Some(toolkit?)),
    };
    let (choice_of, mut cudas) = chosen(cudarc, installed.env);
    if cudas.is_empty() {
        cudas.extend(toolkit);
    }
    let names = cudarc.opened_names(library, &cudas, installed.os)?;
    let start = match installed.os {
        Os::Windows => format!("{library}64_"),
        _ => format!("lib{library}.so"),
    };
    // NVRTC also has a file `nvrtc64_120_0.alt.dll`.
    let is_of_library = |name: &str| name.starts_with(&start) && !name.contains(".alt.");
    let list = |dir: &PathBuf| files::list_named(dir, &is_of_library).unwrap_or_default();
    let mut files = dirs.iter().flat_map(list);
    let library = files.find(|file| files::is_file(file))?;
    let is_opened = |name: &String| {
        let mut files = dirs.iter().map(|dir| dir.join(name));
        files.any(|file| files::is_file(&file)) || (installed.loads)(name).is_some()
    };
    // A link would make the program load a library of another CUDA.
    let other = toolkit.filter(|toolkit| cudas.iter().all(|cuda| cuda.major != toolkit.major));
    let choice = other.and_then(|cuda| choice(&cudarc.listed(CUDA), cuda, installed.driver));
    (!names.iter().any(is_opened)).then(|| CudarcRefusal::Unopened {
        other_cuda: other.and_then(|_| Some((choice_of, *cudas.last()?))),
        choice: choice.filter(|choice| other.is_some_and(|cuda| cuda.major == choice.major)),
        library,
        names,
    })
}

/// Returns the newest version that an installation of this version and the driver support.
fn choice(listed: &[Version], version: Version, driver: Option<Version>) -> Option<Version> {
    let newest = driver.map_or(version, |driver| driver.min(version));
    listed.iter().rfind(|one| **one <= newest).copied()
}

#[cfg(test)]
mod tests;
