//! Chooses a toolkit and a cuDNN together, because they must be compatible.

#[cfg(test)]
mod tests;

use crate::choice::requirement::{Requirement, Requirements};
use crate::cudnn::consistency;
use crate::model::{Candidate, Cudnn, Found, Kind, Platform, Rejection, Toolkit};
use crate::system::cargo_cannot_take;
use std::path::PathBuf;

pub struct Constraints<'a> {
    pub requirements: &'a Requirements,
    pub platform: &'a Platform,
    /// `true` if the build requires a toolkit, so that a cuDNN for another CUDA must not be chosen.
    pub toolkit_needed: bool,
    /// The kinds for which a variable points to a place without an installation. No other place is used instead.
    pub blocked: &'a [Kind],
}

/// The best pair, as indices in the list of candidates. Findings refer to the pair even if it must not be used.
#[derive(Default)]
pub struct Choice {
    pub toolkit: Option<usize>,
    pub cudnn: Option<usize>,
    /// The toolkit and cuDNN that would be chosen if they were for the same CUDA.
    pub mismatch: Option<(usize, usize)>,
    /// The reason why each candidate is rejected. The two candidates without a reason are chosen.
    pub rejections: Vec<Option<Rejection>>,
}

impl Choice {
    pub fn best(&self, kind: Kind) -> Option<usize> {
        match kind {
            Kind::Toolkit => self.toolkit,
            Kind::Cudnn => self.cudnn,
        }
    }

    /// Returns `true` if the best candidate of this kind is complete.
    pub fn is_met(&self, kind: Kind, candidates: &[Candidate]) -> bool {
        let best = self.best(kind).and_then(|index| candidates.get(index));
        self.mismatch.is_none() && best.is_some_and(is_complete)
    }

    pub fn mark(&self, candidates: &mut [Candidate]) {
        for (candidate, rejected) in candidates.iter_mut().zip(&self.rejections) {
            candidate.rejected.clone_from(rejected);
        }
    }
}

/// Chooses the first compatible pair that meets the requirements.
pub fn choose(candidates: &[Candidate], constraints: &Constraints) -> Choice {
    let mut rejections: Vec<Option<Rejection>> = Vec::new();
    for candidate in candidates {
        let is_requested = |other: &&Candidate| {
            other.kind() == candidate.kind() && other.rejected.is_none() && other.request.is_some()
        };
        let requested = candidates.iter().find(is_requested);
        let known = candidate.rejected.clone();
        rejections.push(known.or_else(|| refusal(candidate, requested, constraints)));
    }
    let toolkits = eligible(Kind::Toolkit, candidates, &rejections);
    let cudnns = eligible(Kind::Cudnn, candidates, &rejections);
    let mut choice = pair(candidates, &toolkits, &cudnns, constraints.toolkit_needed);
    if let Some(toolkit) = &mut choice.toolkit {
        *toolkit = with_compiler(candidates, *toolkit, &toolkits);
    }
    for (index, candidate) in candidates.iter().enumerate() {
        let (kind, rejected) = (candidate.kind(), &mut rejections[index]);
        if choice.best(kind) == Some(index) {
            if constraints.blocked.contains(&kind) {
                *rejected = Some(Rejection::AnotherPlaceRequested);
            }
        } else if rejected.is_none() {
            *rejected = Some(passed_over(candidate, candidates, &choice));
        }
    }
    choice.rejections = rejections;
    choice
}

/// Returns the reason why this candidate must not be chosen in any pair. If a place is requested, only its candidates
/// may be chosen, and their version is checked only if they are usable.
fn refusal(
    candidate: &Candidate,
    requested: Option<&Candidate>,
    constraints: &Constraints,
) -> Option<Rejection> {
    let requirement = constraints.requirements.get(candidate.kind());
    let unmet = || unmet(candidate, requirement);
    let defect = || defect(candidate, constraints.platform);
    match requested {
        Some(requested) if requested.request != candidate.request => {
            Some(Rejection::OutrankedBy(requested.via.clone()))
        }
        Some(_) => defect().or_else(unmet),
        None => unmet().or_else(defect),
    }
}

/// A candidate that may be chosen: its uncertainty and its index.
type Eligible = (usize, usize);

