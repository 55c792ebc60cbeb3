//! What it means that things went in the child as they did.

use crate::runtime::binary::elf::Elf;
use crate::runtime::check::exit_verdict;
use crate::runtime::check::foreign_parts;
use crate::runtime::child::exit_status::ExitStatus;
use crate::runtime::child::work::ChildOutcome;
use crate::runtime::convolution::case_result::CaseResult;
use crate::runtime::driver::devices;
use crate::runtime::driver::query::{Device, Driver};
use crate::runtime::facts::built::{Built, Loader};
use crate::runtime::facts::finding::{Finding, Severity, Verdict};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::version::Version;
use crate::runtime::install::dlopen_dependencies;
use crate::runtime::install::main_library::MainLibrary;
use crate::runtime::install::missing_dlopen::MissingDlopen;
use crate::runtime::install::sub_library_files::SubLibraries;
use crate::runtime::judge::gpu_support::{self, GpuSupport};
use crate::runtime::judge::rules;
use crate::runtime::loader::cudarc_eager::{self, EagerLookup};
use crate::runtime::loader::file_name;
use crate::runtime::loader::search_path::SearchPath;
use crate::runtime::report::result::Report;
use std::path::Path;

/// What the child told and left behind.
pub fn judge(
    report: &mut Report,
    built: &Built,
    (search_path, main_library): (&SearchPath, &MainLibrary),
    parts: &SubLibraries,
    mut outcome: ChildOutcome,
) {
    let by_files = report.release();
    report.merge_child_report(&mut outcome.answer);
    let answer = &outcome.answer;
    let disagree = !answer.failed_checks.is_empty()
        || matches!((by_files, answer.version), (Some(files), Some(called)) if files != called);
    if let (None, Some(called)) = (by_files, answer.version) {
        report
            .findings
            .extend(main_library.mismatch(built, Some(called), &parts.lasting));
    }
    if !foreign_parts::judge(
        report,
        main_library,
        (parts, search_path),
        &answer.mapped,
        disagree,
    ) && disagree
    {
        report.findings.push(disagreement(
            main_library,
            by_files,
            answer.version,
            &answer.failed_checks,
            parts,
        ));
    }
    for (path, words) in &answer.unopened {
        report.refused(path, words);
    }
    let flavour = answer
        .cuda_major
        .and_then(|major| rules::flavour(built, major));
    if let (Some(mut finding), Some(with)) = (flavour, built.cudnn_cuda_major) {
        let wanted = format!("the cuDNN for CUDA {with}");
        finding.evidence = main_library.evidence();
        finding.help = vec![main_library.origin.help(main_library.folder(), &wanted)];
        report.findings.push(finding);
    }
    if let Some(problem) = &answer.problem {
        report.unknown(problem.clone());
    }
    let compiles = devices(report, built, &answer.tried, answer.cuda_major);
    let driver = report
        .driver
        .as_ref()
        .map(|driver| Path::new(&driver.library));
    let missing_dlopen =
        MissingDlopen::parse_output(&outcome.said, driver, answer.cuda_major, search_path);
    exit_verdict::judge(report, &outcome, missing_dlopen.as_ref(), compiles);
    // Wrong numbers have other reasons.
    let was_refused = |outcome: &CaseResult| {
        let finding = outcome.finding.as_ref();
        outcome.verdict == Verdict::Fail
            && finding.is_some_and(|it| it.id != FindingId::ConvolutionWrong)
    };
    let was_refused = report.outcomes.iter().any(was_refused);
    let crashed = matches!(outcome.end, ExitStatus::Signal(_)) && exit_verdict::is_cudnns(&outcome);
    let broke = was_refused || crashed && outcome.second_try.is_none();
    if let (true, Some(cuda)) = (broke, answer.cuda_major) {
        let mut suspects =
            dlopen_dependencies::suspect_findings(parts, cuda, &answer.mapped, search_path);
        report.findings.append(&mut suspects);
    }
    if let (true, Some(missing_dlopen)) = (was_refused, missing_dlopen) {
        if !report
            .findings
            .iter()
            .any(|it| missing_dlopen.is_named_in(it))
        {
            report.findings.push(missing_dlopen.finding(&outcome.said));
        }
    }
}

