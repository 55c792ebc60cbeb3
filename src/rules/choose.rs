//! Which toolkit and which cuDNN: chosen together, since they have to fit each other.

use super::requirement::Requirement;
use super::search::Kind;
use crate::model::candidate::{Candidate, Cudnn, Found, Toolkit};
use crate::model::version::Version;

/// What the choice has to meet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wants<'a> {
    /// Of the toolkit.
    pub cuda: Option<&'a Requirement>,
    /// Of cuDNN.
    pub cudnn: Option<&'a Requirement>,
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
    let toolkits = eligible(candidates, Kind::Toolkit, wants.cuda);
    let cudnns = eligible(candidates, Kind::Cudnn, wants.cudnn);
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
            _ if !linkable(candidate) => Some("there is no library beside the headers".into()),
            _ => None,
        };
        if candidate.rejected.is_none() {
            left.push(index);
        }
    }
    left.sort_by_key(|&index| candidates.get(index).map_or(1, doubt));
    left
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

/// What is complete and known goes before what is not.
fn doubt(candidate: &Candidate) -> usize {
    let headers = match &candidate.found {
        Found::Toolkit(_) => true,
        Found::Cudnn(cudnn) => cudnn.header.is_some(),
    };
    usize::from(version_of(candidate).is_none()) + usize::from(!headers)
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
            (Found::Toolkit(Toolkit { nvcc: None, .. }), Some(_), _) => "it has no nvcc".into(),
            (Found::Cudnn(Cudnn { header: None, .. }), Some(_), _) => "it has no headers".into(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::env::Variable;

    fn toolkit(via: &str, version: (u32, u32), nvcc: bool) -> Candidate {
        let found = Found::Toolkit(Toolkit {
            version: Some(Version::new(version.0, version.1, 0)),
            nvcc: nvcc.then(|| "nvcc".into()),
            ..Toolkit::default()
        });
        Candidate {
            found,
            via: via.into(),
            chosen: false,
            rejected: None,
            wish: None,
        }
    }

    fn cudnn(via: &str, version: (u32, u32, u32), cuda_major: u32) -> Candidate {
        let found = Found::Cudnn(Cudnn {
            header: Some("cudnn_version.h".into()),
            header_version: Some(Version::new(version.0, version.1, version.2)),
            link_dir: Some("lib".into()),
            cuda_major: Some(cuda_major),
            ..Cudnn::default()
        });
        Candidate {
            found,
            via: via.into(),
            chosen: false,
            rejected: None,
            wish: None,
        }
    }

    fn told(candidates: &mut [Candidate], wants: &Wants) -> Vec<String> {
        choose(candidates, wants);
        let told = candidates.iter().map(|candidate| {
            format!(
                "{}: {}",
                candidate.via,
                candidate.rejected.as_deref().unwrap_or("chosen")
            )
        });
        told.collect()
    }

    #[test]
    fn the_first_pair_that_fits() {
        let mut all = [
            toolkit("a", (13, 0), true),
            cudnn("b", (9, 10, 2), 12),
            toolkit("c", (12, 8), true),
            cudnn("d", (9, 14, 0), 13),
        ];
        assert_eq!(
            told(&mut all, &Wants::default()),
            [
                "a: chosen",
                "b: built for CUDA 12",
                "c: the cuDNN was built for CUDA 13",
                "d: chosen"
            ]
        );
        // The cuDNN of an active environment, before any toolkit, takes the toolkit that fits it.
        let mut all = [
            cudnn("b", (9, 10, 2), 12),
            toolkit("a", (13, 0), true),
            toolkit("c", (12, 8), true),
        ];
        assert_eq!(
            told(&mut all, &Wants::default()),
            [
                "b: chosen",
                "a: the cuDNN was built for CUDA 12",
                "c: chosen"
            ]
        );
    }

    #[test]
    fn releases_are_compared_as_numbers() {
        let requirement = Requirement::parse(">=9.10", "cudnn").unwrap();
        let mut all = [
            cudnn("a", (9, 9, 0), 12),
            cudnn("b", (9, 10, 0), 12),
            cudnn("c", (10, 0, 0), 12),
        ];
        let wants = Wants {
            cudnn: Some(&requirement),
            ..Wants::default()
        };
        assert_eq!(
            told(&mut all, &wants),
            [
                "a: older than `>=9.10` asks for",
                "b: chosen",
                "c: outranked by b"
            ]
        );
    }

    #[test]
    fn what_was_asked_for_by_name_is_never_passed_over() {
        let requirement = Requirement::parse(">=9.1", "cudnn").unwrap();
        let mut all = [
            cudnn("CUDNN_PATH", (8, 9, 7), 12),
            cudnn("b", (9, 10, 0), 12),
        ];
        all[0].wish = Some(Variable::CudnnPath);
        let wants = Wants {
            cudnn: Some(&requirement),
            ..Wants::default()
        };
        assert_eq!(
            told(&mut all, &wants),
            [
                "CUDNN_PATH: older than `>=9.1` asks for",
                "b: outranked by CUDNN_PATH"
            ]
        );
    }

    #[test]
    fn no_pair_fits() {
        let mut all = [toolkit("a", (13, 0), true), cudnn("b", (9, 10, 2), 12)];
        let choice = choose(
            &mut all,
            &Wants {
                toolkit_needed: true,
                ..Wants::default()
            },
        );
        assert_eq!(
            choice,
            Choice {
                toolkit: Some(0),
                cudnn: Some(1),
                misfit: Some((0, 1))
            }
        );
        // Nobody asked for the toolkit: the cuDNN is enough.
        let mut all = [toolkit("a", (13, 0), true), cudnn("b", (9, 10, 2), 12)];
        assert_eq!(
            told(&mut all, &Wants::default()),
            ["a: the cuDNN was built for CUDA 12", "b: chosen"]
        );
    }

    #[test]
    fn a_toolkit_without_compiler_does_not_hide_a_whole_one() {
        let mut all = [
            toolkit("a", (12, 4), false),
            toolkit("b", (13, 0), true),
            toolkit("c", (12, 8), true),
        ];
        assert_eq!(
            told(&mut all, &Wants::default()),
            ["a: it has no nvcc", "b: outranked by c", "c: chosen"]
        );
        let mut all = [toolkit("a", (12, 4), false), toolkit("b", (13, 0), true)];
        assert_eq!(
            told(&mut all, &Wants::default()),
            ["a: chosen", "b: outranked by a"]
        );
    }

    #[test]
    fn headers_alone_are_not_linked_and_libraries_alone_come_last() {
        let mut all = [
            cudnn("a", (9, 1, 0), 12),
            cudnn("b", (9, 1, 0), 12),
            cudnn("c", (9, 1, 0), 12),
        ];
        if let Found::Cudnn(cudnn) = &mut all[0].found {
            cudnn.link_dir = None;
        }
        if let Found::Cudnn(cudnn) = &mut all[1].found {
            cudnn.library_version = cudnn.header_version.take();
            cudnn.header = None;
        }
        assert_eq!(
            told(&mut all, &Wants::default()),
            [
                "a: there is no library beside the headers",
                "b: it has no headers",
                "c: chosen"
            ]
        );
    }
}
