//! Compiles `.cu` files.
//!
//! ```text
//! $OUT_DIR/
//!   libkernels.a                 the library that `compile("kernels")` links
//!   libkernels_cudart.a          the toolkit's libcudart_static.a under a name of its own
//!   gelu.ptx                     from `ptx()`
//!   gelu.fatbin                  from `fatbin()`
//!   gelu.sm_90.cubin             from `cubin()`
//!   cudnn-guard/
//!     queries/                   output of nvcc and its host compiler, queried for their versions
//!     libkernels.{list,stamp}
//!     libkernels/gelu-<hash>.{o,d,stamp}
//!     unity/<hash>.cu          includes several files
//!     ptx/gelu.{d,stamp}         also fatbin/, cubin/
//! ```

pub mod depfile_source;
pub mod host_compiler_check;
pub mod job;
pub mod link {
    //! Steps after compilation: the static library, the device link and CUDA's runtime.

    pub mod device_link;
    pub mod library;
}
pub mod memory_limit;
pub mod nvcc;
pub mod options;
pub mod plan;
pub mod product;
pub mod setup;
pub mod sources;
pub mod target_flags;
#[cfg(all(test, unix))]
pub mod tests;

use crate::error::Error;
use crate::model::{ChosenBy, Gencode, Variable};
use crate::runtime::facts::{ComputeCapability, Finding, Target};
use crate::system::freshness::build_stamp;
use crate::system::{Directive, StatCache, cargo, job_pool, memory};
use crate::toolchain::Toolchain;
use crate::toolkit::nvcc_command::breadth;
use crate::toolkit::{Optimisation, Product, all_flags};
use job::{Fresh, Job, JobOutput};
use link::device_link;
use nvcc::warnings;
pub use nvcc::{death::Death, diagnostics::ToolFailure};
pub use options::Cudart;
pub use setup::Setup;
use sources::watch;
pub use sources::{Patterns, Source};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Kernels to compile, from [`Toolchain::kernels`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Kernels<'a> {
    toolchain: &'a Toolchain,
    sources: Vec<Source>,
    excluded: Vec<PathBuf>,
    /// The number of files that are compiled as one.
    unity: usize,
    watched: Vec<PathBuf>,
    archs: Vec<String>,
    minimum: Option<ComputeCapability>,
    flags: Vec<String>,
    optimisation: Optimisation,
    /// The runtime that the build script names.
    cudart: Option<Cudart>,
    module: Option<String>,
    destination: Option<PathBuf>,
}

