//! What it means that things went in the child as they did.

use super::child::{self, Tried};
use super::elf::Elf;
use super::ended::End;
use super::facts::Built;
use super::finding::{Finding, Severity, Verdict};
use super::judge;
use super::loaded::Shim;
use super::outcome::Outcome;
use super::parts::{self, Parts};
use super::platform;

use super::release::Teller;
use super::report::Report;
use super::version::Version;
use std::path::{Path, PathBuf};

/// What the child told and left behind.
pub fn judge(report: &mut Report, built: &Built, shim: &Shim, parts: &Parts, mut tried: Tried) {
    let by_files = parts.release().map(|(version, _)| version);
    report.take(&mut tried.answer);
    let answer = &tried.answer;
    let disagree = !answer.failed_checks.is_empty()
        || matches!((by_files, answer.version), (Some(files), Some(called)) if files != called);
    if let (None, Some(called)) = (by_files, answer.version) {
        report.findings.extend(shim.mismatch(built, called));
    }
    if !map(report, shim, parts, &answer.mapped, disagree) && disagree {
        report.findings.push(disagreement(
            shim,
            by_files,
            answer.version,
            &answer.failed_checks,
        ));
    }
    for (path, words) in &answer.refused {
        refused(report, path, words);
    }
    report.findings.extend(
        answer
            .cuda_major
            .and_then(|major| judge::flavour(built, major)),
    );
    if let Some(problem) = &answer.problem {
        report.unknown(problem.clone());
    }
    devices(report, built, answer.cuda_major);
    end(report, &tried);
}

/// cuDNN itself does not agree with its files, and nothing from elsewhere is there to explain it.
fn disagreement(
    shim: &Shim,
    files: Option<Version>,
    called: Option<Version>,
    failed_checks: &[String],
) -> Finding {
    let mut finding = Finding::error(
        "parts-mixed",
        format!(
            "the parts of cuDNN at `{}` do not belong together",
            shim.folder().display()
        ),
    );
    finding.evidence = shim.evidence();
    if let (Some(files), Some(called)) = (files, called) {
        if files != called {
            finding = finding.with(
                "answers",
                format!("{}, and its files are {}", called, files),
            );
        }
    }
    if !failed_checks.is_empty() {
        finding = finding.with("refused by", failed_checks.join(", "));
    }
    finding.help(format!(
        "remove all `libcudnn*` files from `{}` and install one cuDNN there, whole",
        shim.folder().display()
    ))
}

/// Without a convolution that passed there is no pass, unless the program wants none.
pub fn outcomes(report: &mut Report, built: &Built) {
    for outcome in std::mem::take(&mut report.outcomes) {
        match (outcome.verdict, outcome.finding.clone()) {
            (Verdict::Fail, Some(finding)) => report.findings.push(finding),
            (Verdict::Unknown, Some(finding)) => report.unknown(finding),
            _ => {}
        }
        if let Some(reason) = &outcome.left_out {
            let through = outcome.api.through();
            let line = format!(
                "{} {}{}: {}",
                outcome.data_type, outcome.operation, through, reason
            );
            if !report.unchecked.contains(&line) {
                report.unchecked.push(line);
            }
        }
        report.outcomes.push(outcome);
    }
    if !built.convolution {
        report
            .unchecked
            .push("a convolution: the program was built without that check".to_string());
        return;
    }
    if report.outcomes.is_empty() {
        report
            .unchecked
            .push("a convolution: it did not come to that".to_string());
    }
    let passed = |outcome: &Outcome| outcome.verdict == Verdict::Pass;
    if !report.outcomes.iter().any(passed) && report.verdict() == Verdict::Pass {
        report.unknown(Finding::warning(
            "convolution-failed",
            "no convolution could be tried",
        ));
    }
}

/// What the tables say of the loaded release, where the driver and its GPUs were not asked.
pub fn release(report: &mut Report, built: &Built, gpus: Option<usize>) {
    let loaded = report.loaded.as_ref().and_then(|loaded| loaded.version);
    let Some((version, _)) = loaded else {
        return;
    };
    let tables = built.tables;
    let bad = judge::known_bad(tables.known_bad, version, built.cuda, gpus);
    report.findings.extend(bad);
    if let Some(known) = tables.gpus.iter().map(|row| row.last).max() {
        if (version.major, version.minor) > (known.major, known.minor) {
            let newer = judge::newer("cuDNN", &version.to_string(), &known.to_string());
            report.findings.push(newer);
        }
    }
}

/// Every kind of GPU is judged; what the first one lacks stops the program, which may never use the others.
fn devices(report: &mut Report, built: &Built, cudnn_cuda_major: Option<u32>) {
    let count = report
        .driver
        .as_ref()
        .map_or(0, |driver| driver.devices.len());
    release(report, built, Some(count));
    let Some(driver) = report.driver.as_ref().filter(|_| count > 0) else {
        return;
    };
    let mut findings = Vec::new();
    findings.extend(
        driver
            .cuda
            .and_then(|cuda| judge::driver(built, cudnn_cuda_major, cuda)),
    );
    let loaded = report.loaded.as_ref().and_then(|loaded| loaded.version);
    let cudnn = loaded
        .zip(cudnn_cuda_major)
        .map(|((version, _), cuda)| judge::Cudnn { version, cuda });
    // What computes rightly is served, whatever the tables say.
    let computes = report
        .outcomes
        .iter()
        .any(|outcome| outcome.verdict == Verdict::Pass);
    let mut seen = Vec::new();
    for device in &driver.devices {
        if seen.contains(&device.capability) {
            continue;
        }
        let (name, capability) = (&device.name, device.capability);
        let kernels = judge::kernels(built, driver.cuda, name, capability);
        let served = cudnn.and_then(|cudnn| cudnn.device(built.tables.gpus, name, capability));
        let first = seen.is_empty();
        let judged = kernels
            .map(|finding| (finding, first))
            .into_iter()
            .chain(served.map(|finding| (finding, first && !computes)));
        for (mut finding, stops) in judged {
            if !stops {
                finding.severity = Severity::Warning;
            }
            findings.push(finding);
        }
        seen.push(capability);
    }
    report.findings.extend(findings);
}

