//! Which toolkit and which cuDNN: chosen together, since they have to fit each other.

#[cfg(test)]
mod tests;

use crate::choice::requirement::Requirement;
use crate::cudnn::consistency;
use crate::model::candidate::{Candidate, Cudnn, Found, Toolkit};
use crate::model::platform::Platform;
use crate::model::rejection::Rejection;
use crate::search::search_step::Kind;
use crate::system::path_encoding::cargo_cannot_take;
use std::path::PathBuf;

/// What the choice has to meet.
#[derive(Clone, Copy, Debug, Default)]
pub struct SelectionConstraints<'a> {
    /// Of the toolkit.
    pub cuda: Option<&'a Requirement>,
    /// Of cuDNN.
    pub cudnn: Option<&'a Requirement>,
    /// The system that is built for.
    pub platform: Option<&'a Platform>,
    /// Whether the build asked for a toolkit, so that a cuDNN for another CUDA is no way out.
    pub toolkit_needed: bool,
    /// The kinds for which a variable names a place where nothing is. Nothing else is taken in its stead.
    pub blocked: &'a [Kind],
}

/// The pair that is best, as indices in the list of candidates. Findings are about it even where it may not be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    pub toolkit: Option<usize>,
    pub cudnn: Option<usize>,
    /// The toolkit and the cuDNN that would have been taken if they were for the same CUDA.
    pub misfit: Option<(usize, usize)>,
}

impl Choice {
    pub fn of(&self, kind: Kind) -> Option<usize> {
        match kind {
            Kind::Toolkit => self.toolkit,
            Kind::Cudnn => self.cudnn,
        }
    }
}

/// Chooses the first pair that meets the requirements and fits. Each candidate is marked as chosen, or gets the reason
/// why it is not.
pub fn choose(candidates: &mut [Candidate], constraints: &SelectionConstraints) -> Choice {
    let toolkits = eligible(
        candidates,
        Kind::Toolkit,
        constraints.cuda,
        constraints.platform,
    );
    let cudnns = eligible(
        candidates,
        Kind::Cudnn,
        constraints.cudnn,
        constraints.platform,
    );
    let mut choice = pair(candidates, &toolkits, &cudnns, constraints.toolkit_needed);
    let toolkit = choice.toolkit;
    choice.toolkit = toolkit.map(|index| with_compiler(candidates, index, &toolkits));
    mark(candidates, choice, constraints.blocked);
    choice
}

/// Those that may be chosen, the best known first. Where somebody asked for a place by name, nothing else may.
fn eligible(
    candidates: &mut [Candidate],
    kind: Kind,
    requirement: Option<&Requirement>,
    platform: Option<&Platform>,
) -> Vec<usize> {
    let of_kind = |one: &Candidate| kind_of(one) == kind && one.rejected.is_none();
    let mut asked = candidates.iter().filter(|one| one.request.is_some());
    let request = asked.find(|one| of_kind(one));
    let request = request.map(|candidate| (candidate.request, candidate.via.clone()));
    let mut left = Vec::new();
    for (index, candidate) in candidates.iter_mut().enumerate() {
        if !of_kind(candidate) {
            continue;
        }
        candidate.rejected = match (&request, unmet(candidate, requirement)) {
            (Some((request, via)), _) if candidate.request != *request => {
                Some(Rejection::OutrankedBy(via.clone()))
            }
            (_, Some(reason)) => Some(reason),
            _ => unusable(candidate, platform),
        };
        if candidate.rejected.is_none() {
            // The most certain first, else in the order of the search.
            let doubts = uncertainty(candidate);
            let at = left.iter().position(|(known, _)| *known > doubts);
            left.insert(at.unwrap_or(left.len()), (doubts, index));
        }
    }
    left.into_iter().map(|(_, index)| index).collect()
}

/// Why no build for this platform can use it, whatever the requirements.
fn unusable(candidate: &Candidate, platform: Option<&Platform>) -> Option<Rejection> {
    if let Some(what) = unfit_path(candidate) {
        return Some(Rejection::UntellablePath(what));
    }
    match &candidate.found {
        Found::Toolkit(toolkit) => toolkit.is_runtime().then_some(Rejection::RuntimeOnly),
        Found::Cudnn(cudnn) if cudnn.link_dir.is_none() => Some(match &cudnn.files.obstacle {
            _ if cudnn.library.is_some() => Rejection::NoImportLibrary,
            Some(obstacle) => Rejection::Obstructed(obstacle.clone()),
            None => Rejection::NoLibrary,
        }),
        Found::Cudnn(cudnn) => platform
            .and_then(|platform| other_cpu(candidate, platform))
            .map(Rejection::OtherCpu)
            .or_else(|| flaw(cudnn)),
    }
}

