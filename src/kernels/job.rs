//! A file to compile.

use crate::error::Error;
use crate::kernels::nvcc::diagnostics::Failure;
use crate::kernels::nvcc::wrapper::{TEMP_FILES_BESIDE_OBJECT, is_compiler_cache};
use crate::kernels::sources::within;
use crate::kernels::{Death, Kernels, Setup, ToolFailure, depfile_source};
use crate::model::{Gencode, Invocation, joined};
use crate::runtime::facts::{Finding, Version};
use crate::system::freshness::stat_cache::File;
use crate::system::{Artifact, Output, StatCache, files, memory, out_dir, programs};
use crate::toolkit::{Product, include_dirs, nvcc_command, parse_depfile};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// A source and one of its products.
pub struct Job {
    pub source: PathBuf,
    /// The object, PTX, cubin or fatbin.
    pub output: PathBuf,
    pub targets: Vec<Gencode>,
    pub stamp: PathBuf,
}

/// The files that were read for a job's output, if it is up to date.
pub type Fresh = Option<Vec<Rc<File>>>;

pub struct JobOutput {
    /// All files that nvcc read, the source first.
    pub files: Vec<PathBuf>,
    pub warnings: String,
    pub command: String,
    pub time: Duration,
    /// The size of the object or other product, in bytes.
    pub size: u64,
}

impl Kernels<'_> {
    /// Returns one job for every source, or for cubins one for each target of a source. Each has its own path below
    /// `OUT_DIR`.
    pub(super) fn jobs(
        &self,
        product: Product,
        dir: &str,
        sources: &[PathBuf],
        targets: &[Gencode],
    ) -> Result<Vec<Job>, Error> {
        let package = self.toolchain.host.env.var("CARGO_MANIFEST_DIR");
        let out_dir = self.output_dir()?;
        // The prefix separates `libptx`, the library called `ptx`, from the directory `ptx`.
        let is_object = product == Product::Object;
        let kind = if is_object { "lib" } else { "" };
        let dir = out_dir.join("cudnn-guard").join(format!("{kind}{dir}"));
        out_dir::create_dir(&dir)?;
        let place = if is_object { &dir } else { &out_dir };
        let mut jobs = Vec::new();
        for source in sources {
            let mut name = stem(source).into_owned();
            let is_same = |other: &PathBuf| other != source && stem(other) == stem(source);
            if is_object || sources.iter().any(is_same) {
                name = format!("{name}-{:016x}", hash(package, source));
            }
            let mut outputs = Vec::new();
            match product {
                Product::Cubin => {
                    for gencode in targets {
                        outputs.push((format!("{name}.{}", gencode.target), vec![*gencode]));
                    }
                }
                _ => outputs.push((name, targets.to_vec())),
            }
            for (name, targets) in outputs {
                jobs.push(Job {
                    source: source.clone(),
                    output: place.join(format!("{name}.{}", product.extension())),
                    targets,
                    stamp: dir.join(format!("{name}.stamp")),
                });
            }
        }
        Ok(jobs)
    }
}

impl Job {
    fn command(&self, setup: &Setup, output: &Path, mut extra_args: Vec<String>) -> Invocation {
        let plan = &setup.plan;
        // The names of nvcc's temporary files end up in the objects. They contain the process id unless they are beside
        // the object. This was observed with CUDA 11.8 and later.
        let known = plan.cuda() >= Some(Version::new(11, 8, 0));
        if known && plan.product == Product::Object {
            extra_args.push(TEMP_FILES_BESIDE_OBJECT.to_string());
        }
        nvcc_command::compile(plan, &self.targets, &self.source, output, &extra_args)
    }

    /// Returns the output with everything that determines it, except for the contents of the input files. The directory
    /// of the output is left out, because it is another one in each target directory.
    pub fn artifact(&self, setup: &Setup) -> Artifact {
        let watched = joined(setup.plan.watched.iter().map(|path| path.display()), " ");
        let name = self.output.file_name().unwrap_or_default();
        let command = self.command(setup, Path::new(name), Vec::new());
        Artifact {
            output: self.output.clone(),
            stamp: self.stamp.clone(),
            how: format!("{command}\n{}\nwatched {watched}", setup.fingerprint),
        }
    }

    /// Returns the files that were read for the output, if it is up to date, or can be restored from the cache.
    pub fn fresh(&self, setup: &Setup, seen: &StatCache) -> Fresh {
        let made = self.artifact(setup);
        if let Some(files) = made.fresh(seen) {
            return Some(files);
        }
        let entry = self.entry(&made, setup, seen)?;
        let mut dirs = vec![self.source.parent()?.to_path_buf()];
        dirs.append(&mut include_dirs(&setup.plan.flags));
        made.restore(&entry, &dirs, seen)
    }

