//! The way through: which cuDNN, which parts, which release; then, in a child, whether it works.

use super::child::{self, Task, Tried};
use super::elf::Elf;
use super::facts::{Built, Loader};
use super::finding::{Finding, Severity, Verdict};
use super::judge;
use super::loaded::{self, Shim};
use super::operator::Operator;
use super::parts::{self, Parts};
use super::platform::{self, End, Library};
use super::report::{Failure, Report};
use super::route::Route;
use super::version::Version;
use std::path::{Path, PathBuf};

/// Whether the release that is loaded fits: files and version symbols alone. It calls nothing in cuDNN and never
/// starts CUDA.
pub fn check_version(built: &Built) -> Result<Report, Failure> {
    let operator = Operator::read();
    let mut report = Report::new(built);
    if let Some((route, shim)) = find(&mut report, built, &operator, false) {
        let parts = Parts::of(&shim.path, shim.major, &route, false);
        judge_files(&mut report, built, &shim, parts);
        if report
            .loaded
            .as_ref()
            .map_or(false, |loaded| loaded.version.is_none())
        {
            report.unknown(unreadable_release(&shim.path));
        }
        report.unchecked.push(
            "the driver, the GPU and a convolution: only the release was asked for".to_string(),
        );
    }
    report.finish(&operator)
}

/// Whether the cuDNN under this program fits and works. Whatever could take the process down happens in a child.
pub fn check(built: &Built) -> Result<Report, Failure> {
    check_for(built, &Operator::read())
}

/// The same, as this operator wants it.
pub fn check_for(built: &Built, operator: &Operator) -> Result<Report, Failure> {
    let mut report = Report::new(built);
    if let Some((route, shim)) = find(&mut report, built, operator, true) {
        try_it(&mut report, built, operator, &route, &shim);
    }
    let result = report.finish(operator);
    write_report(result, operator)
}

/// The cuDNN to judge; where there is none, the report says why.
fn find(
    report: &mut Report,
    built: &Built,
    operator: &Operator,
    may_ask: bool,
) -> Option<(Route, Shim)> {
    if let Some(reason) = built.absent {
        let summary = "this program was built without CUDA";
        report.unknown(Finding::warning("built-without-cuda", summary).with("reason", reason));
        return None;
    }
    if !platform::SUPPORTED || built.loader == Loader::Static {
        report.unknown(Finding::warning(
            "platform-unsupported",
            if platform::SUPPORTED {
                "a cuDNN that is linked into the program itself is not checked yet".to_string()
            } else {
                format!(
                    "cuDNN is not checked on {} {}",
                    std::env::consts::OS,
                    std::env::consts::ARCH
                )
            },
        ));
        return None;
    }
    let route = Route::of_program();
    match loaded::find(built, &route) {
        Ok(shim) => {
            if !shim.others.is_empty() {
                report.findings.push(second_copy(&shim.path, &shim.others));
            }
            return Some((route, shim));
        }
        Err(finding) if finding.id == "cudnn-not-loadable" => {
            not_loadable(report, finding, operator, may_ask);
        }
        Err(finding) if finding.severity == Severity::Error => report.findings.push(finding),
        Err(finding) => report.unknown(finding),
    }
    None
}

/// A program that finds no cuDNN on a machine without a GPU is not broken: it may do without.
fn not_loadable(report: &mut Report, finding: Finding, operator: &Operator, may_ask: bool) {
    let task = Task {
        shim: None,
        parts: &[],
        convolution: false,
    };
    let tried = if may_ask {
        child::run(&task, operator.deadline).ok()
    } else {
        None
    };
    let Some(mut tried) = tried else {
        report.unknown(finding);
        return;
    };
    report.take(&mut tried.answer);
    let gpu = report
        .driver
        .as_ref()
        .map_or(false, |driver| !driver.devices.is_empty());
    if gpu {
        report.findings.push(finding);
    } else {
        report.unknown(finding);
        if let Some(problem) = tried.answer.problem {
            report.unknown(problem);
        }
    }
}

/// Step by step: what can be judged by hand, then the child, then the parent once more.
fn try_it(report: &mut Report, built: &Built, operator: &Operator, route: &Route, shim: &Shim) {
    let parts = Parts::of(&shim.path, shim.major, route, true);
    judge_files(report, built, shim, parts.clone());
    if stops(report, operator) {
        report
            .unchecked
            .push("the driver, the GPU and a convolution: the files alone do not fit".to_string());
        return;
    }
    let convolution = built.convolution && !parts.jit_only;
    let task = Task {
        shim: Some((shim.library, shim.major)),
        parts: &parts.list,
        convolution,
    };
    let tried = match child::run(&task, operator.deadline) {
        Ok(tried) => tried,
        Err(words) => {
            report
                .unchecked
                .push("the driver, the GPU and a convolution: no child process".to_string());
            report.unknown(
                Finding::warning(
                    "child-not-started",
                    "no child process can be made, in which cuDNN could be tried without risk",
                )
                .with("reason", words)
                .help("raise the limit on processes (`ulimit -u`), or allow `fork`"),
            );
            return;
        }
    };
    judge_child(report, built, shim, &parts, tried);
    judge_outcomes(report, built, &parts);
    let passed = report
        .outcomes
        .iter()
        .any(|outcome| outcome.verdict == Verdict::Pass);
    if (passed || !built.convolution) && !stops(report, operator) {
        pin(report, shim, &parts, route);
    }
}

