//! The findings about how a child ended.

use crate::runtime::binary::Elf;
use crate::runtime::child::exit_status::signal_name;
use crate::runtime::child::{ChildOutcome, ExitStatus};
use crate::runtime::convolution::Stage;
use crate::runtime::install::missing_dlopen::MissingDlopen;
use crate::runtime::loader::LoadOrigin;
use crate::runtime::loader::elf::dlerror_messages;
use crate::runtime::report::Contents;
use crate::runtime::system::{platform, proc};
use std::path::PathBuf;

/// Returns `true` if cuDNN, or the loader on its behalf, crashed the child. A crash under a tool may be the tool's.
pub fn is_caused_by_cudnn(outcome: &ChildOutcome) -> bool {
    is_in_cudnn(outcome) && (outcome.end == ExitStatus::Itself || find_tool().is_none())
}

fn is_in_cudnn(outcome: &ChildOutcome) -> bool {
    outcome.answer.stage.is_in_cudnn()
        && match outcome.end {
            ExitStatus::Itself => {
                !outcome.answer.is_complete
                    && dlerror_messages::missed_function(&outcome.output).is_some()
            }
            ExitStatus::Late | ExitStatus::Sandbox(_) => false,
            ExitStatus::Signal(number) => {
                let output = &outcome.output;
                signal_name(number).is_some()
                    && missing_resource(outcome).is_none()
                    && !dlerror_messages::no_waiting(output)
            }
        }
}

/// The reason why a child process, or the thread used instead, ended before its report was complete.
pub enum Interruption<'a> {
    /// The loader did not find a function, with its message.
    MissingFunction(&'a str),
    Unknown,
    Deadline,
    /// The deadline passed, and the driver had to compile cuDNN. Its cache is this directory.
    CompilingPtx(String),
    NoMemory,
    NoThread,
    /// A crash with this signal under a tool that may be the cause.
    UnderTool(&'static str, Tool),
    /// A crash of cuDNN with this signal after the loader did not find a library for it.
    CrashWithout(&'static str, &'a MissingDlopen),
    /// A crash with this signal of the cuDNN that is linked into the program.
    LinkedInCrash(&'static str),
    /// Any other crash of cuDNN with this signal.
    Crash(&'static str),
    /// A crash of the driver with this signal, and the variables that load a library into it.
    DriverCrash(&'static str, Vec<(&'static str, String)>),
    /// A sandbox forbids this system call, if the number is known.
    Sandbox(Option<i32>),
    /// A signal that was sent from outside the process.
    Killed(i32),
}

/// A tool that may crash in place of cuDNN.
pub enum Tool {
    /// A profiler or sanitizer that CUDA loads because of this variable.
    Injected(&'static str, String),
    /// A tracer with this process id.
    Tracer(String),
    /// A preloaded library that replaces functions of the driver.
    Preloaded(String),
}

/// Returns the resource that the system denied to the child, if the child's output shows it.
fn missing_resource(outcome: &ChildOutcome) -> Option<Interruption<'static>> {
    let output = &outcome.output;
    let is_opening = matches!(outcome.answer.stage, Stage::Opening(_));
    if dlerror_messages::no_memory(output)
        || is_opening && dlerror_messages::no_memory_for_library(output)
    {
        return Some(Interruption::NoMemory);
    }
    dlerror_messages::no_thread(output).then_some(Interruption::NoThread)
}

/// Adds the finding about how a child ended. `compiles`: the driver had to compile cuDNN for the GPU.
pub fn judge(
    report: &mut Contents,
    outcome: &ChildOutcome,
    missing_dlopen: Option<&MissingDlopen>,
    compiles: bool,
) {
    let cause = match outcome.end {
        ExitStatus::Itself if outcome.answer.is_complete => return,
        ExitStatus::Itself => match dlerror_messages::missed_function(&outcome.output) {
            Some(message) if is_in_cudnn(outcome) => Interruption::MissingFunction(message),
            _ => Interruption::Unknown,
        },
        ExitStatus::Late if compiles => {
            let cache = std::env::var("CUDA_CACHE_PATH").ok();
            Interruption::CompilingPtx(cache.unwrap_or_else(|| "~/.nv/ComputeCache".to_string()))
        }
        ExitStatus::Late => Interruption::Deadline,
        ExitStatus::Sandbox(call) => Interruption::Sandbox(call),
        ExitStatus::Signal(number) => missing_resource(outcome).unwrap_or_else(|| {
            // Before the first step, no code of cuDNN has run.
            let has_started = outcome.answer.stage != Stage::Starting;
            let is_known = has_started && !dlerror_messages::no_waiting(&outcome.output);
            let Some(signal) = signal_name(number).filter(|_| is_known) else {
                return Interruption::Killed(number);
            };
            if !is_in_cudnn(outcome) {
                let set = set_variables(["CUDA_INJECTION64_PATH", "LD_PRELOAD"]);
                return Interruption::DriverCrash(signal, set);
            }
            let origin = report.loaded.as_ref().map(|loaded| &loaded.origin);
            match (find_tool(), missing_dlopen) {
                (Some(tool), _) => Interruption::UnderTool(signal, tool),
                (None, Some(missing)) => Interruption::CrashWithout(signal, missing),
                (None, None) if origin == Some(&LoadOrigin::Within) => {
                    Interruption::LinkedInCrash(signal)
                }
                (None, None) => Interruption::Crash(signal),
            }
        }),
    };
    report.add(cause.finding(outcome));
}

/// Returns the variables that have a value.
fn set_variables(names: [&'static str; 2]) -> Vec<(&'static str, String)> {
    let value = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let set = |name| Some((name, value(name)?.to_string_lossy().into_owned()));
    names.into_iter().filter_map(set).collect()
}

/// Returns the tool in the process that may crash in place of cuDNN.
fn find_tool() -> Option<Tool> {
    let set = set_variables(["CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"]);
    if let Some((name, value)) = set.into_iter().next() {
        return Some(Tool::Injected(name, value));
    }
    let status = proc::text("self/status").unwrap_or_default();
    let mut lines = status.lines();
    let tracer = lines.find_map(|line| line.strip_prefix("TracerPid:"));
    if let Some(process) = tracer.map(str::trim).filter(|process| *process != "0") {
        return Some(Tool::Tracer(process.to_string()));
    }
    let replaces = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_driver = name.starts_with("libcuda.so");
        name.contains(".so") && !is_driver && Elf::open(path).is_ok_and(|it| it.defines("cuInit"))
    };
    let library = platform::mapped().into_iter().find(replaces)?;
    Some(Tool::Preloaded(library.display().to_string()))
}
