//! What is said about targets.

use crate::model::gencode::Gencode;
use crate::model::text::joined;
use crate::runtime::driver::query::Device;
use crate::runtime::facts::compute_capability::{Code, ComputeCapability, Suffix, Target};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use crate::targets::nvcc_support::Compiler;
use crate::targets::target_lists::{known, listed, machine, majors, with_ptx};
use crate::targets::target_request::TargetRequest;
use crate::targets::{gpu_names, nvcc_table};

/// `meant` is what the reader may have meant.
pub(super) fn unreadable(
    request: &TargetRequest,
    summary: String,
    meant: Option<String>,
) -> Finding {
    let mut finding = Finding::error(FindingId::ArchUnknown, summary)
        .with("found", format!("{}: {:?}", request.from, request.text));
    if let Some(meant) = meant {
        let help = format!("write `{meant}`, with a point, if that is what you mean");
        finding = finding.help(help);
    }
    finding
        .help(
            "write targets as `80`, `8.6`, `90a`, `sm_86`, `compute_90`, `86-real`, `8.6+PTX`, `native`, `all` or \
             `all-major`, with spaces, commas or semicolons between them",
        )
        .help("or name GPUs: `Ampere`, `H100`, `RTX 4090`")
}

pub(super) fn native_without_gpu(request: &TargetRequest, compiler: Option<&Compiler>) -> Finding {
    let instead = with_ptx(majors(&known(compiler)));
    Finding::error(
        FindingId::NoGpu,
        format!(
            "this machine shows no GPU, and {} asks for `native`",
            request.from
        ),
    )
    .with("found", format!("{}: {:?}", request.from, request.text))
    .help(format!(
        "set CUDNN_GUARD_ARCHS=\"{}\", or fewer of these",
        listed(&instead)
    ))
}

pub(super) fn no_gpu(targets: &[Target]) -> Finding {
    Finding::note(
        FindingId::NoGpu,
        "this machine shows no GPU, so kernels are compiled for the first GPU of each major compute capability",
    )
    .with("compiled", listed(targets))
    .help("set CUDNN_GUARD_ARCHS to the GPUs that the program will meet, to compile less")
}

pub(super) fn unsound(request: &TargetRequest, gencode: Gencode) -> Finding {
    let Gencode { target, via } = gencode;
    let summary = format!(
        "{target} cannot be made through {via}, as {} asks",
        request.from
    );
    let help = match (target.code, via.suffix) {
        (Code::Ptx, _) => format!("write `{target}` alone: PTX is made as it is"),
        (_, Suffix::Arch) => format!("write `{target}` alone: PTX with an `a` serves only itself"),
        _ => format!("write `{target}` alone, or PTX that it runs"),
    };
    Finding::error(FindingId::ArchUnsupportedByNvcc, summary)
        .with("found", format!("{}: {:?}", request.from, request.text))
        .help(help)
}

pub(super) fn unsupported(
    compiler: &Compiler,
    lacking: &[Target],
    request: &TargetRequest,
) -> Finding {
    Finding::error(
        FindingId::ArchUnsupportedByNvcc,
        format!(
            "{} cannot compile for {}, which {} asks for",
            compiler.name(),
            joined(lacking, ", "),
            request.from
        ),
    )
    .with("found", format!("{}: {:?}", request.from, request.text))
    .with("nvcc knows", compiler.listed())
    .with("served by", served_by(lacking))
    .help("write targets that this nvcc knows, or choose another CUDA toolkit with CUDA_HOME")
}

pub(super) fn gpu_too_new(gpu: &Device, targets: &[Target], compiler: &Compiler) -> Finding {
    let summary = format!(
        "`{}`, compute capability {}, is newer than what {} can compile for",
        gpu.name,
        gpu.capability,
        compiler.name()
    );
    let what = match targets {
        [_] => "which the driver compiles for that GPU",
        _ => "which run on that GPU",
    };
    let help = match nvcc_table::first_with(machine(gpu.capability)) {
        Some(first) => format!(
            "install CUDA {} or newer to get machine code for that GPU",
            first.short()
        ),
        None => "install a newer CUDA toolkit to get machine code for that GPU".to_string(),
    };
    Finding::warning(FindingId::GpuNewerThanNvcc, summary)
        .with("nvcc knows", compiler.listed())
        .with("compiled", format!("{}, {what}", listed(targets)))
        .help(help)
}

pub(super) fn gpu_too_old(gpu: &Device, compiler: &Compiler) -> Finding {
    let summary = format!(
        "`{}`, compute capability {}, is older than all that {} can compile for",
        gpu.name,
        gpu.capability,
        compiler.name()
    );
    Finding::warning(FindingId::ArchUnsupportedByNvcc, summary)
        .with("nvcc knows", compiler.listed())
        .with("served by", served_by(&[machine(gpu.capability)]))
        .help("install an older CUDA toolkit to compile for that GPU")
}

/// Which CUDA has each, one a line.
fn served_by(targets: &[Target]) -> String {
    let line = |target: &Target| format!("{target}: {}", nvcc_table::served_by(*target));
    joined(targets.iter().map(line), "\n")
}

/// That a release build is for the GPUs of this machine, and which others nvcc could serve.
pub fn left_out(targets: &[Target], compiler: Option<&Compiler>) -> Option<Finding> {
    let served = known(compiler);
    let left = |capability: &ComputeCapability| {
        served.contains(&machine(*capability))
            && !targets.iter().any(|target| target.runs_on(*capability))
    };
    let mut lines = Vec::new();
    for (name, members) in gpu_names::generations() {
        let numbers = joined(members.iter().filter(|one| left(one)), ", ");
        if !numbers.is_empty() {
            lines.push(format!("{name}: {numbers}"));
        }
    }
    if lines.is_empty() {
        return None;
    }
    let finding = Finding::note(
        FindingId::KernelsNotCoveringGpu,
        "this release build compiles kernels for the GPUs of this machine, and not for all others",
    )
    .with("compiled", listed(targets))
    .with("left out", lines.join("\n"))
    .help("set CUDNN_GUARD_ARCHS=all-major, or list the GPUs that the program will meet");
    Some(finding)
}

/// That an nvcc does not list its targets, so that those of its release are taken. It can since CUDA 11.5; a newer one
/// that does not has a fault of its own.
pub fn unlisted(fault: Finding, cuda: Version, known: &Compiler) -> Finding {
    let taken = || format!("those of CUDA {}: {}", cuda.short(), known.listed());
    if cuda >= Version::new(11, 5, 0) {
        return fault.with("taken", taken());
    }
    let summary = format!(
        "{} is of CUDA {}, which cannot list its GPU targets",
        known.name(),
        cuda.short()
    );
    Finding::note(FindingId::NvccFailed, summary).with("taken", taken())
}
