//! Tests of the choice and of the reasons for rejections.

use super::*;
use crate::model::{FoundVia, Variable};
use crate::runtime::facts::Version;

fn toolkit(via: &'static str, version: (u32, u32), nvcc: bool) -> Candidate {
    let found = Found::Toolkit(Toolkit {
        version: Some(Version::new(version.0, version.1, 0)),
        nvcc: nvcc.then(|| "nvcc".into()),
        include_dirs: vec!["include".into()],
        link_dirs: vec!["lib64".into()],
        ..Toolkit::default()
    });
    Candidate {
        found,
        via: FoundVia::Directory(via),
        rejected: None,
        request: None,
    }
}

fn cudnn(via: &'static str, version: (u32, u32, u32), cuda_major: u32) -> Candidate {
    let found = Found::Cudnn(Cudnn {
        header: Some("cudnn_version.h".into()),
        header_version: Some(Version::new(version.0, version.1, version.2)),
        link_dir: Some("lib".into()),
        cuda_major: Some(cuda_major),
        ..Cudnn::default()
    });
    Candidate {
        found,
        via: FoundVia::Directory(via),
        rejected: None,
        request: None,
    }
}

/// Chooses for a build script that requires this cuDNN, or any.
fn chosen(candidates: &[Candidate], cudnn: Option<&str>, toolkit_needed: bool) -> Choice {
    let (requirements, invalid) = Requirements::parse(None, cudnn);
    assert_eq!(invalid, []);
    let constraints = Constraints {
        requirements: &requirements,
        platform: &Platform::from_triple("x86_64-unknown-linux-gnu"),
        toolkit_needed,
        blocked: &[],
    };
    choose(candidates, &constraints)
}

fn verdicts(candidates: &mut [Candidate], cudnn: Option<&str>) -> Vec<String> {
    chosen(candidates, cudnn, false).mark(candidates);
    let verdicts = candidates
        .iter()
        .map(|candidate| match &candidate.rejected {
            Some(reason) => format!("{}: {reason}", candidate.via),
            None => format!("{}: chosen", candidate.via),
        });
    verdicts.collect()
}

#[test]
fn a_complete_and_compatible_candidate_meets_the_requirement() {
    let met = |found: &[Candidate]| {
        let choice = chosen(found, Some(">=9.2"), true);
        Kind::BOTH.map(|kind| choice.is_met(kind, found))
    };
    let bare = toolkit("wheels", (12, 4), false);
    let cuda = toolkit("/usr/local/cuda", (12, 4), true);
    let old = cudnn("/usr", (9, 1, 0), 12);
    let other = cudnn("/opt/cudnn", (9, 3, 0), 13);
    assert_eq!(met(&[]), [false, false]);
    assert_eq!(met(&[bare, old.clone()]), [false, false]);
    assert_eq!(met(&[cuda.clone(), old]), [true, false]);
    assert_eq!(met(&[cuda.clone(), other]), [false, false]);
    let fitting = cudnn("/opt/cudnn", (9, 3, 0), 12);
    assert_eq!(met(&[cuda.clone(), fitting.clone()]), [true, true]);
    // Headers without a library are not a cuDNN.
    let mut headers = fitting;
    if let Found::Cudnn(cudnn) = &mut headers.found {
        cudnn.link_dir = None;
    }
    assert_eq!(met(&[cuda, headers]), [true, false]);
}

#[test]
fn the_first_compatible_pair() {
    let mut all = [
        toolkit("a", (13, 0), true),
        cudnn("b", (9, 10, 2), 12),
        toolkit("c", (12, 8), true),
        cudnn("d", (9, 14, 0), 13),
    ];
    assert_eq!(
        verdicts(&mut all, None),
        [
            "a: chosen",
            "b: built for CUDA 12",
            "c: cuDNN was built for CUDA 13",
            "d: chosen"
        ]
    );
    // The cuDNN of an active environment precedes every toolkit and selects the compatible one.
    let mut all = [
        cudnn("b", (9, 10, 2), 12),
        toolkit("a", (13, 0), true),
        toolkit("c", (12, 8), true),
    ];
    assert_eq!(
        verdicts(&mut all, None),
        ["b: chosen", "a: cuDNN was built for CUDA 12", "c: chosen"]
    );
    // It also does so if an earlier toolkit is compatible with another cuDNN.
    let mut all = [
        cudnn("a", (9, 14, 0), 13),
        toolkit("b", (12, 8), true),
        cudnn("c", (9, 10, 2), 12),
        toolkit("d", (13, 0), true),
    ];
    assert_eq!(
        verdicts(&mut all, None),
        [
            "a: chosen",
            "b: cuDNN was built for CUDA 13",
            "c: built for CUDA 12",
            "d: chosen"
        ]
    );
}