/// A request for kernels that cannot be fulfilled.
pub enum InvalidRequest<'a> {
    LibraryName(&'a str),
    /// A library for which a method was called that only applies to files that a program loads.
    LinkedLibrary(&'a str, &'static str),
    ModuleName(&'a str),
    /// A module, and the constant name that two of its files share.
    SameConstant(&'a str, String, [&'a Path; 2]),
    /// A path in `file`, `files` or `watch` that does not exist, and a similar one that does. `true` if it should be
    /// compiled.
    MissingPath(&'a Path, bool, Option<PathBuf>),
    /// A directory in `file` or `files`.
    Directory(&'a Path),
    /// A pattern without a match, and a similar one with a match.
    NoMatch(&'a str, Option<PathBuf>),
    NoSource,
    AllExcluded,
    /// A flag for nvcc that chooses GPU targets.
    TargetFlag(String),
    /// A variable of nvcc with such a flag. nvcc compiles for its targets in addition to the build's.
    TargetFlagInVariable(Variable, String),
    /// Cubins for targets that are all PTX.
    OnlyPtx(&'a [Gencode], ChosenBy),
    /// Targets below the compute capability of the kernels, and their origin. `true` if there are no other targets.
    BelowMinimum(ComputeCapability, Vec<Target>, ChosenBy, bool),
    /// A file that the build script builds twice with different contents.
    OutputTwice(&'a Path),
    /// A request outside a build script.
    NoOutDir,
}

impl Toolchain {
    /// Compiles `.cu` files with the chosen nvcc for the chosen [`targets`](Self::targets):
    ///
    /// ```no_run
    /// # fn build(gpu: &cudnn_guard::Toolchain) -> Result<(), cudnn_guard::Error> {
    /// gpu.kernels().files("src/kernels/*.cu").include("src/kernels").compile("kernels")
    /// # }
    /// ```
    pub fn kernels(&self) -> Kernels<'_> {
        Kernels {
            toolchain: self,
            sources: Vec::new(),
            excluded: Vec::new(),
            unity: 1,
            watched: Vec::new(),
            archs: Vec::new(),
            minimum: None,
            flags: Vec::new(),
            optimisation: Optimisation::default(),
            cudart: None,
            module: None,
            destination: None,
        }
    }
}

impl Kernels<'_> {
    /// Compiles the files to the static library `lib<name>.a`, with machine code and PTX for all targets, and links the
    /// library and the CUDA runtime to this crate. As in the cc crate, the name may also be `lib<name>.a`. An optional
    /// toolchain without CUDA compiles and links nothing.
    ///
    /// # Errors
    /// Everything that stops the compilation: `nvcc-not-found` and `cuda-not-found`, invalid targets (see
    /// [`Toolchain::targets`]), an incompatible host compiler (`host-compiler-unsupported`), a failure of nvcc
    /// (`nvcc-failed`), and `config-invalid` if the build script names no file or the same library twice.
    pub fn compile(self, name: &str) -> Result<(), Error> {
        let mut lines = Vec::new();
        let short = name
            .strip_prefix("lib")
            .and_then(|name| name.strip_suffix(".a"));
        let result = self.library(short.unwrap_or(name), &mut lines);
        lines.iter().for_each(cargo::emit);
        result
    }

    fn library(&self, name: &str, lines: &mut Vec<Directive>) -> Result<(), Error> {
        let is_invalid = |c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c);
        let invalid = match (&self.module, &self.destination) {
            _ if name.is_empty() || name.contains(is_invalid) => InvalidRequest::LibraryName(name),
            (Some(_), _) => InvalidRequest::LinkedLibrary(name, "module"),
            (_, Some(_)) => InvalidRequest::LinkedLibrary(name, "out_dir"),
            (None, None) => {
                let objects = self.make(Product::Object, name, lines)?;
                if objects.is_empty() {
                    return Ok(());
                }
                return Ok(self.link_library(name, &objects, lines)?);
            }
        };
        Err(invalid.finding().into())
    }

    /// Returns `true` if any file is compiled to relocatable device code, which nvcc has to link.
    fn is_relocatable(&self) -> bool {
        device_link::is_requested(&all_flags(&self.flags, &self.toolchain.host.env))
    }

    /// Compiles every source. `lines` is complete even on failure, because the build script may continue.
    fn make(
        &self,
        product: Product,
        dir: &str,
        lines: &mut Vec<Directive>,
    ) -> Result<Vec<PathBuf>, Error> {
        let toolchain = self.toolchain;
        if toolchain.absent.is_some() {
            return Ok(Vec::new());
        }
        let sources = self.sources(lines)?;
        // These variables name header directories.
        for name in toolchain.host.builder().os.compiler_variables() {
            lines.push(Directive::RerunIfEnvChanged(name.to_string()));
        }
        let (plan, targets) = self.plan(product, &sources, lines)?;
        let units = match product {
            Product::Object if self.unity > 1 => self.units(&sources)?,
            _ => sources,
        };
        let jobs = self.jobs(product, dir, &units, &targets)?;
        let mut outputs: Vec<_> = jobs.iter().map(|job| job.output.clone()).collect();
        let mut setup = Setup::new(plan, toolchain);
        watch(&setup.programs, lines);
        let mut how = String::new();
        for job in &jobs {
            let made = job.artifact(&setup);
            match product {
                Product::Object => how = how + &made.how + "\n",
                _ => self.register(&made.output, &made.how)?,
            }
        }
        if product == Product::Object {
            let archive = self.output_dir()?.join(format!("lib{dir}.a"));
            self.register(&archive, &how)?;
        }
        let mut fresh = fresh_inputs(&jobs, &setup);
        if fresh.iter().any(Option::is_none) {
            let out_dir = self.output_dir()?;
            for finding in host_compiler_check::host_compiler(&mut setup.plan, toolchain, &out_dir)?
            {
                warn(&finding.to_string(), lines);
            }
            // The check may have replaced the host compiler, which is part of the stamps.
            setup = Setup::new(setup.plan, toolchain);
            watch(&setup.programs, lines);
            fresh = fresh_inputs(&jobs, &setup);
        }
        let made = run_outdated(&jobs, &fresh, &setup, lines);
        let files = StatCache::default();
        let mut read = Vec::new();
        for inputs in fresh {
            read.append(&mut inputs.unwrap_or_default());
        }
        let (mut failed, mut shown) = (Vec::new(), BTreeSet::new());
        for output in made {
            match output {
                Ok(output) => {
                    let (information, printed) = warnings::split(&output.warnings);
                    for line in information.lines() {
                        lines.push(Directive::Text(line.to_string()));
                    }
                    warn_once(&printed, &mut shown, lines);
                    for path in &output.files {
                        if let Some(file) = files.file(path) {
                            read.push(file);
                        }
                    }
                }
                Err(finding) => failed.push(finding),
            }
        }
        // Most headers are included by many sources.
        let mut paths = Vec::new();
        for file in &read {
            if !file.is_reported.replace(true) && file.is_regular {
                paths.push(file.path.clone());
            }
        }
        watch(&paths, lines);
        if !failed.is_empty() {
            return Err(Error::new(failed));
        }
        if product == Product::Object && self.is_relocatable() {
            outputs.push(device_link::link(&setup, &targets, &outputs)?);
        }
        toolchain.compiled(&targets)?;
        Ok(outputs)
    }

    /// Registers an output with everything that determines it, so that no call of the build script overwrites the file of
    /// another one.
    fn register(&self, output: &Path, how: &str) -> Result<(), Finding> {
        let mut written = self.toolchain.written.borrow_mut();
        for (known, other) in &*written {
            if known == output && other != how {
                return Err(InvalidRequest::OutputTwice(output).finding());
            }
        }
        written.push((output.to_path_buf(), how.to_string()));
        Ok(())
    }

    fn output_dir(&self) -> Result<PathBuf, Finding> {
        match self.toolchain.host.env.os_var("OUT_DIR") {
            Some(path) => Ok(PathBuf::from(path)),
            None => Err(InvalidRequest::NoOutDir.finding()),
        }
    }
}

fn fresh_inputs(jobs: &[Job], setup: &Setup) -> Vec<Fresh> {
    let files = StatCache::default();
    let mut fresh = Vec::new();
    for job in jobs {
        fresh.push(job.fresh(setup, &files));
    }
    fresh
}

/// Runs the outdated jobs. Returns their results in the order of the jobs.
fn run_outdated(
    jobs: &[Job],
    fresh: &[Fresh],
    setup: &Setup,
    lines: &mut Vec<Directive>,
) -> Vec<Result<JobOutput, Finding>> {
    let stale = outdated(jobs, fresh);
    // Without outdated jobs, no file is read for the memory.
    if stale.is_empty() {
        return Vec::new();
    }
    let available = memory::available();
    let each = memory_limit::per_thread(&setup.plan.search_path());
    let env = &setup.plan.host.env;
    let threads = memory_limit::threads(job_pool::cpus(), available, each, env);
    let running = AtomicUsize::new(0);
    let mut made = job_pool::in_parallel(
        &stale,
        threads,
        |place| breadth(&setup.plan, jobs[*place].targets.len()),
        |place, threads| {
            running.fetch_add(1, Ordering::SeqCst);
            let mut output = jobs[*place].make(setup, threads);
            let jobs = running.fetch_sub(1, Ordering::SeqCst);
            if let Ok(Err(death)) = &mut output {
                (death.jobs, death.available) = (jobs, available);
            }
            output
        },
    );
    let mut results = Vec::new();
    for (place, job) in jobs.iter().enumerate() {
        if let Some(at) = made.iter().position(|(at, _)| stale[*at] == place) {
            let again = |first| job.retry(&first, setup);
            let (_, output) = made.swap_remove(at);
            results.push(output.and_then(|made| made.or_else(again)));
        }
    }
    if let Some(cache) = &setup.cache {
        cache.trim();
    }
    list_durations(&results, lines);
    results
}

/// Returns the outdated jobs, sorted by the durations of earlier builds, so that the other CPUs do not wait for the
/// slowest file at the end. Jobs of unknown duration come first, because they may be the longest.
fn outdated(jobs: &[Job], fresh: &[Fresh]) -> Vec<usize> {
    let (mut places, mut durations) = (Vec::new(), Vec::new());
    for (place, inputs) in fresh.iter().enumerate() {
        if inputs.is_none() {
            let duration = build_stamp::duration(&jobs[place].stamp).unwrap_or(u64::MAX);
            let at = durations.partition_point(|other| *other >= duration);
            durations.insert(at, duration);
            places.insert(at, place);
        }
    }
    places
}

/// Adds a line for each command that ran, the slowest first, which `cargo build -vv` shows.
fn list_durations(results: &[Result<JobOutput, Finding>], lines: &mut Vec<Directive>) {
    let mut slowest: Vec<&JobOutput> = Vec::new();
    for output in results.iter().flatten() {
        let at = slowest.partition_point(|other| other.time >= output.time);
        slowest.insert(at, output);
    }
    for output in &slowest {
        let (seconds, size) = (output.time.as_secs_f64(), output.size / 1024);
        let command = &output.command;
        lines.push(Directive::Text(format!(
            "cudnn-guard: {seconds:.1} s, {size} KiB: {command}"
        )));
    }
}

/// Adds the paragraphs of nvcc's output that are not in `shown` yet. nvcc repeats a warning about a header for every
/// source that includes it, for the host code and for each target.
fn warn_once(text: &str, shown: &mut BTreeSet<OsString>, lines: &mut Vec<Directive>) {
    for paragraph in text.split("\n\n") {
        let paragraph = paragraph.trim_end();
        if shown.insert(paragraph.into()) {
            warn(paragraph, lines);
        }
    }
}

/// Adds the non-blank lines of a text as warnings of cargo.
fn warn(text: &str, lines: &mut Vec<Directive>) {
    for line in text.lines() {
        if !line.trim().is_empty() {
            lines.push(Directive::Warning(line.to_string()));
        }
    }
}