/// cuDNN itself does not agree with its files, and nothing from elsewhere is there to explain it.
fn disagreement(
    main_library: &MainLibrary,
    files: Option<Version>,
    called: Option<Version>,
    failed_checks: &[String],
    parts: &SubLibraries,
) -> Finding {
    let mut finding = Finding::error(
        FindingId::PartsMixed,
        format!(
            "the parts of cuDNN at `{}` do not belong together",
            main_library.folder().display()
        ),
    );
    finding.evidence = main_library.evidence();
    if let (Some(files), Some(called)) = (files, called) {
        if files != called {
            finding = finding.with("answers", format!("{called}, and its files are {files}"));
        }
    }
    if !failed_checks.is_empty() {
        finding = finding.with("refused by", failed_checks.join(", "));
    }
    let mut untold = Vec::new();
    for part in &parts.list {
        if part.needed && part.version.is_none() {
            untold.push(part.path.display().to_string());
        }
    }
    if !untold.is_empty() {
        finding = finding.with("no release", untold.join("\n"));
    }
    finding.help(format!(
        "remove all `{}` files from `{}` and install one cuDNN there, whole",
        file_name::ALL,
        main_library.folder().display()
    ))
}

/// Without a convolution that passed there is no pass, unless the program wants none.
pub fn outcomes(report: &mut Report, built: &Built) {
    for outcome in std::mem::take(&mut report.outcomes) {
        match (outcome.verdict, outcome.finding.clone()) {
            (Verdict::Fail, Some(finding)) => report.findings.push(finding),
            (Verdict::Unknown, Some(finding)) => report.unknown(finding),
            (Verdict::Pass, Some(finding)) => report.findings.push(finding),
            _ => {}
        }
        if let Some(reason) = &outcome.left_out {
            let through = outcome.api.api_words();
            let kind = format!("{} {}", outcome.data_type, outcome.operation);
            report.unchecked(format!("{kind}{through}: {reason}"));
        }
        report.outcomes.push(outcome);
    }
    if !built.convolution {
        return report.unchecked("a convolution: the program was built without that check");
    }
    if report.outcomes.is_empty() {
        report.unchecked("a convolution: it did not come to that");
    }
    let passed = |outcome: &CaseResult| outcome.verdict == Verdict::Pass;
    if !report.outcomes.iter().any(passed) && report.verdict() == Verdict::Pass {
        let unchecked = report.unchecked.clone();
        let summary = "no convolution could be tried";
        let finding = Finding::warning(FindingId::ConvolutionFailed, summary);
        report.unknown(finding.with_lines("not tried", unchecked));
    }
}

/// What the tables say of the loaded release, where the driver and its GPUs were not asked.
pub fn release(report: &mut Report, built: &Built, gpus: Option<usize>) {
    let Some(version) = report.release() else {
        return;
    };
    let tables = &built.tables;
    let mut bad = rules::known_bad(&tables.known_bad, version, built.cuda, gpus, &built.needs);
    report.findings.append(&mut bad);
    if gpu_support::is_newer(&tables.gpus, version) {
        let mut known = Version::new(0, 0, 0);
        for row in &tables.gpus {
            known = known.max(row.last);
        }
        let newer = rules::newer("cuDNN", &version.to_string(), &known.to_string());
        report.findings.push(newer);
    }
}

