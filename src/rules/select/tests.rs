//! Which GPUs to compile for, by example.

use super::*;
use crate::model::candidate::Cudnn;
use crate::model::finding::Severity;
use crate::model::platform::Platform;
use crate::model::version::Version;
use crate::rules::fit;
use crate::rules::nvcc::parse_help;

fn code(number: u32) -> Target {
    machine(ComputeCapability::from_number(number))
}

/// CUDA 13.5, as far as it matters.
fn nvcc() -> Compiler {
    let codes = [75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121];
    let letters = parse_help("'sm_75','sm_90a','sm_100f','sm_120a','sm_120f'");
    Compiler::asked("/cuda/bin/nvcc", codes.map(code).to_vec(), letters)
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

/// CFG-14: all of them, not the first.
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

/// CFG-01: no GPU is no fault.
#[test]
fn without_wish_and_gpu_all_majors_are_compiled() {
    let selection = gives(
        None,
        &[],
        "sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120",
    );
    assert_eq!(selection.chosen_by, "the default");
    assert_eq!(
        selection.findings[0].to_string(),
        "this machine shows no GPU, so kernels are compiled for the first GPU of each major  [no-gpu]\n  \
         compiled    sm_75 sm_80 sm_90 sm_100 sm_110 sm_120 compute_120\n  \
         = help: set CUDNN_GUARD_ARCHS to the GPUs that the program will meet, to compile less"
    );
    assert_eq!(selection.findings[0].severity, Severity::Note);
    let tableless = select(None, None, &[]).unwrap();
    assert_eq!(tableless.targets, selection.targets);
}

/// What the cuDNN does not serve is not compiled for without being asked: Volta, to which 9.11 and later have nothing
/// to say, and a Jetson's GPU in a cuDNN for cards.
#[test]
fn the_default_is_what_nvcc_and_the_cudnn_both_serve() {
    let cuda = Compiler::of_release(None, Version::new(12, 9, 0));
    let default = |is_served: &dyn Fn(ComputeCapability) -> bool| {
        listed(&unasked(cuda.as_ref(), &[], is_served).targets)
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
        move |gpu| fit::may_serve(&cudnn, gpu, platform)
    };
    assert_eq!(
        default(&by(Version::new(9, 14, 0), 12)),
        "sm_75 sm_80 sm_90 sm_100 sm_120 compute_120"
    );
    assert_eq!(
        default(&by(Version::new(9, 1, 0), 12)),
        "sm_50 sm_60 sm_70 sm_80 sm_90 sm_100 sm_120 compute_120"
    );
    assert_eq!(
        default(&|_| false),
        default(&|_| true),
        "kernels run without cuDNN too"
    );
}

#[test]
fn without_nvcc_a_list_stands_as_it_is_written() {
    let selection = select(Some(&ours("37 200")), None, &[]).unwrap();
    assert_eq!(listed(&selection.targets), "sm_37 sm_200");
}

/// CMP-13: `native` becomes targets and never reaches nvcc.
#[test]
fn native_is_the_machine_code_of_this_machine() {
    gives(Some("native"), &[90, 86, 90], "sm_86 sm_90");
    gives(Some("native compute_75"), &[90], "compute_75 sm_90");
}

/// CMP-09: a GPU newer than nvcc.
#[test]
fn a_gpu_that_nvcc_does_not_know_yet_gets_the_newest_ptx() {
    for wish in [None, Some("native")] {
        let selection = gives(wish, &[130, 130], "compute_121");
        assert_eq!(
            selection.findings[0].to_string(),
            "`GPU 130`, compute capability 13.0, is newer than what `/cuda/bin/nvcc` can compile for  \
             [gpu-newer-than-nvcc]\n  \
             nvcc knows  sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_90a sm_100 sm_100f sm_103 sm_110 sm_120 sm_120f \
             sm_120a sm_121\n  \
             compiled    compute_121, which the driver compiles for that GPU\n  \
             = help: install a newer CUDA toolkit to get machine code for that GPU"
        );
        assert_eq!(selection.findings.len(), 1);
    }
    // Of the same major: machine code runs there as it is.
    gives(None, &[108, 86], "sm_86 compute_86 sm_103 compute_103");
    // Between two that it knows: PTX of the one below, since that of a newer one would not run.
    gives(None, &[95, 86], "sm_86 compute_86 sm_90 compute_90");
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

/// CFG-15: the word that is no target, and how targets are written.
#[test]
fn says_what_cannot_be_read() {
    refuses(
        &ours("80 8x"),
        &[],
        "`8x` in CUDNN_GUARD_ARCHS is not a GPU target  [arch-unknown]\n  \
         found       CUDNN_GUARD_ARCHS: \"80 8x\"\n  \
         = help: write targets as `80`, `8.6`, `90a`, `sm_86`, `compute_90`, `86-real`, `8.6+PTX`, `native`, \
         `all` or `all-major`, with spaces, commas or semicolons between them\n  \
         = help: or name GPUs: `Ampere`, `H100`, `RTX 4090`",
    );
    let findings = select(Some(&ours(" ; ")), None, &[]).unwrap_err();
    assert_eq!(
        findings[0].summary,
        "CUDNN_GUARD_ARCHS names no GPU target: its list is empty"
    );
}

/// CMP-10: what this nvcc dropped, and which CUDA had it.
#[test]
fn says_what_nvcc_cannot_do() {
    refuses(
        &ours("37 80 compute_200"),
        &[],
        "`/cuda/bin/nvcc` cannot compile for sm_37, compute_200, which CUDNN_GUARD_ARCHS asks for  \
         [arch-unsupported-by-nvcc]\n  \
         found       CUDNN_GUARD_ARCHS: \"37 80 compute_200\"\n  \
         nvcc knows  sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_90a sm_100 sm_100f sm_103 sm_110 sm_120 sm_120f \
             sm_120a sm_121\n  \
         served by   sm_37: CUDA up to 11.8\n              compute_200: no CUDA up to 13.5\n  \
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

/// The nvcc of a release, which nobody can ask.
#[track_caller]
fn of_release(cuda: &str, wish: &str, gpus: &[u32], wanted: &str) -> Selection {
    let (major, minor) = cuda.split_once('.').unwrap();
    let cuda = Version::new(major.parse().unwrap(), minor.parse().unwrap(), 0);
    let gpus: Vec<Gpu> = gpus.iter().copied().map(gpu).collect();
    let compiler = Compiler::of_release(None, cuda).unwrap();
    let wish = (!wish.is_empty()).then(|| ours(wish));
    let selection = select(wish.as_ref(), Some(&compiler), &gpus).unwrap();
    assert_eq!(selection.list().to_string(), wanted);
    selection
}

/// CMP-12: where nvcc cannot list its targets its release tells, and a newer one than all that are known may do more.
#[test]
fn the_table_is_open_at_the_top() {
    of_release("14.0", "80 150a sm_140", &[], "sm_80 sm_140 sm_150a");
    of_release("14.0", "", &[150], "sm_150 compute_150");
    let wish = ours("70");
    let newer = Compiler::of_release(None, Version::new(14, 0, 0));
    let findings = select(Some(&wish), newer.as_ref(), &[]).unwrap_err();
    assert_eq!(
        findings[0].summary,
        "CUDA 14.0 cannot compile for sm_70, which CUDNN_GUARD_ARCHS asks for"
    );
}

/// ARC-01: Thor has two numbers, and each nvcc knows one of them.
#[test]
fn a_renamed_gpu_is_one() {
    let note = of_release("13.0", "101a", &[], "sm_110a");
    assert_eq!(
        note.findings[0].to_string(),
        "sm_101a is compiled as sm_110a: CUDA 13.0 has that number for the same GPU  [arch-unsupported-by-nvcc]"
    );
    of_release("12.9", "Thor", &[], "sm_101");
    of_release("12.9", "", &[110], "sm_101 compute_101");
    of_release("13.5", "native", &[101], "sm_110");
}

#[test]
fn a_newer_gpu_is_served_by_what_runs_there() {
    let selection = of_release("12.8", "native", &[121], "sm_120 compute_120");
    let text = selection.findings[0].to_string();
    assert!(
        text.contains("\n  compiled    sm_120 compute_120, which run on that GPU\n"),
        "{text}"
    );
    assert!(
        text.ends_with("= help: install CUDA 12.9 or newer to get machine code for that GPU"),
        "{text}"
    );
}

#[test]
fn nvcc_makes_only_one_of_a_family_and_its_first() {
    let selection = of_release("12.9", "120 120f 120a", &[], "sm_120f sm_120a");
    assert_eq!(
        selection.findings[0].summary,
        "sm_120 is left out: nvcc makes only one of it and sm_120f, which runs on the same GPUs"
    );
    of_release("12.9", "sm_103 103(100f)", &[], "sm_103(100f)");
    of_release("12.9", "86(80) 86", &[], "sm_86");
    of_release("12.9", "compute_120 120f", &[], "compute_120 sm_120f");
}

#[test]
fn what_cannot_be_made_of_that_ptx_is_said() {
    for (list, wanted) in [
        (
            "80(90)",
            "sm_80 cannot be made through compute_90, as CUDNN_GUARD_ARCHS asks",
        ),
        (
            "90(90a)",
            "sm_90 cannot be made through compute_90a, as CUDNN_GUARD_ARCHS asks",
        ),
        (
            "110(100f)",
            "sm_110 cannot be made through compute_100f, as CUDNN_GUARD_ARCHS asks",
        ),
        (
            "-gencode=arch=compute_80,code=compute_86",
            "compute_86 cannot be made through compute_80, as CUDNN_GUARD_ARCHS asks",
        ),
    ] {
        let findings = select(Some(&ours(list)), None, &[]).unwrap_err();
        assert_eq!(findings[0].summary, wanted);
        assert_eq!(findings[0].id, "arch-unsupported-by-nvcc");
    }
}

#[test]
fn a_generation_is_what_nvcc_knows_of_it() {
    of_release("12.8", "Blackwell+PTX", &[], "sm_100 sm_120 compute_120");
    of_release("12.4", "auto 61", &[90], "sm_61 sm_90 compute_90");
    of_release(
        "11.8",
        "auto",
        &[],
        "sm_35 sm_50 sm_60 sm_70 sm_80 sm_90 compute_90",
    );
}

/// ARC-05: a release build for the GPUs of one machine says whom it leaves out.
#[test]
fn a_release_build_says_whom_it_leaves_out() {
    let machine = [code(86), ptx(ComputeCapability::new(8, 6))];
    assert_eq!(
        left_out(&machine, Some(&nvcc())).unwrap().to_string(),
        "this release build compiles kernels for the GPUs of this machine, and not for all others  \
         [kernels-not-covering-gpu]\n  \
         compiled    sm_86 compute_86\n  \
         left out    Turing: 7.5\n              Ampere: 8.0\n  \
         = help: set CUDNN_GUARD_ARCHS=all-major, or list the GPUs that the program will meet"
    );
    assert_eq!(
        left_out(&[ptx(ComputeCapability::new(7, 5))], Some(&nvcc())),
        None
    );
}

#[test]
fn letters_are_asked_for_only_where_they_are_written() {
    for (list, wanted) in [
        ("80 9.0+PTX all", false),
        ("90a", true),
        ("103(100f)", true),
        ("80x", false),
    ] {
        assert_eq!(needs_letters(Some(&ours(list))), wanted, "{list}");
    }
    assert!(!needs_letters(None));
    // Nobody knows: nvcc will say so itself.
    let silent = Compiler::asked("/nvcc", vec![code(90)], None);
    assert!(select(Some(&ours("90a")), Some(&silent), &[]).is_ok());
    assert!(select(Some(&ours("100a")), Some(&silent), &[]).is_err());
}
