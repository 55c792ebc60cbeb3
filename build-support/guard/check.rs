//! The way through: which cuDNN, which parts, which release; then, in a child, whether it works.

use crate::runtime::child::process_lock::ProcessLock;
use crate::runtime::child::work::{self, Functions, REAL, Task};
use crate::runtime::child::{child_verdict, in_process};
use crate::runtime::convolution::case_result::{Extent, Scope};
use crate::runtime::driver::devices::{self, Devices};
use crate::runtime::facts::built::Built;
use crate::runtime::facts::finding::{Finding, Severity, Verdict};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::judge::rules;
use crate::runtime::loader::dlerror_messages;
use crate::runtime::loader::locate::{self, MainLibrary};
use crate::runtime::loader::search_path::{LoadOrigin, SearchPath};
use crate::runtime::parts::part_files::{self, Parts};
use crate::runtime::report::env_config::EnvConfig;
use crate::runtime::report::output;
use crate::runtime::report::result::{Failure, Report};
use crate::runtime::system::platform::{self, Library};
use std::path::Path;

/// Whether the release that is loaded fits: files and version symbols alone. It calls nothing in cuDNN and never
/// starts CUDA. What is linked into the program has no files, and is asked for its release.
pub fn check_version(built: &Built) -> Result<Report, Failure> {
    let operator = EnvConfig::read();
    let _turn = ProcessLock::acquire(operator.deadline);
    let mut report = Report::new(built);
    report.findings = operator.findings();
    if let Some((route, shim)) = locate_cudnn(&mut report, built, &operator, None) {
        let parts = shim.parts(&route, false, &built.needs);
        judge_files(&mut report, built, &shim, parts);
        if report
            .loaded
            .as_ref()
            .is_some_and(|loaded| loaded.version.is_none())
        {
            report.unknown(unreadable_release(&shim));
        }
        child_verdict::release(&mut report, built, None);
        report.unchecked.push(
            "the driver, the GPU and a convolution: only the release was asked for".to_string(),
        );
    }
    report.finish(&operator)
}

/// Whether the cuDNN under this program fits and works. Whatever could take the process down happens in a child.
pub fn check(built: &Built) -> Result<Report, Failure> {
    check_with(built, REAL)
}

/// The same by these functions.
pub fn check_with(built: &Built, functions: Functions) -> Result<Report, Failure> {
    let how = CheckMode::Anywhere(Extent::Quick);
    check_for(built, &EnvConfig::read(), how, functions)
}

/// The same with every kind of convolution and every algorithm that cuDNN offers. It may take many times as long.
pub fn check_thoroughly(built: &Built) -> Result<Report, Failure> {
    check_thoroughly_with(built, REAL)
}

/// The same by these functions.
pub fn check_thoroughly_with(built: &Built, functions: Functions) -> Result<Report, Failure> {
    let how = CheckMode::Anywhere(Extent::Thorough);
    check_for(built, &EnvConfig::read(), how, functions)
}

/// How much is convolved, and whether cuDNN may be called in this process itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CheckMode {
    /// Where no child can be made it is, and the report says so.
    Anywhere(Extent),
    /// It is not, and without a child nothing is known.
    InChild(Extent),
}

/// The same, as this operator wants it.
pub fn check_for(
    built: &Built,
    operator: &EnvConfig,
    how: CheckMode,
    functions: Functions,
) -> Result<Report, Failure> {
    let _turn = ProcessLock::acquire(operator.deadline);
    let mut report = Report::new(built);
    report.findings = operator.findings();
    if let Some((route, shim)) = locate_cudnn(&mut report, built, operator, Some(functions)) {
        run_checks(
            &mut report,
            built,
            operator,
            (how, functions),
            (&route, &shim),
        );
    }
    let result = report.finish(operator);
    output::write(result, operator)
}

