//! Faults in the child process, or of the child process itself.

use crate::runtime::check::exit_verdict::{Interruption, Tool};
use crate::runtime::child::exit_status::signal_name;
use crate::runtime::child::{ChildOutcome, ExitStatus, ForkObstacle, SecondTry};
use crate::runtime::convolution::Stage;
use crate::runtime::facts::{Finding, FindingId, Severity};
use crate::runtime::install::refusal;
use crate::runtime::loader::loader_words::requires_driver;
use crate::runtime::system::by_system;

impl ForkObstacle {
    /// Returns the finding. `is_unprotected`: this process itself tests cuDNN instead.
    pub fn finding(&self, is_unprotected: bool) -> Finding {
        let summary = if is_unprotected {
            "cuDNN was tested in this process, without protection, because no child process could be created"
        } else {
            "cannot create a child process to test cuDNN safely"
        };
        let finding = FindingId::ChildNotStarted.warning(summary);
        match self {
            ForkObstacle::CudaStarted => finding
                .with(
                    "reason",
                    "CUDA is already in use in this process, and a child created by `fork` cannot use it",
                )
                .help("call `startup()` before anything uses CUDA, as the first line of `main`"),
            ForkObstacle::RdmaMemory => finding
                .with(
                    "reason",
                    "this process has registered memory with an RDMA device, and libibverbs is not configured to allow `fork`",
                )
                .help("call `startup()` before MPI, NCCL or UCX starts, as the first line of `main`")
                .help("set RDMAV_FORK_SAFE=1"),
            ForkObstacle::TooManyFiles(words) => finding
                .with("reason", words)
                .help("raise the limit on open files: `ulimit -n 4096`"),
            ForkObstacle::Refused(words) => finding
                .with("reason", words)
                .help(by_system!(
                    "raise the limit on processes (`ulimit -u`), or allow `fork`",
                    "call `startup()` in the program itself, and allow it to start a copy of itself"
                )),
        }
    }
}

impl Interruption<'_> {
    /// Returns the finding for a child process, or the thread used instead, that ended before its report was complete.
    pub fn finding(&self, outcome: &ChildOutcome) -> Finding {
        let stage = &outcome.answer.stage;
        let who = if outcome.unprotected.is_some() {
            "the test thread"
        } else {
            "the test process"
        };
        let not_started = |summary| FindingId::ChildNotStarted.warning(summary);
        let aborted = |summary| FindingId::CudnnAborted.error(summary);
        let crash = |signal| format!("cuDNN crashed the test process ({signal}) while {stage}");
        let late =
            || FindingId::ConvolutionTimeout.warning(format!("{who} timed out while {stage}"));
        let mut finding = match self {
            Interruption::MissingFunction(words) => aborted(format!(
                "the loader stopped the test process while {stage}: a function is missing"
            ))
            .with("loader", words)
            .help("reinstall cuDNN and the CUDA libraries that it is linked against, each in one version"),
            Interruption::Unknown => not_started(format!("{who} ended silently while {stage}")),
            // The first start on such a GPU takes minutes. Later starts use the compiled code from the cache.
            Interruption::CompilingPtx(cache) => late().help(format!(
                "set CUDNN_GUARD_DEADLINE=900 for the first start: the GPU is newer than this cuDNN, so the driver compiles its PTX and caches the result in `{cache}` (CUDA_CACHE_PATH), which must be writable"
            )),
            Interruption::Deadline => late().help(if stage.is_in_cudnn() {
                "set CUDNN_GUARD_DEADLINE to more seconds if this machine is slow"
            } else {
                "set CUDNN_GUARD_DEADLINE=300: other processes may be starting CUDA too, and the driver handles them one at a time"
            }),
            Interruption::NoMemory => not_started(format!("{who} ran out of memory while {stage}"))
            .help(by_system!(
                "raise the memory limit (`ulimit -v`), or check with `free -m` whether memory is left",
                "close other programs, or let the Windows page file grow"
            )),
            Interruption::NoThread => not_started(format!(
                "{who} could not start a thread while {stage}"
            ))
            .help(by_system!(
                "raise the limit on processes and threads: `ulimit -u`, or the container's pids limit",
                "close other programs"
            )),
            Interruption::UnderTool(signal, tool) => {
                let finding = FindingId::CudnnAborted.warning(format!(
                        "the test process crashed ({signal}) while {stage}, under a tool that may be the cause"
                    ));
                match tool {
                    Tool::Injected(name, value) => finding
                        .with("tool", format!("{name}={value}"))
                        .help(format!("unset {name} to test cuDNN without the tool")),
                    Tool::Tracer(process) => finding
                        .with("tool", format!("process {process} traces this one"))
                        .help("start the program without the debugger or tracer to test cuDNN"),
                    Tool::Preloaded(library) => finding.with("tool", library).help(format!(
                        "remove `{library}` from LD_PRELOAD and /etc/ld.so.preload to test cuDNN without it"
                    )),
                }
            }
            Interruption::CrashWithout(signal, missing) => {
                missing.with_help(aborted(format!("{}: {}", crash(signal), missing.reason())))
            }
            Interruption::LinkedInCrash(signal) => aborted(crash(signal))
                .help("rebuild the program with the archives of another cuDNN version"),
            Interruption::Crash(signal) => aborted(crash(signal))
                .help("reinstall this version of cuDNN, or install another version"),
            Interruption::DriverCrash(signal, set) => {
                let summary = if *stage == Stage::MakingContext {
                    format!(
                        "the test process crashed ({signal}) while {stage}, before it called cuDNN"
                    )
                } else {
                    format!("NVIDIA's driver crashed the test process ({signal})")
                };
                let mut finding = FindingId::DriverError.warning(summary);
                for (name, value) in set {
                    finding = finding.with("variable", format!("{name}={value}")).help(format!(
                        "unset {name}, which loads a library into the process"
                    ));
                }
                finding.help("run `nvidia-smi`, and reinstall the driver if that fails")
            }
            Interruption::Sandbox(call) => not_started(format!(
                "a sandbox forbids {}, so {who} ended while {stage}",
                call.map_or("a system call".to_string(), |call| format!("system call {call}"))
            ))
            .help("call `startup()` before the program enters the sandbox"),
            Interruption::Killed(number) => not_started(by_system!(
                format!("the test process was killed by signal {number} while {stage}"),
                format!("the test process ended with code 0x{number:08X} while {stage}")
            ))
            .help(by_system!(
                "check with `dmesg` whether the system killed it because memory ran out",
                "check the Windows event log for the reason"
            )),
        };
        let output = outcome.output.trim();
        if !output.is_empty() && !matches!(self, Interruption::MissingFunction(_)) {
            finding = finding.with("output", output);
        }
        match (finding.severity, &outcome.second_try) {
            (Severity::Error, Some(second)) => second.of_first(finding),
            _ => finding,
        }
    }
}

