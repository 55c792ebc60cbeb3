//! The findings from a child's report.

use crate::runtime::binary::Elf;
use crate::runtime::check::{LocatedCudnn, NotChecked, exit_verdict, file_findings};
use crate::runtime::child::{ChildOutcome, ExitStatus};
use crate::runtime::convolution::case_result;
use crate::runtime::driver::{Driver, devices, stub};
use crate::runtime::facts::{
    Built, ComputeCapability, Finding, FindingId, Loader, Severity, Verdict, Version,
};
use crate::runtime::install::dlopen_dependencies::{self, loaded_cublas};
use crate::runtime::install::missing_dlopen::MissingDlopen;
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::judge::{Gpu, GpuSupport, NewerVersion, gpu_support, program_rules, rules};
use crate::runtime::loader::{EagerLookup, cudarc_eager};
use crate::runtime::report::Contents;
use std::path::Path;

/// Adds the findings from a child's report and output.
pub fn judge(
    report: &mut Contents,
    cudnn: &LocatedCudnn<'_>,
    parts: &SubLibraries,
    mut outcome: ChildOutcome,
) {
    let (built, search_path) = (cudnn.built, &cudnn.search_path);
    let main_library = &cudnn.main_library;
    let by_files = report.cudnn_version();
    report.merge_child_report(&mut outcome.answer);
    let answer = &outcome.answer;
    let disagree = !answer.failed_checks.is_empty()
        || matches!((by_files, answer.version), (Some(files), Some(called)) if files != called);
    if let (None, Some(called)) = (by_files, answer.version) {
        let mismatch = main_library.mismatch(built, Some(called), &parts.lasting);
        report.findings.extend(mismatch);
    }
    if !file_findings::add_foreign(report, cudnn, parts, &answer.mapped, disagree) && disagree {
        let (called, failed) = (answer.version, &answer.failed_checks);
        let disagreement = main_library.disagreement(parts, by_files, called, failed);
        report.findings.push(disagreement);
    }
    for (path, message) in &answer.unopened {
        report.refused(path, message, outcome.second_try.as_ref());
    }
    let loaded_major = answer.cuda_major;
    if let Some(mismatch) = loaded_major.and_then(|it| program_rules::cuda_major(built, it)) {
        let help = main_library.cuda_help(mismatch.built_with);
        let finding = mismatch.finding(Some(help));
        report
            .findings
            .push(finding.with_all(main_library.evidence()));
    }
    if let Some(problem) = outcome.problem() {
        report.unknown(problem);
    }
    let cublas = loaded_major.and_then(|cuda| loaded_cublas(cuda, &answer.mapped, search_path));
    let compiles = judge_devices(report, built, &answer.tried, answer.cuda_major, cublas);
    let driver = report.driver.as_ref();
    let driver = driver.map(|driver| Path::new(&driver.library));
    let missing_dlopen =
        MissingDlopen::parse_output(&outcome.output, driver, answer.cuda_major, search_path);
    exit_verdict::judge(report, &outcome, missing_dlopen.as_ref(), compiles);
    // Wrong results are not refusals.
    let failed_ids = case_result::failed_ids(&report.outcomes);
    let was_refused = failed_ids
        .iter()
        .any(|id| *id != FindingId::ConvolutionWrong);
    let crashed =
        matches!(outcome.end, ExitStatus::Signal(_)) && exit_verdict::is_caused_by_cudnn(&outcome);
    let broke = was_refused || crashed && outcome.second_try.is_none();
    let mut suspects = Vec::new();
    // On Windows, a missing DLL is reported without a GPU too, because nothing else is tested then.
    let is_untested = cfg!(windows) && answer.tried.is_empty();
    if let (true, Some(cuda)) = (broke || is_untested, answer.cuda_major) {
        suspects =
            dlopen_dependencies::find_suspects(&parts.installed, cuda, &answer.mapped, search_path);
        let findings = suspects.iter().map(|suspect| suspect.finding());
        report.findings.extend(findings);
    }
    // The finding about a crash names the library.
    let missing_dlopen = missing_dlopen.filter(|_| was_refused && !crashed);
    if let Some(missing) = missing_dlopen.filter(|it| !it.is_named_by(&suspects, &answer.unopened))
    {
        report
            .findings
            .push(missing.finding("output", outcome.output.trim()));
    }
}

/// Adds the findings from a child's report about the driver, for a program that uses no cuDNN.
pub fn judge_driver(report: &mut Contents, mut outcome: ChildOutcome) {
    report.merge_child_report(&mut outcome.answer);
    if let Some(problem) = outcome.problem() {
        report.unknown(problem);
    }
    let built = report.built.clone();
    judge_devices(report, &built, &outcome.answer.tried, None, None);
    exit_verdict::judge(report, &outcome, None, false);
}

/// Adds the findings of the convolutions. Without a passed convolution the verdict is unknown, unless the program
/// disabled them.
pub fn judge_convolutions(report: &mut Contents, built: &Built) {
    for outcome in std::mem::take(&mut report.outcomes) {
        match (outcome.verdict, outcome.finding.clone()) {
            (Verdict::Unknown, Some(finding)) => report.unknown(finding),
            (_, Some(finding)) => report.findings.push(finding),
            _ => {}
        }
        if let Some(reason) = &outcome.left_out {
            report.unchecked(format!("{}: {reason}", outcome.title()));
        }
        report.outcomes.push(outcome);
    }
    if !built.convolution {
        return report.unchecked("convolution: disabled in the build script");
    }
    if report.outcomes.is_empty() {
        report.unchecked("convolution: an earlier check did not pass");
    }
    if !report.has_passed() && report.verdict() == Verdict::Pass {
        report.unknown(NotChecked::NoConvolution(&report.unchecked).finding());
    }
}

