//! What it means that things went in the child as they did.

use super::child::{self, Tried};
use super::devices;
use super::elf::Elf;
use super::ended::End;
use super::facts::Built;
use super::finding::{Finding, Severity, Verdict};
use super::hidden;
use super::judge;
use super::loaded::Shim;
use super::operator::Operator;
use super::outcome::Outcome;
use super::parts::{self, Parts};
use super::platform;
use super::release::Teller;
use super::report::Report;
use super::route::{Route, Via};
use super::version::Version;
use std::path::{Path, PathBuf};

/// What the child told and left behind.
pub fn judge(
    report: &mut Report,
    built: &Built,
    (route, shim): (&Route, &Shim),
    parts: &Parts,
    operator: &Operator,
    mut tried: Tried,
) {
    let loaded = report.loaded.as_ref().and_then(|loaded| loaded.version);
    let by_files = loaded.map(|(version, _)| version);
    report.take(&mut tried.answer);
    let answer = &tried.answer;
    let disagree = !answer.failed_checks.is_empty()
        || matches!((by_files, answer.version), (Some(files), Some(called)) if files != called);
    if let (None, Some(called)) = (by_files, answer.version) {
        report.findings.extend(shim.mismatch(built, Some(called)));
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
    devices(report, built, operator, answer.cuda_major);
    end(report, &tried);
    // Wrong numbers have other reasons.
    let refused = |outcome: &Outcome| {
        let finding = outcome.finding.as_ref();
        outcome.verdict == Verdict::Fail && finding.is_some_and(|it| it.id != "convolution-wrong")
    };
    let broke = matches!(tried.end, End::Signal(_)) || report.outcomes.iter().any(refused);
    if let (true, Some(cuda)) = (broke, answer.cuda_major) {
        let suspects = hidden::suspects(parts, cuda, &answer.mapped, route);
        report.findings.extend(suspects);
    }
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
    let bad = judge::known_bad(tables.known_bad, version, built.cuda, gpus, built.needs);
    report.findings.extend(bad);
    if let Some(known) = tables.gpus.iter().map(|row| row.last).max() {
        if (version.major, version.minor) > (known.major, known.minor) {
            let newer = judge::newer("cuDNN", &version.to_string(), &known.to_string());
            report.findings.push(newer);
        }
    }
}

/// Every kind of GPU is judged; what those lack that are tried stops the program, which may never use the others.
fn devices(report: &mut Report, built: &Built, operator: &Operator, cudnn_cuda_major: Option<u32>) {
    let count = report.device_count();
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
    let tried = operator.devices.of(count);
    let others = (0..count).filter(|number| !tried.contains(number));
    let mut seen = Vec::new();
    for number in tried.iter().copied().chain(others) {
        let Some(device) = driver.devices.get(number) else {
            continue;
        };
        if seen.contains(&device.capability) {
            continue;
        }
        let (name, capability) = (&device.name, device.capability);
        // What computes rightly is served, whatever the tables say.
        let label = devices::label(name, number);
        let computes = report
            .outcomes
            .iter()
            .any(|outcome| outcome.verdict == Verdict::Pass && outcome.device == label);
        let kernels = judge::kernels(built, driver.cuda, name, capability);
        let served = cudnn.and_then(|cudnn| cudnn.device(built.tables.gpus, name, capability));
        let is_tried = tried.contains(&number);
        let judged = kernels
            .map(|finding| (finding, is_tried))
            .into_iter()
            .chain(served.map(|finding| (finding, is_tried && !computes)));
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
    report.findings.push(refusal(path, words));
}

/// The loader's words for a part that it refuses, as a finding.
pub fn refusal(path: &Path, words: &str) -> Finding {
    let named = words.split(": ").next().unwrap_or(words);
    if words.contains(", version libcudnn") || words.contains("version `libcudnn") {
        Finding::error(
            "parts-mixed",
            format!(
                "`{}` does not belong to the other parts of this cuDNN",
                path.display()
            ),
        )
        .with("loader", words)
        .help("install one cuDNN there, whole")
    } else if let Some((wanted, by)) = version_wanted(words) {
        let summary = format!(
            "`{}` needs {} of `{}`, which has no such version",
            by, wanted, named
        );
        let finding = Finding::error("cudnn-not-loadable", summary).with("loader", words);
        if wanted.starts_with("GLIBC") || wanted.starts_with("CXXABI") {
            finding.help("run the program on a newer system or in a newer container, or install an older cuDNN")
        } else {
            finding.help(format!(
                "install the release of `{}` that belongs to it",
                named
            ))
        }
    } else if let Some(library) = skewed_library(words) {
        let summary = format!(
            "`{}` does not fit the {} that the loader finds for it",
            named, library
        );
        Finding::error("cudnn-not-loadable", summary)
            .with("loader", words)
            .help(format!(
                "take directories with another {} out of LD_LIBRARY_PATH, or install both libraries of one CUDA release",
                library
            ))
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
    }
}

/// glibc's "version `GLIBC_2.27' not found (required by FILE)": the version, and who wants it.
fn version_wanted(words: &str) -> Option<(&str, &str)> {
    let (_, rest) = words.split_once(": version `")?;
    let (wanted, rest) = rest.split_once("' not found (required by ")?;
    Some((wanted, rest.strip_suffix(')')?))
}

/// The library that lacks a function which the one that was linked to had: NVIDIA gives the functions of a library its
/// name as their version. Up to 2.29 glibc says "symbol S version V not defined in file F with link time reference",
/// since then "undefined symbol: S, version V".
fn skewed_library(words: &str) -> Option<&str> {
    if let Some((_, rest)) = words.split_once(" not defined in file ") {
        return Some(rest.split_once(" with link time reference")?.0);
    }
    let (_, rest) = words.split_once(": undefined symbol: ")?;
    let (_, version) = rest.split_once(", version ")?;
    Some(version).filter(|version| version.contains(".so."))
}

/// glibc's last words, "PROGRAM: symbol lookup error: FILE: undefined symbol: S": what follows the program's name.
fn missed_function<'a>(said: &'a str) -> Option<&'a str> {
    let words = |line: &'a str| {
        line.split_once(": symbol lookup error: ")
            .map(|(_, words)| words)
    };
    said.lines().rev().find_map(words)
}