fn judge_files(report: &mut Report, built: &Built, shim: &Shim, parts: Parts) {
    report.set_loaded(shim, &parts);
    if let Some((version, _)) = parts.release() {
        judge_version(report, built, shim, version);
    } else if !judge::majors(built).contains(&shim.major) {
        judge_version(report, built, shim, Version::new(shim.major, 0, 0));
    }
    for mut finding in parts.findings {
        let loaded = [
            ("loaded", shim.path.display().to_string()),
            ("found via", shim.via.to_string()),
        ];
        finding.evidence.splice(0..0, loaded);
        report.findings.push(finding);
    }
}

fn judge_version(report: &mut Report, built: &Built, shim: &Shim, version: Version) {
    if let Err(mismatch) = judge::version(built, version) {
        let loaded = vec![
            ("loaded", shim.path.display().to_string()),
            ("found via", shim.via.to_string()),
        ];
        let help = shim.via.help(folder(&shim.path), &mismatch.wanted);
        report.findings.push(mismatch.finding(loaded).help(help));
    }
}

fn judge_child(report: &mut Report, built: &Built, shim: &Shim, parts: &Parts, mut tried: Tried) {
    let by_files = parts.release().map(|(version, _)| version);
    report.take(&mut tried.answer);
    let answer = &tried.answer;
    if let Some(called) = answer.version {
        match by_files {
            None => judge_version(report, built, shim, called),
            Some(version) if version != called => report.findings.push(
                Finding::error(
                    "parts-mixed",
                    format!("cuDNN answers that it is {}, and its files are {}", called, version),
                )
                .with("loaded", shim.path.display())
                .with("found via", &shim.via)
                .help("see which other folder on LD_LIBRARY_PATH holds `libcudnn*` files, and take it out"),
            ),
            Some(_) => {}
        }
    }
    if !answer.failed_checks.is_empty() {
        report.findings.push(
            Finding::error(
                "parts-mixed",
                format!(
                    "the parts of cuDNN at `{}` say that they do not belong together",
                    folder(&shim.path).display()
                ),
            )
            .with("asked", answer.failed_checks.join(", "))
            .help(format!(
                "remove all `libcudnn*` files from `{}` and install one cuDNN there, whole",
                folder(&shim.path).display()
            )),
        );
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
    judge_devices(report, built, answer.cuda_major);
    judge_end(report, &tried);
    judge_map(report, shim, parts, &tried.answer.mapped);
}

/// Without a convolution that passed there is no pass, unless the program wants none.
fn judge_outcomes(report: &mut Report, built: &Built, parts: &Parts) {
    for outcome in std::mem::take(&mut report.outcomes) {
        match (outcome.verdict, outcome.finding.clone()) {
            (Verdict::Fail, Some(finding)) => report.findings.push(finding),
            (Verdict::Unknown, Some(finding)) => report.unknown(finding),
            _ => {}
        }
        report.outcomes.push(outcome);
    }
    if !built.convolution {
        report
            .unchecked
            .push("a convolution: the program was built without that check".to_string());
    } else if parts.jit_only {
        report
            .unchecked
            .push("a convolution: this cuDNN holds only what is compiled at run time".to_string());
        report.unknown(Finding::warning(
            "convolution-failed",
            "no convolution can be tried with a GRAPH_JIT_ONLY cuDNN",
        ));
    } else if report.outcomes.is_empty() {
        report
            .unchecked
            .push("a convolution: it did not come to that".to_string());
        if report.verdict() == Verdict::Pass {
            report.unknown(Finding::warning(
                "convolution-failed",
                "no convolution could be tried",
            ));
        }
    }
}

fn judge_devices(report: &mut Report, built: &Built, cudnn_cuda_major: Option<u32>) {
    let Some(driver) = &report.driver else {
        return;
    };
    let Some(device) = driver.devices.first() else {
        return;
    };
    let mut findings = Vec::new();
    findings.extend(
        driver
            .cuda
            .and_then(|cuda| judge::driver(built, cudnn_cuda_major, cuda)),
    );
    findings.extend(judge::kernels(
        built.targets,
        &device.name,
        device.capability,
    ));
    report.findings.extend(findings);
}

/// A part that the loader refuses, in the loader's words; they begin with the file that it did not find.
fn refused(report: &mut Report, path: &Path, words: &str) {
    if child::wants_driver(words) {
        // Without a driver nothing is wrong with this cuDNN.
        let line = format!(
            "{}: it is linked to the driver's libcuda.so.1",
            path.display()
        );
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

fn judge_end(report: &mut Report, tried: &Tried) {
    let stage = &tried.answer.stage;
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

/// Parts that were mapped from elsewhere than from the files that were looked at.
fn judge_map(report: &mut Report, shim: &Shim, parts: &Parts, mapped: &[PathBuf]) {
    let release = report
        .loaded
        .as_ref()
        .and_then(|loaded| loaded.version)
        .map(|(version, _)| version);
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
            .and_then(|mut elf| parts::release(&mut elf, &name, path).0);
        let own_shim = mapped.iter().any(|other| {
            other.parent() == path.parent()
                && *other != shim.path
                && parts::name_of(other) == Some((String::new(), Some(major)))
        });
        if own_shim || version.is_none() || version == release {
            copies.push(path.clone());
        } else {
            foreign.push(path.display().to_string());
        }
    }
    if !foreign.is_empty() {
        report.findings.push(
            Finding::error(
                "parts-mixed",
                format!(
                    "cuDNN at `{}` loads parts of another release",
                    folder(&shim.path).display()
                ),
            )
            .with("loaded", foreign.join("\n"))
            .help("take the folder of these files out of LD_LIBRARY_PATH, or remove them"),
        );
    }
    if !copies.is_empty() {
        report.findings.push(second_copy(&shim.path, &copies));
    }
}

fn second_copy(path: &Path, others: &[PathBuf]) -> Finding {
    let others: Vec<String> = others
        .iter()
        .map(|other| other.display().to_string())
        .collect();
    Finding::warning(
        "duplicate-cudnn",
        format!(
            "more than one cuDNN is in this process; `{}` is judged",
            path.display()
        ),
    )
    .with("also", others.join("\n"))
}

/// The parent opens the files that the child found to work, and looks once more, since files can change.
fn pin(report: &mut Report, shim: &Shim, parts: &Parts, route: &Route) {
    for part in parts.list.iter().filter(|part| part.needed) {
        if let Err(words) = Library::open_file(&part.path) {
            refused(report, &part.path, &words);
        }
    }
    let again = Parts::of(&shim.path, shim.major, route, true);
    let needed = |parts: &Parts| -> Vec<parts::Part> {
        parts
            .list
            .iter()
            .filter(|part| part.needed)
            .cloned()
            .collect()
    };
    let (before, after) = (needed(parts), needed(&again));
    let changed = before.iter().zip(&after).find(|(before, after)| {
        before.version != after.version || !platform::same_file(&before.path, &after.path)
    });
    if let Some((before, after)) = changed {
        report.findings.push(
            Finding::error(
                "parts-mixed",
                "cuDNN's files changed while they were checked",
            )
            .with("checked", before.path.display())
            .with("loaded", after.path.display())
            .help("start the program again when nothing is being installed"),
        );
    }
}

fn unreadable_release(shim: &Path) -> Finding {
    Finding::warning(
        "unknown-newer-version",
        format!(
            "the files of the cuDNN at `{}` do not tell their release",
            folder(shim).display()
        ),
    )
}

/// Whether something was found that the operator does not let pass.
fn stops(report: &Report, operator: &Operator) -> bool {
    let passes = |finding: &&Finding| !operator.allow.iter().any(|id| id == finding.id);
    report
        .findings
        .iter()
        .filter(passes)
        .any(|finding| finding.severity == Severity::Error)
}

/// `CUDNN_GUARD_REPORT`; that it cannot be written changes no verdict.
fn write_report(
    mut result: Result<Report, Failure>,
    operator: &Operator,
) -> Result<Report, Failure> {
    let Some(path) = &operator.report else {
        return result;
    };
    let text = match &result {
        Ok(report) => report.to_json(),
        Err(failure) => failure.to_json(),
    };
    if let Err(error) = write_file(path, &format!("{}\n", text)) {
        let finding = Finding::warning(
            "io-error",
            format!("cannot write the report `{}`: {}", path.display(), error),
        );
        match &mut result {
            Ok(report) => report.findings.push(finding),
            Err(failure) => failure.report_mut().findings.push(finding),
        }
    }
    result
}

/// A regular file is replaced whole, so that nobody reads half of it; anything else, and a file that cannot be
/// replaced (mounted by itself, in a folder that is not ours), is written as it stands.
fn write_file(path: &Path, text: &str) -> std::io::Result<()> {
    // A link stays, and what it leads to is replaced.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let special = std::fs::metadata(&path).map_or(false, |data| !data.is_file());
    if special {
        return platform::write_in_place(&path, text);
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let replaced = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, &path));
    if replaced.is_err() {
        let _ = std::fs::remove_file(&part);
        if path.exists() {
            return platform::write_in_place(&path, text);
        }
    }
    replaced
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}
