//! Phrases for several topics: candidates, variables, alternatives.

use crate::choice::CheckContext;
use crate::model::{Candidate, Kind, Os, Platform};
pub use crate::runtime::facts::finding::after_space;
use crate::runtime::facts::{Finding, FindingId, Version, majors, printable};
use std::fmt::Display;
use std::path::Path;

/// Returns the help for a misspelled word if a known one is similar.
pub fn suggestion(meant: Option<impl Display>) -> Option<String> {
    meant.map(|meant| format!("write `{meant}` if that is what you mean"))
}

/// Returns the name of the variable for such a directory.
pub fn variable(kind: Kind) -> &'static str {
    match kind {
        Kind::Toolkit => "CUDA_HOME",
        Kind::Cudnn => "CUDNN_PATH",
    }
}

/// Returns the help that sets a variable to a directory with the files that the build requires.
pub fn set_directory(variable: &str, kind: Kind, context: &CheckContext) -> String {
    let requirement = context.requirements.get(kind);
    let below = requirement.and_then(|requirement| requirement.below);
    let is_accepted = |major: &&u32| below.is_none_or(|below| Version::new(**major, 0, 0) < below);
    let major = majors::CUDNN
        .iter()
        .find(is_accepted)
        .unwrap_or(&majors::OLDEST_CUDNN);
    let contents = match (kind, context.platform.os) {
        (Kind::Toolkit, Os::Windows) => "include/cuda.h and bin/nvcc.exe".into(),
        (Kind::Toolkit, _) => "include/cuda.h and bin/nvcc".into(),
        (Kind::Cudnn, Os::Windows) => "include/cudnn.h and lib/x64/cudnn.lib".into(),
        (Kind::Cudnn, _) => format!("include/cudnn.h and lib/libcudnn.so.{major}"),
    };
    format!("set {variable} to the directory that contains {contents}")
}

/// Returns the help for a target for which NVIDIA does not publish the product.
pub fn build_for_another(target: &Platform, product: &str) -> String {
    format!(
        "build for {}: NVIDIA has no {product} for {}",
        target.instead(),
        target.triple
    )
}

/// Returns the help for a toolkit without the libraries of the target's CPU.
pub fn install_cross_packages(target: &Platform) -> String {
    match target.toolkit_targets() {
        [] => build_for_another(target, Kind::Toolkit.product()),
        targets => format!(
            "install NVIDIA's cross-compilation packages, which add `targets/{}`",
            targets.join("` or `targets/")
        ),
    }
}

pub fn other_cpu(library: &str, cpu: &str, own: &str) -> Finding {
    FindingId::WrongArchitecture.error(format!(
        "{library} is for {cpu}, but the build target is {own}"
    ))
}

/// Returns product, version and place: ``cuDNN 8.9.7 at `/usr` ``.
pub fn named(candidate: &Candidate) -> String {
    format!("{} at `{}`", candidate.title(), candidate.root().display())
}

/// Returns how and where a candidate was found: `system directories: /usr/include/cudnn_version.h`.
pub fn found_via(candidate: &Candidate) -> String {
    found_at(&candidate.via, candidate.shown_path())
}

/// Returns how and where a file was found, in one line.
pub fn found_at(via: impl Display, path: &Path) -> String {
    printable(&format!("{via}: {}", path.display()))
}

/// Returns the line of another candidate: `9.14.0 in /opt/venv/…/nvidia/cudnn (outranked by CUDNN_PATH)`.
pub fn also(candidate: &Candidate) -> String {
    let (version, root) = (candidate.version_text(), candidate.root().display());
    match &candidate.rejected {
        _ if candidate.via.is_inactive() => format!("{version} in {root} (not active)"),
        Some(reason) => format!("{version} in {root} ({reason})"),
        None => format!("{version} in {root}"),
    }
}

/// Returns the help that installs both with `cudnn-guard fetch`, if it can install the required versions.
pub fn fetch(context: &CheckContext, place: &str) -> Option<String> {
    let options = context.fetch()?;
    let help = format!("run `cudnn-guard fetch{options}` to install CUDA and cuDNN {place}");
    Some(match context.is_survey {
        true => help,
        false => {
            help + " (to get it, run `cargo install --path . --features cli` in a clone of cudnn-guard)"
        }
    })
}

#[cfg(test)]
mod tests {
    use super::install_cross_packages;
    use crate::model::Platform;

    #[test]
    fn a_target_without_packages_gets_one_that_has_them() {
        for (triple, help) in [
            (
                "aarch64-linux-gnu",
                "install NVIDIA's cross-compilation packages, which add `targets/sbsa-linux` or `targets/aarch64-linux`",
            ),
            (
                "arm64",
                "build for aarch64-unknown-linux-gnu: NVIDIA has no CUDA toolkit for arm64",
            ),
            (
                "riscv64gc-unknown-linux-gnu",
                "build for x86_64-unknown-linux-gnu: NVIDIA has no CUDA toolkit for riscv64gc-unknown-linux-gnu",
            ),
        ] {
            assert_eq!(install_cross_packages(&Platform::from_triple(triple)), help);
        }
    }
}