/// Adds the findings about the loaded version from the version tables.
pub fn judge_version(
    report: &mut Contents,
    built: &Built,
    cublas: Option<Version>,
    gpus: Option<&[ComputeCapability]>,
) {
    let Some(version) = report.cudnn_version() else {
        return;
    };
    let tables = &built.tables;
    // Up to CUDA 12, cuBLAS has the version of its CUDA.
    let cublas = cublas.or(built.cuda.filter(|cuda| cuda.major <= 12));
    for (row, impact) in rules::known_bad(&tables.known_bad, version, cublas, gpus, &built.needs) {
        report.findings.push(row.finding(version, impact));
    }
    let known = gpu_support::newest_before(&tables.gpus, version);
    let newer = known.map(|known| NewerVersion::new("cuDNN", version, known).finding());
    report.findings.extend(newer);
}

/// Adds the findings about every kind of GPU. Only those about tested GPUs stop the program, which may never use the
/// others. Returns `true` if the driver has to compile all of cuDNN for a tested GPU.
fn judge_devices(
    report: &mut Contents,
    built: &Built,
    tried: &[usize],
    cudnn_cuda_major: Option<u32>,
    cublas: Option<Version>,
) -> bool {
    let count = report.device_count();
    let devices = report.driver.iter().flat_map(|driver| &driver.devices);
    let gpus: Vec<_> = devices.map(|device| device.capability).collect();
    judge_version(report, built, cublas, Some(&gpus));
    let Some(driver) = report.driver.as_ref() else {
        return false;
    };
    let too_old = |cuda| program_rules::driver(built, cudnn_cuda_major, cuda);
    let too_old = driver.cuda.and_then(too_old);
    if count == 0 {
        // Without a GPU an old driver is no error yet.
        let too_old = too_old.map(Finding::into_warning);
        report.findings.extend(too_old);
        return false;
    }
    let (mut findings, mut stub) = (Vec::new(), None);
    findings.extend(too_old);
    if matches!(built.loader, Loader::Cudarc | Loader::None) {
        findings.extend(missing_driver_functions(driver));
    }
    if built.loader == Loader::Cudarc {
        stub = stub::of_cudarc();
    }
    let cudnn = report.cudnn_version().zip(cudnn_cuda_major);
    let cudnn = cudnn.map(|(version, cuda)| gpu_support::Cudnn { version, cuda });
    let mut numbers = tried.to_vec();
    numbers.extend((0..count).filter(|number| !tried.contains(number)));
    let are_unlike = gpus.iter().any(|gpu| Some(gpu) != gpus.first());
    let (mut seen, mut compiles) = (Vec::new(), false);
    for number in &numbers {
        let Some(device) = driver.devices.get(*number) else {
            continue;
        };
        if seen.contains(&device.capability) {
            continue;
        }
        let (name, capability) = (&device.name, device.capability);
        // A GPU with correct results is supported, whatever the tables state.
        let label = devices::label(name, *number);
        let mut outcomes = report.outcomes.iter();
        let computes = outcomes.any(|it| it.verdict == Verdict::Pass && it.device == label);
        let gpu = Gpu::new(name, capability);
        let kernels = program_rules::kernels(built, driver.cuda, gpu);
        let gap = cudnn.and_then(|cudnn| Some((cudnn, cudnn.gap(&built.tables.gpus, capability)?)));
        let unsupported = gap.map(|(cudnn, gap)| gap.finding(cudnn, gpu));
        let is_tried = tried.contains(number);
        let support = cudnn.map(|cudnn| cudnn.support(&built.tables.gpus, capability));
        compiles |= is_tried && support == Some(GpuSupport::ByPtx);
        for (finding, stops) in [(kernels, true), (unsupported, !computes)] {
            let Some(mut finding) = finding else { continue };
            if !is_tried || !stops {
                finding = finding.into_warning();
            }
            if are_unlike {
                finding = finding.with_device_order(std::env::var("CUDA_DEVICE_ORDER").ok());
            }
            findings.push(finding);
        }
        seen.push(capability);
    }
    report.findings.append(&mut findings);
    if let Some(stub) = stub {
        report.unknown(stub.finding());
    }
    compiles
}

/// A limit on the size of a program's constants, in bytes. Only programs with embedded data exceed it.
const MOST_CONSTANTS: u64 = 64 << 20;

/// Returns the finding that the driver is missing functions that cudarc looks up at startup.
fn missing_driver_functions(driver: &Driver) -> Option<Finding> {
    // A driver this new has all functions, and comparing versions is fast.
    if driver.cuda.is_none_or(|cuda| cuda >= cudarc_eager::NEWEST) {
        return None;
    }
    let library = Elf::open(Path::new(&driver.library)).ok()?;
    let program = Elf::open(Path::new("/proc/self/exe")).ok()?;
    let found = EagerLookup::detect(&program.constants(MOST_CONSTANTS)?)?;
    // Every driver defines `cuInit`. If it is not found, the symbols cannot be read.
    if !library.defines("cuInit") {
        return None;
    }
    let mut missing = found.functions.clone();
    missing.retain(|name| !library.defines(name));
    found.finding(
        None,
        (&driver.library, "cu"),
        &missing,
        Severity::Error,
        None,
    )
}
