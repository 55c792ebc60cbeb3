use super::*;
use crate::model::Variable;
use crate::runtime::facts::{ComputeCapability, FindingId, Severity, Suffix};

fn cudnn(major: u32, minor: u32, patch: u32, cuda_major: u32) -> Cudnn {
    Cudnn {
        library_version: Some(Version::new(major, minor, patch)),
        cuda_major: Some(cuda_major),
        ..Cudnn::default()
    }
}

fn toolkit(major: u32, minor: u32) -> Toolkit {
    Toolkit {
        version: Some(Version::new(major, minor, 0)),
        ..Toolkit::default()
    }
}

fn linux() -> Platform {
    Platform::from_triple("x86_64-unknown-linux-gnu")
}

fn machine(number: u32) -> Target {
    Target {
        capability: ComputeCapability::from_number(number),
        suffix: Suffix::None,
        code: Code::Machine,
    }
}

fn gpu(number: u32) -> Device {
    Device {
        name: "NVIDIA X".into(),
        capability: ComputeCapability::from_number(number),
    }
}

fn texts(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| format!("{}: {finding}", finding.severity))
        .collect()
}

#[test]
fn a_new_patch_version_has_no_finding() {
    let (toolkit, cudnn) = (toolkit(13, 5), cudnn(9, 28, 3, 13));
    assert_eq!(releases(Some(&toolkit), Some(&cudnn), &linux()), []);
}

/// A build compares the targets of kernels with the cuDNN.
#[test]
fn targets_that_the_cudnn_does_not_support_are_warnings() {
    let ptx = Target {
        code: Code::Ptx,
        ..machine(61)
    };
    let list = [machine(61), ptx, machine(80), machine(100)];
    let by = ChosenBy::Variable(Variable::GuardArchs);
    assert_eq!(
        texts(&targets(&cudnn(9, 14, 0, 12), &list, by, &linux())),
        [
            "warning: cuDNN 9.14.0 for CUDA 12 no longer supports GPUs of compute capability 6.1, which kernels are compiled for  \
          [arch-dropped-by-cudnn]\n  \
          = help: install cuDNN 9.10.2 for CUDA 12, the last version known to support it\n  \
          = help: remove 6.1 from the targets if no program with cuDNN will run there\n  \
          chosen by   CUDNN_GUARD_ARCHS"
        ]
    );
    let blackwell = targets(&cudnn(9, 10, 2, 11), &list, by, &linux());
    assert_eq!(
        texts(&blackwell),
        [
            "warning: cuDNN 9.10.2 for CUDA 11 contains no code for GPUs of compute capability 10.0, which kernels are compiled for  \
          [gpu-newer-than-cudnn]\n  \
          = help: install cuDNN 9.7.0 or later for CUDA 12\n  \
          = help: remove 10.0 from the targets if no program with cuDNN will run there\n  \
          supports    compute capabilities up to 9.0\n  \
          chosen by   CUDNN_GUARD_ARCHS"
        ]
    );
    // An unknown version has no finding.
    let mut unknown = cudnn(9, 14, 0, 12);
    unknown.cuda_major = None;
    assert!(targets(&unknown, &list, by, &linux()).is_empty());
    let gpus = gpus(&cudnn(9, 14, 0, 12), &[gpu(61), gpu(61), gpu(80)], &linux());
    assert_eq!(gpus.len(), 1);
    assert_eq!(
        (gpus[0].id, gpus[0].severity),
        (FindingId::ArchDroppedByCudnn, Severity::Warning)
    );
}

