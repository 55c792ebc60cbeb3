//! The cudarc versions in a `Cargo.lock`: their sources, as cargo unpacked them, and their features, as cargo resolves
//! them.

use crate::compat::cargo_lock;
use crate::compat::cudarc::{in_lock, number};
use crate::model::{Environment, Invocation, Os, Variable};
use crate::runtime::facts::Version;
use crate::system::probe_cache::DEADLINE;
use crate::system::{files, programs};
use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};

/// The builds that cargo is queried for. The first that contains the package counts. `cuda` is the usual name of the
/// feature that enables cudarc. All features together may need packages that were never downloaded.
const BUILDS: [Option<&str>; 3] = [None, Some("--features=cuda"), Some("--all-features")];

/// The options that list the features in a build, and below each of them what enables it.
const OF_FEATURES: &str = "--edges=features --depth=2 --no-dedupe --prefix=depth";

const MAX_FILE: usize = 1 << 21;
const MAX_DIRECTORIES: usize = 32;

/// The variable that sets the CUDA version in newer versions of cudarc.
pub const CHOICE: &str = "CUDARC_CUDA_VERSION";

/// The prefixes of the features for CUDA versions and for cuDNN versions.
pub const CUDA: &str = "cuda-";
pub const CUDNN: &str = "cudnn-";

/// A package in the build of this directory.
pub struct Resolved {
    pub features: Vec<String>,
    /// The packages that require it: `candle-core 0.9.1`.
    pub required_by: Vec<String>,
    /// The option of cargo with which the build contains it, if it needs one.
    pub option: Option<&'static str>,
}

/// A cudarc in `Cargo.lock`, with its sources in cargo's registry.
pub struct LockedCudarc {
    pub release: String,
    pub sources: PathBuf,
    manifest: String,
    pub build_script: String,
    pub resolved: Resolved,
}

impl LockedCudarc {
    pub fn has(&self, feature: &str) -> bool {
        self.resolved.features.iter().any(|one| one == feature)
    }

    pub fn reads_variable(&self) -> bool {
        self.build_script.contains(CHOICE)
    }

    /// Returns two features that the build script rejects together, if one build has both, and what enables them, in
    /// cargo's words. The program and build scripts may have separate builds.
    pub fn exclusive(&self, env: &Environment) -> Option<[(String, String); 2]> {
        let messages = self.build_script.split("panic!(\"Both `").skip(1);
        let mut pairs = messages.filter_map(|text| {
            let mut names = text.split('`').step_by(2);
            Some([names.next()?, names.next()?])
        });
        let pair = pairs.find(|pair| pair.iter().all(|feature| self.has(feature)))?;
        let args = format!("--invert=cudarc@{} {OF_FEATURES}", self.release);
        let tree = cargo_tree(&args.split(' ').collect::<Vec<_>>(), None, env)?;
        let of_build = |build| pair.map(|name| (name.to_string(), enabled_by(build, name)));
        let mut builds = tree.split("\n\n").map(of_build);
        builds.find(|by| by.iter().all(|one| !one.1.is_empty()))
    }

    /// Returns the versions that are chosen by features with this prefix.
    pub fn chosen(&self, prefix: &str) -> Vec<Version> {
        versions(self.resolved.features.iter().map(String::as_str), prefix)
    }

    /// Returns the versions for which it has features with this prefix, in ascending order.
    pub fn listed(&self, prefix: &str) -> Vec<Version> {
        versions(features(&self.manifest), prefix)
    }

    /// Returns the libraries that the program opens through cudarc: `cudnn`, and `cuda` for the driver. Each module of
    /// cudarc opens one library and has a feature. Of the modules of the default features, a program may use only
    /// `driver`.
    pub fn opened_libraries(&self) -> Vec<String> {
        // A linked program opens no library by name.
        let is_linked = self.has("dynamic-linking") || self.has("static-linking");
        let defaults = self.manifest.split_once("\ndefault = [");
        let defaults = defaults.and_then(|(_, list)| list.split(']').next());
        let defaults = defaults.filter(|_| self.has("default")).unwrap_or_default();
        let mut libraries = Vec::new();
        for module in features(&self.manifest) {
            // `cudnn-09010` enables the module `cudnn`, too.
            let mut enabled = self.resolved.features.iter();
            let is_enabled = enabled.any(|one| one.split('-').next() == Some(module));
            let is_default = defaults.contains(&format!("\"{module}\"")) && module != "driver";
            if is_enabled && !is_default && !is_linked {
                let text = read(&self.sources.join(format!("src/{module}/sys/mod.rs")));
                let text = text.unwrap_or_default();
                let (_, names) = text.rsplit_once("let lib_name").unwrap_or_default();
                libraries.extend(names.split('"').nth(1).map(String::from));
            }
        }
        libraries
    }

