//! Which toolkit and which cuDNN: chosen together, since they have to fit each other.

#[cfg(test)]
mod tests;

use crate::choice::requirement::Requirement;
use crate::cudnn::consistency;
use crate::model::candidate::{Candidate, Cudnn, Found, Toolkit};
use crate::model::platform::Platform;
use crate::model::version::Version;
use crate::search::search_step::Kind;
use crate::system::path_encoding::cargo_cannot_take;

/// What the choice has to meet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants<'a> {
    /// Of the toolkit.
    pub cuda: Option<&'a Requirement>,
    /// Of cuDNN.
    pub cudnn: Option<&'a Requirement>,
    /// The system that is built for.
    pub platform: Option<&'a Platform>,
    /// Whether the build asked for a toolkit, so that a cuDNN for another CUDA is no way out.
    pub toolkit_needed: bool,
}

/// The choice, as places in the list of candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The toolkit.
    pub toolkit: Option<usize>,
    /// The cuDNN.
    pub cudnn: Option<usize>,
    /// The toolkit and the cuDNN that would have been taken if they were for the same CUDA.
    pub misfit: Option<(usize, usize)>,
}

/// Chooses the first pair that meets the requirements and fits. Marks what was chosen, and writes to all others why
/// they were not.
pub fn choose(candidates: &mut [Candidate], wants: &Wants) -> Choice {
    let toolkits = eligible(candidates, Kind::Toolkit, wants.cuda, wants.platform);
    let cudnns = eligible(candidates, Kind::Cudnn, wants.cudnn, wants.platform);
    let mut choice = pair(candidates, &toolkits, &cudnns, wants.toolkit_needed);
    choice.toolkit = choice
        .toolkit
        .map(|index| with_compiler(candidates, index, &toolkits));
    explain(candidates, choice);
    choice
}

/// Those that may be chosen, the best known first. Where somebody asked for a place by name, nothing else may.
fn eligible(
    candidates: &mut [Candidate],
    kind: Kind,
    requirement: Option<&Requirement>,
    platform: Option<&Platform>,
) -> Vec<usize> {
    let of_kind =
        |candidate: &Candidate| kind_of(candidate) == kind && candidate.rejected.is_none();
    let wish = candidates
        .iter()
        .find(|candidate| of_kind(candidate) && candidate.wish.is_some());
    let wish = wish.map(|candidate| (candidate.wish, candidate.via.clone()));
    let mut left = Vec::new();
    for (index, candidate) in candidates.iter_mut().enumerate() {
        if !of_kind(candidate) {
            continue;
        }
        candidate.rejected = match (&wish, unmet(candidate, requirement)) {
            (Some((wish, via)), _) if candidate.wish != *wish => {
                Some(format!("outranked by {via}"))
            }
            (_, Some(reason)) => Some(reason),
            _ if unfit_path(candidate).is_some() => {
                unfit_path(candidate).map(|what| format!("cargo cannot be told {what}"))
            }
            _ if !linkable(candidate) => Some(if has_library(candidate) {
                "it has no import library".into()
            } else {
                without_library(candidate)
            }),
            _ if is_runtime(candidate) => {
                Some("it has libraries alone: enough to run, not to build".into())
            }
            _ => platform
                .and_then(|platform| other_cpu(candidate, platform))
                .map(|cpu| format!("it is for {cpu}"))
                .or_else(|| flaw(candidate)),
        };
        if candidate.rejected.is_none() {
            left.push(index);
        }
    }
    left.sort_by_key(|&index| candidates.get(index).map_or(1, doubt));
    left
}

fn without_library(candidate: &Candidate) -> String {
    match &candidate.found {
        Found::Cudnn(cudnn) => cudnn.files.dangling.as_deref().map(|link| {
            let link = link.display();
            format!("`{link}` is a link that leads nowhere")
        }),
        Found::Toolkit(_) => None,
    }
    .unwrap_or_else(|| "there is no library beside the headers".into())
}