/// Returns the candidates of this kind that may be chosen, sorted by uncertainty, then in search order.
fn eligible(
    kind: Kind,
    candidates: &[Candidate],
    rejections: &[Option<Rejection>],
) -> Vec<Eligible> {
    let mut eligible: Vec<Eligible> = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        if candidate.kind() == kind && rejections[index].is_none() {
            let uncertainty = uncertainty(candidate);
            let place = eligible.iter().position(|(other, _)| *other > uncertainty);
            eligible.insert(place.unwrap_or(eligible.len()), (uncertainty, index));
        }
    }
    eligible
}

/// Returns the reason why no build for this platform can use the candidate.
pub fn defect(candidate: &Candidate, platform: &Platform) -> Option<Rejection> {
    if let Found::Cudnn(Cudnn { cpu: Some(cpu), .. }) = candidate.found {
        if cpu != platform.cpu {
            return Some(Rejection::OtherCpu(cpu));
        }
    }
    if let Some(what) = unprintable_path(candidate) {
        return Some(Rejection::UnprintablePath(what));
    }
    let cudnn = match &candidate.found {
        Found::Toolkit(toolkit) => return toolkit.is_runtime().then_some(Rejection::RuntimeOnly),
        Found::Cudnn(cudnn) => cudnn,
    };
    if let Some((path, defect)) = cudnn.main_library_defect() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        return Some(Rejection::Damaged(name.into_owned(), defect.clone()));
    }
    match &cudnn.files.obstacle {
        _ if cudnn.link_dir.is_some() => None,
        _ if cudnn.library.is_some() => Some(Rejection::NoImportLibrary),
        Some(obstacle) => Some(Rejection::Obstructed(obstacle.clone())),
        None => Some(Rejection::NoLibrary),
    }
}

/// Returns the reason why the requirement is not met. An unknown version may meet it.
fn unmet(candidate: &Candidate, requirement: Option<&Requirement>) -> Option<Rejection> {
    let (requirement, version) = (requirement?, candidate.version()?);
    let text = requirement.text.clone();
    match requirement.admits(version) {
        true => None,
        false if version < requirement.from => Some(Rejection::TooOld(text)),
        false => Some(Rejection::TooNew(text)),
    }
}

/// Returns the reason why its paths cannot be printed for cargo.
fn unprintable_path(candidate: &Candidate) -> Option<&'static str> {
    let of_dir = |dir: &Option<PathBuf>| cargo_cannot_take(dir.as_deref()?);
    cargo_cannot_take(candidate.root()).or_else(|| match &candidate.found {
        Found::Toolkit(toolkit) => toolkit
            .link_dirs
            .iter()
            .find_map(|dir| cargo_cannot_take(dir)),
        Found::Cudnn(cudnn) => of_dir(&cudnn.link_dir).or_else(|| of_dir(&cudnn.include_dir)),
    })
}

/// Returns the reason why a usable candidate is incomplete or inconsistent.
fn doubt(candidate: &Candidate) -> Option<Rejection> {
    match &candidate.found {
        Found::Toolkit(toolkit) if !toolkit.absent.is_empty() => {
            Some(Rejection::Missing(toolkit.absent.join(" or ")))
        }
        Found::Toolkit(toolkit) => match toolkit.missing_components() {
            parts if parts.is_empty() => None,
            parts => Some(Rejection::Missing(parts.join(" or "))),
        },
        Found::Cudnn(cudnn) if cudnn.header.is_none() => Some(Rejection::Missing("headers".into())),
        Found::Cudnn(cudnn) => consistency::doubtful(cudnn),
    }
}

pub fn is_complete(candidate: &Candidate) -> bool {
    match &candidate.found {
        Found::Toolkit(toolkit) => toolkit.missing_components().is_empty(),
        Found::Cudnn(cudnn) => cudnn.header.is_some() && cudnn.link_dir.is_some(),
    }
}

/// Returns `true` if messages may suggest this candidate: it is usable, and a cuDNN is complete and consistent.
pub fn is_offered(candidate: &Candidate, platform: &Platform) -> bool {
    let is_certain = candidate.cudnn().is_none() || doubt(candidate).is_none();
    is_certain && defect(candidate, platform).is_none()
}