    /// Returns the names by which cudarc opens a library, in its order, if it is compiled for one of these CUDA
    /// versions: `std::format!("{DLL_PREFIX}{lib_name}{DLL_SUFFIX}.9")`. Returns `None` if the source has another form.
    pub fn opened_names(&self, library: &str, cudas: &[Version], os: Os) -> Option<Vec<String>> {
        let source = read(&self.sources.join("src/lib.rs"))?;
        let (_, body) = source.split_once("fn get_lib_name_candidates(lib_name: &str)")?;
        let (body, _) = body.split_once("\n}")?;
        let (prefix, suffix) = match os {
            Os::Windows => ("", ".dll"),
            _ => ("lib", ".so"),
        };
        let mut names = Vec::new();
        for template in body.split("format!(\"").skip(1) {
            let (template, _) = template.split_once('"')?;
            let mut template = template.to_string();
            // Before 0.11.9, the prefix and the suffix are added later.
            if !template.contains("{DLL_SUFFIX}") {
                template = format!("{{DLL_PREFIX}}{template}{{DLL_SUFFIX}}");
            }
            // No library for Linux has a name like `libcudnn64_9.so`.
            if template.contains("{pointer_width}") && os != Os::Windows {
                continue;
            }
            let name = template
                .replace("{DLL_PREFIX}", prefix)
                .replace("{DLL_SUFFIX}", suffix)
                .replace("{lib_name}", library)
                .replace("{pointer_width}", "64");
            if !name.contains("{major}") {
                names.push(name);
                continue;
            }
            for cuda in cudas {
                let name = name.replace("{major}", &cuda.major.to_string());
                names.push(name.replace("{minor}", &cuda.minor.to_string()));
            }
        }
        names.dedup();
        let is_known = !names.is_empty() && !names.iter().any(|name| name.contains('{'));
        is_known.then_some(names)
    }
}

/// Returns every cudarc in the build of the crate in the current directory.
pub fn of_crate(env: &Environment) -> Vec<LockedCudarc> {
    let lock = cargo_lock::texts(env, "Cargo.lock").next();
    let lock = lock.unwrap_or_default();
    locked(&lock, env, &|version| resolve(version, env))
}

/// Returns every cudarc in a `Cargo.lock` that has sources in cargo's registry and that `resolve` finds in the build.
pub fn locked(
    lock: &str,
    env: &Environment,
    resolve: &dyn Fn(&str) -> Option<Resolved>,
) -> Vec<LockedCudarc> {
    let published = in_lock(lock).into_iter().filter(|one| one.is_published);
    let versions = published.map(|one| one.version).take(MAX_DIRECTORIES);
    let read_one = |version: &str| {
        let sources = unpacked("cudarc", version, env)?;
        Some(LockedCudarc {
            release: version.to_string(),
            manifest: read(&sources.join("Cargo.toml"))?,
            build_script: read(&sources.join("build.rs"))?,
            sources,
            resolved: resolve(version)?,
        })
    };
    versions.filter_map(read_one).collect()
}

/// Returns the CUDA versions for which a version of cudarc has features. Empty if it is not in cargo's registry.
pub fn listed_cudas(version: &str, env: &Environment) -> Vec<Version> {
    let sources = unpacked("cudarc", version, env);
    let manifest = sources.and_then(|sources| read(&sources.join("Cargo.toml")));
    versions(features(&manifest.unwrap_or_default()), CUDA)
}

/// Returns the directory into which cargo unpacked a package of a registry. A lock file may contain anything.
pub fn unpacked(name: &str, version: &str, env: &Environment) -> Option<PathBuf> {
    let name = format!("{name}-{version}");
    let mut dirs = registries(env).into_iter().map(|dir| dir.join(&name));
    let is_name = !name.contains(['/', '\\']);
    dirs.find(|dir| is_name && files::is_dir(dir))
}

/// Resolves a version of cudarc as cargo does in this directory. Returns `None` if no build contains it, or if cargo
/// cannot resolve it offline.
fn resolve(version: &str, env: &Environment) -> Option<Resolved> {
    let package = format!("--invert=cudarc@{version}");
    BUILDS.into_iter().find_map(|option| {
        let tree = cargo_tree(&[&package, "--depth=1", "--prefix=depth"], option, env)?;
        tree.starts_with('0').then(|| parse(&tree, option))
    })
}