/// The cuDNN to judge; where there is none, the report says why.
fn locate_cudnn(
    report: &mut Report,
    built: &Built,
    operator: &EnvConfig,
    asked: Option<Functions>,
) -> Option<(SearchPath, MainLibrary)> {
    if let Some(reason) = &built.absent {
        let summary = "this program was built without CUDA";
        report
            .unknown(Finding::warning(FindingId::BuiltWithoutCuda, summary).with("reason", reason));
        return None;
    }
    if !platform::SUPPORTED {
        let libc = if cfg!(target_env = "musl") {
            " with musl"
        } else {
            ""
        };
        let (system, arch) = (std::env::consts::OS, std::env::consts::ARCH);
        report.unknown(Finding::warning(
            FindingId::PlatformUnsupported,
            format!("cuDNN is not checked on {} {}{}", arch, system, libc),
        ));
        return None;
    }
    if let Some(words) = &built.not_understood {
        report.unknown(not_understood(built, words));
        return None;
    }
    let route = SearchPath::of_program();
    let found = match built.linked_in {
        Some(functions) => Ok(MainLibrary::linked_in(built, functions)),
        None => locate::find(built, &route),
    };
    match found {
        Ok(shim) => {
            if !shim.others.is_empty() {
                report.findings.push(shim.others_finding(&shim.others));
            }
            return Some((route, shim));
        }
        Err(finding) if finding.id == FindingId::CudnnNotLoadable => {
            not_loadable(report, finding, operator, asked);
        }
        Err(finding) if finding.severity == Severity::Error => report.findings.push(finding),
        Err(finding) => report.unknown(finding),
    }
    None
}

/// A program that finds no cuDNN on a machine without a GPU is not broken: it may do without.
fn not_loadable(
    report: &mut Report,
    finding: Finding,
    operator: &EnvConfig,
    asked: Option<Functions>,
) {
    let task = |functions| Task {
        functions,
        shim: None,
        parts: &[],
        devices: &operator.devices,
        convolution: None,
    };
    let tried = asked.and_then(|functions| {
        // Where CUDA is started already, nothing is changed by asking it here.
        let may_be_here = in_process::cuda_is_started();
        work::run(&task(functions), operator.deadline, may_be_here).ok()
    });
    let Some(mut tried) = tried else {
        report.unknown(finding);
        return;
    };
    report.merge_child_report(&mut tried.answer);
    let gpu = report
        .driver
        .as_ref()
        .is_some_and(|driver| !driver.devices.is_empty());
    if gpu && finding.severity == Severity::Error {
        report.findings.push(finding);
    } else {
        report.unknown(finding);
        if let Some(problem) = tried.answer.problem {
            report.unknown(problem);
        }
    }
}

/// Step by step: what can be judged by hand, then the child, then the parent once more.
fn run_checks(
    report: &mut Report,
    built: &Built,
    operator: &EnvConfig,
    (how, functions): (CheckMode, Functions),
    (route, shim): (&SearchPath, &MainLibrary),
) {
    let parts = shim.parts(route, true, &built.needs);
    judge_files(report, built, shim, parts.clone());
    if is_fatal(report, operator) {
        let alone = match shim.via {
            LoadOrigin::Within => "its release alone does not fit",
            _ => "the files alone do not fit",
        };
        report
            .unchecked
            .push(format!("the driver, the GPU and a convolution: {}", alone));
        return;
    }
    let (may_be_here, extent) = match how {
        CheckMode::Anywhere(extent) => (true, extent),
        CheckMode::InChild(extent) => (false, extent),
    };
    let shared = match operator.devices {
        Devices::First => devices::shared_by(),
        _ => None,
    };
    let scope = Scope {
        extent,
        graph_only: parts.jit_only,
    };
    // Untold, such a cuDNN may look for the other parts, and end the process for want of them.
    let can = !parts.jit_only || part_files::is_jit_asked();
    let convolution = Some(scope).filter(|_| built.convolution && shared.is_none() && can);
    let task = Task {
        functions,
        shim: Some(shim.library),
        parts: &parts.list,
        devices: &operator.devices,
        convolution,
    };
    let tried = match work::run(&task, operator.deadline, may_be_here) {
        Ok(tried) => tried,
        Err(no_child) => {
            report
                .unchecked
                .push("the driver, the GPU and a convolution: no child process".to_string());
            report.unknown(no_child.finding(
                "no child process can be made, in which cuDNN could be tried without risk",
            ));
            return;
        }
    };
    if let Some(no_child) = &tried.unprotected {
        let summary = "cuDNN was tried in this process itself, unprotected, for want of a child";
        report.findings.push(no_child.finding(summary));
    }
    child_verdict::judge(report, built, (route, shim), &parts, operator, tried);
    if let (true, Some(control)) = (built.convolution, shared) {
        report.unknown(
            Finding::warning(
                FindingId::DeviceBusy,
                "other programs may share the GPU through MPS, and a fault while cuDNN is tried would end them too",
            )
            .with("shared by", control.display())
            .help("set CUDNN_GUARD_DEVICES=0 to try it all the same"),
        );
    }
    if built.convolution && !can && report.device_count() > 0 {
        report.unknown(
            Finding::warning(
                FindingId::ConvolutionFailed,
                "this cuDNN only compiles graphs at run time, and is not told so, so no convolution was tried",
            )
            .help("set CUDNN_LIB_CONFIG=GRAPH_JIT_ONLY, as NVIDIA asks for a cuDNN without its other parts"),
        );
    }
    let beyond = operator.devices.out_of_range(report.device_count());
    if report.device_count() > 0 && !beyond.is_empty() {
        report.unknown(Finding::warning(
            FindingId::VariableUnusable,
            format!(
                "CUDNN_GUARD_DEVICES asks for GPU {}, and {} are visible, counted from 0",
                beyond
                    .iter()
                    .map(usize::to_string)
                    .collect::<Vec<_>>()
                    .join(", "),
                report.device_count()
            ),
        ));
    }
    child_verdict::outcomes(report, built);
    let passed = report
        .outcomes
        .iter()
        .any(|outcome| outcome.verdict == Verdict::Pass);
    if (passed || !built.convolution) && !is_fatal(report, operator) {
        pin(report, built, shim, &parts, route);
    }
}

