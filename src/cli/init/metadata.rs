//! The packages of a workspace with their features, from `cargo metadata`.

use crate::cli::init::refusal;
use crate::model::pattern;
use crate::system::files;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// A package as cargo prints it.
#[derive(Clone)]
pub struct Package(Value);

/// Returns the members of the workspace that contains a directory.
pub fn packages(dir: &Path) -> Result<Vec<Package>, String> {
    if !dir.is_dir() {
        return Err(refusal(
            format!("`{}` is not a directory", dir.display()),
            "name the directory that contains Cargo.toml",
        ));
    }
    let full = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_path_buf());
    if !full.ancestors().any(|one| one.join("Cargo.toml").exists()) {
        return Err(no_crate(dir));
    }
    let files = |dir: &Path| ["Cargo.toml", ".cargo/config.toml"].map(|file| dir.join(file));
    let mut files = full.ancestors().flat_map(files);
    // cargo would wait for a pipe.
    if let Some(file) = files.find(|file| file.exists() && !file.is_file()) {
        return Err(refusal(
            format!("`{}` is not a regular file", file.display()),
            "remove it, and run the same command again",
        ));
    }
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    cargo.args("metadata --color=never --no-deps --offline --format-version 1".split(' '));
    // Otherwise rustup would install the toolchain that the package names.
    cargo.current_dir(dir).env("RUSTUP_AUTO_INSTALL", "0");
    let output = cargo.output().map_err(|error| {
        refusal(
            format!("cannot run `cargo metadata`, which reads the features: {error}"),
            "add the directory that contains cargo to PATH",
        )
    })?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(refusal(
            format!("`cargo metadata` fails: {}", text.trim_end()),
            "fix this error, and run the same command again",
        ));
    }
    Ok(parse(&output.stdout))
}

/// Returns the package whose manifest is in a directory.
pub fn find<'a>(packages: &'a [Package], dir: &Path) -> Result<&'a Package, String> {
    let full = fs::canonicalize(dir).ok();
    let mut packages = packages.iter();
    let package = packages.find(|package| fs::canonicalize(package.dir()).ok() == full);
    package.ok_or_else(|| no_crate(dir))
}

fn no_crate(dir: &Path) -> String {
    refusal(
        format!(
            "`{}` does not contain the Cargo.toml of a crate",
            dir.display()
        ),
        "run this in the crate of the program, or name its directory: `cudnn-guard init DIR`",
    )
}

fn parse(json: &[u8]) -> Vec<Package> {
    let json: Value = serde_json::from_slice(json).unwrap_or_default();
    list(&json["packages"]).cloned().map(Package).collect()
}

fn list(json: &Value) -> impl Iterator<Item = &Value> {
    json.as_array().into_iter().flatten()
}

fn texts(json: &Value) -> impl Iterator<Item = &str> {
    list(json).filter_map(Value::as_str)
}

/// Returns the name of a package or dependency.
pub fn name(json: &Value) -> &str {
    json["name"].as_str().unwrap_or_default()
}

impl Package {
    pub fn dir(&self) -> &Path {
        let manifest = Path::new(self.0["manifest_path"].as_str().unwrap_or_default());
        manifest.parent().unwrap_or(manifest)
    }

    /// Returns the dependencies of the program or library, not of the build script or tests.
    pub fn dependencies(&self) -> impl Iterator<Item = &Value> {
        list(&self.0["dependencies"]).filter(|one| one["kind"].is_null())
    }

    pub fn depends_on(&self, krate: &str) -> bool {
        self.dependencies().any(|one| name(one) == krate)
    }

    /// Returns `true` if cargo passes what this package links to the build scripts of its programs.
    pub fn links_cudnn(&self) -> bool {
        let mut dependencies = list(&self.0["dependencies"]);
        self.0["links"] == "cudnn" && dependencies.any(|one| name(one) == "cudnn-guard")
    }

