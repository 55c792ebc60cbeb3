//! Which GPUs to compile for, by example.

use super::*;

fn code(number: u32) -> Target {
    machine(ComputeCapability::from_number(number))
}

/// CUDA 13.5, as far as it matters.
fn nvcc() -> Compiler {
    Compiler {
        nvcc: "/cuda/bin/nvcc".to_string(),
        codes: [75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121]
            .map(code)
            .to_vec(),
    }
}

fn gpu(number: u32) -> Gpu {
    Gpu {
        name: format!("GPU {number}"),
        capability: ComputeCapability::from_number(number),
    }
}

fn ours(text: &str) -> Wish {
    Wish {
        from: "CUDNN_GUARD_ARCHS",
        dialect: Dialect::Ours,
        text: text.to_string(),
    }
}

#[track_caller]
fn gives(wish: Option<&str>, gpus: &[u32], wanted: &str) -> Selection {
    let gpus: Vec<Gpu> = gpus.iter().copied().map(gpu).collect();
    let selection = select(wish.map(ours).as_ref(), Some(&nvcc()), &gpus).unwrap();
    assert_eq!(listed(&selection.targets), wanted);
    selection
}

#[track_caller]
fn refuses(wish: &Wish, gpus: &[Gpu], wanted: &str) {
    let findings = select(Some(wish), Some(&nvcc()), gpus).unwrap_err();
    let texts: Vec<String> = findings.iter().map(Finding::to_string).collect();
    assert_eq!(texts.join("\n\n"), wanted);
}

#[test]
fn a_list_is_put_in_numeric_order_once() {
    gives(
        Some("12.0 9.0 10.0 8.0 sm_90 compute_120"),
        &[],
        "sm_80 sm_90 sm_100 sm_120 compute_120",
    );
    gives(Some("90a 90"), &[], "sm_90 sm_90a");
}

#[test]
fn all_is_what_this_nvcc_can_do() {
    gives(
        Some("all"),
        &[],
        "sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 compute_120 sm_121",
    );
    gives(
        Some("all-major"),
        &[],
        "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120",
    );
}

#[test]
fn without_a_wish_the_gpus_of_this_machine_decide() {
    let selection = gives(
        None,
        &[120, 86, 86, 90],
        "sm_86 compute_86 sm_90 sm_120 compute_120",
    );
    assert_eq!(selection.chosen_by, "the GPUs of this machine");
    gives(None, &[90], "sm_90 compute_90");
}

#[test]
fn without_wish_and_gpu_all_majors_are_compiled() {
    let selection = gives(
        None,
        &[],
        "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120",
    );
    assert_eq!(selection.chosen_by, "the default");
    let tableless = select(None, None, &[]).unwrap();
    assert_eq!(tableless.targets, selection.targets);
}

#[test]
fn without_nvcc_a_list_stands_as_it_is_written() {
    let selection = select(Some(&ours("37 200")), None, &[]).unwrap();
    assert_eq!(listed(&selection.targets), "sm_37 sm_200");
}

#[test]
fn native_is_the_machine_code_of_this_machine() {
    gives(Some("native"), &[90, 86, 90], "sm_86 sm_90");
    gives(Some("native compute_75"), &[90], "compute_75 sm_90");
}

#[test]
fn a_gpu_that_nvcc_does_not_know_yet_gets_the_newest_ptx() {
    for wish in [None, Some("native")] {
        let selection = gives(wish, &[130, 130], "compute_121");
        assert_eq!(
            selection.findings[0].to_string(),
            "`GPU 130`, compute capability 13.0, is newer than what `/cuda/bin/nvcc` can compile for  \
             [gpu-newer-than-nvcc]\n  \
             nvcc knows  sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121\n  \
             compiled    compute_121, which the driver compiles for that GPU\n  \
             = help: install a newer CUDA toolkit to get machine code for that GPU"
        );
        assert_eq!(selection.findings.len(), 1);
    }
    // Between two that it knows: PTX of the one below, since that of a newer one would not run.
    gives(None, &[101, 86], "sm_86 compute_86 compute_100");
}

#[test]
fn a_gpu_that_nvcc_dropped_stops_only_who_asked_for_it() {
    let selection = gives(None, &[61, 90], "sm_90 compute_90");
    assert_eq!(selection.findings[0].id, "arch-unsupported-by-nvcc");
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
    let findings = select(Some(&ours("native")), Some(&nvcc()), &[gpu(61)]).unwrap_err();
    assert_eq!(
        findings[0].summary,
        "`/cuda/bin/nvcc` cannot compile for sm_61, which CUDNN_GUARD_ARCHS asks for"
    );
}

#[test]
fn says_what_cannot_be_read() {
    refuses(
        &ours("80 8x"),
        &[],
        "`8x` in CUDNN_GUARD_ARCHS is not a GPU target  [arch-unknown]\n  \
         found       CUDNN_GUARD_ARCHS: \"80 8x\"\n  \
         = help: write targets as `80`, `8.6`, `90a`, `sm_86`, `compute_90`, `86-real`, `8.6+PTX`, `native`, \
         `all` or `all-major`, with spaces, commas or semicolons between them",
    );
    let findings = select(Some(&ours(" ; ")), None, &[]).unwrap_err();
    assert_eq!(
        findings[0].summary,
        "CUDNN_GUARD_ARCHS names no GPU target: its list is empty"
    );
}

#[test]
fn says_what_nvcc_cannot_do() {
    refuses(
        &ours("37 80 compute_200"),
        &[],
        "`/cuda/bin/nvcc` cannot compile for sm_37, compute_200, which CUDNN_GUARD_ARCHS asks for  \
         [arch-unsupported-by-nvcc]\n  \
         found       CUDNN_GUARD_ARCHS: \"37 80 compute_200\"\n  \
         nvcc knows  sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100 sm_103 sm_110 sm_120 sm_121\n  \
         = help: write targets that this nvcc knows, or choose another CUDA toolkit with CUDA_HOME",
    );
}

#[test]
fn native_without_a_gpu_is_answered_with_the_list_to_write() {
    refuses(
        &ours("native"),
        &[],
        "this machine shows no GPU, and CUDNN_GUARD_ARCHS asks for `native`  [no-gpu]\n  \
         found       CUDNN_GUARD_ARCHS: \"native\"\n  \
         = help: set CUDNN_GUARD_ARCHS=\"sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120\", or fewer of these",
    );
}

#[test]
fn variables_and_build_script_in_their_order() {
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
        let found = wish(&Env::new(pairs.clone()), archs);
        order.push(found.map(|wish| (wish.from, wish.text)));
        if order.len() != 2 {
            pairs = pairs.split_off(1.min(pairs.len()));
        }
    }
    let order: Vec<_> = order
        .iter()
        .map(|found| found.as_ref().map(|(from, text)| (*from, text.as_str())))
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
fn the_driver_is_asked_only_where_it_matters() {
    assert!(needs_gpus(None));
    assert!(needs_gpus(Some(&ours("80 native"))));
    assert!(!needs_gpus(Some(&ours("80"))));
    assert!(!needs_gpus(Some(&ours("80 native what"))));
}