/// Why the requirement is not met. A release that is not known may meet it.
fn unmet(candidate: &Candidate, requirement: Option<&Requirement>) -> Option<String> {
    let (requirement, version) = (requirement?, version_of(candidate)?);
    (!requirement.admits(version)).then(|| {
        if version < requirement.from {
            format!("older than `{}` asks for", requirement.text)
        } else {
            format!("newer than `{}` allows", requirement.text)
        }
    })
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
    let (root, dirs) = match &candidate.found {
        Found::Toolkit(toolkit) => (&toolkit.root, toolkit.link_dirs.iter().collect::<Vec<_>>()),
        Found::Cudnn(cudnn) => {
            let dirs = cudnn.link_dir.iter().chain(&cudnn.include_dir);
            (&cudnn.root, dirs.collect())
        }
    };
    std::iter::once(root)
        .chain(dirs)
        .find_map(|path| cargo_cannot_take(path))
}

/// Why its library can be neither linked nor opened.
fn flaw(candidate: &Candidate) -> Option<String> {
    let Found::Cudnn(cudnn) = &candidate.found else {
        return None;
    };
    let (_, path, flaw) = cudnn.flaw()?;
    let name = path.file_name()?.to_string_lossy();
    Some(format!("`{name}` {flaw}"))
}

/// Whether what was found so far is all of this kind that the build needs.
pub fn is_met(kind: Kind, found: &[Candidate], wants: &Wants) -> bool {
    let mut found = found.to_vec();
    let choice = choose(&mut found, wants);
    let chosen = match kind {
        Kind::Toolkit => choice.toolkit,
        Kind::Cudnn => choice.cudnn,
    };
    let chosen = chosen.and_then(|index| found.get(index));
    choice.misfit.is_none() && chosen.is_some_and(is_whole)
}

/// Whether it has all that a build may need.
pub fn is_whole(candidate: &Candidate) -> bool {
    match &candidate.found {
        Found::Toolkit(toolkit) => toolkit.lacks().is_empty(),
        Found::Cudnn(cudnn) => cudnn.header.is_some() && cudnn.link_dir.is_some(),
    }
}

/// What is complete, known and of one piece goes before what is not.
fn doubt(candidate: &Candidate) -> usize {
    let lacking = match &candidate.found {
        // Whether a compiler is needed shows later.
        Found::Toolkit(toolkit) => toolkit
            .lacks()
            .iter()
            .filter(|part| **part != "nvcc")
            .count(),
        Found::Cudnn(cudnn) => {
            usize::from(cudnn.header.is_none())
                + usize::from(consistency::doubtful(cudnn).is_some())
        }
    };
    usize::from(version_of(candidate).is_none()) + lacking
}

