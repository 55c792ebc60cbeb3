//! The way in which a package uses CUDA and cuDNN, and the lines for it.

use crate::cli::init::crate_files::calls_guard;
use crate::cli::init::metadata::{self, Package, name};
use crate::cli::init::recipe::Recipe;
use crate::cli::init::{migration, refusal};
use crate::model::{joined, pattern};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const CANDLE: [&str; 3] = ["candle-core", "candle-nn", "candle-transformers"];

/// Where crates have their kernels.
const KERNELS: [&str; 4] = ["src/**/*.cu", "kernels/**/*.cu", "cuda/**/*.cu", "*.cu"];

/// A call of cuDNN, its header, or a build script that requires it.
const CUDNN: &str = r"\bcudnn[A-Z]|link-lib=[\w=]*cudnn|cudnn\.h|\.cudnn\(";

#[derive(Clone, Default)]
pub struct Usage {
    pub recipe: Recipe,
    /// The recipe of the package that uses CUDA itself: this one, or a dependency.
    base: Recipe,
    /// The features of the package that each turn CUDA on. Empty if CUDA is always on.
    pub features: Vec<String>,
    /// `true` if the package or a dependency uses CUDA.
    pub is_known: bool,
    /// The dependency that uses CUDA and has no guard, if the package itself does not use CUDA.
    pub library: Option<Package>,
    /// The guard in a dependency, which the programs of this package have to call: `helper::gpu`.
    pub guard: Option<String>,
    /// The kernels that no build script compiles.
    pub kernels: Option<&'static str>,
}

impl Usage {
    /// Finds the usage of a package. Its dependencies may be members of its workspace.
    pub fn find(package: &Package, members: &[Package]) -> Self {
        find(package, members, &mut Found::new())
    }

    /// Returns an error if the package depends on crates for cuDNN, but uses none of them with CUDA.
    pub fn must_use_cuda(&self, package: &Package) -> Result<(), String> {
        let mut names = CANDLE.into_iter().chain(["ort"]);
        let found = names.find(|wanted| package.depends_on(wanted));
        // A feature of the package may be for its own code.
        let Some(name) = found.filter(|_| !self.is_known && self.features.is_empty()) else {
            return Ok(());
        };
        let feature = if name == "ort" { "cuda" } else { "cudnn" };
        let summary = format!(
            "{name} is used without its feature `{feature}`, so this crate does not use cuDNN"
        );
        let help = format!(
            "add `{feature}` to the features of {name} in Cargo.toml, and run the same command again"
        );
        Err(refusal(summary, help))
    }

    /// Returns an item or statement for the builds that use CUDA.
    pub fn gated(&self, code: &str) -> String {
        let features = self.features.iter();
        let features = joined(features.map(|name| format!("feature = {name:?}")), ", ");
        let indent = &code[..code.len() - code.trim_start().len()];
        match self.features.len() {
            0 => code.to_string(),
            1 => format!("{indent}#[cfg({features})]\n{code}"),
            _ => format!("{indent}#[cfg(any({features}))]\n{code}"),
        }
    }
}

/// The usages of packages by their directories.
type Found = BTreeMap<PathBuf, Usage>;

fn find(package: &Package, members: &[Package], found: &mut Found) -> Usage {
    if let Some(usage) = found.get(package.dir()) {
        return usage.clone();
    }
    let gate = |names: &[&str], features: &[&str]| {
        package.gate(&|name, feature| {
            // cudarc has features such as `cudnn-09021`.
            let feature = feature.split("-0").next().unwrap_or_default();
            names.contains(&name) && features.contains(&feature)
        })
    };
    let (cudarc, cudarc_cuda) = match gate(&["cudarc"], &["dynamic-linking", "static-linking"]) {
        Some(_) => (Recipe::Linked, Recipe::Cuda),
        None => (Recipe::Cudarc, Recipe::CudarcCuda),
    };
    // The package's own code.
    let text = |pattern| package.files(pattern).into_iter().map(|(_, text)| text);
    let script: String = text("*.rs").collect();
    let code: String = text("src/**/*.rs").chain([script.clone()]).collect();
    let mut kernels = KERNELS.into_iter().filter(|_| script.is_empty());
    let kernels = kernels.find(|pattern| text(pattern).next().is_some());
    let tables = migration::text(&script, Path::new(""));
    let uses_cuda = kernels.is_some() || script.contains("guard()") || !tables.is_empty();
    let mut own = ["cudnn", "cuda"].into_iter();
    let own = own.find(|name| package.has_feature(name));
    let own: Vec<String> = own.map(String::from).into_iter().collect();
    let is_linked = pattern(CUDNN).is_match(&code) || package.has_feature("cudnn");
    let mut usage = known(Recipe::Candle, gate(&CANDLE, &["cudnn"]))
        .or_else(|| known(Recipe::CandleCuda, gate(&CANDLE, &["cuda"])))
        .or_else(|| through(package, members, found))
        .or_else(|| known(Recipe::Ort, gate(&["ort"], &["cuda", "tensorrt"])))
        .or_else(|| known(cudarc, gate(&["cudarc"], &["cudnn"])))
        .or_else(|| known(Recipe::Linked, is_linked.then(|| own.clone())))
        .or_else(|| known(cudarc_cuda, gate(&["cudarc"], &[""])))
        .or_else(|| known(Recipe::Cuda, uses_cuda.then(|| own.clone())))
        .unwrap_or_default();
    if !usage.is_known {
        usage.features = own;
    }
    usage.kernels = kernels;
    if usage.recipe == Recipe::Linked && package.is_extension() && package.depends_on("pyo3") {
        usage.recipe = Recipe::Python;
    }
    found.insert(package.dir().to_path_buf(), usage.clone());
    usage
}

/// Returns the usage if it is enabled, always or by features.
fn known(recipe: Recipe, gate: Option<Vec<String>>) -> Option<Usage> {
    Some(Usage {
        recipe,
        base: recipe,
        features: gate?,
        is_known: true,
        ..Usage::default()
    })
}

/// Finds the usage of CUDA through a dependency in a directory, preferably one with a guard.
fn through(package: &Package, members: &[Package], found: &mut Found) -> Option<Usage> {
    let mut usages = Vec::new();
    let dependencies = package.dependencies();
    for dependency in dependencies.filter(|one| name(one) != "cudnn-guard") {
        let path = dependency["path"].as_str().map(Path::new);
        let Some(path) = path else { continue };
        let other = metadata::find(members, path).cloned().or_else(|_| {
            let others = metadata::packages(path)?;
            metadata::find(&others, path).cloned()
        });
        let Ok(other) = other else { continue };
        let inner = find(&other, members, found);
        let guard = other.guard();
        let recipe = match &guard {
            _ if other.links_cudnn() => Recipe::Above,
            Some(_) => Recipe::Call,
            // A library below calls its own guard.
            None if inner.recipe == Recipe::Call && inner.guard.is_none() => Recipe::Call,
            None if inner.is_known => inner.base,
            None => continue,
        };
        let gate = package.gate(&|krate, feature| {
            let closure = other.closure(feature);
            let is_on = |one: &String| closure.contains(one.as_str());
            let is_always = inner.features.is_empty();
            krate == name(dependency) && (is_always || inner.features.iter().any(is_on))
        });
        usages.extend(known(recipe, gate).map(|usage| Usage {
            base: inner.base,
            library: (recipe == inner.base).then(|| other.clone()),
            // The library's own call is enough.
            guard: guard.filter(|guard| !calls_guard(&other.modules(), guard)),
            ..usage
        }));
    }
    usages
        .into_iter()
        .min_by_key(|usage| usage.library.is_some())
}