/// Returns what enables a feature, from lines like `2|app v0.1.0 (/app)` and `2b feature "gpu"` below
/// `1cudarc feature "driver"`.
fn enabled_by(tree: &str, feature: &str) -> String {
    let start = format!("1cudarc feature \"{feature}\"");
    let lines = tree.lines().skip_while(|line| *line != start).skip(1);
    let lines = lines.map_while(|line| line.strip_prefix('2'));
    let by = |line: &str| match line.rsplit('|').next() {
        Some("cudarc feature \"default\"") => {
            format!("the default features for {}", enabled_by(tree, "default"))
        }
        by => by.unwrap_or_default().replace('"', ""),
    };
    lines.map(by).collect::<Vec<_>>().join(", ")
}

/// Returns the features and packages of a build in this directory, a line for each: `default,driver|cudarc v0.16.6`.
pub fn cargo_tree(args: &[&str], option: Option<&str>, env: &Environment) -> Option<String> {
    let mut all = vec!["tree", "--frozen", "--edges=no-dev", "--format={f}|{p}"];
    all.extend(args.iter().copied().chain(option));
    let invocation = Invocation {
        program: programs::on_path(&format!("cargo{EXE_SUFFIX}"), env.os_var("PATH")?)?,
        args: all.into_iter().map(String::from).collect(),
        // Otherwise rustup would install the toolchain that the package names.
        env: vec![("RUSTUP_AUTO_INSTALL".into(), "0".into())],
    };
    let deadline = env.program_deadline().unwrap_or(DEADLINE);
    let output = programs::run(&invocation, Some(deadline)).ok()?;
    output.success.then_some(output.stdout)
}

/// Parses the package, `0default,driver|cudarc v0.16.6`, and those that require it, `1|candle-core v0.9.1`.
fn parse(tree: &str, option: Option<&'static str>) -> Resolved {
    let (mut features, mut required_by) = (Vec::new(), Vec::new());
    for (before, package) in tree.lines().filter_map(|line| line.split_once('|')) {
        if let Some(own) = before.strip_prefix('0') {
            features.extend(own.split(',').map(String::from));
        } else {
            let package = package.split(" (").next().unwrap_or_default();
            required_by.push(package.replacen(" v", " ", 1));
        }
    }
    Resolved {
        features,
        required_by,
        option,
    }
}

/// Returns the directories of cargo's registries, in which each package is a directory.
pub fn registries(env: &Environment) -> Vec<PathBuf> {
    let in_home = |home: PathBuf| home.join(".cargo");
    let profile = || Some(PathBuf::from(env.os_var("USERPROFILE")?));
    let home = env.path(Variable::Home).or_else(profile).map(in_home);
    let cargo = env.os_var("CARGO_HOME").map(PathBuf::from).or(home);
    let dir = cargo.map(|cargo| env.directory().join(cargo).join("registry/src"));
    let mut found = dir.map_or(Vec::new(), |dir| files::list(&dir).unwrap_or_default());
    found.truncate(MAX_DIRECTORIES);
    found
}

fn read(path: &Path) -> Option<String> {
    let is_file = files::is_file(path);
    is_file.then(|| files::read_start(path, MAX_FILE).ok())?
}

fn features(manifest: &str) -> impl Iterator<Item = &str> {
    let mut lines = manifest.lines().map(str::trim);
    lines.find(|line| *line == "[features]");
    let names = lines.take_while(|line| !line.starts_with('['));
    names.filter_map(|line| Some(line.split_once('=')?.0.trim()))
}

/// Returns the feature for a version: `cuda-12090` for 12.9, `cudnn-09010` for 9.10.
pub fn feature(prefix: &str, version: Version) -> String {
    match prefix {
        CUDA => format!("{CUDA}{}", number(version)),
        _ => format!("{prefix}{:02}{:03}", version.major, version.minor),
    }
}

/// Returns the versions in features with this prefix, in ascending order.
pub fn versions<'a>(features: impl Iterator<Item = &'a str>, prefix: &str) -> Vec<Version> {
    let version = |feature: &str| {
        let digits = feature.strip_prefix(prefix)?;
        let number: u32 = digits.parse().ok().filter(|_| digits.len() == 5)?;
        Some(match prefix {
            CUDA => Version::from_cuda(number),
            _ => Version::new(number / 1000, number % 1000, 0),
        })
    };
    let mut found: Vec<_> = features.filter_map(version).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests;
