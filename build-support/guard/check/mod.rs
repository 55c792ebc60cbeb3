//! The steps of a check: the cuDNN, its sub-libraries and its version, then a test in a child.

pub mod child_verdict;
pub mod exit_verdict;
pub mod file_findings;
pub mod pin;
pub mod second_try;

use crate::runtime::child::{
    ChildOutcome, Functions, Task, in_process, on_enough_stack, process_lock, work,
};
use crate::runtime::convolution::{Extent, Scope};
use crate::runtime::driver::devices;
use crate::runtime::facts::built_record::BuiltRecord;
use crate::runtime::facts::{Built, Finding, FindingId, Loader, Severity};
use crate::runtime::install::sub_library_files::{SubLibraries, is_jit_configured};
use crate::runtime::install::{MainLibrary, SubLibraryFile, main_library, onnxruntime, refusal};
use crate::runtime::judge::gpu_support;
use crate::runtime::loader::{LoadOrigin, SearchPath, loader_words, refused_library};
use crate::runtime::report::{Contents, EnvConfig, Failure, Report, VariableFault, output};
use crate::runtime::system::{Library, PathCache, platform};
use std::path::{Path, PathBuf};
use std::time::Duration;

impl BuiltRecord {
    /// Checks that the cuDNN of this program is compatible and works. A child process does everything that could crash.
    ///
    /// If CUDA is already in use, this process does it instead, on the GPU's primary context: do not call this while work
    /// is captured into a CUDA graph. The guard detects a capture and tests nothing then, but it cannot detect a capture on
    /// a stream made with `CU_STREAM_NON_BLOCKING`.
    pub fn check(&self) -> Result<Report, Failure> {
        check_with(self.facts(), Functions::default(), Extent::Quick)
    }

    /// Like [`check`](Self::check), but with every kind of convolution, through both APIs. It may take many times as
    /// long.
    pub fn check_thoroughly(&self) -> Result<Report, Failure> {
        check_with(self.facts(), Functions::default(), Extent::Thorough)
    }

    /// Checks only the version of the loaded cuDNN, by its files and version symbols. Calls no function of cuDNN and never
    /// starts CUDA. A cuDNN that is linked into the program has no files, and is called for its version. If no searched
    /// directory contains a sub-library, a child opens it by name. If the loader finds it, this process opens it too.
    ///
    /// On Windows the sub-libraries beside a main library that the program opened by its path count as found, although
    /// cuDNN opens them by their names: the program may open them too, or pass their directory to `AddDllDirectory`,
    /// before it calls cuDNN. `startup` and `check` open them themselves if there is a GPU.
    pub fn check_version(&self) -> Result<Report, Failure> {
        check_version(self.facts())
    }
}

/// Like [`BuiltRecord::check_version`].
pub fn check_version(built: &Built) -> Result<Report, Failure> {
    on_enough_stack(&|| version_of(built))
}

fn version_of(built: &Built) -> Result<Report, Failure> {
    let env_config = EnvConfig::read();
    let _turn = process_lock::acquire(env_config.deadline);
    let _cache = PathCache::start();
    let mut report = Contents::new(built);
    report.findings = env_config.findings();
    if built.loader == Loader::None {
        let reason = NotChecked::detect(built).unwrap_or(NotChecked::NoCudnn);
        report.unknown(reason.finding());
    } else if let Some((cudnn, parts, _)) = locate_cudnn(&mut report, built, &env_config, None) {
        let defects = parts.installed.list.iter().filter(|part| part.needed);
        let mut defects = defects.filter_map(|part| part.defect.as_ref());
        if defects.any(|defect| defect.id() == FindingId::IoError) {
            report.unknown = Some(FindingId::IoError);
        }
        file_findings::add(&mut report, &cudnn, parts);
        if report.cudnn_version().is_none() {
            let folder = cudnn.main_library.folder();
            report.unknown(NotChecked::UnknownVersion(folder).finding());
        }
        child_verdict::judge_version(&mut report, built, None, None);
        report.unchecked("driver, GPU and convolution: only a version check was requested");
    }
    Report::finish(report, &env_config)
}

