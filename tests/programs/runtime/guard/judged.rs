//! The rules for versions, drivers and GPUs, with literal inputs.

use super::program::{self, tables};
use cudnn_guard::internals::facts::{
    Built, Code, ComputeCapability, CudnnTargets, Finding, Policy, Requirement, Severity, Suffix,
    Target, Version,
};
use cudnn_guard::internals::judge::gpu_support::{self, Cudnn, GpuSupport};
use cudnn_guard::internals::judge::program_rules;
use cudnn_guard::internals::judge::rules::{self, Gpu, Impact};

fn release(text: &str) -> Version {
    Version::parse(text).unwrap()
}

fn fits(built: &Built, loaded: &str) -> bool {
    program_rules::version(built, release(loaded)).is_ok()
}

/// The rules of other systems, each represented by a policy.
#[test]
fn each_policy_is_a_rule_of_another_system() {
    let with = |policy, cudnn| Built {
        cudnn: Some(release(cudnn)),
        policy,
        ..program::built()
    };
    // Columns: built with, loaded; NVIDIA, XLA and PyTorch; TensorFlow until 2018; cuDNN's sub-libraries.
    for (cudnn, loaded, promised, same_minor, exact) in [
        ("8.1.0", "8.0.5", false, false, false),
        ("9.13.1", "9.10.1", false, false, false),
        ("9.4.0", "9.3.0", false, false, false),
        ("9.9.0", "9.10.0", true, false, false),
        ("9.10.0", "9.9.0", false, false, false),
        ("9.10.2", "9.10.1", true, true, false),
        ("9.10.1", "9.10.2", true, true, false),
        ("9.10.2", "9.10.2", true, true, true),
        ("9.1.0", "9.28.0", true, false, false),
        ("8.9.7", "9.0.0", false, false, false),
        ("9.0.0", "8.9.7", false, false, false),
        ("9.14.0", "10.0.0", false, false, false),
        ("7.6.5", "7.4.0", false, false, false),
    ] {
        let pair = format!("built with {cudnn}, loaded {loaded}");
        let is_allowed = |policy| fits(&with(policy, cudnn), loaded);
        assert_eq!(is_allowed(Policy::Compatible), promised, "{pair}");
        assert_eq!(is_allowed(Policy::SameMinor), same_minor, "{pair}");
        assert_eq!(is_allowed(Policy::Exact), exact, "{pair}");
    }
    let asking = |text, from: &str, below: Option<&str>| Built {
        requirement: Some(Requirement {
            text: String::from(text),
            from: release(from),
            below: below.map(release),
        }),
        ..with(Policy::Requirement, "9.14.0")
    };
    let onnx = asking(">=9, <10", "9.0.0", Some("10.0.0"));
    let jax = asking(">=9.8", "9.8.0", None);
    let cudarc = asking(">=0", "0.0.0", None);
    for (loaded, by_onnx, by_jax) in [
        ("8.9.7", false, false),
        ("9.0.0", true, false),
        ("9.10.0", true, true),
        ("10.0.0", false, true),
    ] {
        assert_eq!(fits(&onnx, loaded), by_onnx, "{loaded}");
        assert_eq!(fits(&jax, loaded), by_jax, "{loaded}");
        assert!(fits(&cudarc, loaded), "{loaded}");
    }
    assert_eq!(rules::majors(&with(Policy::Compatible, "9.14.0")), [9]);
    assert_eq!(rules::majors(&onnx), [9]);
    let open = Built {
        cudnn: None,
        ..asking(">=8", "8.0.0", None)
    };
    assert_eq!(rules::majors(&open), [10, 9, 8]);
}

fn cudnn(version: &str, cuda: u32) -> Cudnn {
    Cudnn {
        version: release(version),
        cuda,
    }
}

fn on(version: &str, major: u32, minor: u32) -> Option<Finding> {
    let gpu = ComputeCapability::new(major, minor);
    let gpu = Gpu::new("NVIDIA X", gpu);
    let cudnn = cudnn(version, 13);
    let gap = cudnn.gap(&tables().gpus, gpu.capability)?;
    Some(gap.finding(cudnn, gpu))
}

/// The GPU is no longer supported.
#[test]
fn a_dropped_gpu_is_named_with_the_last_version_that_supported_it() {
    let finding = on("9.14.0", 6, 1).unwrap();
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(
        finding.to_string(),
        "cuDNN 9.14.0 for CUDA 13 no longer supports NVIDIA X (compute capability 6.1)  [arch-dropped-by-cudnn]\n  \
         = help: install cuDNN 9.10.2 for CUDA 13, the last version known to support it"
    );
    assert_eq!(
        on("9.14.0", 2, 1).unwrap().help,
        ["use a newer GPU, or an older cuDNN that supports this one"]
    );
    assert_eq!(on("9.10.2", 6, 1), None);
    assert_eq!(on("9.12.0", 7, 0), None);
    assert_eq!(on("9.12.0", 8, 6), None);
}

