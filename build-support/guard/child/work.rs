//! The work of the child: everything that could crash the process, and everything that starts CUDA.

use crate::runtime::binary::{Elf, Image};
use crate::runtime::child::{
    ChildExit, ChildReport, ExitStatus, Functions, Sink, Task, in_process, process, rdma,
};
use crate::runtime::convolution::{Extent, FIRST, Graph, Stage, SuiteEvent};
use crate::runtime::driver::call::CallStatus;
use crate::runtime::driver::{Device, Devices, Driver, DriverProblem, driver_library, query};
use crate::runtime::facts::{Fields, Finding, SubLibrary, UsedFor, Version, codec, sub_libraries};
use crate::runtime::install::{SubLibraryFile, dlopen_dependencies};
use crate::runtime::judge::{Gpu, SupportGap, gpu_support, program_rules};
use crate::runtime::loader::refused_library::TOO_MANY_FILES;
use crate::runtime::loader::{SearchPath, file_name, loader_words};
use crate::runtime::system::{DRIVER, Library, PathCache, platform, unique_number};
use std::ffi::c_int;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// `CUDNN_STATUS_VERSION_MISMATCH` in 9 and 8. Other statuses can have other causes too.
const MISMATCH: [c_int; 2] = [1002, 14];

pub struct ChildOutcome {
    pub answer: ChildReport,
    pub end: ExitStatus,
    /// The beginning of its stdout and stderr.
    pub output: String,
    /// The reason why this process itself did the work.
    pub unprotected: Option<ForkObstacle>,
    /// A second child, if it did not fail in the same way.
    pub second_try: Option<SecondTry>,
}

impl ChildOutcome {
    /// Returns the reason why there is no usable GPU, with the output of the driver and of cuDNN.
    pub fn problem(&self) -> Option<Finding> {
        let output = Some(self.output.trim()).filter(|output| !output.is_empty());
        Some(self.answer.problem.clone()?.with_some("output", output))
    }
}

/// A second child process, in which the fault of the first one did not recur. `None` if it could not be started.
pub struct SecondTry(pub Option<Box<ChildOutcome>>);

/// A reason not to start a child process.
pub enum ForkObstacle {
    CudaStarted,
    /// Memory of this process is registered with an RDMA device, which a fork would break.
    RdmaMemory,
    /// This process has too many open files, with the system's message.
    TooManyFiles(String),
    Refused(String),
}

/// Does the task in a child, or in this process itself if there is no child and `allow_in_process`.
///
/// # Errors
/// The reason why there is no child.
pub fn run(
    task: &Task,
    deadline: Duration,
    allow_in_process: bool,
) -> Result<ChildOutcome, ForkObstacle> {
    let token = format!("{:016x}", unique_number());
    let outcome = |exit: ChildExit, unprotected| ChildOutcome {
        answer: ChildReport::parse(&exit.answer, &token),
        end: exit.end,
        output: exit.output,
        unprotected,
        second_try: None,
    };
    let obstacle = if process::IS_COPY && in_process::cuda_is_started() {
        ForkObstacle::CudaStarted
    } else if process::IS_COPY && rdma::forbids_fork(Path::new("/proc/self/fd")) {
        ForkObstacle::RdmaMemory
    } else {
        let child = process::in_child(deadline, task, &token, &|sink| run_task(task, &token, sink));
        match child {
            Ok(exit) => return Ok(outcome(exit, None)),
            Err(reason) if reason.contains(TOO_MANY_FILES) => ForkObstacle::TooManyFiles(reason),
            Err(reason) => ForkObstacle::Refused(reason),
        }
    };
    // A DLL on Windows must not put the process of another program at risk.
    if !allow_in_process || !process::IS_COPY && !in_process::cuda_is_started() {
        return Err(obstacle);
    }
    let (mut here, end) = (task.clone(), codec::line("end", &token));
    if let Some(scope) = &mut here.convolution {
        scope.in_program = matches!(obstacle, ForkObstacle::CudaStarted);
    }
    let exit = in_process::in_thread(deadline, move |sink| {
        work(&here, false, sink);
        sink(&end);
    });
    Ok(outcome(exit, Some(obstacle)))
}

/// Does all of a child's work, including the last line.
pub fn run_task(task: &Task, token: &str, sink: Sink<'_>) {
    in_process::pass_locks();
    stage(sink, Stage::Starting);
    work(task, true, sink);
    emit(sink, "end", &token.to_string());
}