/// Checks, but calls the driver and cuDNN through `functions`.
pub fn check_with(built: &Built, functions: Functions, extent: Extent) -> Result<Report, Failure> {
    on_enough_stack(&|| check_for(built, &EnvConfig::read(), extent, true, functions))
}

/// Checks. If there is no child, and `allow_in_process` is `true`, this process calls cuDNN, and the report shows that.
/// Otherwise the verdict is unknown.
pub fn check_for(
    built: &Built,
    env_config: &EnvConfig,
    extent: Extent,
    allow_in_process: bool,
    functions: Functions,
) -> Result<Report, Failure> {
    let _turn = process_lock::acquire(env_config.deadline);
    let _cache = PathCache::start();
    let mut report = Contents::new(built);
    report.findings = env_config.findings();
    if built.loader == Loader::None {
        check_driver(&mut report, env_config, functions, allow_in_process);
    } else if let Some((cudnn, parts, is_determined)) =
        locate_cudnn(&mut report, built, env_config, Some(functions))
    {
        let (by_name, mode) = ((parts, is_determined), (extent, allow_in_process));
        run_checks(&mut report, &cudnn, by_name, env_config, mode, functions);
    }
    let result = Report::finish(report, env_config);
    output::write(result, env_config)
}

pub enum NotChecked<'a> {
    BuiltWithoutCuda(&'a str),
    /// The program contains its C library.
    StaticLibc,
    UnsupportedPlatform,
    /// Only the version of cuDNN was to be checked, but the program uses no cuDNN.
    NoCudnn,
    /// A later cudnn-guard, of this version, wrote this rule, which this one does not know.
    UnknownRule(&'a str, &'a str),
    /// The files of the cuDNN in this directory do not contain its version.
    UnknownVersion(&'a Path),
    /// This cuDNN only compiles graphs at run time, and the variable that tells cuDNN so is not set.
    GraphJitNotEnabled,
    /// No convolution was possible, for these reasons.
    NoConvolution(&'a [String]),
}

impl<'a> NotChecked<'a> {
    /// Returns the reason not to search for a cuDNN.
    fn detect(built: &'a Built) -> Option<Self> {
        if let Some(reason) = &built.absent {
            return Some(NotChecked::BuiltWithoutCuda(reason));
        }
        if !platform::SUPPORTED {
            let is_static = cfg!(all(target_env = "gnu", target_feature = "crt-static"));
            return Some(match is_static {
                true => NotChecked::StaticLibc,
                false => NotChecked::UnsupportedPlatform,
            });
        }
        let rule = built.not_understood.as_deref()?;
        Some(NotChecked::UnknownRule(&built.written_by, rule))
    }
}

/// The cuDNN to check, and the search path of the program that it is in.
pub struct LocatedCudnn<'a> {
    pub built: &'a Built,
    pub search_path: SearchPath,
    pub main_library: MainLibrary,
}

impl LocatedCudnn<'_> {
    /// Returns the sub-libraries that the loader would select, or those that the guard opens by path (`pinned`).
    pub fn parts(&self, pinned: bool) -> SubLibraries {
        self.main_library
            .parts(&self.search_path, pinned, self.built)
    }

    /// Returns the sub-libraries that the loader would select. The loader also finds files that no searched directory
    /// contains: a child opens the missing names, then this process opens those that the loader found. If there is no
    /// child, or if the loader finds a file but refuses it, the verdict is unknown unless another file is incompatible:
    /// then the second value is `false`, and the report has the reason.
    fn parts_by_name(&self, report: &mut Contents, deadline: Duration) -> (SubLibraries, bool) {
        let mut parts = self.parts(false);
        // The program's RUNPATH does not apply to what cuDNN opens.
        let is_elsewhere = |name: &&String| self.search_path.program_file(name).is_none();
        let installed = &parts.installed;
        let missing = installed.missing.iter().chain(&installed.missing_declared);
        let names: Vec<&String> = missing.filter(is_elsewhere).collect();
        if names.is_empty() || cfg!(windows) {
            return (parts, true);
        }
        let part = |file: &&String| SubLibraryFile::new("", PathBuf::from(*file), None, true);
        let task = Task {
            parts: names.iter().map(part).collect(),
            ..Task::default()
        };
        let answer = work::run(&task, deadline, false).map(|outcome| outcome.answer);
        let answer = answer.ok().filter(|answer| answer.is_complete);
        // A message about a file that the loader has found begins with the path of that file.
        let is_found = |(name, words): &&(PathBuf, String)| {
            !words.starts_with(&*name.to_string_lossy()) || refused_library::unread(words).is_some()
        };
        let refused = answer.as_ref();
        let refused = refused.and_then(|answer| answer.unopened.iter().find(is_found));
        if answer.is_some() && refused.is_none() {
            for name in &names {
                let _ = Library::open(name);
            }
            return (self.parts(false), true);
        }
        let is_missing = |finding: &Finding| finding.id == FindingId::PartsMissing;
        let missing = parts.findings.iter().position(is_missing);
        let missing = missing.map(|at| parts.findings.remove(at));
        let refused = refused.filter(|(name, words)| !loader_words::requires_driver(name, words));
        let refused = refused.map(|(name, words)| refusal::finding(name, words));
        if let Some(finding) = refused.or(missing) {
            report.unknown(finding);
        }
        (parts, false)
    }
}

