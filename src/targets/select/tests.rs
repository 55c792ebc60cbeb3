//! Examples of selections.

pub mod released;

use super::*;
use crate::compat::rules;
use crate::model::{Cudnn, Environment, Platform, Variable, joined};
use crate::runtime::facts::{FindingId, Severity, Version};
use crate::targets::Dialect;
use crate::targets::target_request::needs_gpus;
use crate::targets::target_request::needs_letters;
use crate::targets::target_request::request;
use crate::toolkit::nvcc_output::parse_help;

fn listed(targets: &[Target]) -> String {
    joined(targets, " ")
}

fn code(number: u32) -> Target {
    machine(ComputeCapability::from_number(number))
}

/// An nvcc with the relevant properties of CUDA 13.5.
fn nvcc() -> Compiler {
    let codes = [75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121];
    let letters = parse_help("'sm_75','sm_90a','sm_100f','sm_120a','sm_120f'");
    Compiler::from_answer("/cuda/bin/nvcc", codes.map(code).to_vec(), letters)
}

fn gpu(number: u32) -> Device {
    Device {
        name: format!("GPU {number}"),
        capability: ComputeCapability::from_number(number),
    }
}

fn ours(text: &str) -> TargetRequest {
    TargetRequest {
        from: ChosenBy::Variable(Variable::GuardArchs),
        dialect: Dialect::Ours,
        text: text.to_string(),
    }
}

#[track_caller]
fn gives(request: Option<&str>, gpus: &[u32], expected: &str) -> Selection {
    let gpus: Vec<Device> = gpus.iter().copied().map(gpu).collect();
    let selection = select(request.map(ours).as_ref(), Some(&nvcc()), &gpus).unwrap();
    assert_eq!(listed(&selection.list.targets()), expected);
    selection
}

#[track_caller]
fn refuses(request: &TargetRequest, gpus: &[Device], expected: &str) {
    let compiler = nvcc();
    let fault = select(Some(request), Some(&compiler), gpus).unwrap_err();
    assert_eq!(fault.finding(request, None).to_string(), expected);
}

/// A missing GPU is not an error.
#[test]
fn without_wish_and_gpu_all_majors_are_compiled() {
    let selection = gives(
        None,
        &[],
        "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120",
    );
    assert_eq!(selection.chosen_by, ChosenBy::Default);
    assert_eq!(
        selection.findings[0].to_string(),
        "no GPU detected; compiling for the first GPU of each major compute capability  [no-gpu]\n  \
         = help: set CUDNN_GUARD_ARCHS to the GPUs that the program will run on, to compile for fewer targets\n  \
         compiled    sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120"
    );
    assert_eq!(selection.findings[0].severity, Severity::Note);
    let tableless = select(None, None, &[]).unwrap();
    assert_eq!(tableless.list, selection.list);
}

/// Targets that cuDNN does not support are not compiled by default: Volta, which 9.11 and later do not support, and a
/// Jetson's GPU with a cuDNN for cards.
#[test]
fn the_default_is_supported_by_both_nvcc_and_cudnn() {
    let cuda = Compiler::from_table(None, Version::new(12, 9, 0));
    let default = |is_supported: &dyn Fn(ComputeCapability) -> bool| {
        listed(
            &default_targets(cuda.as_ref(), &[], is_supported)
                .list
                .targets(),
        )
    };
    assert_eq!(
        default(&|_| true),
        "sm_50 sm_60 sm_70 sm_80 sm_90 sm_100 sm_120 compute_120"
    );
    let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
    let by = |version, cuda_major| {
        let cudnn = Cudnn {
            library_version: Some(version),
            cuda_major: Some(cuda_major),
            ..Cudnn::default()
        };
        let platform = &platform;
        move |gpu| rules::may_support(&cudnn, gpu, platform)
    };
    assert_eq!(
        default(&by(Version::new(9, 14, 0), 12)),
        "sm_75 sm_80 sm_90 sm_100 sm_120 compute_120"
    );
    assert_eq!(
        default(&by(Version::new(9, 1, 0), 12)),
        "sm_50 sm_60 sm_70 sm_80 sm_90 sm_100 sm_120 compute_120"
    );
    // A version newer than the tables is treated like the newest known one for the same CPU.
    let thirteen = Compiler::from_table(None, Version::new(13, 0, 0));
    for (triple, targets) in [
        (
            "x86_64-unknown-linux-gnu",
            "sm_75 sm_80 sm_90 sm_100 sm_120 compute_120",
        ),
        (
            "aarch64-unknown-linux-gnu",
            "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120",
        ),
    ] {
        let platform = Platform::from_triple(triple);
        let cudnn = Cudnn {
            library_version: Some(Version::new(9, 28, 1)),
            cuda_major: Some(13),
            ..Cudnn::default()
        };
        let is_supported = |gpu| rules::may_support(&cudnn, gpu, &platform);
        let selection = default_targets(thirteen.as_ref(), &[], &is_supported);
        assert_eq!(listed(&selection.list.targets()), targets, "{triple}");
    }
    assert_eq!(
        default(&|_| false),
        default(&|_| true),
        "kernels run without cuDNN too"
    );
}

#[test]
fn without_nvcc_a_list_is_used_unchanged() {
    let selection = select(Some(&ours("37 200")), None, &[]).unwrap();
    assert_eq!(listed(&selection.list.targets()), "sm_37 sm_200");
}