    /// Returns the file in the cache for this output. It depends on the content of the source, so that each branch of a
    /// repository has its own. Objects contain paths in the package.
    fn entry(&self, made: &Artifact, setup: &Setup, seen: &StatCache) -> Option<PathBuf> {
        let cache = setup.cache.as_ref()?;
        let source = seen.file(&self.source)?.hash()?;
        let package = setup.plan.host.env.os_var("CARGO_MANIFEST_DIR");
        Some(cache.entry(&format!("{package:?} {source} {}", made.how)))
    }

    /// Runs nvcc. The inner error means that nvcc ended without an error message.
    pub fn make(&self, setup: &Setup, threads: usize) -> Result<Result<JobOutput, Death>, Finding> {
        let stamp = self.artifact(setup);
        out_dir::remove(&stamp.stamp);
        let begun = SystemTime::now();
        // A wrapper does not call gcc if it has the result in its cache.
        let from_gcc =
            setup.wrapper.is_none() && depfile_source::is_gcc(&setup.plan, &self.depfile());
        let (command, mut output) = self.run(setup, from_gcc, threads)?;
        let mut files = self.listed();
        if output.success && from_gcc && files.first() != Some(&self.source) {
            // An nvcc that is a compiler cache may not have called gcc.
            output = self.run(setup, false, threads)?.1;
            files = self.listed();
        }
        if !output.success {
            if let Some(death) = Death::detect(&command, &output) {
                return Ok(Err(death));
            }
        }
        let printed = output.printed();
        if !output.success || !files::is_file(&self.output) {
            let failure = Failure {
                output: &printed,
                plan: &setup.plan,
                others: &setup.others,
            };
            let fault = ToolFailure::Compilation(&self.source, &command, &printed, failure.cause());
            return Err(fault.finding());
        }
        if !files.is_empty() {
            files.extend_from_slice(&setup.plan.watched);
            stamp.write(&files, begun, true);
            let entry = self.entry(&stamp, setup, &StatCache::default());
            if let Some(entry) = entry.filter(|_| setup.is_current()) {
                stamp.save(&entry);
            }
        }
        let time = SystemTime::now().duration_since(begun).unwrap_or_default();
        Ok(Ok(JobOutput {
            files,
            warnings: printed,
            command: command.to_string(),
            time,
            size: files::size(&self.output),
        }))
    }

    /// Runs nvcc again after all other jobs have finished, because such a death is usually caused by a lack of memory.
    pub fn retry(&self, first: &Death, setup: &Setup) -> Result<JobOutput, Finding> {
        let available = memory::available();
        match self.make(setup, 1)? {
            Ok(mut output) => {
                let fault = ToolFailure::Died(&self.source, first, None);
                output.warnings += &format!("\n\n{}\n", fault.finding());
                Ok(output)
            }
            Err(mut second) => {
                second.available = available;
                let nvcc = &*setup.plan.nvcc;
                let cache = (second.signal.is_none() && is_compiler_cache(nvcc)).then_some(nvcc);
                Err(ToolFailure::Died(&self.source, first, Some((&second, cache))).finding())
            }
        }
    }

    fn run(
        &self,
        setup: &Setup,
        from_gcc: bool,
        threads: usize,
    ) -> Result<(Invocation, Output), Finding> {
        // A list from an earlier build must not remain if this run writes none.
        let depfile = self.depfile();
        out_dir::remove(&depfile);
        let mut extra_args = depfile_source::args(from_gcc, &depfile);
        if threads > 1 {
            extra_args.push("--threads".to_string());
            extra_args.push(threads.to_string());
        }
        let command = self.command(setup, &self.output, extra_args);
        let wrapper = setup.wrapper.as_ref();
        let wrapped = wrapper.and_then(|wrapper| Some((wrapper, wrapper.run(&command)?)));
        let failed = match wrapped {
            Some((_, output)) if output.success && files::is_file(&self.output) => {
                return Ok((command, output));
            }
            failed => failed,
        };
        let mut output = programs::run(&command, None)?;
        if let (Some((wrapper, failed)), true) = (failed, output.success) {
            if let Some(fault) = wrapper.give_up(&self.source, &failed) {
                output.stderr += &format!("\n\n{}\n", fault.finding());
            }
        }
        Ok((command, output))
    }

    fn depfile(&self) -> PathBuf {
        self.stamp.with_extension("d")
    }

    /// Returns the files that the compilation read.
    fn listed(&self) -> Vec<PathBuf> {
        parse_depfile(&files::read(&self.depfile()).unwrap_or_default())
    }
}

/// Returns the FNV-1a hash of the path within the package, which does not depend on the package's location.
pub fn hash(package: Option<&str>, path: &Path) -> u64 {
    let text = within(package, path).to_string_lossy().replace('\\', "/");
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

fn stem(path: &Path) -> Cow<'_, str> {
    path.file_stem().unwrap_or_default().to_string_lossy()
}