/// Targets that were read from the files take precedence over the table.
#[test]
fn targets_from_the_files_outrank_the_table() {
    let read = |major, minor, patch, cuda_major, words: &str| Cudnn {
        gpu_codes: Target::parse_all(words),
        ..cudnn(major, minor, patch, cuda_major)
    };
    let texts_for = |cudnn: &Cudnn, number| texts(&gpus(cudnn, &[gpu(number)], &linux()));
    // A cuDNN with device code removed, of a version within a row, and of the first version of a row.
    for release in [14, 13] {
        let pruned = read(9, release, 0, 12, "sm_90a compute_121");
        assert_eq!(texts_for(&pruned, 90).len(), 0);
        assert_eq!(
            texts_for(&pruned, 86),
            [format!(
                "warning: cuDNN 9.{release}.0 for CUDA 12 no longer supports NVIDIA X (compute capability 8.6)  \
                 [arch-dropped-by-cudnn]\n  = help: install cuDNN 9.12.0 for CUDA 12, the last version known to support it"
            )]
        );
        let list = [machine(86), machine(90)];
        assert_eq!(
            targets(&pruned, &list, ChosenBy::BuildScript, &linux()).len(),
            1
        );
        // The build has not read the code, and the doctor agrees with the build.
        let capability = ComputeCapability::from_number(86);
        assert!(may_support(&pruned, capability, &linux()));
    }
    // A version newer than the table, which has no data on the GPU.
    let (unread, newer) = (
        cudnn(9, 99, 0, 13),
        read(9, 99, 0, 13, "sm_80 sm_100f compute_100f"),
    );
    assert_eq!(texts_for(&unread, 130).len(), 0);
    assert_eq!(
        texts_for(&newer, 130),
        [
            "warning: cuDNN 9.99.0 for CUDA 13 contains no code for NVIDIA X (compute capability 13.0)  \
             [gpu-newer-than-cudnn]\n  = help: install a newer cuDNN\n  supports    compute capabilities up to 10.0"
        ]
    );
    let newer_targets = read(9, 99, 0, 13, "sm_130 sm_80");
    assert_eq!(texts_for(&newer_targets, 130).len(), 0);
}

/// The program may run on a machine with another driver.
#[test]
fn a_driver_that_is_too_old_for_what_is_built_is_a_warning() {
    let findings_for = |driver_minor: (u32, u32), targets: &[Target], cuda: (u32, u32)| {
        let level = Version::new(driver_minor.0, driver_minor.1, 0);
        let (toolkit, cudnn) = (toolkit(cuda.0, cuda.1), cudnn(9, 14, 0, cuda.0));
        let findings = driver(
            level,
            Some(&toolkit),
            Some(&cudnn),
            targets,
            &[gpu(86)],
            &linux(),
        );
        texts(findings.as_slice())
    };
    let all = [machine(80)];
    assert_eq!(
        findings_for((12, 2), &all, (13, 0)),
        [
            "warning: the NVIDIA driver supports CUDA 12.2, but cuDNN requires CUDA 13  [driver-too-old]\n  \
          = help: upgrade the NVIDIA driver to 580.65.06 or later, which supports CUDA 13"
        ]
    );
    let ptx = [Target {
        code: Code::Ptx,
        ..machine(80)
    }];
    assert_eq!(
        findings_for((12, 4), &ptx, (12, 5)),
        [
            "warning: the NVIDIA driver supports PTX up to CUDA 12.4, but the toolkit writes PTX of CUDA 12.5  \
          [ptx-newer-than-driver]\n  \
          = help: update the NVIDIA driver, or build with a CUDA toolkit up to 12.4\n  \
          required    driver 555.42.02 or later"
        ]
    );
    // With machine code for the GPU it is good to know.
    assert!(
        findings_for((12, 4), &all, (12, 5))[0].starts_with("note: the NVIDIA driver supports PTX")
    );
    assert_eq!(findings_for((12, 5), &ptx, (12, 6)).len(), 0);
    assert_eq!(findings_for((12, 10), &ptx, (12, 9)).len(), 0);
    assert_eq!(findings_for((13, 0), &ptx, (12, 9)).len(), 0);
}

/// Returns the findings about known bugs for a program on these GPUs.
fn known_bugs(
    cudnn: &str,
    cublas: Option<&str>,
    gpus: &[(u32, u32)],
    needs: &[&str],
) -> Vec<String> {
    let rows = compat::known_bad();
    let mut capabilities = Vec::new();
    for (major, minor) in gpus {
        capabilities.push(ComputeCapability::new(*major, *minor));
    }
    let cudnn = Version::parse(cudnn).unwrap();
    let cublas = cublas.and_then(Version::parse);
    let needs: Vec<String> = needs.iter().map(ToString::to_string).collect();
    let bad = rules::known_bad(&rows, cudnn, cublas, Some(&capabilities), &needs).into_iter();
    let findings: Vec<Finding> = bad
        .map(|(row, impact)| row.finding(cudnn, impact))
        .collect();
    texts(&findings)
}