/// A GPU that is newer than nvcc.
#[test]
fn a_gpu_that_nvcc_does_not_know_yet_gets_the_newest_ptx() {
    for request in [None, Some("native")] {
        let selection = gives(request, &[130, 130], "compute_121");
        assert_eq!(
            selection.findings[0].to_string(),
            "`GPU 130` (compute capability 13.0) is too new for `/cuda/bin/nvcc`  \
             [gpu-newer-than-nvcc]\n  \
             = help: install a newer CUDA toolkit to compile machine code for this GPU\n  \
             supported   sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_90a sm_100 sm_100f sm_103 sm_110 sm_120 sm_120f \
             sm_120a sm_121\n  \
             compiled    compute_121, which the driver compiles for this GPU"
        );
        assert_eq!(selection.findings.len(), 1);
    }
    // The same major: machine code runs unchanged.
    gives(None, &[108, 86], "sm_86 compute_86 sm_103 compute_103");
    // Between two supported GPUs: PTX of the lower one, since PTX of the higher one would not run.
    gives(None, &[95, 86], "sm_86 compute_86 sm_90 compute_90");
}

#[test]
fn a_gpu_that_nvcc_dropped_stops_only_who_asked_for_it() {
    let selection = gives(None, &[61, 90], "sm_90 compute_90");
    assert_eq!(selection.chosen_by, ChosenBy::Gpus);
    assert_eq!(selection.findings[0].id, FindingId::ArchUnsupportedByNvcc);
    assert_eq!(
        gives(
            None,
            &[61],
            "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120"
        )
        .findings
        .len(),
        1
    );
    let (request, nvcc) = (ours("native"), nvcc());
    let problem = select(Some(&request), Some(&nvcc), &[gpu(61)]).unwrap_err();
    let finding = problem.finding(&request, None);
    assert_eq!(
        finding.summary,
        "`/cuda/bin/nvcc` does not support sm_61, which CUDNN_GUARD_ARCHS requests"
    );
}

/// An invalid word, and how targets are written.
#[test]
fn says_what_cannot_be_read() {
    refuses(
        &ours("80 8x"),
        &[],
        "`8x` in CUDNN_GUARD_ARCHS is not a GPU target  [arch-unknown]\n  \
         = help: write targets as `80`, `8.6`, `90a`, `sm_86`, `compute_90`, `86-real`, `8.6+PTX`, `native`, \
         `all` or `all-major`, with spaces, commas or semicolons between them\n  \
         = help: use GPU names, with spaces but no commas in a name: `Ampere`, `H100`, `RTX 4090`; `nvidia-smi --query-gpu=compute_cap --format=csv` prints the numbers of this machine\n  \
         found       CUDNN_GUARD_ARCHS: \"80 8x\"",
    );
    let request = ours(" ; ");
    let problem = select(Some(&request), None, &[]).unwrap_err();
    let finding = problem.finding(&request, None);
    assert_eq!(
        finding.summary,
        "the list of GPU targets in CUDNN_GUARD_ARCHS is empty"
    );
}

/// Targets that this nvcc no longer supports, and the CUDA that did.
#[test]
fn names_the_unsupported_targets() {
    refuses(
        &ours("37 80 compute_200"),
        &[],
        "`/cuda/bin/nvcc` does not support sm_37, compute_200, which CUDNN_GUARD_ARCHS requests  \
         [arch-unsupported-by-nvcc]\n  \
         = help: use targets that this nvcc supports\n  \
         found       CUDNN_GUARD_ARCHS: \"37 80 compute_200\"\n  \
         supported   sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_90a sm_100 sm_100f sm_103 sm_110 sm_120 sm_120f \
             sm_120a sm_121\n  \
         toolkits    sm_37: CUDA up to 11.8\n              compute_200: no CUDA up to 13.5",
    );
}

#[test]
fn native_without_a_gpu_suggests_a_list() {
    refuses(
        &ours("native"),
        &[],
        "no GPU was detected, but CUDNN_GUARD_ARCHS requests `native`  [no-gpu]\n  \
         = help: set CUDNN_GUARD_ARCHS=\"sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120\", or a subset\n  \
         found       CUDNN_GUARD_ARCHS: \"native\"",
    );
}

#[test]
fn variables_and_build_script_in_order_of_precedence() {
    let pair = |name: &str, value: &str| (name.to_string(), value.into());
    let mut pairs = vec![
        pair("CUDNN_GUARD_ARCHS", "75"),
        pair("CUDAARCHS", "80"),
        pair("TORCH_CUDA_ARCH_LIST", "8.6"),
        pair("CUDA_COMPUTE_CAP", "90"),
    ];
    let script = ["89".to_string()];
    let mut order = Vec::new();
    for archs in [&script[..], &script[..], &[], &[], &[], &[]] {
        let found = request(&Environment::new(pairs.clone()), archs);
        order.push(found.map(|request| (request.from.to_string(), request.text)));
        if order.len() != 2 {
            pairs = pairs.split_off(1.min(pairs.len()));
        }
    }
    let order: Vec<_> = order
        .iter()
        .map(|found| {
            found
                .as_ref()
                .map(|(from, text)| (from.as_str(), text.as_str()))
        })
        .collect();
    assert_eq!(
        order,
        [
            Some(("CUDNN_GUARD_ARCHS", "75")),
            Some(("the build script", "89")),
            Some(("CUDAARCHS", "80")),
            Some(("TORCH_CUDA_ARCH_LIST", "8.6")),
            Some(("CUDA_COMPUTE_CAP", "90")),
            None
        ]
    );
}

#[test]
fn the_driver_is_queried_only_if_needed() {
    assert!(needs_gpus(None));
    assert!(needs_gpus(Some(&ours("80 native"))));
    assert!(!needs_gpus(Some(&ours("80"))));
    assert!(!needs_gpus(Some(&ours("80 native what"))));
}