/// Counts missing and doubtful properties, so that complete and consistent candidates with a known version come first.
fn uncertainty(candidate: &Candidate) -> usize {
    let missing = match &candidate.found {
        // It is not known yet whether a compiler is needed.
        Found::Toolkit(toolkit) => {
            let missing = toolkit.missing_components();
            missing.len() - usize::from(missing.contains(&"nvcc"))
                + usize::from(!toolkit.absent.is_empty())
        }
        Found::Cudnn(cudnn) => {
            usize::from(cudnn.header.is_none())
                + usize::from(consistency::doubtful(cudnn).is_some())
        }
    };
    usize::from(candidate.version().is_none()) + missing
}

fn pair(
    candidates: &[Candidate],
    toolkits: &[Eligible],
    cudnns: &[Eligible],
    toolkit_needed: bool,
) -> Choice {
    let first = |eligible: &[Eligible]| Some(eligible.first()?.1);
    let (first_toolkit, first_cudnn) = (first(toolkits), first(cudnns));
    // A pair ranks like its better candidate: a candidate in the active environment determines the other one.
    let mut best: Option<((usize, usize), usize, usize)> = None;
    for &(toolkit_uncertainty, one) in toolkits {
        for &(cudnn_uncertainty, other) in cudnns {
            let (Some(left), Some(right)) = (candidates.get(one), candidates.get(other)) else {
                continue;
            };
            let rank = (toolkit_uncertainty + cudnn_uncertainty, one.min(other));
            let fits = other_cuda(left, right).is_none();
            if fits && best.is_none_or(|(known, ..)| rank < known) {
                best = Some((rank, one, other));
            }
        }
    }
    let (toolkit, cudnn, mismatch) = match (best, first_toolkit.zip(first_cudnn)) {
        (Some((_, toolkit, cudnn)), _) => (Some(toolkit), Some(cudnn), None),
        (None, Some(mismatch)) if !toolkit_needed => (None, first_cudnn, Some(mismatch)),
        (None, mismatch) => (first_toolkit, first_cudnn, mismatch),
    };
    Choice {
        toolkit,
        cudnn,
        mismatch,
        rejections: Vec::new(),
    }
}

/// Returns the CUDA major that the cuDNN was built for, if it is not the toolkit's.
fn other_cuda(toolkit: &Candidate, cudnn: &Candidate) -> Option<u32> {
    let (version, major) = (toolkit.toolkit()?.version?, cudnn.cudnn()?.cuda_major?);
    (version.major != major).then_some(major)
}

/// Returns the toolkit to use. A toolkit with a compiler and the same CUDA major precedes one without a compiler. If a
/// toolkit is requested, `toolkits` contains no other.
fn with_compiler(candidates: &[Candidate], chosen: usize, toolkits: &[Eligible]) -> usize {
    let toolkit = |index: usize| candidates.get(index)?.toolkit();
    let Some(incomplete) = toolkit(chosen).filter(|toolkit| toolkit.nvcc.is_none()) else {
        return chosen;
    };
    let major = |toolkit: &Toolkit| toolkit.version.map(|version| version.major);
    let has_compiler = |other: &Toolkit| other.nvcc.is_some() && major(other) == major(incomplete);
    let mut toolkits = toolkits.iter();
    let complete = toolkits.find(|(_, index)| toolkit(*index).is_some_and(has_compiler));
    complete.map_or(chosen, |(_, index)| *index)
}

/// Returns the reason why a usable candidate was not chosen.
fn passed_over(candidate: &Candidate, candidates: &[Candidate], choice: &Choice) -> Rejection {
    let best = |kind| candidates.get(choice.best(kind)?);
    let (toolkit, cudnn) = (best(Kind::Toolkit), best(Kind::Cudnn));
    if let Some(major) = cudnn.and_then(|cudnn| other_cuda(candidate, cudnn)) {
        return Rejection::CudnnBuiltForCuda(major);
    }
    if let Some(major) = toolkit.and_then(|toolkit| other_cuda(toolkit, candidate)) {
        return Rejection::BuiltForCuda(major);
    }
    let Some(chosen) = best(candidate.kind()) else {
        return Rejection::NothingCompatible;
    };
    doubt(candidate).unwrap_or_else(|| {
        if candidate.via == chosen.via {
            Rejection::OutrankedByOther(chosen.root().to_path_buf())
        } else {
            Rejection::OutrankedBy(chosen.via.clone())
        }
    })
}