/// The GPU is newer than the cuDNN.
#[test]
fn a_newer_gpu_is_named_with_the_first_version_that_supports_it() {
    let finding = on("9.14.0", 12, 0).unwrap();
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(
        finding.to_string(),
        "cuDNN 9.14.0 for CUDA 13 contains no code for NVIDIA X (compute capability 12.0)  [gpu-newer-than-cudnn]\n  \
         = help: install cuDNN 9.28.0 or later for CUDA 13\n  \
         supports    compute capabilities up to 10.0"
    );
    let finding = on("9.10.2", 12, 0).unwrap();
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(
        finding.summary,
        "cuDNN 9.10.2 for CUDA 13 contains only PTX, which the driver must compile, for NVIDIA X (compute capability 12.0)"
    );
    assert_eq!(on("9.14.0", 10, 3), None);
    assert_eq!(on("9.99.0", 13, 0), None);
}

fn row(first: &str, last: &str, cuda: u32, code: &str) -> CudnnTargets {
    CudnnTargets {
        first: release(first),
        last: release(last),
        cuda,
        code: Target::parse_all(code),
    }
}

#[test]
fn a_version_between_two_known_ones_uses_the_rules_of_the_nearest() {
    let rows = [
        row("9.1.0", "9.1.1", 12, "sm_80"),
        row("9.9.0", "9.9.0", 12, "sm_90"),
        row("9.5.0", "9.5.0", 12, "sm_80"),
    ];
    let supports = |version, major| {
        let gpu = ComputeCapability::new(major, 0);
        cudnn(version, 12).support(&rows, gpu)
    };
    assert_eq!(supports("9.3.0", 8), GpuSupport::Yes);
    assert_eq!(supports("9.3.0", 9), GpuSupport::No);
    assert_eq!(supports("9.7.0", 8), GpuSupport::Unknown);
}

#[test]
fn no_older_version_is_named_for_a_newer_gpu() {
    let rows = [
        row("9.14.0", "9.14.0", 12, "sm_80"),
        row("9.10.0", "9.10.0", 13, "sm_80 sm_100"),
    ];
    let gpu = ComputeCapability::new(10, 0);
    let first = |version| cudnn(version, 12).first_with(&rows, gpu);
    assert_eq!(first("9.14.0"), None);
    assert_eq!(first("9.10.0"), Some((release("9.10.0"), 13)));
}

/// The first driver that supports the CUDA version is named.
#[test]
fn a_driver_of_an_older_major_is_reported_with_the_required_version() {
    let built = Built {
        tables: tables(),
        ..program::built()
    };
    assert_eq!(
        program_rules::driver(&built, Some(13), Version::new(12, 2, 0))
            .unwrap()
            .to_string(),
        "the NVIDIA driver supports CUDA 12.2, but the loaded cuDNN requires CUDA 13  [driver-too-old]\n  \
         = help: upgrade the NVIDIA driver to 580.65.06 or later, which supports CUDA 13\n  \
         = help: use a program and a cuDNN that were built for CUDA 12"
    );
    let old = Built {
        cuda: Some(Version::new(12, 4, 0)),
        ..built.clone()
    };
    assert_eq!(
        program_rules::driver(&old, Some(12), Version::new(11, 4, 0))
            .unwrap()
            .help[0],
        "upgrade the NVIDIA driver to 525.60.13 or later, which supports CUDA 12"
    );
    // The program requires more than its cuDNN.
    let fault = program_rules::driver(&built, Some(12), Version::new(12, 8, 0));
    assert_eq!(
        fault.unwrap().summary,
        "the NVIDIA driver supports CUDA 12.8, but this program requires CUDA 13"
    );
    // Minor-version compatibility.
    for (program, driver) in [(&old, 12), (&built, 14)] {
        let driver = Version::new(driver, 0, 0);
        assert_eq!(program_rules::driver(program, Some(12), driver), None);
    }
}