    /// Returns the names and source files of the targets of a kind: `bin`, `cdylib`, or `lib` for every library.
    pub fn targets(&self, kind: &str) -> Vec<(&str, PathBuf)> {
        let mut found = Vec::new();
        for target in list(&self.0["targets"]) {
            if texts(&target["kind"]).any(|one| one.ends_with(kind)) {
                let path = Path::new(target["src_path"].as_str().unwrap_or_default());
                let path = path.strip_prefix(self.dir()).unwrap_or(path);
                let path = path.to_string_lossy().replace(MAIN_SEPARATOR, "/");
                found.push((name(target), path.into()));
            }
        }
        found
    }

    pub fn is_extension(&self) -> bool {
        !self.targets("cdylib").is_empty()
    }

    /// Returns `true` if this is only a library for Rust.
    pub fn is_library(&self) -> bool {
        self.targets("bin").is_empty() && !self.is_extension()
    }

    /// Returns the path of the guard's functions in the library, as its programs write it.
    pub fn guard(&self) -> Option<String> {
        let library = self.targets("lib").pop();
        let (krate, path) = library.filter(|_| !self.is_extension())?;
        let krate = krate.replace('-', "_");
        let text = files::read_to_string(&self.dir().join(path)).ok()?;
        let include = r"(?:pub mod (\w+) \{\s*)?include!\([^;]*cudnn_guard\.rs";
        let module = pattern(include).captures(&text)?.get(1);
        Some(module.map_or(krate.clone(), |name| format!("{krate}::{}", name.as_str())))
    }

    /// Returns the code of the library and of modules, without the main files of programs.
    pub fn modules(&self) -> String {
        let programs = self.targets("bin").into_iter();
        let programs: Vec<PathBuf> = programs.map(|(_, path)| self.dir().join(path)).collect();
        let mut files = self.files("src/**/*.rs");
        files.retain(|(path, _)| !programs.contains(path));
        files.into_iter().map(|(_, text)| text).collect()
    }

    /// Reads the files that match a pattern.
    pub fn files(&self, pattern: &str) -> Vec<(PathBuf, String)> {
        let dir = glob::Pattern::escape(&self.dir().to_string_lossy());
        let paths = files::glob(&format!("{dir}/{pattern}")).unwrap_or_default();
        let read = |path: PathBuf| Some((path.clone(), files::read_to_string(&path).ok()?));
        paths.into_iter().filter_map(read).collect()
    }

    /// Returns `true` if a dependency has another name in the manifest, or is only for some targets.
    pub fn has_other_entry(&self, krate: &str) -> bool {
        let is_other = |one: &Value| !one["rename"].is_null() || !one["target"].is_null();
        list(&self.0["dependencies"]).any(|one| name(one) == krate && is_other(one))
    }

    pub fn has_feature(&self, name: &str) -> bool {
        self.0["features"].get(name).is_some()
    }

    /// Returns the package's features that each enable a dependency with a certain feature: none of them if that feature
    /// is always enabled. `None` if it never is. An empty feature stands for the dependency itself.
    pub fn gate(&self, is_wanted: &dyn Fn(&str, &str) -> bool) -> Option<Vec<String>> {
        let enables = |own: &BTreeSet<&str>| {
            self.dependencies().any(|one| {
                let mut features = self.features_of(one, own).into_iter();
                features.any(|feature| is_wanted(name(one), feature))
            })
        };
        if enables(&BTreeSet::new()) {
            return Some(Vec::new());
        }
        let features = self.0["features"].as_object()?;
        let gates = features.keys().filter(|name| enables(&self.closure(name)));
        let gates: Vec<&String> = gates.collect();
        // A feature that enables another of these features is not necessary.
        let mut names = Vec::new();
        for name in &gates {
            let mut closure = self.closure(name);
            closure.remove(name.as_str());
            if !gates.iter().any(|other| closure.contains(other.as_str())) {
                names.push(name.to_string());
            }
        }
        (!names.is_empty()).then_some(names)
    }

    /// Returns the dependencies and their features, with all features of the package.
    pub fn all_features(&self) -> Vec<(&str, &str)> {
        let own = self.0["features"].as_object().into_iter();
        let own = own.flat_map(|own| own.keys().map(String::as_str)).collect();
        let mut all = Vec::new();
        for one in self.dependencies() {
            let features = self.features_of(one, &own).into_iter();
            all.extend(features.map(|feature| (name(one), feature)));
        }
        all
    }

