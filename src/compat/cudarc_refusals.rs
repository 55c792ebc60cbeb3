//! The reasons why a cudarc in `Cargo.lock` does not accept the CUDA or the cuDNN of this machine, by its own sources:
//! it has no bindings for the version, or it does not open the names of the libraries.

use crate::compat::cudarc_sources::{CUDA, CUDNN, LockedCudarc, update};
use crate::model::candidate::{Cudnn, Toolkit};
use crate::model::environment::Environment;
use crate::model::platform::Os;
use crate::runtime::facts::version::Version;
use crate::runtime::system::names::DRIVER_SO;
use crate::system::files;
use std::path::{Path, PathBuf};

/// The variable that chooses the CUDA version in the newer versions of cudarc.
pub const CHOICE: &str = "CUDARC_CUDA_VERSION";

/// The features with which cudarc learns the CUDA version from nvcc, and the cuDNN version from the headers.
pub const BY_NVCC: &str = "cuda-version-from-build-system";
pub const BY_HEADER: &str = "cudnn-version-from-build-system";

/// The messages with which its build script then refuses a version.
const NO_CUDA: &str = "Unsupported cuda toolkit version";
const NO_CUDNN: &str = "Unsupported cuDNN version";

/// The feature with which its build script accepts any version.
pub const ANY: &str = "fallback-latest";

/// The installations that a program gets on this machine.
#[derive(Clone, Copy)]
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

/// A CUDA version that can be chosen for a cudarc.
pub struct Choice {
    /// The newest that it and the driver support.
    pub cuda: Option<Version>,
    /// `true` if the variable chooses one.
    pub has_variable: bool,
}

/// A reason why a cudarc does not accept an installation.
pub enum Refusal {
    /// Its build script ends, because it has no bindings for the toolkit, which is newer.
    Cuda {
        toolkit: Version,
        newest: Version,
        choice: Choice,
        /// A newer cudarc in the registry that has bindings.
        update: Option<Version>,
        has_any: bool,
    },
    /// Its build script ends, because it has no bindings for the version of the headers.
    Cudnn {
        headers: Version,
        /// The versions for which it has bindings, in ascending order.
        listed: Vec<Version>,
        has_any: bool,
    },
    /// It opens none of the names that a library has.
    Unopened {
        library: PathBuf,
        /// The names that it opens, in its order.
        names: Vec<String>,
        /// Set if the library is of another CUDA major than the program is built for.
        other_cuda: Option<Choice>,
    },
}

/// Returns the reasons why a cudarc does not accept what is installed.
pub fn find(cudarc: &LockedCudarc, installed: &Installed) -> Vec<Refusal> {
    let mut found = Vec::from_iter(cuda(cudarc, installed));
    found.extend(cudnn(cudarc, installed));
    // A program that is linked opens no names.
    if !cudarc.has("dynamic-linking") && !cudarc.has("static-linking") {
        for library in cudarc.opened_libraries() {
            found.extend(unopened(cudarc, &library, installed));
        }
    }
    found
}

/// Checks the toolkit of a build that takes the version from nvcc.
fn cuda(cudarc: &LockedCudarc, installed: &Installed) -> Option<Refusal> {
    let toolkit = installed.toolkit?.version?;
    let newest = *cudarc.listed(CUDA).last()?;
    if newest >= toolkit || !chosen(cudarc, installed).is_empty() {
        return None;
    }
    Some(Refusal::Cuda {
        has_any: is_refused(cudarc, BY_NVCC, NO_CUDA)?,
        toolkit,
        newest,
        choice: choice(cudarc, installed, None),
        update: update(installed.env, &cudarc.release, toolkit),
    })
}

/// Checks the headers of a build that takes the version from them.
fn cudnn(cudarc: &LockedCudarc, installed: &Installed) -> Option<Refusal> {
    let headers = installed.cudnn?.header_version?;
    let listed = cudarc.listed(CUDNN);
    let is_it = |one: &Version| (one.major, one.minor) == (headers.major, headers.minor);
    if listed.is_empty() || listed.iter().any(is_it) {
        return None;
    }
    Some(Refusal::Cudnn {
        has_any: is_refused(cudarc, BY_HEADER, NO_CUDNN)?,
        headers,
        listed,
    })
}

/// Returns `None` if the build script does not refuse a version with this message; else `true` if it would accept the
/// version with the feature for any version, which it then names in the line before.
fn is_refused(cudarc: &LockedCudarc, by: &str, message: &str) -> Option<bool> {
    let (before, _) = cudarc.build_script.rsplit_once(message)?;
    let has_any = before.lines().rev().take(3).any(|line| line.contains(ANY));
    let is_accepted = has_any && cudarc.has(ANY);
    (cudarc.has(by) && !is_accepted).then_some(has_any)
}

/// Returns the CUDA versions that the variable or features choose.
fn chosen(cudarc: &LockedCudarc, installed: &Installed) -> Vec<Version> {
    let variable = installed
        .env
        .var(CHOICE)
        .filter(|_| cudarc.build_script.contains(CHOICE));
    match variable.and_then(|number| number.parse().ok()) {
        Some(number) => vec![Version::from_cuda(number)],
        None => cudarc.chosen(CUDA),
    }
}

/// Returns the CUDA version that can be chosen, of this major if one is given.
fn choice(cudarc: &LockedCudarc, installed: &Installed, major: Option<u32>) -> Choice {
    let is_usable = |cuda: &Version| {
        let is_for_driver = installed.driver.is_none_or(|driver| *cuda <= driver);
        is_for_driver && major.is_none_or(|major| cuda.major == major)
    };
    Choice {
        cuda: cudarc.listed(CUDA).into_iter().rfind(is_usable),
        has_variable: cudarc.build_script.contains(CHOICE),
    }
}

/// Checks the names by which the program opens a library.
fn unopened(cudarc: &LockedCudarc, library: &str, installed: &Installed) -> Option<Refusal> {
    let toolkit = installed.toolkit.and_then(|toolkit| toolkit.version);
    let directory = |file: &Path| Vec::from_iter(file.parent().map(PathBuf::from));
    let (dirs, toolkit) = match library {
        "cudnn" => (directory(installed.cudnn?.library.as_deref()?), None),
        "cuda" => (directory(&(installed.loads)(DRIVER_SO)?), None),
        _ => (installed.toolkit?.link_dirs.clone(), Some(toolkit?)),
    };
    let mut cudas = chosen(cudarc, installed);
    if cudas.is_empty() {
        cudas.extend(toolkit);
    }
    let names = cudarc.opened_names(library, &cudas, installed.os)?;
    let start = match installed.os {
        Os::Windows => format!("{library}64_"),
        _ => format!("lib{library}.so"),
    };
    let is_of_library = |name: &str| name.starts_with(&start);
    let files = dirs
        .iter()
        .filter_map(|dir| files::list_named(dir, &is_of_library).ok());
    let library = files.flatten().find(|file| files::is_file(file))?;
    let is_opened = |name: &String| {
        let mut files = dirs.iter().map(|dir| dir.join(name));
        files.any(|file| files::is_file(&file)) || (installed.loads)(name).is_some()
    };
    // A link would give the program a library of another CUDA.
    let other = toolkit.filter(|toolkit| cudas.iter().all(|cuda| cuda.major != toolkit.major));
    (!names.iter().any(is_opened)).then(|| Refusal::Unopened {
        other_cuda: other.map(|cuda| choice(cudarc, installed, Some(cuda.major))),
        library,
        names,
    })
}

#[cfg(test)]
mod tests;