fn is_runtime(candidate: &Candidate) -> bool {
    matches!(&candidate.found, Found::Toolkit(toolkit) if toolkit.is_runtime())
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

fn linkable(candidate: &Candidate) -> bool {
    match &candidate.found {
        Found::Toolkit(_) => true,
        Found::Cudnn(cudnn) => cudnn.link_dir.is_some(),
    }
}

fn pair(
    candidates: &[Candidate],
    toolkits: &[usize],
    cudnns: &[usize],
    toolkit_needed: bool,
) -> Choice {
    let (Some(&toolkit), Some(&cudnn)) = (toolkits.first(), cudnns.first()) else {
        return Choice {
            toolkit: toolkits.first().copied(),
            cudnn: cudnns.first().copied(),
            misfit: None,
        };
    };
    // The order of a pair is that of its better half: what is in the active environment pulls the other with it.
    let mut best: Option<((usize, usize, usize), Choice)> = None;
    for &one in toolkits {
        for &other in cudnns {
            let (Some(left), Some(right)) = (candidates.get(one), candidates.get(other)) else {
                continue;
            };
            let rank = (doubt(left) + doubt(right), one.min(other), one.max(other));
            if fits(left, right) && best.is_none_or(|(known, _)| rank < known) {
                best = Some((
                    rank,
                    Choice {
                        toolkit: Some(one),
                        cudnn: Some(other),
                        misfit: None,
                    },
                ));
            }
        }
    }
    best.map_or(
        Choice {
            toolkit: toolkit_needed.then_some(toolkit),
            cudnn: Some(cudnn),
            misfit: Some((toolkit, cudnn)),
        },
        |(_, choice)| choice,
    )
}

/// Whether they are for the same CUDA, as far as they say.
fn fits(toolkit: &Candidate, cudnn: &Candidate) -> bool {
    match (&toolkit.found, &cudnn.found) {
        (
            Found::Toolkit(Toolkit {
                version: Some(version),
                ..
            }),
            Found::Cudnn(Cudnn {
                cuda_major: Some(major),
                ..
            }),
        ) => version.major == *major,
        _ => true,
    }
}

/// A toolkit without a compiler does not hide a whole one of the same CUDA, unless it was asked for by name.
fn with_compiler(candidates: &[Candidate], chosen: usize, toolkits: &[usize]) -> usize {
    let toolkit = |index: usize| match candidates.get(index) {
        Some(Candidate {
            found: Found::Toolkit(toolkit),
            wish,
            ..
        }) => Some((toolkit, wish)),
        _ => None,
    };
    let Some((part, None)) = toolkit(chosen) else {
        return chosen;
    };
    let major = |toolkit: &Toolkit| toolkit.version.map(|version| version.major);
    if part.nvcc.is_some() {
        return chosen;
    }
    let whole = toolkits.iter().copied().find(|&index| {
        toolkit(index).is_some_and(|(whole, _)| whole.nvcc.is_some() && major(whole) == major(part))
    });
    whole.unwrap_or(chosen)
}

fn explain(candidates: &mut [Candidate], choice: Choice) {
    let chosen = |index: Option<usize>| index.and_then(|index| candidates.get(index)).cloned();
    let (toolkit, cudnn) = (chosen(choice.toolkit), chosen(choice.cudnn));
    for (index, candidate) in candidates.iter_mut().enumerate() {
        candidate.chosen = [choice.toolkit, choice.cudnn].contains(&Some(index));
        if candidate.chosen || candidate.rejected.is_some() {
            continue;
        }
        let (mine, partner) = match kind_of(candidate) {
            Kind::Toolkit => (&toolkit, &cudnn),
            Kind::Cudnn => (&cudnn, &toolkit),
        };
        candidate.rejected = Some(match (&candidate.found, mine, partner) {
            (Found::Toolkit(_), _, Some(cudnn)) if !fits(candidate, cudnn) => {
                format!("the cuDNN was built for CUDA {}", flavour(cudnn))
            }
            (Found::Cudnn(_), _, Some(toolkit)) if !fits(toolkit, candidate) => {
                format!("built for CUDA {}", flavour(candidate))
            }
            (Found::Toolkit(toolkit), Some(_), _) if !toolkit.lacks().is_empty() => {
                format!("it has no {}", toolkit.lacks().join(" and no "))
            }
            (Found::Cudnn(Cudnn { header: None, .. }), Some(_), _) => "it has no headers".into(),
            (Found::Cudnn(cudnn), Some(chosen), _) => consistency::doubtful(cudnn)
                .unwrap_or_else(|| format!("outranked by {}", chosen.via)),
            (_, Some(chosen), _) => format!("outranked by {}", chosen.via),
            (_, None, _) => "nothing fits it".into(),
        });
    }
}

fn flavour(candidate: &Candidate) -> String {
    match &candidate.found {
        Found::Cudnn(cudnn) => cudnn
            .cuda_major
            .map_or_else(String::new, |major| major.to_string()),
        Found::Toolkit(_) => String::new(),
    }
}

/// What kind of thing a candidate is.
pub fn kind_of(candidate: &Candidate) -> Kind {
    match candidate.found {
        Found::Toolkit(_) => Kind::Toolkit,
        Found::Cudnn(_) => Kind::Cudnn,
    }
}

/// Its release.
pub fn version_of(candidate: &Candidate) -> Option<Version> {
    match &candidate.found {
        Found::Toolkit(toolkit) => toolkit.version,
        Found::Cudnn(cudnn) => cudnn.version(),
    }
}