fn judge_files(report: &mut Report, built: &Built, shim: &MainLibrary, parts: Parts) {
    report.set_loaded(shim, &parts);
    let release = report.loaded.as_ref().and_then(|loaded| loaded.version);
    let release = release.map(|told| told.0);
    report.findings.extend(shim.mismatch(built, release));
    let newer = release.is_some_and(|release| rules::is_newer(&built.tables.gpus, release));
    for mut finding in parts.findings {
        // A release that nobody knew may be made of other parts; what cannot do without is seen when it convolves.
        if newer && finding.id == FindingId::PartsMissing {
            finding.severity = Severity::Warning;
        }
        finding.evidence.splice(0..0, shim.evidence());
        report.findings.push(finding);
    }
}

/// The parent opens the files that the child found to work, and looks once more, since files can change.
fn pin(report: &mut Report, built: &Built, shim: &MainLibrary, parts: &Parts, route: &SearchPath) {
    for part in parts.list.iter().filter(|part| part.needed) {
        if let Err(words) = Library::open_file(&part.path) {
            dlerror_messages::refused(report, &part.path, &words);
        }
    }
    let again = shim.parts(route, true, &built.needs);
    let needed = |parts: &Parts| -> Vec<part_files::Part> {
        parts
            .list
            .iter()
            .filter(|part| part.needed)
            .cloned()
            .collect()
    };
    let (before, after) = (needed(parts), needed(&again));
    // What is mapped may have been deleted since, and does its work all the same.
    let is_other = |one: &Path, other: &Path| one != other && !platform::same_file(one, other);
    let changed = before.iter().zip(&after).find(|(before, after)| {
        before.version != after.version || is_other(&before.path, &after.path)
    });
    if let Some((before, after)) = changed {
        report.findings.push(
            Finding::error(
                FindingId::PartsMixed,
                "cuDNN's files changed while they were checked",
            )
            .with("checked", before.path.display())
            .with("loaded", after.path.display())
            .help("start the program again when nothing is being installed"),
        );
    }
}

/// That a later cudnn-guard wrote a rule by which this one cannot judge.
fn not_understood(built: &Built, words: &str) -> Finding {
    Finding::warning(
        FindingId::UnknownNewerVersion,
        "what this program may load is written in a way that this cudnn-guard does not know",
    )
    .with("written by", format!("cudnn-guard {}", built.written_by))
    .with("written", words)
    .help("use the same release of cudnn-guard in [dependencies] and [build-dependencies] of Cargo.toml")
}

fn unreadable_release(shim: &MainLibrary) -> Finding {
    Finding::warning(
        FindingId::UnknownNewerVersion,
        format!(
            "the files of the cuDNN at `{}` do not tell their release",
            shim.folder().display()
        ),
    )
}

/// Whether something was found that the operator does not let pass.
fn is_fatal(report: &Report, operator: &EnvConfig) -> bool {
    let passes = |finding: &&Finding| !operator.allow.contains(finding.id.as_str());
    report
        .findings
        .iter()
        .filter(passes)
        .any(|finding| finding.severity == Severity::Error)
}