fn end(report: &mut Report, tried: &Tried) {
    let stage = match tried.answer.stage.as_str() {
        "" => "starting",
        stage => stage,
    };
    let who = if tried.unprotected.is_some() {
        "the thread"
    } else {
        "the child process"
    };
    let finding = match tried.end {
        End::Itself if tried.answer.whole => return,
        End::Itself if stage != "asking the driver" && missed_function(&tried.said).is_some() => Finding::error(
            "cudnn-aborted",
            format!(
                "the loader ended the process that tried cuDNN while {}, for lack of a function",
                stage
            ),
        )
        .with("loader", missed_function(&tried.said).unwrap_or_default())
        .help("install cuDNN, and the CUDA libraries that it is linked to, each whole and of one release"),
        End::Itself => Finding::warning(
            "child-not-started",
            format!(
                "{} that tries cuDNN ended without a word while {}",
                who, stage
            ),
        ),
        End::Late => Finding::warning(
            "convolution-timeout",
            format!(
                "{} that tries cuDNN was still {} when its time was over",
                who, stage
            ),
        )
        .help("set CUDNN_GUARD_DEADLINE to more seconds, if this machine is only slow"),
        End::Signal(number) => {
            // Before it starts, nothing of cuDNN's has run.
            let name = signal_name(number).filter(|_| stage != "starting");
            match name {
                Some(name) if stage != "asking the driver" => Finding::error(
                    "cudnn-aborted",
                    format!(
                        "cuDNN ended the process that tried it with {} while {}",
                        name, stage
                    ),
                )
                .help(match report.loaded.as_ref().map(|loaded| &loaded.via) {
                    Some(Via::Within) => "build the program again, with the archives of another release of cuDNN",
                    _ => "install the same release of cuDNN again, whole, or another one",
                }),
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
    let finding = if said.is_empty() || finding.evidence.iter().any(|one| one.0 == "loader") {
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
    if shim.via == Via::Within {
        // Parts of another cuDNN are its own; that it is there is said already.
        return false;
    }
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