/// Does the work. `is_child`: no other work is done in this process.
fn work(task: &Task, is_child: bool, sink: Sink<'_>) {
    let _cache = PathCache::start();
    let Some(functions) = task.functions else {
        for part in &task.parts {
            open(std::slice::from_ref(part), sink);
        }
        return;
    };
    let (mut cudnn, mut judged) = (None, None);
    // Without a driver nothing uses the sub-libraries, and opening them takes most of the time of a check.
    let is_driver_missing = query::open().is_err();
    let early = is_driver_missing.then(|| query_driver(functions, is_child, sink));
    let by_files = match early {
        Some(Err(DriverProblem::Missing(_))) => without_driver(&task.parts),
        _ => None,
    };
    if let Some((cuda_major, refused)) = by_files {
        emit(sink, "cudart", &cuda_major);
        open(&refused, sink);
    } else if let Some(main_library) = task.main_library {
        let opened = open(&task.parts, sink);
        if opened != PartsOpened::Refused {
            let versions = query_versions(main_library, &task.parts, sink);
            cudnn = versions.map(|(version, _)| (main_library, version, opened));
            judged = versions.and_then(|(version, cuda)| {
                Some(gpu_support::Cudnn {
                    version,
                    cuda: cuda?,
                })
            });
        }
    }
    let driver = early.unwrap_or_else(|| query_driver(functions, is_child, sink));
    let numbers = driver.map_or_else(|_| Vec::new(), |driver| choose(task, &driver, judged));
    for number in &numbers {
        emit(sink, "tried", number);
    }
    if let (true, Some((main_library, version, opened))) = (numbers.is_empty(), cudnn) {
        // Without the driver's library, engines cannot be opened. Version 9.20 and later return a status then.
        let is_safe = opened == PartsOpened::All || version >= Version::new(9, 20, 0);
        if version.major >= 9 && is_safe {
            finalize_a_tensor(main_library, sink);
        }
    }
    if let (Some(scope), Some((main_library, version, opened))) = (task.convolution, cudnn) {
        // The driver, which is now loaded, may be in a place where only CUDA finds it. Then sub-libraries can be opened
        // now.
        let has_gpu = !numbers.is_empty();
        if has_gpu && (opened == PartsOpened::All || open(&task.parts, sink) == PartsOpened::All) {
            if scope.extent == Extent::Thorough {
                open_for_training(&task.parts, sink);
            }
            for number in numbers {
                stage(sink, Stage::Cudnn("preparing a convolution".to_string()));
                (functions.convolve)(
                    main_library,
                    version,
                    number,
                    scope,
                    &mut |event| match event {
                        SuiteEvent::Next(next) => stage(sink, next),
                        SuiteEvent::Done(outcome) => {
                            emit(sink, "outcome", &*outcome);
                            if let Some(finding) = &outcome.finding {
                                emit(sink, "outcome-finding", finding);
                            }
                        }
                    },
                );
            }
        }
    }
    stage(
        sink,
        Stage::Cudnn("listing the mapped libraries".to_string()),
    );
    for path in platform::mapped() {
        if is_relevant(&path) {
            emit(sink, "map", &path);
        }
    }
}

/// Returns `true` for a file of cuDNN, and for a file that one of its sub-libraries opens.
pub fn is_relevant(path: &Path) -> bool {
    file_name::parse(path).is_some() || dlopen_dependencies::is_dependency(path)
}

/// Returns the GPUs to test. By default, this is the first GPU that both cuDNN and the program's own kernels support,
/// since the program may also choose that one.
fn choose(task: &Task, driver: &Driver, cudnn: Option<gpu_support::Cudnn>) -> Vec<usize> {
    let (devices, built) = (&driver.devices, &task.built);
    if task.devices == Devices::First {
        let is_supported = |device: &Device| {
            let gpu = Gpu::new(&device.name, device.capability);
            let gap = cudnn.and_then(|cudnn| cudnn.gap(&built.tables.gpus, gpu.capability));
            program_rules::kernels(built, driver.cuda, gpu).is_none()
                && gap.is_none_or(|gap| matches!(gap, SupportGap::Missing { by_ptx: true, .. }))
        };
        if let Some(first) = devices.iter().position(is_supported) {
            return vec![first];
        }
    }
    task.devices.selected(devices.len())
}

/// The result of opening the sub-libraries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PartsOpened {
    All,
    /// All except those that are linked to the missing driver. cuDNN can report its version.
    ButDriver,
    Refused,
}

/// Returns the CUDA major of a cuDNN, if its files show that it is valid: each sub-library has a version, and the loader
/// opens the libraries that it is linked to. Also returns the sub-libraries that the loader refuses without the driver.
fn without_driver(parts: &[SubLibraryFile]) -> Option<(u32, Vec<SubLibraryFile>)> {
    let (mut cuda_major, mut refused) = (None, Vec::new());
    for part in parts.iter().filter(|part| part.needed) {
        part.version?;
        let elf = Elf::open(&part.path).ok()?;
        for name in elf.needed() {
            let is_own = file_name::parse(Path::new(&name)).is_some();
            if name == DRIVER {
                refused.push(part.clone());
            } else if !is_own && Library::open(&name).is_err() {
                return None;
            }
        }
        // The constants of the others are large and do not name cuBLASLt.
        let known = sub_libraries::find(&part.name);
        if known.is_none_or(|known| known.opens.contains(&sub_libraries::CudaLibrary::CublasLt)) {
            cuda_major = cuda_major.or_else(|| elf.cuda_major());
        }
    }
    Some((cuda_major?, refused))
}

