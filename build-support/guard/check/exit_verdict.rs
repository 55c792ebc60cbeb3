//! What it means that the child ended as it did.

use crate::runtime::binary::elf::Elf;
use crate::runtime::child::exit_status::{ExitStatus, signal_name};
use crate::runtime::child::work::ChildOutcome;
use crate::runtime::convolution::stage::Stage;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::install::missing_dlopen::MissingDlopen;
use crate::runtime::loader::elf::dlerror_messages;
use crate::runtime::loader::search_path::LoadOrigin;
use crate::runtime::report::result::Report;
use crate::runtime::system::platform;
use crate::runtime::system::{by_system, proc};
use std::path::PathBuf;

/// Returns `true` if cuDNN, or the loader on its behalf, took the child down. A crash under a tool may be the tool's.
pub fn is_cudnns(outcome: &ChildOutcome) -> bool {
    is_in_cudnn(outcome) && (outcome.end == ExitStatus::Itself || tool().is_none())
}

fn is_in_cudnn(outcome: &ChildOutcome) -> bool {
    outcome.answer.stage.is_in_cudnn()
        && match outcome.end {
            ExitStatus::Itself => {
                !outcome.answer.whole && dlerror_messages::missed_function(&outcome.said).is_some()
            }
            ExitStatus::Late => false,
            ExitStatus::Signal(number) => {
                let said = &outcome.said;
                signal_name(number).is_some()
                    && missing_resource(outcome).is_none()
                    && !dlerror_messages::no_waiting(said)
            }
        }
}

/// Returns what the system did not give to the child, with the help against it, if the child said so.
fn missing_resource(outcome: &ChildOutcome) -> Option<(&'static str, &'static str)> {
    let said = &outcome.said;
    let is_opening = matches!(outcome.answer.stage, Stage::Opening(_));
    if dlerror_messages::no_memory(said)
        || is_opening && dlerror_messages::no_memory_for_library(said)
    {
        let help = by_system!(
            "raise the limit on memory (`ulimit -v`), or see with `free -m` whether any is left",
            "close other programs, or let Windows' page file grow"
        );
        return Some(("found no memory", help));
    }
    let help = by_system!(
        "raise the limit on processes and threads: `ulimit -u`, or the container's limit on pids",
        "close other programs"
    );
    dlerror_messages::no_thread(said).then_some(("could start no thread", help))
}

/// What it means that the child ended so. `compiles`: the driver had to compile cuDNN for the GPU.
pub fn judge(
    report: &mut Report,
    outcome: &ChildOutcome,
    missing_dlopen: Option<&MissingDlopen>,
    compiles: bool,
) {
    let stage = &outcome.answer.stage;
    let is_cudnns = is_cudnns(outcome);
    let who = if outcome.unprotected.is_some() {
        "the thread"
    } else {
        "the child process"
    };
    let finding = match outcome.end {
        ExitStatus::Itself if outcome.answer.whole => return,
        ExitStatus::Itself if is_cudnns => Finding::error(
            FindingId::CudnnAborted,
            format!(
                "the loader ended the process that tried cuDNN while {stage}, for lack of a function"
            ),
        )
        .with("loader", dlerror_messages::missed_function(&outcome.said).unwrap_or_default())
        .help("install cuDNN, and the CUDA libraries that it is linked to, each whole and of one release"),
        ExitStatus::Itself => Finding::warning(
            FindingId::ChildNotStarted,
            format!(
                "{who} that tries cuDNN ended without a word while {stage}"
            ),
        ),
        ExitStatus::Late => Finding::warning(
            FindingId::ConvolutionTimeout,
            format!(
                "{who} that tries cuDNN was still {stage} when its time was over"
            ),
        )
        .help(if compiles {
            compiled_once()
        } else if !stage.is_in_cudnn() {
            "set CUDNN_GUARD_DEADLINE=300: other processes may be starting CUDA too, and take turns in the driver".to_string()
        } else {
            "set CUDNN_GUARD_DEADLINE to more seconds, if this machine is only slow".to_string()
        }),
        ExitStatus::Signal(number) => {
            let missing = missing_resource(outcome);
            // Before it starts, nothing of cuDNN's has run.
            let is_known = *stage != Stage::Starting && !dlerror_messages::no_waiting(&outcome.said);
            let name = signal_name(number).filter(|_| is_known);
            match name {
                _ if missing.is_some() => {
                    let (what, help) = missing.unwrap_or_default();
                    let summary = format!("{who} that tries cuDNN {what} while {stage}");
                    Finding::warning(FindingId::ChildNotStarted, summary).help(help)
                }
                Some(name) if is_in_cudnn(outcome) && !is_cudnns => under_tool(name, stage),
                Some(name) if is_cudnns => {
                    let headline = format!(
                        "cuDNN ended the process that tried it with {name} while {stage}"
                    );
                    match (missing_dlopen, report.loaded.as_ref().map(|loaded| &loaded.origin)) {
                        (Some(missing_dlopen), _) => missing_dlopen.with_help(Finding::error(
                            FindingId::CudnnAborted,
                            format!("{}: {}", headline, missing_dlopen.reason()),
                        )),
                        (None, Some(LoadOrigin::Within)) => Finding::error(FindingId::CudnnAborted, headline)
                            .help("build the program again, with the archives of another release of cuDNN"),
                        (None, _) => Finding::error(FindingId::CudnnAborted, headline)
                            .help("install the same release of cuDNN again, whole, or another one"),
                    }
                }
                Some(name) if *stage == Stage::MakingContext => with_tools(format!(
                    "the process that tries cuDNN was ended with {name} while {stage}, before cuDNN was asked for anything"
                )),
                Some(name) => with_tools(format!(
                    "NVIDIA's driver ended the process that asked it with {name}"
                )),
                None => Finding::warning(
                    FindingId::ChildNotStarted,
                    format!(
                        "the child process that tries cuDNN was killed by signal {number} while {stage}"
                    ),
                )
                .help("see with `dmesg` whether the system ended it for want of memory"),
            }
        }
    };
    let said = outcome.said.trim();
    let finding = if said.is_empty() || finding.evidence.iter().any(|one| one.0 == "loader") {
        finding
    } else {
        finding.with("it printed", said)
    };
    match &outcome.second_try {
        None if finding.severity == Severity::Error => report.findings.push(finding),
        Some(words) if finding.severity == Severity::Error => {
            let mut finding = finding;
            did_not_recur(&mut finding, words);
            report.unknown(finding);
        }
        _ => report.unknown(finding),
    }
}