/// Why the requirement is not met. A release that is not known may meet it.
fn unmet(candidate: &Candidate, requirement: Option<&Requirement>) -> Option<Rejection> {
    let (requirement, version) = (requirement?, candidate.version()?);
    let text = requirement.text.clone();
    match requirement.admits(version) {
        true => None,
        false if version < requirement.from => Some(Rejection::TooOld(text)),
        false => Some(Rejection::TooNew(text)),
    }
}

/// The processor that its library is for, if that is another one.
pub fn other_cpu(candidate: &Candidate, platform: &Platform) -> Option<&'static str> {
    match candidate.found {
        Found::Cudnn(Cudnn { cpu: Some(cpu), .. }) if cpu != platform.cpu => Some(cpu),
        _ => None,
    }
}

/// What it is about its paths that keeps them from cargo.
pub fn unfit_path(candidate: &Candidate) -> Option<&'static str> {
    let mut paths = vec![candidate.root()];
    match &candidate.found {
        Found::Toolkit(toolkit) => paths.extend(toolkit.link_dirs.iter().map(PathBuf::as_path)),
        Found::Cudnn(cudnn) => {
            let dirs = [&cudnn.link_dir, &cudnn.include_dir];
            paths.extend(dirs.into_iter().filter_map(|dir| dir.as_deref()));
        }
    }
    paths.into_iter().find_map(cargo_cannot_take)
}

/// Why its library can be neither linked nor opened.
fn flaw(cudnn: &Cudnn) -> Option<Rejection> {
    let (_, path, flaw) = cudnn.flaw()?;
    let name = path.file_name()?.to_string_lossy();
    Some(Rejection::Damaged(name.into_owned(), flaw.clone()))
}

/// Whether what was found so far is all of this kind that the build needs.
pub fn is_met(kind: Kind, found: &[Candidate], constraints: &SelectionConstraints) -> bool {
    let mut found = found.to_vec();
    let choice = choose(&mut found, constraints);
    let chosen = choice.of(kind).and_then(|index| found.get(index));
    choice.misfit.is_none() && chosen.is_some_and(is_whole)
}

/// Whether it has all that a build may need.
pub fn is_whole(candidate: &Candidate) -> bool {
    match &candidate.found {
        Found::Toolkit(toolkit) => toolkit.lacks().is_empty(),
        Found::Cudnn(cudnn) => cudnn.header.is_some() && cudnn.link_dir.is_some(),
    }
}

/// Whether it may be named as what to take instead: it has all that a build may need, and nothing is wrong with it.
pub fn is_offered(candidate: &Candidate, platform: &Platform) -> bool {
    let is_sound = match &candidate.found {
        Found::Toolkit(_) => true,
        Found::Cudnn(cudnn) => is_whole(candidate) && consistency::doubtful(cudnn).is_none(),
    };
    let is_own_copy = matches!(candidate.rejected, Some(Rejection::BundledWith(_)));
    is_sound && !is_own_copy && unusable(candidate, Some(platform)).is_none()
}

/// What is complete, known and of one piece goes before what is not.
fn uncertainty(candidate: &Candidate) -> usize {
    let lacking = match &candidate.found {
        // Whether a compiler is needed shows later.
        Found::Toolkit(toolkit) => {
            let lacks = toolkit.lacks();
            lacks.iter().filter(|part| **part != "nvcc").count()
                + usize::from(!toolkit.absent.is_empty())
        }
        Found::Cudnn(cudnn) => {
            usize::from(cudnn.header.is_none())
                + usize::from(consistency::doubtful(cudnn).is_some())
        }
    };
    usize::from(candidate.version().is_none()) + lacking
}

/// Whether a build could use it at all: not what a Python package brought along for itself.
pub fn is_usable(candidate: &Candidate) -> bool {
    match &candidate.found {
        Found::Toolkit(toolkit) => toolkit.nvcc.is_some() || !toolkit.include_dirs.is_empty(),
        Found::Cudnn(cudnn) => cudnn.header.is_some() || cudnn.link_dir.is_some(),
    }
}

/// Whether there is a library to open. For Windows that alone is not enough to link against.
pub fn has_library(candidate: &Candidate) -> bool {
    matches!(&candidate.found, Found::Cudnn(cudnn) if cudnn.library.is_some())
}

