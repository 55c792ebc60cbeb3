//! The CUDA and its libraries that the project in the current directory uses.

use crate::cli::init::metadata::{self, Package};
use crate::cli::numbers;
use crate::compat::cargo_lock;
use crate::compat::cudarc_refusals::newest_accepted;
use crate::compat::cudarc_sources::{CUDA, of_crate, versions};
use crate::runtime::facts::Version;
use crate::system::{Host, files};
use crate::toolkit::package_names::{FETCHED_ON_REQUEST, package};
use std::path::Path;

/// The CUDA of the project's cudarc.
pub struct AcceptedCuda {
    pub version: Version,
    /// `true` if cudarc is compiled for this CUDA. Otherwise, this is the newest that it accepts.
    pub is_chosen: bool,
    pub reason: String,
}

impl AcceptedCuda {
    /// Reads `Cargo.lock`, or without a cudarc there the manifests. `None` if the CUDA may be any, or is unknown.
    pub fn find(dir: &Path) -> Option<Self> {
        let env = Host::capture(None, None, &[]).env;
        let (version, is_chosen) = match &of_crate(&env)[..] {
            [] => (in_manifests(dir)?, true),
            [cudarc] => newest_accepted(cudarc, &env)?,
            // It depends on the build.
            _ => return None,
        };
        let reason = match is_chosen {
            true => "since cudarc is compiled for it".to_string(),
            false => "the newest for which the locked cudarc has bindings".to_string(),
        };
        Some(Self {
            version,
            is_chosen,
            reason,
        })
    }

    /// Returns a warning if cudarc does not accept the installed CUDA. A newer minor version contains all functions.
    pub fn other(&self, present: &str) -> Option<String> {
        let present = Version::parse(&numbers::first(present, 2))?;
        let is_accepted = match self.is_chosen {
            true => present.major == self.version.major,
            false => present <= self.version,
        };
        let (cuda, present, reason) = (self.version.short(), present.short(), &self.reason);
        (!is_accepted).then(|| {
            format!(
                "CUDA {present}, but this project requires CUDA {cuda}, {reason}: add `--cuda {cuda}` to replace it, or also \
                 `--to DIR --write-config` to keep both"
            )
        })
    }
}

/// Returns the version that features of cudarc choose, if it is the only one.
fn in_manifests(dir: &Path) -> Option<Version> {
    let packages = packages(dir);
    let features = packages.iter().flat_map(Package::all_features);
    let of_cudarc = features.filter(|(name, _)| *name == "cudarc");
    let mut chosen = versions(of_cudarc.map(|(_, feature)| feature), CUDA);
    chosen.dedup();
    chosen.pop().filter(|_| chosen.is_empty())
}

/// Returns the crate in a directory, or all members of a workspace whose root contains no crate. Empty without cargo.
fn packages(dir: &Path) -> Vec<Package> {
    let packages = metadata::packages(dir).unwrap_or_default();
    match metadata::find(&packages, dir) {
        Ok(package) => vec![package.clone()],
        Err(_) => packages,
    }
}

/// Returns the names of `--with` that the project uses.
pub fn libraries(dir: &Path) -> Vec<String> {
    // Without cargo, only the build script is read.
    let packages = packages(dir);
    let dirs = packages.iter().map(Package::dir).chain([dir]);
    let scripts = dirs.map(|dir| files::read(&dir.join("build.rs")).unwrap_or_default());
    let scripts: Vec<String> = scripts.collect();
    // A dependency may use candle, whose kernels are always used with cuRAND.
    let env = Host::capture(None, None, &[]).env;
    let mut locks = cargo_lock::texts(&env, "Cargo.lock");
    let lock = locks.next().unwrap_or_default();
    let has_candle = lock.contains("\"candle-kernels\"");
    let is_used = |library: &&str| {
        packages.iter().any(|package| depends_on(package, library))
            || scripts.iter().any(|script| names(script, library))
            || has_candle && *library == "curand"
    };
    let used = FETCHED_ON_REQUEST.into_iter().filter(is_used);
    used.map(String::from).collect()
}

/// Returns `true` if cudarc or candle uses a library, with any features of the package.
fn depends_on(package: &Package, library: &str) -> bool {
    let is_curand = library == "curand";
    let mut features = package.all_features().into_iter();
    features.any(|(name, feature)| match (name, feature) {
        // cuRAND is a default feature.
        ("cudarc", "default") => is_curand,
        ("cudarc", _) => feature.starts_with(library),
        (_, "cuda" | "cudnn") => is_curand && name.starts_with("candle-"),
        _ => false,
    })
}

/// Returns `true` if a build script calls `.libs(..)` and has a string that is a file of this library (`cufftw` and `nppc`
/// for `cufft` and `npp`).
fn names(script: &str, library: &str) -> bool {
    let is_named = |name: &str| package(name).is_some_and(|(_, wheel)| wheel == library);
    script.contains(".libs(") && script.split('"').any(is_named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::init::metadata::tests::with;

    #[test]
    fn the_calls_of_a_build_script_name_libraries() {
        for (script, libraries) in [
            ("", &[][..]),
            ("no Rust", &[]),
            (
                "const ALL: [&str; 2] = [\"nvJitLink\", \"nvrtc\"];\nfn main() {\n    cudnn_guard::build(|| {\n        \
                 let libs = [\"cublas\", \"curand\", \"nppc\"];\n        \
                 let gpu = Config::new().libs(libs).libs(ALL).libs(&[\"cusolverMg\"]).probe()?;\n        \
                 gpu.kernels();\n    });\n}\n",
                &["nvjitlink", "curand", "cusolver", "npp"],
            ),
            ("fn main() {\n    x.library(\"curand\");\n}\n", &[]),
            (
                "fn main() {\n    x.libs([\"cublas\"]).file(\"cufft_like.cu\").file(\"npp\");\n}\n",
                &[],
            ),
        ] {
            let found = FETCHED_ON_REQUEST
                .into_iter()
                .filter(|one| names(script, one));
            assert_eq!(found.collect::<Vec<_>>(), libraries, "{script}");
        }
    }

    #[test]
    fn the_features_of_cudarc_and_candle_name_libraries() {
        const CUDARC: &str = r#""name": "cudarc", "optional": true"#;
        for (dependency, features, libraries) in [
            (CUDARC, "", &[][..]),
            (
                CUDARC,
                r#""gpu": ["cudarc/cufft", "cudarc/cusolvermg", "cudarc/cublas"]"#,
                &["cufft", "cusolver"],
            ),
            (
                r#""name": "cudarc", "uses_default_features": true"#,
                "",
                &["curand"],
            ),
            (
                r#""name": "candle-nn""#,
                r#""cuda": ["candle-nn/cuda"]"#,
                &["curand"],
            ),
            (
                r#""name": "candle-nn", "uses_default_features": true"#,
                "",
                &[],
            ),
        ] {
            let package = with(&[dependency], features);
            let found = FETCHED_ON_REQUEST
                .into_iter()
                .filter(|one| depends_on(&package, one));
            assert_eq!(
                found.collect::<Vec<_>>(),
                libraries,
                "{dependency} {features}"
            );
        }
    }
}