/// What went wrong once, and otherwise or not at all in a second child, stops nothing. `words` tell how that one went.
pub fn did_not_recur(finding: &mut Finding, words: &str) {
    let help = by_system!(
        "start the program again; if it comes and goes, see `dmesg` for lines with Xid, and `nvidia-smi -q -d ECC`",
        "start the program again; if it comes and goes, see Windows' event log for errors of nvlddmkm, and `nvidia-smi -q -d ECC`"
    );
    finding.severity = Severity::Warning;
    finding.help = vec![help.to_string()];
    finding
        .evidence
        .insert(0, ("second try", words.to_string()));
}

/// Returns the finding for a crash while a tool was in the process.
fn under_tool(signal: &str, stage: &Stage) -> Finding {
    let (tool, help) = tool().unwrap_or_default();
    let summary = format!(
        "the test process crashed ({signal}) while {stage}, under a tool that may be the cause"
    );
    Finding::warning(FindingId::CudnnAborted, summary)
        .with("tool", tool)
        .help(help)
}

/// Returns what may crash in place of cuDNN, with the help against it: a profiler or sanitizer that CUDA loads, a tracer,
/// or a preloaded library that replaces functions of the driver.
fn tool() -> Option<(String, String)> {
    for name in ["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"] {
        if let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) {
            let set = format!("{}={}", name, value.to_string_lossy());
            return Some((set, format!("unset {name} to test cuDNN without the tool")));
        }
    }
    let status = proc::text("self/status").unwrap_or_default();
    let tracer = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"));
    if let Some(process) = tracer.map(str::trim).filter(|process| *process != "0") {
        let help = "start the program without the debugger or tracer to test cuDNN";
        return Some((
            format!("process {process} traces this one"),
            help.to_string(),
        ));
    }
    let replaces = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_driver = name.starts_with("libcuda.so");
        name.contains(".so") && !is_driver && Elf::open(path).is_ok_and(|it| it.defines("cuInit"))
    };
    let library = platform::mapped().into_iter().find(replaces)?;
    let library = library.display().to_string();
    let help = format!(
        "remove `{library}` from LD_PRELOAD and /etc/ld.so.preload to test cuDNN without it"
    );
    Some((library, help))
}

/// A crash within the driver, or within a tool that somebody put into it.
fn with_tools(summary: String) -> Finding {
    let mut finding = Finding::warning(FindingId::DriverError, summary);
    for name in ["CUDA_INJECTION64_PATH", "LD_PRELOAD"] {
        if let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) {
            let set = format!("{}={}", name, value.to_string_lossy());
            finding = finding.with("set", set).help(format!(
                "unset {name}, which brings a library into the process"
            ));
        }
    }
    finding.help("see whether `nvidia-smi` runs, and install the driver again if it does not")
}

/// The first start on a GPU that is newer than cuDNN takes minutes, and no other one, if what is compiled is kept.
fn compiled_once() -> String {
    let cache = std::env::var("CUDA_CACHE_PATH").ok();
    format!(
        "set CUDNN_GUARD_DEADLINE=900 for the first start: the GPU is newer than this cuDNN, whose PTX the driver compiles and keeps in `{}` (CUDA_CACHE_PATH), which must be writable",
        cache.as_deref().unwrap_or("~/.nv/ComputeCache")
    )
}
