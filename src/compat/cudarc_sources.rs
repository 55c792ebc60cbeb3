//! The sources of the cudarc versions in a `Cargo.lock`, as cargo unpacked them: they tell which CUDA each supports.

use crate::compat::cudarc::{Package, packages};
use crate::model::environment::{Environment, Variable};
use crate::runtime::facts::version::Version;
use crate::system::files;
use std::path::{Path, PathBuf};

/// The variable that chooses the CUDA version in the newer versions of cudarc.
pub const CHOICE: &str = "CUDARC_CUDA_VERSION";

/// The feature with which cudarc runs nvcc to learn the CUDA version.
pub const BY_NVCC: &str = "cuda-version-from-build-system";

/// The message with which its build script refuses a toolkit.
const REFUSAL: &str = "Unsupported cuda toolkit version";

const MAX_FILE: u64 = 1 << 18;
const MAX_REGISTRIES: usize = 16;
const MAX_VERSIONS: usize = 32;

/// A cudarc in `Cargo.lock`, with its sources in cargo's registry.
pub(super) struct LockedCudarc {
    pub(super) release: String,
    pub(super) sources: PathBuf,
    manifest: String,
    pub(super) build_script: String,
    /// The packages that require it: `candle-core 0.9.1`.
    pub(super) required_by: Vec<String>,
    /// The manifests of these packages.
    manifests: Vec<String>,
}

impl LockedCudarc {
    /// Returns the names of its features that begin with this prefix.
    pub(super) fn features(&self, prefix: &str) -> Vec<&str> {
        let mut found = features(&self.manifest);
        found.retain(|name| name.starts_with(prefix));
        found
    }

    /// Returns `true` if a package that requires it enables, or can enable, a feature that meets the condition.
    pub(super) fn is_enabled(&self, feature: &dyn Fn(&str) -> bool) -> bool {
        let mut manifests = self.manifests.iter();
        manifests.any(|text| text.split(['"', '\'', '/']).any(feature))
    }
}

/// A cudarc in `Cargo.lock` whose build script refuses the toolkit.
#[derive(Debug, PartialEq, Eq)]
pub struct OldCudarc {
    pub release: String,
    /// The newest CUDA that it supports.
    pub newest: Version,
    pub toolkit: Version,
    /// The newest CUDA that it and the driver support.
    pub choice: Option<Version>,
    pub has_variable: bool,
    /// The packages that require it: `candle-core 0.9.1`.
    pub required_by: Vec<String>,
    /// A newer cudarc in the registry that supports the toolkit.
    pub update: Option<Version>,
    pub sources: PathBuf,
}

/// Returns the feature of cudarc for a CUDA version: `cuda-12090`.
pub fn feature(cuda: Version) -> String {
    format!("cuda-{}", number(cuda))
}

/// Returns the number of a CUDA version in features and variables of cudarc: `12090`.
pub fn number(cuda: Version) -> String {
    format!("{}{:02}0", cuda.major, cuda.minor)
}

/// Returns every cudarc of a `Cargo.lock`. One without sources in cargo's registry is left out, and one that a package
/// without a known manifest requires.
pub(super) fn locked(lock: &str, env: &Environment) -> Vec<LockedCudarc> {
    let registries = registries(env);
    let cudarcs = packages(lock).filter(|one| one.name == "cudarc" && one.is_published);
    let read_one = |cudarc: Package| {
        let sources = unpacked(&registries, &cudarc)?;
        let requiring: Vec<_> = packages(lock).filter(|one| one.requires(&cudarc)).collect();
        let mut all = Vec::new();
        for one in &requiring {
            let dirs = match one.is_published {
                true => Vec::from_iter(unpacked(&registries, one)),
                false => own_dirs(env.directory(), one.name),
            };
            let manifests = dirs.iter().filter_map(|dir| read(&dir.join("Cargo.toml")));
            let manifests: Vec<_> = manifests.collect();
            let name = format!("name = \"{}\"", one.name);
            if !manifests.iter().any(|text| text.contains(&name)) {
                return None;
            }
            all.extend(manifests);
        }
        let names = requiring.iter();
        Some(LockedCudarc {
            release: cudarc.version.to_string(),
            manifest: read(&sources.join("Cargo.toml"))?,
            build_script: read(&sources.join("build.rs"))?,
            sources,
            required_by: names
                .map(|one| format!("{} {}", one.name, one.version))
                .collect(),
            manifests: all,
        })
    };
    cudarcs.take(MAX_VERSIONS).filter_map(read_one).collect()
}