    /// Returns a feature and those that it enables in this package.
    pub fn closure<'a>(&'a self, feature: &'a str) -> BTreeSet<&'a str> {
        let (mut found, mut open) = (BTreeSet::new(), vec![feature]);
        while let Some(feature) = open.pop() {
            if self.has_feature(feature) && found.insert(feature) {
                open.extend(texts(&self.0["features"][feature]));
            }
        }
        found
    }

    /// Returns the features of a dependency while these features of the package are enabled. `name?/feature` counts like
    /// `name/feature`.
    fn features_of<'a>(&'a self, one: &'a Value, own: &BTreeSet<&str>) -> Vec<&'a str> {
        let alias = one["rename"].as_str().unwrap_or(name(one));
        let items = own.iter().flat_map(|own| texts(&self.0["features"][*own]));
        let of_alias = items.filter_map(|item| match item.split_once('/') {
            Some((name, feature)) => (name.trim_end_matches('?') == alias).then_some(feature),
            None => (item.strip_prefix("dep:") == Some(alias)).then_some(""),
        });
        let mut enabled: Vec<&str> = of_alias.collect();
        if one["optional"] != true || !enabled.is_empty() {
            enabled.extend([""].into_iter().chain(texts(&one["features"])));
            let has_default = one["uses_default_features"] == true;
            enabled.extend(has_default.then_some("default"));
        }
        enabled
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Returns a package with these dependencies, as JSON without braces, and features.
    pub fn with(dependencies: &[&str], features: &str) -> Package {
        let dependencies: Vec<_> = dependencies
            .iter()
            .map(|one| format!("{{{one}}}"))
            .collect();
        let package = format!(
            r#"{{"packages": [{{"name": "app", "manifest_path": "/src/app/Cargo.toml", "dependencies": [{}], "features": {{{features}}}}}]}}"#,
            dependencies.join(", ")
        );
        parse(package.as_bytes()).pop().expect(&package)
    }

    #[test]
    fn the_gate_is_the_first_feature_that_enables_a_feature_of_a_dependency() {
        const CANDLE: &str = r#""name": "candle-core", "rename": "candle""#;
        const CUDARC: &str = r#""name": "cudarc", "optional": true, "features": ["cudnn"]"#;
        for (dependency, features, gate) in [
            (CANDLE, "", None),
            (CANDLE, r#""cuda": ["candle/cuda"]"#, None),
            // The crate has another name here.
            (CANDLE, r#""cudnn": ["candle-core/cudnn"]"#, None),
            (CANDLE, r#""cudnn": ["candle/cudnn"]"#, Some(&["cudnn"][..])),
            (
                CANDLE,
                r#""default": ["gpu"], "gpu": ["fast"], "fast": ["candle?/cudnn"], "all": ["fast"]"#,
                Some(&["fast"]),
            ),
            (CANDLE, r#""default": ["candle/cudnn"]"#, Some(&["default"])),
            (
                CANDLE,
                r#""cuda11": ["candle/cudnn"], "cuda12": ["candle/cudnn"]"#,
                Some(&["cuda11", "cuda12"]),
            ),
            (CUDARC, r#""gpu": ["dep:cudarc"]"#, Some(&["gpu"])),
            (CUDARC, r#""cudarc": ["dep:cudarc"]"#, Some(&["cudarc"])),
            (CUDARC, r#""gpu": ["cudarc/driver"]"#, Some(&["gpu"])),
            (CUDARC, "", None),
            (
                r#""name": "cudarc", "features": ["cudnn"]"#,
                r#""x": []"#,
                Some(&[]),
            ),
            // A dependency of the build script.
            (
                r#""name": "cudarc", "features": ["cudnn"], "kind": "build""#,
                "",
                None,
            ),
        ] {
            let package = with(&[dependency], features);
            let found = package.gate(&|_, feature| feature == "cudnn");
            let gate = gate.map(|names| names.iter().map(ToString::to_string).collect());
            assert_eq!(found, gate, "{dependency} {features}");
        }
    }
}