/// A fault of particular GPUs is a warning for a program that uses the operation on such a GPU.
#[test]
fn attention_bugs_are_reported_for_affected_gpus() {
    let messages = |cudnn, gpus: &[(u32, u32)]| known_bugs(cudnn, None, gpus, &["attention"]);
    let on_cards = messages("9.20.0", &[(8, 9)]);
    let mut more = messages("9.20.0", &[(8, 9), (10, 0)]);
    more.retain(|message| !on_cards.contains(message));
    assert_eq!(
        more,
        [
            "warning: cuDNN 9.20.0 is known to compute wrong numbers in attention with a single query on GPUs of compute \
             capability 10 and 11, and this program uses attention  [known-bad-release]\n  = help: upgrade to cuDNN 9.25.1 or later",
            "warning: cuDNN 9.20.0 is known to use uninitialized memory in attention with a block mask on GPUs of compute \
             capability 10.0 to 10.9, and this program uses attention  [known-bad-release]\n  = help: upgrade to cuDNN 9.26.0 or later"
        ]
    );
    for (cudnn, gpu, count) in [
        ("9.19.0", (10, 3), 2),
        ("9.25.0", (11, 0), 1),
        ("9.20.0", (12, 0), 0),
        // Attention with FP8, with a block mask, and a missing plan.
        ("9.24.1", (10, 7), 3),
    ] {
        let on_cards = messages(cudnn, &[(8, 9)]).len();
        let found = messages(cudnn, &[gpu]).len();
        assert_eq!(found - on_cards, count, "{cudnn} {gpu:?}");
        let other = known_bugs(cudnn, None, &[gpu], &["adv"]);
        assert_eq!(other, [""; 0], "{cudnn} {gpu:?}");
    }
    // A build does not know the GPUs.
    let (rows, needs) = (compat::known_bad(), ["attention".to_string()]);
    let (cudnn, unknown) = (Version::new(9, 26, 0), None);
    assert_eq!(rules::known_bad(&rows, cudnn, None, unknown, &needs), []);
}

/// Ends of ranges that are not known are not reported as a fix.
#[test]
fn a_bug_without_a_known_fix_names_the_last_report() {
    assert_eq!(
        known_bugs("9.28.0", None, &[(10, 7)], &["attention"]),
        [
            "warning: cuDNN 9.28.0 is known to crash while it plans or builds MXFP8 attention with a single query on GPUs of \
             compute capability 10.7, and this program uses attention  [known-bad-release]\n  \
             = help: check the results: no version is known to be fixed, and nothing is known about 9.28.1 and later"
        ]
    );
    for (cudnn, gpu) in [("9.28.1", (10, 7)), ("9.28.0", (10, 0))] {
        assert_eq!(
            known_bugs(cudnn, None, &[gpu], &["attention"]),
            [""; 0],
            "{cudnn}"
        );
    }
}

/// A bug in convolutions is a note, because every program is expected to use convolutions. Both conditions of a row must
/// apply: the GPU, and the cuBLAS.
#[test]
fn convolution_bugs_are_notes_where_they_apply() {
    let note = "note: cuDNN 9.27.0 is known to access invalid memory in some convolutions with cuBLAS 13.5.0 to 13.6.0 on \
        GPUs of compute capability 12.0  [known-bad-release]\n  = help: upgrade cuBLAS to 13.6.1 or later";
    let rtx_5090 = [(12, 0)];
    assert_eq!(known_bugs("9.27.0", Some("13.5.1"), &rtx_5090, &[]), [note]);
    let declared = known_bugs("9.27.0", Some("13.6.0"), &rtx_5090, &["conv"]);
    assert!(
        declared[0].starts_with("warning: ") && declared[0].contains("and this program uses conv"),
        "{declared:?}"
    );
    for (cudnn, cublas, gpu, count) in [
        ("9.99.0", Some("13.5.0"), (12, 0), 1),
        ("9.27.0", Some("13.6.1"), (12, 0), 0),
        ("9.27.0", Some("13.10.0"), (12, 0), 0),
        ("9.27.0", Some("13.4.0"), (12, 0), 0),
        ("9.27.0", Some("12.9.1"), (12, 0), 0),
        ("9.27.0", None, (12, 0), 0),
        ("9.27.0", Some("13.5.1"), (12, 1), 0),
        ("9.27.0", Some("13.5.1"), (9, 0), 0),
        ("9.22.0", Some("13.5.1"), (12, 0), 0),
        ("9.23.1", None, (8, 6), 1),
        ("9.23.2", None, (8, 6), 1),
        ("9.24.0", None, (8, 6), 0),
        ("9.23.0", None, (8, 6), 0),
        ("9.23.1", None, (8, 9), 0),
    ] {
        let found = known_bugs(cudnn, cublas, &[gpu], &[]);
        assert_eq!(found.len(), count, "{cudnn} {cublas:?} {gpu:?}: {found:?}");
    }
}