/// Returns every cudarc of a `Cargo.lock` that refuses the toolkit. Nothing is wrong with one whose CUDA version is
/// chosen by a feature or the variable.
pub fn too_old(
    lock: &str,
    env: &Environment,
    toolkit: Version,
    driver: Option<Version>,
) -> Vec<OldCudarc> {
    let judge = |cudarc: LockedCudarc| {
        let cudas = supported(&cudarc.manifest)?;
        let has_variable = cudarc.build_script.contains(CHOICE);
        let newest = *cudas.last()?;
        let is_chosen = has_variable && env.os_var(CHOICE).is_some()
            || cudarc.is_enabled(&|feature| cuda(feature).is_some());
        if !cudarc.build_script.contains(REFUSAL) || !is_older(newest, toolkit) || is_chosen {
            return None;
        }
        let mut usable = cudas.iter().rev();
        Some(OldCudarc {
            newest,
            toolkit,
            choice: usable
                .find(|cuda| driver.is_none_or(|driver| !is_older(driver, **cuda)))
                .copied(),
            has_variable,
            required_by: cudarc.required_by,
            update: update(&registries(env), &cudarc.release, toolkit),
            sources: cudarc.sources,
            release: cudarc.release,
        })
    };
    locked(lock, env).into_iter().filter_map(judge).collect()
}

/// Returns the directories of cargo's registries, in which each package is a directory.
fn registries(env: &Environment) -> Vec<PathBuf> {
    let home = env.path(Variable::Home);
    let home = home.or_else(|| Some(env.directory().join(env.os_var("USERPROFILE")?)));
    let cargo = match env.os_var("CARGO_HOME") {
        Some(dir) => Some(env.directory().join(dir)),
        None => home.map(|home| home.join(".cargo")),
    };
    let dir = cargo.map(|cargo| cargo.join("registry").join("src"));
    let mut found = dir.map_or(Vec::new(), |dir| files::list(&dir).unwrap_or_default());
    found.sort();
    found.truncate(MAX_REGISTRIES);
    found
}

fn unpacked(registries: &[PathBuf], package: &Package) -> Option<PathBuf> {
    let name = format!("{}-{}", package.name, package.version);
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    if !name.chars().all(is_part) {
        return None;
    }
    let mut dirs = registries.iter().map(|dir| dir.join(&name));
    dirs.find(|dir| files::is_dir(dir))
}

/// Returns the usual directories of a package of this workspace.
fn own_dirs(workspace: &Path, name: &str) -> Vec<PathBuf> {
    let own = workspace.to_path_buf();
    vec![
        workspace.join(name),
        workspace.join("crates").join(name),
        own,
    ]
}

/// Returns the newest cudarc in the registries that supports the toolkit.
fn update(registries: &[PathBuf], release: &str, toolkit: Version) -> Option<Version> {
    let is_cudarc = |name: &str| name.starts_with("cudarc-");
    let dirs = registries.iter();
    let dirs = dirs.flat_map(|dir| files::list_named(dir, &is_cudarc).unwrap_or_default());
    let newer = dirs.take(MAX_VERSIONS).filter_map(|dir| {
        let version = Version::parse(dir.file_name()?.to_str()?.strip_prefix("cudarc-")?)?;
        let newest = *supported(&read(&dir.join("Cargo.toml"))?)?.last()?;
        let is_newer = version > Version::parse(release)?;
        (is_newer && !is_older(newest, toolkit)).then_some(version)
    });
    newer.max()
}

pub(super) fn read(path: &Path) -> Option<String> {
    let is_file = files::is_file(path);
    is_file.then(|| files::read_start(path, MAX_FILE).ok())?
}

/// Returns the names of the features in a manifest.
fn features(manifest: &str) -> Vec<&str> {
    let mut lines = manifest.lines().map(str::trim);
    if lines.all(|line| line != "[features]") {
        return Vec::new();
    }
    let names = lines.take_while(|line| !line.starts_with('['));
    names
        .filter_map(|line| Some(line.split_once('=')?.0.trim()))
        .collect()
}

/// Returns the CUDA versions for which a manifest has features, in ascending order; none if nvcc is never run.
fn supported(manifest: &str) -> Option<Vec<Version>> {
    let names = features(manifest);
    let mut cudas: Vec<_> = names.iter().filter_map(|name| cuda(name)).collect();
    cudas.sort();
    names.contains(&BY_NVCC).then_some(cudas)
}

/// Parses the name of a feature: `cuda-12090` is 12.9.
fn cuda(feature: &str) -> Option<Version> {
    let digits = feature.strip_prefix("cuda-")?;
    let number: u32 = digits.parse().ok().filter(|_| digits.len() == 5)?;
    Some(Version::new(number / 1000, number % 1000 / 10, 0))
}

fn is_older(version: Version, than: Version) -> bool {
    (version.major, version.minor) < (than.major, than.minor)
}

#[cfg(test)]
mod tests;