#[test]
fn a_requested_candidate_is_never_replaced() {
    let mut all = [
        cudnn("CUDNN_PATH", (8, 9, 7), 12),
        cudnn("b", (9, 10, 0), 12),
    ];
    all[0].request = Some(Variable::CudnnPath);
    assert_eq!(
        verdicts(&mut all, Some(">=9.1")),
        [
            "CUDNN_PATH: too old for `>=9.1`",
            "b: outranked by CUDNN_PATH"
        ]
    );
}

/// The finding about a requested place names the same reason.
#[test]
fn a_requested_place_must_be_usable_before_its_version_counts() {
    let mut all = [cudnn("a", (8, 9, 7), 12), cudnn("b", (9, 10, 0), 12)];
    if let Found::Cudnn(cudnn) = &mut all[0].found {
        cudnn.cpu = Some("aarch64");
        cudnn.link_dir = None;
    }
    let [unrequested, _] = &verdicts(&mut all.clone(), Some(">=9.1"))[..] else {
        panic!("two candidates");
    };
    assert_eq!(unrequested, "a: too old for `>=9.1`");
    all[0].request = Some(Variable::CudnnPath);
    assert_eq!(
        verdicts(&mut all, Some(">=9.1")),
        ["a: built for aarch64", "b: outranked by a"]
    );
}

#[test]
fn no_pair_is_compatible() {
    let all = [toolkit("a", (13, 0), true), cudnn("b", (9, 10, 2), 12)];
    let choice = chosen(&all, None, true);
    assert_eq!(choice.toolkit, Some(0));
    assert_eq!(choice.cudnn, Some(1));
    assert_eq!(choice.mismatch, Some((0, 1)));
    // The build does not require a toolkit, so the cuDNN is enough.
    let mut all = [toolkit("a", (13, 0), true), cudnn("b", (9, 10, 2), 12)];
    assert_eq!(
        verdicts(&mut all, None),
        ["a: cuDNN was built for CUDA 12", "b: chosen"]
    );
}

#[test]
fn a_complete_pair_comes_before_an_earlier_toolkit_without_headers() {
    let mut all = [
        without(toolkit("a", (13, 0), true), false, true, false),
        cudnn("b", (9, 14, 0), 13),
        toolkit("c", (12, 8), true),
        cudnn("d", (9, 10, 2), 12),
    ];
    assert_eq!(
        verdicts(&mut all, None),
        [
            "a: cuDNN was built for CUDA 12",
            "b: built for CUDA 13",
            "c: chosen",
            "d: chosen"
        ]
    );
}

#[test]
fn only_headers_are_not_linked_and_only_libraries_come_last() {
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
        verdicts(&mut all, None),
        [
            "a: it contains headers but no library",
            "b: it does not contain headers",
            "c: chosen"
        ]
    );
}

fn without(mut candidate: Candidate, nvcc: bool, headers: bool, libraries: bool) -> Candidate {
    if let Found::Toolkit(toolkit) = &mut candidate.found {
        if nvcc {
            toolkit.nvcc = None;
        }
        if headers {
            toolkit.include_dirs.clear();
        }
        if libraries {
            toolkit.link_dirs.clear();
        }
    }
    candidate
}

#[test]
fn incomplete_candidates_come_last_and_a_runtime_is_not_a_toolkit() {
    let mut all = [
        without(toolkit("a", (13, 0), true), true, true, false),
        without(toolkit("b", (13, 0), true), false, true, false),
        without(toolkit("c", (13, 0), true), false, false, true),
        toolkit("d", (12, 0), true),
    ];
    assert_eq!(
        verdicts(&mut all, None),
        [
            "a: it only contains libraries: enough to run, but not to build",
            "b: it does not contain headers",
            "c: it does not contain libraries",
            "d: chosen"
        ]
    );
    let mut requested = [
        without(toolkit("CUDA_HOME", (13, 0), true), false, false, true),
        toolkit("b", (12, 0), true),
    ];
    requested[0].request = Some(Variable::CudaHome);
    assert_eq!(
        verdicts(&mut requested, None),
        ["CUDA_HOME: chosen", "b: outranked by CUDA_HOME"]
    );
}
