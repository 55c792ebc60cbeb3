//! The cuDNN that a cudarc in `Cargo.lock` accepts: the versions for which it has bindings, and the names by which it
//! opens the library. Its own sources tell both.

use crate::compat::cudarc_sources::{LockedCudarc, locked, read};
use crate::model::candidate::Cudnn;
use crate::model::environment::Environment;
use crate::model::platform::Os;
use crate::runtime::facts::version::Version;
use crate::system::files;
use std::path::{Path, PathBuf};

/// The feature with which cudarc reads the cuDNN version from the headers.
pub const BY_HEADER: &str = "cudnn-version-from-build-system";

/// The feature with which its build script accepts any cuDNN version.
pub const ANY: &str = "fallback-latest";

/// The message with which its build script refuses the headers.
const REFUSAL: &str = "Unsupported cuDNN version";

/// A cuDNN that a cudarc in `Cargo.lock` does not accept.
#[derive(Debug, PartialEq, Eq)]
pub struct CudarcCudnn {
    pub release: String,
    pub refusal: Refusal,
    /// The packages that require it: `candle-core 0.9.1`.
    pub required_by: Vec<String>,
    pub sources: PathBuf,
}

/// The reason why a cudarc does not accept a cuDNN.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its build script ends, because it has no bindings for the version of the headers.
    Unlisted {
        headers: Version,
        /// The versions for which it has bindings, in ascending order.
        listed: Vec<Version>,
        /// `true` if it has a feature that accepts any version.
        has_any: bool,
    },
    /// It opens none of the names that are in the directory of the library.
    Unopened {
        library: PathBuf,
        /// The name that it tries first.
        first: String,
    },
}

/// Returns every cudarc of a `Cargo.lock` that does not accept this cuDNN.
pub fn refusals(lock: &str, env: &Environment, cudnn: &Cudnn, os: Os) -> Vec<CudarcCudnn> {
    let own = read(&env.directory().join("Cargo.toml")).unwrap_or_default();
    let mut found = Vec::new();
    for cudarc in locked(lock, env) {
        let library = cudnn.library.as_deref();
        let refused = unlisted(&cudarc, cudnn.header_version)
            .or_else(|| unopened(&cudarc, &own, library?, os));
        if let Some(refusal) = refused {
            found.push(CudarcCudnn {
                release: cudarc.release,
                refusal,
                required_by: cudarc.required_by,
                sources: cudarc.sources,
            });
        }
    }
    found
}

/// Checks the headers of a build that takes the version from them.
fn unlisted(cudarc: &LockedCudarc, headers: Option<Version>) -> Option<Refusal> {
    let headers = headers?;
    let is_by_header = cudarc.is_enabled(&|feature| feature == BY_HEADER);
    let accepts_any = cudarc.is_enabled(&|feature| feature == ANY);
    if !is_by_header || accepts_any || !cudarc.build_script.contains(REFUSAL) {
        return None;
    }
    let mut listed = Vec::new();
    for feature in cudarc.features("cudnn-") {
        listed.extend(version(feature));
    }
    listed.sort();
    let is_it = |one: &Version| (one.major, one.minor) == (headers.major, headers.minor);
    let is_known = listed.is_empty() || listed.iter().any(is_it);
    (!is_known).then(|| Refusal::Unlisted {
        headers,
        listed,
        has_any: cudarc.features(ANY).contains(&ANY),
    })
}

/// Returns the feature of cudarc for a cuDNN version: `cudnn-09010`.
pub fn feature(cudnn: Version) -> String {
    format!("cudnn-{:02}{:03}", cudnn.major, cudnn.minor)
}

/// Parses the name of a feature: `cudnn-09010` is 9.10.
fn version(feature: &str) -> Option<Version> {
    let digits = feature.strip_prefix("cudnn-")?;
    let number: u32 = digits.parse().ok().filter(|_| digits.len() == 5)?;
    Some(Version::new(number / 1000, number % 1000, 0))
}

/// Checks the names by which the program opens cuDNN. Nothing is known of a program whose manifest does not mention
/// the feature `cudnn`, and one that is linked opens no names.
fn unopened(cudarc: &LockedCudarc, own: &str, library: &Path, os: Os) -> Option<Refusal> {
    let is_used = own.split(['"', '\'', '/']).any(|word| word == "cudnn");
    let is_linked = cudarc.is_enabled(&|one| one == "dynamic-linking" || one == "static-linking");
    if !is_used || is_linked {
        return None;
    }
    let names = opened_names(&read(&cudarc.sources.join("src/lib.rs"))?, os)?;
    let is_there = |name: &String| files::is_file(&library.with_file_name(name));
    (!names.iter().any(is_there)).then(|| Refusal::Unopened {
        library: library.to_path_buf(),
        first: names.first().cloned().unwrap_or_default(),
    })
}

/// Parses the names by which cudarc opens cuDNN, in its order: `std::format!("{DLL_PREFIX}{lib_name}{DLL_SUFFIX}.9")`.
/// Those with the CUDA version are left out, since they belong to no cuDNN. `None` if the source has another form.
fn opened_names(source: &str, os: Os) -> Option<Vec<String>> {
    let (_, body) = source.split_once("fn get_lib_name_candidates(lib_name: &str)")?;
    let (body, _) = body.split_once("\n}")?;
    let (prefix, suffix) = match os {
        Os::Windows => ("", ".dll"),
        _ => ("lib", ".so"),
    };
    let mut names = Vec::new();
    for template in body.split("format!(\"").skip(1) {
        let (template, _) = template.split_once('"')?;
        let name = template
            .replace("{DLL_PREFIX}", prefix)
            .replace("{DLL_SUFFIX}", suffix)
            .replace("{lib_name}", "cudnn")
            .replace("{pointer_width}", "64");
        if name.contains("{major}") {
            continue;
        }
        if name.contains('{') {
            return None;
        }
        names.push(name);
    }
    (!names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests;
