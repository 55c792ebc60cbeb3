//! Variables that name a place where nothing is.

use crate::model::candidate::Candidate;
use crate::model::environment::Variable;
use crate::runtime::facts::finding::Finding;
use crate::search::install_layout;
use crate::search::search_step::{Kind, Place, Step};
use crate::system::sysroot::Sysroot;
use crate::system::{Host, files};
use crate::{cudnn, toolkit};
use std::path::{Path, PathBuf};

/// A variable that names a place where nothing is.
#[derive(Clone, Debug)]
pub struct Unusable {
    /// The variable.
    pub variable: Variable,
    /// Whether the place exists at all.
    pub exists: bool,
    /// Whether this user may not look there.
    pub forbidden: bool,
    /// The directory close to it that holds what was asked for.
    pub nearby: Option<PathBuf>,
    /// Why a compiler that is there could not be asked.
    pub reason: Option<Finding>,
}

/// The variables that name such a place.
pub fn unusable(
    steps: &[Step],
    candidates: &[Candidate],
    mut failures: Vec<(Variable, Finding)>,
    host: &Host,
) -> Vec<Unusable> {
    let mut found: Vec<Unusable> = Vec::new();
    for variable in steps.iter().filter_map(|step| step.wish) {
        let used = candidates
            .iter()
            .any(|candidate| candidate.wish == Some(variable));
        if used || found.iter().any(|known| known.variable == variable) {
            continue;
        }
        let value = host.env.path(variable).unwrap_or_default();
        let failure = failures.iter().position(|(failed, _)| *failed == variable);
        found.push(Unusable {
            variable,
            exists: files::is_dir(&value) || files::is_file(&value),
            forbidden: files::is_forbidden(&value),
            nearby: nearby(steps, variable, &value, host),
            reason: failure.map(|index| failures.swap_remove(index).1),
        });
    }
    found
}

/// People name `bin` or the compiler for the toolkit, or the folder of all wheels for one of them.
fn nearby(steps: &[Step], variable: Variable, value: &Path, host: &Host) -> Option<PathBuf> {
    let eyes = Sysroot { root: None };
    let asked = |kind| {
        let mut steps = steps.iter();
        steps.any(|step| {
            step.wish == Some(variable) && step.kind == kind && matches!(step.place, Place::Tree(_))
        })
    };
    // The header itself, where its directory is asked for.
    if matches!(
        variable,
        Variable::CudnnIncludeDir | Variable::CudnnIncludePath
    ) {
        let is_header = value.ends_with("cudnn.h") && files::is_file(value);
        return match value.parent() {
            Some(dir) if is_header => Some(dir.to_path_buf()),
            _ => None,
        };
    }
    let mut above = value.ancestors().skip(1).take(2);
    match (asked(Kind::Toolkit), asked(Kind::Cudnn)) {
        (true, false) => above
            .find(|dir| {
                let tree = install_layout::toolkit(&host.platform, dir, "");
                tree.nvcc.iter().any(|nvcc| files::is_file(&dir.join(nvcc)))
                    && toolkit::read_install(dir, &tree, eyes, host).is_some()
            })
            .map(Path::to_path_buf),
        (false, true) => {
            let below = ["cudnn", "nvidia/cudnn", "cuda"].map(|name| value.join(name));
            let mut all = above.map(Path::to_path_buf).chain(below);
            all.find(|dir| {
                let tree = install_layout::cudnn(&host.platform, dir, "");
                cudnn::read_install(dir, &tree, eyes, &host.platform)
                    .is_some_and(|(cudnn, _)| cudnn.header.is_some() && cudnn.link_dir.is_some())
            })
        }
        _ => None,
    }
}