fn open(parts: &[SubLibraryFile], sink: Sink<'_>) -> PartsOpened {
    let mut opened = PartsOpened::All;
    for part in parts.iter().filter(|part| part.needed) {
        stage(sink, Stage::Opening(part.path.display().to_string()));
        if let Err(message) = Library::open_file(&part.path) {
            let is_driver_missing = loader_words::requires_driver(&part.path, &message);
            emit(sink, "refused", &(part.path.clone(), message));
            if !is_driver_missing {
                return PartsOpened::Refused;
            }
            opened = PartsOpened::ButDriver;
        }
    }
    opened
}

/// Opens the sub-libraries of cuDNN 8 for the gradient of the filters. A program that does not train may not include
/// them.
fn open_for_training(parts: &[SubLibraryFile], sink: Sink<'_>) {
    let trains = |known: &&SubLibrary| known.used_for == UsedFor::Training;
    for known in sub_libraries::ALL.iter().filter(trains) {
        for part in parts.iter().filter(|part| part.name == known.name) {
            stage(sink, Stage::Opening(part.path.display().to_string()));
            // If the loader refuses it, the convolutions that need it are left out.
            if Image::open(&part.path).is_ok() {
                let _ = Library::open_file(&part.path);
            }
        }
    }
}

/// Calls the functions of cuDNN that need no GPU.
fn query_versions(
    main_library: Library,
    parts: &[SubLibraryFile],
    sink: Sink<'_>,
) -> Option<(Version, Option<u32>)> {
    let number = call(sink, main_library, "cudnnGetVersion")?;
    let version = Version::from_cudnn(number);
    emit(sink, "version", &version);
    let cudart = call(sink, main_library, "cudnnGetCudartVersion").map(|number| number / 1000);
    if let Some(major) = &cudart {
        emit(sink, "cudart", major);
    }
    let opened = |name| parts.iter().any(|part| part.needed && part.name == name);
    let checks = sub_libraries::ALL.iter().filter(|part| opened(part.name));
    for name in checks.filter_map(|part| part.version_check) {
        if let Some(address) = main_library.symbol(name) {
            stage(sink, Stage::Cudnn(format!("calling {name}")));
            // SAFETY: every version declares these as `cudnnStatus_t (void)`, an enum of an int's size.
            let check: extern "C" fn() -> c_int = unsafe { std::mem::transmute(address) };
            if MISMATCH.contains(&check()) {
                emit(sink, "failed-check", &name.to_string());
            }
        }
    }
    Some((version, cudart))
}

/// Runs the first step of a convolution, which needs no GPU. cuDNN opens its engines in this step, and its version
/// checks do not cover them.
fn finalize_a_tensor(main_library: Library, sink: Sink<'_>) {
    stage(sink, Stage::Cudnn("finalizing a descriptor".to_string()));
    let tensor =
        Graph::resolve(main_library).and_then(|graph| graph.tensor(&FIRST, FIRST.shape.x, 1));
    if let Err(CallStatus {
        call,
        code: Some(status),
    }) = tensor
    {
        if MISMATCH.contains(&status) {
            emit(sink, "failed-check", &call.to_string());
        }
    }
}

fn call(sink: Sink<'_>, main_library: Library, name: &str) -> Option<u32> {
    let address = main_library.symbol(name)?;
    stage(sink, Stage::Cudnn(format!("calling {name}")));
    // SAFETY: every version declares both as `size_t (void)`.
    let function: extern "C" fn() -> usize = unsafe { std::mem::transmute(address) };
    u32::try_from(function()).ok()
}

/// Queries the driver.
fn query_driver(
    functions: Functions,
    is_child: bool,
    sink: Sink<'_>,
) -> Result<Driver, DriverProblem> {
    stage(sink, Stage::AskingDriver);
    let unsearched = driver_library::unsearched(Path::new("/"), SearchPath::of_program);
    let found = (functions.driver)();
    let known = match &found {
        Ok(driver) => Some(driver),
        Err(problem) => {
            emit(sink, "problem", &driver_library::finding(problem));
            if is_child {
                let problem = problem.clone().with_memory_file();
                emit(sink, "problem", &driver_library::finding(&problem));
            }
            problem.driver()
        }
    };
    if let (Ok(_), Some(missing)) = (&found, unsearched) {
        emit(sink, "problem", &missing.finding());
    }
    if let Some(driver) = known {
        emit(sink, "driver", driver);
        for device in &driver.devices {
            emit(sink, "device", device);
        }
    }
    found
}

/// Writes a line to the pipe of the answer. The parent may no longer read.
pub fn send(mut pipe: &File, text: &str) {
    let _ = pipe.write_all(format!("{text}\n").as_bytes());
}

fn emit<T: Fields>(sink: Sink<'_>, key: &str, value: &T) {
    sink(&codec::line(key, value));
}

fn stage(sink: Sink<'_>, next: Stage) {
    emit(sink, "stage", &next);
}
