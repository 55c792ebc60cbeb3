//! Selections for an nvcc that is only known by its version.

use super::*;

/// Selects with the targets of an nvcc version from the table.
#[track_caller]
fn select_with(cuda: &str, request: &str, gpus: &[u32], expected: &str) -> Selection {
    let (major, minor) = cuda.split_once('.').unwrap();
    let cuda = Version::new(major.parse().unwrap(), minor.parse().unwrap(), 0);
    let gpus: Vec<Device> = gpus.iter().copied().map(gpu).collect();
    let compiler = Compiler::from_table(None, cuda).unwrap();
    let request = (!request.is_empty()).then(|| ours(request));
    let selection = select(request.as_ref(), Some(&compiler), &gpus).unwrap();
    assert_eq!(selection.list.to_string(), expected);
    selection
}

/// If nvcc cannot list its targets, its version determines them. A version newer than all known ones may
/// support more.
#[test]
fn newer_versions_may_support_more_than_the_table() {
    select_with("14.0", "80 150a sm_140", &[], "sm_80 sm_140 sm_150a");
    select_with("14.0", "", &[150], "sm_150 compute_150");
    let request = ours("70");
    let newer = Compiler::from_table(None, Version::new(14, 0, 0));
    let finding = select(Some(&request), newer.as_ref(), &[])
        .unwrap_err()
        .finding(&request, None);
    assert_eq!(
        finding.summary,
        "CUDA 14.0 does not support sm_70, which CUDNN_GUARD_ARCHS requests"
    );
}

/// Thor has two numbers, and each nvcc supports one of them.
#[test]
fn a_renamed_gpu_is_one_gpu() {
    let note = select_with("13.0", "101a", &[], "sm_110a");
    assert_eq!(
        note.findings[0].to_string(),
        "sm_101a is compiled as sm_110a, the number that CUDA 13.0 uses for the same GPU  [arch-unsupported-by-nvcc]"
    );
    select_with("12.9", "Thor", &[], "sm_101");
    select_with("12.9", "", &[110], "sm_101 compute_101");
    select_with("13.5", "native", &[101], "sm_110");
}

#[test]
fn a_newer_gpu_gets_code_that_runs_on_it() {
    let selection = select_with("12.8", "native", &[121], "sm_120 compute_120");
    let text = selection.findings[0].to_string();
    assert!(
        text.ends_with("\n  compiled    sm_120 compute_120, which run on this GPU"),
        "{text}"
    );
    assert!(
        text.contains(
            "\n  = help: install CUDA 12.9 or newer to compile machine code for this GPU\n"
        ),
        "{text}"
    );
}

#[test]
fn nvcc_compiles_only_one_of_a_family_and_its_first_gpu() {
    let selection = select_with("12.9", "120 120f 120a", &[], "sm_120f sm_120a");
    assert_eq!(
        selection.findings[0].summary,
        "sm_120 is omitted because nvcc cannot compile it together with sm_120f, which runs on the same GPUs"
    );
}

#[test]
fn a_generation_contains_the_gpus_that_nvcc_supports() {
    select_with("12.8", "Blackwell+PTX", &[], "sm_100 sm_120 compute_120");
    select_with("12.4", "auto 61", &[90], "sm_61 sm_90 compute_90");
    select_with(
        "11.8",
        "auto",
        &[],
        "sm_35 sm_50 sm_60 sm_70 sm_80 sm_90 compute_90",
    );
}

/// A release build for the GPUs of one machine lists the GPUs that it leaves out.
#[test]
fn a_release_build_says_whom_it_leaves_out() {
    let machine = [code(86), ptx(ComputeCapability::new(8, 6))];
    let note = left_out(&machine, Some(&nvcc())).unwrap();
    assert_eq!(
        note.finding().to_string(),
        "this release build compiles kernels only for the GPUs of this machine  \
         [kernels-not-covering-gpu]\n  \
         = help: set CUDNN_GUARD_ARCHS=all-major, or list the GPUs that the program will run on\n  \
         compiled    sm_86 compute_86\n  \
         left out    Turing: 7.5\n              Ampere: 8.0"
    );
    assert_eq!(
        left_out(&[ptx(ComputeCapability::new(7, 5))], Some(&nvcc())),
        None
    );
}

#[test]
fn letters_are_queried_only_if_requested() {
    for (list, expected) in [
        ("80 9.0+PTX all", false),
        ("90a", true),
        ("103(100f)", true),
        ("80x", false),
    ] {
        assert_eq!(needs_letters(Some(&ours(list))), expected, "{list}");
    }
    assert!(!needs_letters(None));
    // It is unknown whether nvcc supports them, so nvcc itself will report an error.
    let silent = Compiler::from_answer("/nvcc", vec![code(90)], None);
    assert!(select(Some(&ours("90a")), Some(&silent), &[]).is_ok());
    assert!(select(Some(&ours("100a")), Some(&silent), &[]).is_err());
}
