//! The way in which a package uses cuDNN, and the lines for it.

use crate::cli::init::metadata::{Package, name};
use crate::cli::init::recipe::Recipe;
use crate::cli::init::{recipe, refusal};
use crate::model::joined;
use crate::system::files;
use serde_json::Value;
use std::path::Path;
use toml_edit::DocumentMut;

const CANDLE: [&str; 3] = ["candle-core", "candle-nn", "candle-transformers"];

pub struct Usage {
    pub recipe: &'static Recipe,
    /// The features of the package that each turn CUDA on. Empty if CUDA is always on.
    pub features: Vec<String>,
    /// `true` if a dependency uses CUDA.
    pub is_known: bool,
}

impl Usage {
    pub fn find(package: &Package) -> Self {
        let gate = |names: &[&str], features: &[&str]| {
            package.gate(&|name, feature| {
                // cudarc has features such as `cudnn-09021`.
                let feature = feature.split("-0").next().unwrap_or_default();
                names.contains(&name) && features.contains(&feature)
            })
        };
        let is_linked = gate(&["cudarc"], &["dynamic-linking", "static-linking"]).is_some();
        let cudarc = [&recipe::CUDARC, &recipe::LINKED][usize::from(is_linked)];
        let linked: Vec<&str> = package.dependencies().filter_map(links_cudnn).collect();
        let known = [
            (&recipe::CANDLE, gate(&CANDLE, &["cudnn"])),
            (&recipe::CANDLE_CUDA, gate(&CANDLE, &["cuda"])),
            (&recipe::ORT, gate(&["ort"], &["cuda", "tensorrt"])),
            (cudarc, gate(&["cudarc"], &["cudnn"])),
            (&recipe::ABOVE, gate(&linked, &[""])),
        ];
        let mut known = known.into_iter();
        let found = known.find_map(|(recipe, gate)| Some((recipe, gate?)));
        // The package's own code.
        let mut own = ["cudnn", "cuda"].into_iter();
        let own = own.find(|name| package.has_feature(name));
        let own = own.map(String::from).into_iter().collect();
        let is_known = found.is_some();
        let (recipe, features) = found.unwrap_or((&recipe::LINKED, own));
        Self {
            recipe,
            features,
            is_known,
        }
    }

    /// Returns an error if the package depends on crates for cuDNN, but uses none of them with CUDA.
    pub fn must_use_cuda(&self, package: &Package) -> Result<(), String> {
        let mut names = CANDLE.into_iter().chain(["ort", "cudarc"]);
        let found = names.find(|wanted| package.dependencies().any(|one| name(one) == *wanted));
        // The features of the package's own code. `cuda` may only enable cudarc.
        let is_own =
            package.has_feature("cudnn") || found != Some("cudarc") && package.has_feature("cuda");
        let Some(name) = found.filter(|_| !self.is_known && !is_own) else {
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

/// Returns the name of a path dependency whose manifest shows that it links cuDNN with cudnn-guard.
fn links_cudnn(dependency: &Value) -> Option<&str> {
    let path = Path::new(dependency["path"].as_str()?).join("Cargo.toml");
    let manifest: DocumentMut = files::read_to_string(&path).ok()?.parse().ok()?;
    manifest.get("build-dependencies")?.get("cudnn-guard")?;
    let links = manifest.get("package")?.get("links")?.as_str()?;
    (links == "cudnn").then_some(name(dependency))
}