/// Returns the cuDNN to check and the result of [`LocatedCudnn::parts_by_name`], or adds the reason why there is none to the report.
fn locate_cudnn<'a>(
    report: &mut Contents,
    built: &'a Built,
    env_config: &EnvConfig,
    functions: Option<Functions>,
) -> Option<(LocatedCudnn<'a>, SubLibraries, bool)> {
    if let Some(reason) = NotChecked::detect(built) {
        report.unknown(reason.finding());
        return None;
    }
    if let Some(failure) = refused_library::no_files_left() {
        report.unknown(failure.finding());
        return None;
    }
    let search_path = SearchPath::of_program();
    match main_library::find(built, &search_path) {
        Ok(main_library) => {
            let others = &main_library.others;
            if !others.is_empty() {
                report.findings.push(main_library.others_finding(others));
            }
            let cudnn = LocatedCudnn {
                built,
                search_path,
                main_library,
            };
            let (parts, is_determined) = cudnn.parts_by_name(report, env_config.deadline);
            return Some((cudnn, parts, is_determined));
        }
        Err(finding) if finding.id == FindingId::CudnnNotLoadable => {
            add_not_loadable(report, built, finding, env_config, functions);
        }
        Err(finding) => report.add(finding),
    }
    None
}

/// Adds the finding that no cuDNN can be loaded. Without a GPU the verdict is unknown: the program may not need cuDNN.
fn add_not_loadable(
    report: &mut Contents,
    built: &Built,
    finding: Finding,
    env_config: &EnvConfig,
    functions: Option<Functions>,
) {
    report.is_cudnn_absent = finding.severity == Severity::Error;
    let outcome = functions.and_then(|functions| {
        let task = Task {
            functions: Some(functions),
            devices: env_config.devices.clone(),
            built: built.clone(),
            ..Task::default()
        };
        // If CUDA is already started, a query in this process changes nothing.
        let allow_in_process = in_process::cuda_is_started();
        work::run(&task, env_config.deadline, allow_in_process).ok()
    });
    let Some(mut outcome) = outcome else {
        report.unknown(finding);
        return;
    };
    report.merge_child_report(&mut outcome.answer);
    if report.device_count() > 0 && finding.severity == Severity::Error {
        report.findings.push(finding);
    } else {
        report.unknown(finding);
        if let Some(problem) = outcome.problem() {
            report.unknown(problem);
        }
    }
}