fn pair(
    candidates: &[Candidate],
    toolkits: &[usize],
    cudnns: &[usize],
    toolkit_needed: bool,
) -> Choice {
    let (first_toolkit, first_cudnn) = (toolkits.first().copied(), cudnns.first().copied());
    let Some(misfit) = first_toolkit.zip(first_cudnn) else {
        return Choice {
            toolkit: first_toolkit,
            cudnn: first_cudnn,
            misfit: None,
        };
    };
    // The order of a pair is that of its better half: what is in the active environment pulls the other with it.
    let mut best: Option<((usize, usize, usize), usize, usize)> = None;
    for &one in toolkits {
        for &other in cudnns {
            let (Some(left), Some(right)) = (candidates.get(one), candidates.get(other)) else {
                continue;
            };
            let rank = (
                uncertainty(left) + uncertainty(right),
                one.min(other),
                one.max(other),
            );
            let fits = other_cuda(left, right).is_none();
            if fits && best.is_none_or(|(known, ..)| rank < known) {
                best = Some((rank, one, other));
            }
        }
    }
    match best {
        Some((_, toolkit, cudnn)) => Choice {
            toolkit: Some(toolkit),
            cudnn: Some(cudnn),
            misfit: None,
        },
        None => Choice {
            toolkit: first_toolkit.filter(|_| toolkit_needed),
            cudnn: first_cudnn,
            misfit: Some(misfit),
        },
    }
}

/// The CUDA major that the cuDNN was built for, where that is not the toolkit's.
fn other_cuda(toolkit: &Candidate, cudnn: &Candidate) -> Option<u32> {
    let (version, major) = (toolkit.toolkit()?.version?, cudnn.cudnn()?.cuda_major?);
    (version.major != major).then_some(major)
}

/// A toolkit without a compiler does not hide a whole one of the same CUDA, unless it was asked for by name.
fn with_compiler(candidates: &[Candidate], chosen: usize, toolkits: &[usize]) -> usize {
    let toolkit = |index: usize| candidates.get(index)?.toolkit();
    let is_asked = candidates
        .get(chosen)
        .is_some_and(|one| one.request.is_some());
    let Some(part) = toolkit(chosen).filter(|part| part.nvcc.is_none() && !is_asked) else {
        return chosen;
    };
    let major = |toolkit: &Toolkit| toolkit.version.map(|version| version.major);
    let has_compiler = |whole: &Toolkit| whole.nvcc.is_some() && major(whole) == major(part);
    let mut toolkits = toolkits.iter().copied();
    let whole = toolkits.find(|&index| toolkit(index).is_some_and(has_compiler));
    whole.unwrap_or(chosen)
}

/// Marks the two that are chosen. All others get the reason why they are not.
fn mark(candidates: &mut [Candidate], choice: Choice, blocked: &[Kind]) {
    let chosen = |index: Option<usize>| index.and_then(|index| candidates.get(index)).cloned();
    let (toolkit, cudnn) = (chosen(choice.toolkit), chosen(choice.cudnn));
    for (index, candidate) in candidates.iter_mut().enumerate() {
        let kind = kind_of(candidate);
        let best = [choice.toolkit, choice.cudnn].contains(&Some(index));
        candidate.chosen = best && !blocked.contains(&kind);
        if best && !candidate.chosen {
            candidate.rejected = Some(Rejection::AnotherPlaceAsked);
        }
        if candidate.chosen || candidate.rejected.is_some() {
            continue;
        }
        candidate.rejected = Some(match kind {
            Kind::Toolkit => passed_over(candidate, toolkit.as_ref(), cudnn.as_ref()),
            Kind::Cudnn => passed_over(candidate, cudnn.as_ref(), toolkit.as_ref()),
        });
    }
}

/// Why another one of its kind was taken than this one, which could be used. `partner` is the chosen one of the other
/// kind.
fn passed_over(
    candidate: &Candidate,
    chosen: Option<&Candidate>,
    partner: Option<&Candidate>,
) -> Rejection {
    if let Some(major) = partner.and_then(|cudnn| other_cuda(candidate, cudnn)) {
        return Rejection::CudnnBuiltForCuda(major);
    }
    if let Some(major) = partner.and_then(|toolkit| other_cuda(toolkit, candidate)) {
        return Rejection::BuiltForCuda(major);
    }
    let Some(chosen) = chosen else {
        return Rejection::NothingFits;
    };
    let lacking = match &candidate.found {
        Found::Toolkit(toolkit) => match toolkit.lacks() {
            _ if !toolkit.absent.is_empty() => Some(Rejection::LacksAsked(toolkit.absent.clone())),
            parts if parts.is_empty() => None,
            parts => Some(Rejection::Lacks(parts)),
        },
        Found::Cudnn(cudnn) if cudnn.header.is_none() => Some(Rejection::Lacks(vec!["headers"])),
        Found::Cudnn(cudnn) => consistency::doubtful(cudnn),
    };
    lacking.unwrap_or_else(|| {
        if candidate.via == chosen.via {
            Rejection::OutrankedByOther(chosen.root().to_path_buf())
        } else {
            Rejection::OutrankedBy(chosen.via.clone())
        }
    })
}

/// What kind of thing a candidate is.
pub fn kind_of(candidate: &Candidate) -> Kind {
    match candidate.found {
        Found::Toolkit(_) => Kind::Toolkit,
        Found::Cudnn(_) => Kind::Cudnn,
    }
}