/// A part that the loader refuses, in the loader's words; they begin with the file that it did not find.
pub fn refused(report: &mut Report, path: &Path, words: &str) {
    if child::wants_driver(words) {
        // Without a driver nothing is wrong with this cuDNN.
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let line = format!("{}: it is linked to libcuda.so.1", file);
        if !report.unchecked.contains(&line) {
            report.unchecked.push(line);
        }
        return;
    }
    let named = words.split(": ").next().unwrap_or(words);
    let finding = if words.contains(", version libcudnn") || words.contains("version `libcudnn") {
        Finding::error(
            "parts-mixed",
            format!(
                "`{}` does not belong to the other parts of this cuDNN",
                path.display()
            ),
        )
        .with("loader", words)
        .help("install one cuDNN there, whole")
    } else if Path::new(named) == path || !words.contains("cannot open shared object file") {
        Finding::error(
            "cudnn-not-loadable",
            format!("`{}` cannot be loaded", path.display()),
        )
        .with("loader", words)
        .help("install that cuDNN again")
    } else {
        Finding::error(
            "cudnn-not-loadable",
            format!(
                "`{}` needs {}, which the loader does not find",
                path.display(),
                named
            ),
        )
        .with("loader", words)
        .help(format!(
            "install {}, or put its directory into LD_LIBRARY_PATH",
            named
        ))
    };
    report.findings.push(finding);
}

fn end(report: &mut Report, tried: &Tried) {
    let stage = match tried.answer.stage.as_str() {
        "" => "starting",
        stage => stage,
    };
    let finding = match tried.end {
        End::Itself if tried.answer.whole => return,
        End::Itself => Finding::warning(
            "child-not-started",
            format!(
                "the child process that tries cuDNN ended without a word while {}",
                stage
            ),
        ),
        End::Late => Finding::warning(
            "convolution-timeout",
            format!(
                "the child process that tries cuDNN was still {} when its time was over",
                stage
            ),
        )
        .help("set CUDNN_GUARD_DEADLINE to more seconds, if this machine is only slow"),
        End::Signal(number) => {
            let name = signal_name(number);
            match name {
                Some(name) if stage != "asking the driver" => Finding::error(
                    "cudnn-aborted",
                    format!(
                        "cuDNN ended the process that tried it with {} while {}",
                        name, stage
                    ),
                )
                .help("install the same release of cuDNN again, whole, or another one"),
                Some(name) => Finding::warning(
                    "driver-error",
                    format!(
                        "NVIDIA's driver ended the process that asked it with {}",
                        name
                    ),
                )
                .help("see whether `nvidia-smi` runs, and install the driver again if it does not"),
                None => Finding::warning(
                    "child-not-started",
                    format!(
                        "the child process that tries cuDNN was killed by signal {} while {}",
                        number, stage
                    ),
                ),
            }
        }
    };
    let said = tried.said.trim();
    let finding = if said.is_empty() {
        finding
    } else {
        finding.with("it printed", said)
    };
    if finding.severity == Severity::Error {
        report.findings.push(finding);
    } else {
        report.unknown(finding);
    }
}

/// The signals by which a library takes a process down; others come from outside.
fn signal_name(number: i32) -> Option<&'static str> {
    Some(match number {
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        11 => "SIGSEGV",
        31 => "SIGSYS",
        _ => return None,
    })
}

/// Parts that were mapped from elsewhere than from the files that were looked at. Those that tell no release are
/// foreign too when cuDNN says that something does not fit. True if there are such.
fn map(
    report: &mut Report,
    shim: &Shim,
    parts: &Parts,
    mapped: &[PathBuf],
    disagree: bool,
) -> bool {
    let release = report
        .loaded
        .as_ref()
        .and_then(|loaded| loaded.version)
        .map(|(version, _)| version);
    let mut teller = Teller::default();
    let (mut foreign, mut copies) = (Vec::new(), Vec::new());
    for path in mapped {
        let Some((name, Some(major))) = parts::name_of(path) else {
            continue;
        };
        let looked_at = parts
            .list
            .iter()
            .any(|part| platform::same_file(&part.path, path));
        if major != shim.major || name.is_empty() || looked_at {
            continue;
        }
        let version = Elf::open(path)
            .ok()
            .and_then(|mut elf| teller.part(&mut elf, &name, path))
            .map(|told| told.0);
        let own_shim = mapped.iter().any(|other| {
            other.parent() == path.parent()
                && *other != shim.path
                && parts::name_of(other) == Some((String::new(), Some(major)))
        });
        let fits = !disagree && (version.is_none() || version == release);
        if own_shim || fits {
            copies.push(path.clone());
        } else {
            foreign.push(path.display().to_string());
        }
    }
    if !copies.is_empty() {
        report.findings.push(shim.among(&copies));
    }
    if foreign.is_empty() {
        return false;
    }
    let summary = format!(
        "cuDNN at `{}` loads parts of another release from elsewhere",
        shim.folder().display()
    );
    let mut finding = Finding::error("parts-mixed", summary);
    finding.evidence = shim.evidence();
    report.findings.push(
        finding
            .with("and also", foreign.join("\n"))
            .help("take the directory of these files out of LD_LIBRARY_PATH, or remove them"),
    );
    true
}