impl SecondTry {
    /// Returns the warning for this finding of the first child: a fault that does not recur does not stop the program.
    pub fn of_first(&self, first: Finding) -> Finding {
        let help = match first.id {
            FindingId::CudnnNotLoadable => {
                "restart the program; if the failure comes and goes, check the disk or mount of the file"
            }
            _ => by_system!(
                "restart the program; if the failure comes and goes, check `dmesg` for lines with Xid, and `nvidia-smi -q -d ECC`",
                "restart the program; if the failure comes and goes, check the Windows event log for errors of nvlddmkm, and `nvidia-smi -q -d ECC`"
            ),
        };
        let finding = first.id.warning(first.summary).help(help);
        finding.with("retry", self.words()).with_all(first.evidence)
    }

    fn words(&self) -> String {
        let Some(outcome) = &self.0 else {
            return "no second test process could be created".to_string();
        };
        let stage = &outcome.answer.stage;
        match outcome.end {
            ExitStatus::Signal(number) => match signal_name(number) {
                Some(name) => format!("crashed ({name}) while {stage}"),
                None => format!("killed by signal {number} while {stage}"),
            },
            ExitStatus::Sandbox(_) => format!("ended by a sandbox while {stage}"),
            ExitStatus::Late => format!("timed out while {stage}"),
            ExitStatus::Itself if !outcome.answer.is_complete => {
                format!("ended silently while {stage}")
            }
            ExitStatus::Itself => {
                // A refusal for lack of a driver is no fault.
                let mut refused = outcome.answer.unopened.iter();
                let refused = refused.find(|(path, words)| !requires_driver(path, words));
                if let Some((path, words)) = refused {
                    return refusal::finding(path, words).summary;
                }
                let rows = outcome.answer.outcomes.iter();
                let mut findings = rows.filter_map(|row| row.finding.as_ref());
                match findings.find(|finding| finding.severity != Severity::Note) {
                    Some(finding) => finding.summary.clone(),
                    None => "passed".to_string(),
                }
            }
        }
    }
}