/// Checks the files, then the child's report, then the files again.
fn run_checks(
    report: &mut Contents,
    cudnn: &LocatedCudnn<'_>,
    (by_name, is_determined): (SubLibraries, bool),
    env_config: &EnvConfig,
    (extent, allow_in_process): (Extent, bool),
    functions: Functions,
) {
    let (built, main_library) = (cudnn.built, &cudnn.main_library);
    let mut parts = by_name.clone();
    if !by_name.installed.is_together() {
        parts = cudnn.parts(true);
        parts.lasting = by_name.lasting.clone();
    }
    file_findings::add(report, cudnn, parts.clone());
    if is_fatal(report, env_config) || !is_determined {
        report.set_loaded(main_library, &by_name);
        let alone = match main_library.origin {
            _ if !is_determined => "a sub-library could not be found or opened",
            LoadOrigin::Within => "its version is incompatible",
            _ => "the files are incompatible",
        };
        return report.unchecked(format!("driver, GPU and convolution: {alone}"));
    }
    let is_explicit = env_config.devices.is_explicit();
    let shared = (!is_explicit).then(devices::find_mps).flatten();
    let scope = Scope {
        extent,
        graph_only: parts.installed.jit_only || is_jit_configured(),
        in_program: false,
        is_explicit,
        newest_gpu: gpu_support::newest_gpu(&built.tables.gpus, report.cudnn_version()),
    };
    // Without the variable such a cuDNN may search for the other sub-libraries, and exit if they are missing.
    let is_configured = !parts.installed.jit_only || is_jit_configured();
    let is_testable = built.convolution && shared.is_none() && is_configured;
    let task = Task {
        functions: Some(functions),
        main_library: Some(main_library.library),
        parts: parts.installed.list.clone(),
        devices: env_config.devices.clone(),
        built: built.clone(),
        convolution: is_testable.then_some(scope),
    };
    let deadline = match extent {
        Extent::Quick => env_config.deadline,
        Extent::Thorough => env_config.thorough_deadline,
    };
    let Some(mut outcome) = run_task(report, &task, deadline, allow_in_process) else {
        return report.unchecked("driver, GPU and convolution: no child process");
    };
    second_try::confirm(&mut outcome, &task, deadline, allow_in_process);
    child_verdict::judge(report, cudnn, &parts, outcome);
    let count = report.device_count();
    if built.convolution {
        let rank = env_config.devices.shared_rank(count);
        for busy in shared.iter().chain(&rank) {
            report.unknown(busy.finding());
        }
        if !is_configured && count > 0 {
            report.unknown(NotChecked::GraphJitNotEnabled.finding());
        }
    }
    add_out_of_range(report, env_config);
    child_verdict::judge_convolutions(report, built);
    let pinned = (report.has_passed() || !built.convolution) && !is_fatal(report, env_config);
    if pinned {
        pin::pin(report, cudnn, &parts);
    }
    pin::diverted(report, main_library, &parts, by_name, pinned);
    if count > 0 {
        if let Some(provider) = onnxruntime::incomplete(built, &cudnn.search_path) {
            report.unknown(provider.finding());
        }
    }
}

/// Checks the driver, the GPUs and the kernels of a program that uses no cuDNN.
fn check_driver(
    report: &mut Contents,
    env_config: &EnvConfig,
    functions: Functions,
    allow_in_process: bool,
) {
    if let Some(reason) = NotChecked::detect(&report.built) {
        return report.unknown(reason.finding());
    }
    let task = Task {
        functions: Some(functions),
        devices: env_config.devices.clone(),
        built: report.built.clone(),
        ..Task::default()
    };
    match run_task(report, &task, env_config.deadline, allow_in_process) {
        Some(outcome) => child_verdict::judge_driver(report, outcome),
        None => report.unchecked("driver and GPU: no child process"),
    }
    add_out_of_range(report, env_config);
}

/// Does the task. Adds the reason to the report if there is no child.
fn run_task(
    report: &mut Contents,
    task: &Task,
    deadline: Duration,
    allow_in_process: bool,
) -> Option<ChildOutcome> {
    match work::run(task, deadline, allow_in_process) {
        Ok(outcome) => {
            if let Some(obstacle) = &outcome.unprotected {
                report.findings.push(obstacle.finding(true));
            }
            Some(outcome)
        }
        Err(obstacle) => {
            report.unknown(obstacle.finding(false));
            None
        }
    }
}

/// Adds the finding about requested GPUs that do not exist.
fn add_out_of_range(report: &mut Contents, env_config: &EnvConfig) {
    let count = report.device_count();
    let numbers = env_config.devices.out_of_range(count);
    if count > 0 && !numbers.is_empty() {
        report.unknown(VariableFault::DevicesOutOfRange(numbers, count).finding());
    }
}

/// Returns `true` if there is an error that the operator does not allow.
fn is_fatal(report: &Contents, env_config: &EnvConfig) -> bool {
    report.findings.iter().any(|finding| {
        finding.severity == Severity::Error && !env_config.allow.contains(finding.id)
    })
}