/// PTX is exempt from minor-version compatibility.
#[test]
fn only_ptx_requires_a_driver_of_its_cuda() {
    const fn target(major: u32, minor: u32, code: Code) -> Target {
        Target {
            capability: ComputeCapability::new(major, minor),
            suffix: Suffix::None,
            code,
        }
    }
    const TARGETS: [Target; 2] = [target(8, 0, Code::Machine), target(8, 0, Code::Ptx)];
    let mut built = Built {
        cuda: Some(Version::new(13, 2, 0)),
        targets: TARGETS.to_vec(),
        tables: tables(),
        ..program::built()
    };
    built.tables.ptx = Some(Version::new(13, 2, 0));
    let judged = |driver, major, minor| {
        let gpu = ComputeCapability::new(major, minor);
        let fault = program_rules::kernels(&built, driver, Gpu::new("NVIDIA X", gpu));
        fault.map(|fault| fault.to_string())
    };
    let old = Some(Version::new(13, 1, 0));
    assert_eq!(
        judged(old, 9, 0).unwrap(),
        "the NVIDIA driver supports PTX up to CUDA 13.1, but the only code that could run on NVIDIA X (compute capability 9.0) is PTX of CUDA 13.2  [ptx-newer-than-driver]\n  \
         = help: update the NVIDIA driver, or build with a CUDA toolkit up to 13.1\n  \
         = help: rebuild the program with CUDNN_GUARD_ARCHS=9.0\n  \
         compiled    sm_80, compute_80"
    );
    assert_eq!(judged(Some(Version::new(13, 2, 0)), 9, 0), None);
    assert_eq!(judged(None, 9, 0), None);
    // Machine code does not depend on the minor version.
    assert_eq!(judged(old, 8, 6), None);
    assert_eq!(
        judged(old, 7, 5).unwrap(),
        "no kernel of this program runs on NVIDIA X (compute capability 7.5)  [kernels-not-covering-gpu]\n  \
         = help: rebuild the program with CUDNN_GUARD_ARCHS=7.5\n  \
         compiled    sm_80, compute_80"
    );
}

/// Known bugs of a version.
#[test]
fn known_faults_are_reported_where_they_apply() {
    use cudnn_guard::internals::facts::KnownBad;
    let rows = [KnownBad {
        from: release("9.0.0"),
        below: release("9.10.1"),
        good: Some(release("9.10.1")),
        several_gpus: true,
        cublas: Some(release("12.9")),
        good_cublas: None,
        operation: None,
        partial: false,
        first_gpu: 0,
        last_gpu: u32::MAX,
        what: "compute wrong numbers on several GPUs with cuBLAS 12.9 or later".into(),
    }];
    let h100 = [ComputeCapability::new(9, 0), ComputeCapability::new(9, 0)];
    let impacts = |cudnn, cublas: &str, gpus: Option<usize>| {
        rules::known_bad(
            &rows,
            release(cudnn),
            Some(release(cublas)),
            gpus.map(|count| &h100[..count]),
            &["any".into()],
        )
        .iter()
        .map(|(_, impact)| *impact)
        .collect::<Vec<_>>()
    };
    assert_eq!(impacts("9.10.0", "12.9", Some(2)), [Impact::General]);
    assert_eq!(impacts("9.10.0", "12.10", Some(2)), [Impact::General]);
    assert_eq!(impacts("9.10.0", "12.9", None), [Impact::Possible]);
    assert_eq!(impacts("9.10.0", "12.9", Some(1)), []);
    assert_eq!(impacts("9.10.0", "12.8", Some(2)), []);
    assert_eq!(impacts("9.10.1", "12.9", Some(2)), []);
    let finding = |bad: &[(&KnownBad, Impact)], cudnn| bad[0].0.finding(release(cudnn), bad[0].1);
    let known = tables().known_bad;
    let bad = rules::known_bad(&known, release("9.14.0"), None, None, &[]);
    assert_eq!(
        finding(&bad, "9.14.0").to_string(),
        "cuDNN 9.14.0 is known to add up wrongly  [known-bad-release]\n  = help: upgrade to cuDNN 9.15.0 or later"
    );
    let one = [KnownBad {
        several_gpus: false,
        cublas: None,
        operation: Some("conv3d-bf16".into()),
        ..rows[0].clone()
    }];
    let noted = rules::known_bad(
        &one,
        release("9.8.0"),
        None,
        Some(&h100[..1]),
        &["adv".into()],
    );
    assert_eq!(finding(&noted, "9.8.0").severity, Severity::Note);
    let used = rules::known_bad(
        &one,
        release("9.8.0"),
        None,
        Some(&h100[..1]),
        &["conv3d-bf16".into()],
    );
    let used = finding(&used, "9.8.0");
    assert_eq!(used.severity, Severity::Error);
    assert_eq!(
        used.summary,
        "cuDNN 9.8.0 is known to compute wrong numbers on several GPUs with cuBLAS 12.9 or later, which this program uses"
    );
    assert_eq!(
        rules::known_bad(&tables().known_bad, release("9.14.1"), None, None, &[]),
        []
    );
}

#[test]
fn a_patch_of_the_newest_known_minor_is_not_a_newer_version() {
    let rows = [
        row("9.1.0", "9.9.0", 12, "sm_80"),
        row("9.1.0", "9.9.0", 13, "sm_80"),
    ];
    let newest_before = |rows, version| gpu_support::newest_before(rows, release(version));
    assert_eq!(newest_before(&rows, "9.9.4"), None);
    assert_eq!(newest_before(&rows, "9.10.0"), Some(release("9.9.0")));
    assert_eq!(newest_before(&[], "9.10.0"), None);
}
