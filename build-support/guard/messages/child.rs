//! Faults in the child process, or of the child process itself.

use crate::runtime::check::exit_verdict::{InterruptedTest, Interruption, Tool};
use crate::runtime::child::exit_status::{ExitStatus, signal_name};
use crate::runtime::child::work::{ChildNotStarted, ConfidentialGpu, ForkObstacle, SecondTry};
use crate::runtime::convolution::stage::Stage;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::system::by_system;

impl ChildNotStarted {
    pub fn finding(&self) -> Finding {
        let summary = if self.is_unprotected {
            "cuDNN was tried in this process itself, unprotected, for want of a child"
        } else {
            "no child process can be made, in which cuDNN could be tried without risk"
        };
        let finding = Finding::warning(FindingId::ChildNotStarted, summary);
        match &self.obstacle {
            ForkObstacle::CudaStarted => finding
                .with(
                    "reason",
                    "CUDA is started in this process already, and a child made by `fork` cannot use it then",
                )
                .help("call `startup()` before anything uses CUDA: as the first line of `main`"),
            ForkObstacle::RdmaMemory => finding
                .with(
                    "reason",
                    "memory is registered with an RDMA device in this process, and libibverbs was not told to allow `fork`",
                )
                .help("call `startup()` before MPI, NCCL or UCX starts: as the first line of `main`")
                .help("set RDMAV_FORK_SAFE=1"),
            ForkObstacle::TooManyFiles(words) => finding
                .with("reason", words)
                .help("raise the limit on open files: `ulimit -n 4096`"),
            ForkObstacle::Refused(words) => finding
                .with("reason", words)
                .help(by_system!(
                    "raise the limit on processes (`ulimit -u`), or allow `fork`",
                    "call `startup()` in the program itself, and let it start itself once more"
                )),
        }
    }
}

impl ConfidentialGpu {
    pub fn finding(&self) -> Finding {
        let summary = "the GPU is used in confidential computing, where it may not start again after a test, so it was not tried";
        Finding::warning(FindingId::DeviceBusy, summary)
            .help("set CUDNN_GUARD_DEVICES=0 to try it all the same")
    }
}

impl InterruptedTest<'_> {
    pub fn finding(&self) -> Finding {
        let (outcome, stage) = (self.outcome, &self.outcome.answer.stage);
        let who = if outcome.unprotected.is_some() {
            "the thread"
        } else {
            "the child process"
        };
        let not_started = |summary| Finding::warning(FindingId::ChildNotStarted, summary);
        let aborted = |summary| Finding::error(FindingId::CudnnAborted, summary);
        let crash =
            |signal| format!("cuDNN ended the process that tried it with {signal} while {stage}");
        let late = || {
            Finding::warning(
                FindingId::ConvolutionTimeout,
                format!("{who} that tries cuDNN was still {stage} when its time was over"),
            )
        };
        let mut finding = match &self.cause {
            Interruption::MissingFunction(words) => aborted(format!(
                "the loader ended the process that tried cuDNN while {stage}, for lack of a function"
            ))
            .with("loader", words)
            .help("install cuDNN, and the CUDA libraries that it is linked to, each whole and of one release"),
            Interruption::Unknown => not_started(format!(
                "{who} that tries cuDNN ended without a word while {stage}"
            )),
            // The first start on such a GPU takes minutes. Later starts use the compiled code from the cache.
            Interruption::CompilingPtx(cache) => late().help(format!(
                "set CUDNN_GUARD_DEADLINE=900 for the first start: the GPU is newer than this cuDNN, whose PTX the driver compiles and keeps in `{cache}` (CUDA_CACHE_PATH), which must be writable"
            )),
            Interruption::Deadline => late().help(if stage.is_in_cudnn() {
                "set CUDNN_GUARD_DEADLINE to more seconds, if this machine is only slow"
            } else {
                "set CUDNN_GUARD_DEADLINE=300: other processes may be starting CUDA too, and take turns in the driver"
            }),
            Interruption::NoMemory => not_started(format!(
                "{who} that tries cuDNN found no memory while {stage}"
            ))
            .help(by_system!(
                "raise the limit on memory (`ulimit -v`), or see with `free -m` whether any is left",
                "close other programs, or let Windows' page file grow"
            )),
            Interruption::NoThread => not_started(format!(
                "{who} that tries cuDNN could start no thread while {stage}"
            ))
            .help(by_system!(
                "raise the limit on processes and threads: `ulimit -u`, or the container's limit on pids",
                "close other programs"
            )),
            Interruption::UnderTool(signal, tool) => {
                let finding = Finding::warning(
                    FindingId::CudnnAborted,
                    format!(
                        "the test process crashed ({signal}) while {stage}, under a tool that may be the cause"
                    ),
                );
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
                .help("build the program again, with the archives of another release of cuDNN"),
            Interruption::Crash(signal) => aborted(crash(signal))
                .help("install the same release of cuDNN again, whole, or another one"),
            Interruption::DriverCrash(signal, set) => {
                let summary = if *stage == Stage::MakingContext {
                    format!(
                        "the process that tries cuDNN was ended with {signal} while {stage}, before cuDNN was asked for anything"
                    )
                } else {
                    format!("NVIDIA's driver ended the process that asked it with {signal}")
                };
                let mut finding = Finding::warning(FindingId::DriverError, summary);
                for (name, value) in set {
                    finding = finding.with("set", format!("{name}={value}")).help(format!(
                        "unset {name}, which brings a library into the process"
                    ));
                }
                finding.help("see whether `nvidia-smi` runs, and install the driver again if it does not")
            }
            Interruption::Killed(number) => not_started(format!(
                "the child process that tries cuDNN was killed by signal {number} while {stage}"
            ))
            .help("see with `dmesg` whether the system ended it for want of memory"),
        };
        let output = outcome.output.trim();
        if !output.is_empty() && !matches!(self.cause, Interruption::MissingFunction(_)) {
            finding = finding.with("it printed", output);
        }
        if let (Severity::Error, Some(second)) = (finding.severity, &outcome.second_try) {
            second.lower(&mut finding);
        }
        finding
    }
}

impl SecondTry {
    /// Turns the finding of the first child into a warning: a fault that does not recur does not stop the program.
    pub fn lower(&self, finding: &mut Finding) {
        let help = by_system!(
            "start the program again; if it comes and goes, see `dmesg` for lines with Xid, and `nvidia-smi -q -d ECC`",
            "start the program again; if it comes and goes, see Windows' event log for errors of nvlddmkm, and `nvidia-smi -q -d ECC`"
        );
        finding.severity = Severity::Warning;
        finding.help = vec![help.to_string()];
        finding.evidence.insert(0, ("second try", self.words()));
    }

    fn words(&self) -> String {
        let Some(outcome) = &self.0 else {
            return "no second child could be made".to_string();
        };
        let stage = &outcome.answer.stage;
        match outcome.end {
            ExitStatus::Signal(number) => match signal_name(number) {
                Some(name) => format!("it ended with {name} while {stage}"),
                None => format!("it was killed by signal {number} while {stage}"),
            },
            ExitStatus::Late => format!("it was still {stage} when its time was over"),
            ExitStatus::Itself if !outcome.answer.is_complete => {
                format!("it ended without a word while {stage}")
            }
            ExitStatus::Itself => {
                let rows = outcome.answer.outcomes.iter();
                let mut findings = rows.filter_map(|row| row.finding.as_ref());
                match findings.find(|finding| finding.severity != Severity::Note) {
                    Some(finding) => finding.summary.clone(),
                    None => "nothing went wrong".to_string(),
                }
            }
        }
    }
}