/// Every kind of GPU is judged; what those lack that are tried stops the program, which may never use the others.
/// Whether the driver has to compile all of cuDNN for one of them is what is returned.
fn devices(
    report: &mut Report,
    built: &Built,
    tried: &[usize],
    cudnn_cuda_major: Option<u32>,
) -> bool {
    let count = report.device_count();
    release(report, built, Some(count));
    let Some(driver) = report.driver.as_ref() else {
        return false;
    };
    let too_old = driver
        .cuda
        .and_then(|cuda| rules::driver(built, cudnn_cuda_major, cuda));
    if count == 0 {
        // It is in nobody's way while there is no GPU, and will be when there is one.
        if let Some(mut finding) = too_old {
            finding.severity = Severity::Warning;
            report.findings.push(finding);
        }
        return false;
    }
    let mut findings = Vec::new();
    findings.extend(too_old);
    if built.loader == Loader::Cudarc {
        findings.extend(missing_driver_functions(driver));
    }
    let cudnn = report.release().zip(cudnn_cuda_major);
    let cudnn = cudnn.map(|(version, cuda)| rules::Cudnn { version, cuda });
    let mut numbers = tried.to_vec();
    for number in 0..count {
        if !tried.contains(&number) {
            numbers.push(number);
        }
    }
    let first = driver.devices.first().map(|device| device.capability);
    let is_other = |device: &Device| Some(device.capability) != first;
    let are_unlike = driver.devices.iter().any(is_other);
    let (mut seen, mut compiles) = (Vec::new(), false);
    for number in &numbers {
        let Some(device) = driver.devices.get(*number) else {
            continue;
        };
        if seen.contains(&device.capability) {
            continue;
        }
        let (name, capability) = (&device.name, device.capability);
        // What computes rightly is served, whatever the tables say.
        let label = devices::label(name, *number);
        let computes = report
            .outcomes
            .iter()
            .any(|outcome| outcome.verdict == Verdict::Pass && outcome.device == label);
        let kernels = rules::kernels(built, driver.cuda, name, capability);
        let served = cudnn.and_then(|cudnn| cudnn.device(&built.tables.gpus, name, capability));
        let is_tried = tried.contains(number);
        let by_ptx = cudnn.is_some_and(|cudnn| {
            let rows = &built.tables.gpus;
            gpu_support::serves(rows, cudnn.version, cudnn.cuda, capability) == GpuSupport::ByPtx
        });
        compiles |= is_tried && by_ptx;
        let mut add = |finding: Option<Finding>, stops: bool| {
            if let Some(mut finding) = finding {
                if !stops {
                    finding.severity = Severity::Warning;
                }
                if are_unlike {
                    finding = finding.with("order", device_order());
                }
                findings.push(finding);
            }
        };
        add(kernels, is_tried);
        add(served, is_tried && !computes);
        seen.push(capability);
    }
    report.findings.append(&mut findings);
    compiles
}

/// What decides which GPU is the first.
fn device_order() -> String {
    match std::env::var("CUDA_DEVICE_ORDER") {
        Ok(order) => format!("CUDA_DEVICE_ORDER={order}"),
        Err(_) => "CUDA_DEVICE_ORDER is not set, so CUDA puts the fastest GPU first".to_string(),
    }
}

/// More constants than a program has that is not made of data.
const MOST_CONSTANTS: u64 = 64 << 20;

/// What cudarc is going to miss in the driver.
fn missing_driver_functions(driver: &Driver) -> Option<Finding> {
    // Most programs are spared the look.
    if driver.cuda.is_none_or(|cuda| cuda >= cudarc_eager::NEWEST) {
        return None;
    }
    let library = Elf::open(Path::new(&driver.library)).ok()?;
    let program = Elf::open(Path::new("/proc/self/exe")).ok()?;
    let found = EagerLookup::detect(&program.constants(MOST_CONSTANTS)?)?;
    let mut lacks = Vec::new();
    for name in &found.functions {
        if !library.defines(name) {
            lacks.push(name.clone());
        }
    }
    // What does not even tell this function tells none.
    let tells = library.defines("cuInit");
    let finding = found.finding("in this program", &driver.library, &lacks);
    finding.filter(|_| tells)
}
