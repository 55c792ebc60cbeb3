//! The use of CUDA and cuDNN by the crate in the current directory, according to cargo and the code of its packages.

use crate::compat::cudarc_sources::{cargo_tree, unpacked};
use crate::model::Environment;
use crate::system::files;
use std::path::Path;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Usage {
    NoCuda,
    /// The crate ort with its feature for CUDA, which needs no toolkit.
    Ort,
    NoCudnn,
    Unknown,
    /// The program opens cuDNN at run time. The build needs no toolkit.
    Opened,
    Cudnn,
}

/// Returns what all builds of the crate use. cargo cannot resolve a crate without a lock file.
pub fn find(env: &Environment) -> Usage {
    let greatest = |option| {
        let tree = cargo_tree(&["--prefix=none"], option, env)?;
        let packages = || tree.lines().filter_map(|line| line.split_once('|'));
        // In a clone of this crate, the machine is examined.
        if packages().next()?.1.starts_with("cudnn-guard v") {
            return Some(Usage::Cudnn);
        }
        let has_cudarc = packages().any(|(_, package)| package.starts_with("cudarc v"));
        let usages = packages().map(|one| of_package(one, has_cudarc, env));
        let usages = usages.map(|one| one.unwrap_or(Usage::Unknown));
        usages.reduce(|one, other| match (one.min(other), one.max(other)) {
            (Usage::NoCudnn | Usage::Unknown, Usage::Opened) => Usage::Cudnn,
            (_, greater) => greater,
        })
    };
    match greatest(None).or_else(|| in_code(env.directory())) {
        Some(usage) if usage > Usage::Unknown => usage,
        _ => greatest(Some("--all-features")).map_or(Usage::Unknown, |one| one.min(Usage::Unknown)),
    }
}

/// Returns the usage of a package, `app v0.1.0 (/work/app)`, with these features. Without cudarc, a dependency with a
/// feature for CUDA may use cuDNN in any way.
fn of_package(
    (features, package): (&str, &str),
    has_cudarc: bool,
    env: &Environment,
) -> Option<Usage> {
    let (name, rest) = package.split_once(" v")?;
    // Their frameworks contain CUDA or load it, and the build uses none.
    if let "ort" | "ort-sys" | "tch" | "torch-sys" = name {
        let is_ort = name == "ort-sys" && features.split(',').any(|one| one == "cuda");
        return Some([Usage::NoCuda, Usage::Ort][usize::from(is_ort)]);
    }
    if let "cudarc" | "cudnn-guard" = name {
        let is_used = features.split([',', '-']).any(|one| one == "cudnn");
        let has = |word: &str| features.contains(word);
        // Another feature for linking has precedence, and nvcc is part of a toolkit.
        let is_opened = has("dynamic-loading") && !has("-linking") && !has("version-from-build");
        let usages = match is_opened {
            true => [Usage::NoCuda, Usage::Opened],
            false => [Usage::NoCudnn, Usage::Cudnn],
        };
        return Some(usages[usize::from(is_used)]);
    }
    let mut words = rest.split(" (").map(|word| word.trim_end_matches(')'));
    let unpacked = unpacked(name, words.next()?, env);
    let local = words.map(Path::new).find(|word| word.is_absolute());
    let mut features = features.split(',');
    let is_for_cuda = features.any(|one| ["cuda", "cudnn"].contains(&one));
    match local {
        None if is_for_cuda && !has_cudarc => None,
        _ => in_code(local.or(unpacked.as_deref())?),
    }
}

/// Returns the usage of the build script in a directory. It may use what it mentions.
fn in_code(dir: &Path) -> Option<Usage> {
    let mut code = String::new();
    for file in files::glob(&(glob::Pattern::escape(&dir.to_string_lossy()) + "/*.rs")).ok()? {
        let text = files::read_to_string(&file).ok()?;
        let text = text.replace("cudnn_guard", "");
        code.extend(text.lines().filter_map(|line| line.split("//").next()));
    }
    let code = code.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
    let is_required = has(&[".cudnn(", "link-lib=cudnn", "link-lib=dylib=cudnn"]);
    Some(match has(&["cudnn"]) {
        true if is_required && !has(&["feature", ".optional("]) => Usage::Cudnn,
        true => Usage::Unknown,
        false if has(&["cuda", "nvcc"]) => Usage::NoCudnn,
        false => Usage::NoCuda,
    })
}
