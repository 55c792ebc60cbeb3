//! Compiles `.cu` files.
//!
//! ```text
//! $OUT_DIR/
//!   libkernels.a                 what `compile("kernels")` links
//!   libkernels_cudart.a          the toolkit's libcudart_static.a under a name of its own
//!   gelu.ptx                     what `ptx()` gives
//!   cudnn-guard/
//!     answers                    what nvcc has said of itself
//!     kernels/gelu-<hash>.{o,d,stamp}
//!     ptx/gelu.{d,stamp}
//! ```

mod fit;
mod job;
mod minimum;
mod missing;
mod runtime;

use crate::error::Error;
use crate::host::host_compiler::visual_studio;
use crate::host::{cargo, driver, files, jobs};
use crate::model::arch::{Code, ComputeCapability, Suffix, Target};
use crate::model::finding::{Finding, Severity};
use crate::model::gencode::Gencode;
use crate::model::platform::Os;
use crate::rules::compile::{Plan, Product};
use crate::rules::directive::{Directive, Library};
use crate::rules::host_compiler;
use crate::rules::passing::not_to_nvcc;
use crate::toolchain::Toolchain;
use job::Job;
use std::path::{Path, PathBuf};

/// Kernels to compile, from [`Toolchain::kernels`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Kernels<'a> {
    toolchain: &'a Toolchain,
    sources: Vec<Source>,
    flags: Vec<String>,
    minimum: Option<ComputeCapability>,
}

#[derive(Clone, Debug)]
enum Source {
    File(PathBuf),
    Pattern(String),
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
            flags: Vec::new(),
            minimum: None,
        }
    }
}

impl Kernels<'_> {
    /// Adds a file. Relative paths are relative to the package, as everywhere in a build script.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.sources.push(Source::File(path.into()));
        self
    }

    /// Adds the files that match a pattern: `src/kernels/*.cu`. One that matches nothing is an error.
    pub fn files(mut self, pattern: impl Into<String>) -> Self {
        self.sources.push(Source::Pattern(pattern.into()));
        self
    }

    /// Adds a directory in which to look for headers.
    pub fn include(mut self, dir: impl AsRef<Path>) -> Self {
        self.flags.push(format!("-I{}", dir.as_ref().display()));
        self
    }

    /// Defines a macro, with a value or with `None`.
    pub fn define<'v>(mut self, name: &str, value: impl Into<Option<&'v str>>) -> Self {
        self.flags.push(match value.into() {
            Some(value) => format!("-D{name}={value}"),
            None => format!("-D{name}"),
        });
        self
    }

    /// Adds one argument for nvcc: `--use_fast_math`.
    pub fn flag(mut self, text: impl Into<String>) -> Self {
        self.flags.push(text.into());
        self
    }

    /// The lowest compute capability that these kernels are written for. Targets below it are left out, with a
    /// warning; it is an error if none is left.
    pub fn at_least(mut self, minimum: ComputeCapability) -> Self {
        self.minimum = Some(minimum);
        self
    }

    /// Compiles to the static library `lib<name>.a`, with machine code and PTX for all targets, and links it and
    /// CUDA's runtime to this crate. A toolchain that is optional and absent compiles and links nothing.
    pub fn compile(self, name: &str) -> Result<(), Error> {
        let mut lines = Vec::new();
        let result = self.library(name, &mut lines);
        lines.iter().for_each(cargo::tell);
        result
    }

    /// Compiles every file to `<stem>.ptx` in `OUT_DIR`, for the driver to compile when the program runs, and gives
    /// their paths in the order of the files. It is for the lowest of the targets, so that it runs on all of them.
    /// Of two files with the same stem each gets a number behind it.
    pub fn ptx(self) -> Result<Vec<PathBuf>, Error> {
        let mut lines = Vec::new();
        if let Some(finding) = self.newer_than_driver() {
            lines.extend(warnings(&finding.to_string()));
        }
        let result = self.make(Product::Ptx, "ptx", &mut lines);
        lines.iter().for_each(cargo::tell);
        result
    }

    /// That the driver of this machine, if the program is for it, does not take the PTX.
    fn newer_than_driver(&self) -> Option<Finding> {
        let cuda = self.toolchain.cuda_version()?;
        let host = &self.toolchain.host;
        let driver = host.is_target().then(driver::newest_cuda)??;
        crate::rules::fit::ptx(cuda, driver, &host.platform)
    }

    fn library(&self, name: &str, lines: &mut Vec<Directive>) -> Result<(), Error> {
        let sound = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || !name.chars().all(sound) {
            return Err(Finding::error(
                "config-invalid",
                format!("{name:?} cannot be the name of a library"),
            )
            .help("name it with letters, digits and `_`, as in `.compile(\"kernels\")`")
            .into());
        }
        let objects = self.make(Product::Object, name, lines)?;
        if objects.is_empty() {
            return Ok(());
        }
        let host = &self.toolchain.host;
        let link_dirs = match &self.toolchain.toolkit {
            Some(toolkit) => &toolkit.link_dirs[..],
            None => &[],
        };
        let out_dir = self.out_dir()?;
        let triple = &host.platform.triple;
        cc::Build::new()
            .cargo_metadata(false)
            .cargo_warnings(false)
            .out_dir(&out_dir)
            .target(triple)
            .host(host.env.text("HOST").unwrap_or(triple))
            .opt_level(0)
            .debug(false)
            .objects(&objects)
            .try_compile(name)
            .map_err(|error| {
                let summary = format!("cannot put the objects of `{name}` into a library");
                Finding::error("io-error", summary)
                    .with("reason", error)
                    .help("install an archiver: `ar` of binutils, or name one in the variable AR")
            })?;
        lines.push(Directive::LinkSearch(out_dir.clone()));
        // Bundled into the rlib of a library crate, linked into a program: either way the kernels stand before the
        // CUDA runtime, which the linker needs to see after them.
        lines.push(Directive::LinkLib(Library::Bundled(name.to_string())));
        lines.extend(runtime::link(link_dirs, host.platform.os, name, &out_dir)?);
        Ok(())
    }

    /// Compiles every source; the lines for cargo are complete also when this fails, since a build script may go on.
    fn make(
        &self,
        product: Product,
        folder: &str,
        lines: &mut Vec<Directive>,
    ) -> Result<Vec<PathBuf>, Error> {
        let toolchain = self.toolchain;
        if toolchain.absent.is_some() {
            return Ok(Vec::new());
        }
        let sources = self.sources(lines)?;
        let mut plan = self.plan(product, &sources, lines)?;
        let host = &toolchain.host;
        let out_dir = self.out_dir()?;
        let jobs = Job::all(host, product, folder, sources, &out_dir)?;
        if jobs.iter().any(|job| job.fresh(&plan, host).is_none()) {
            let noticed = fit::host_compiler(&mut plan, toolchain, &out_dir)?;
            lines.extend(noticed.iter().flat_map(|one| warnings(&one.to_string())));
        }
        let outputs = jobs.iter().map(|job| job.output.clone()).collect();
        let foreign = self.foreign();
        let mut failed = Vec::new();
        for made in jobs::in_parallel(jobs, |job| job.make(&plan, host)) {
            match made {
                Ok(made) => {
                    lines.extend(warnings(&made.said));
                    for path in made.files {
                        let line = Directive::RerunIfChanged(path.clone());
                        if !lines.contains(&line) && is_own(&path, &foreign) {
                            lines.push(line);
                        }
                    }
                }
                Err(finding) => failed.push(finding),
            }
        }
        if failed.is_empty() {
            Ok(outputs)
        } else {
            Err(Error::new(failed))
        }
    }

    /// The files to compile, each once, in the order in which they were added.
    fn sources(&self, lines: &mut Vec<Directive>) -> Result<Vec<PathBuf>, Finding> {
        let mut sources: Vec<PathBuf> = Vec::new();
        for source in &self.sources {
            let found = match source {
                Source::File(path) => vec![path.clone()],
                Source::Pattern(pattern) => {
                    lines.extend(self.folder_of(pattern));
                    files::glob(pattern)?
                }
            };
            if let (Source::Pattern(pattern), []) = (source, &found[..]) {
                return Err(Finding::error(
                    "config-invalid",
                    format!("`{pattern}` matches no file"),
                )
                .help("correct the pattern in build.rs: it is relative to the package"));
            }
            for path in found {
                if !sources.contains(&path) {
                    sources.push(path);
                }
            }
        }
        for path in &sources {
            if !files::is_file(path) {
                let summary = format!("`{}` is not there, which build.rs compiles", path.display());
                return Err(Finding::error("config-invalid", summary)
                    .help("correct the path in build.rs: it is relative to the package"));
            }
            lines.push(Directive::RerunIfChanged(path.clone()));
        }
        if sources.is_empty() {
            return Err(Finding::error(
                "config-invalid",
                "no kernel is named, and build.rs compiles kernels",
            )
            .help("name them: `.kernels().files(\"src/kernels/*.cu\")`"));
        }
        Ok(sources)
    }

    /// A file that is added to the folder of a pattern must be compiled too, so cargo watches that folder; not where
    /// the output is below it, which would make every build run again.
    fn folder_of(&self, pattern: &str) -> Option<Directive> {
        let fixed = &pattern[..pattern.find(['*', '?', '[']).unwrap_or(pattern.len())];
        let folder = Path::new(&fixed[..fixed.rfind(['/', '\\'])?]);
        let real = files::canonical(folder, None).ok()?;
        let out_dir = files::canonical(&self.out_dir().ok()?, None).ok()?;
        (!out_dir.starts_with(real)).then(|| Directive::RerunIfChanged(folder.to_path_buf()))
    }

    fn plan(
        &self,
        product: Product,
        sources: &[PathBuf],
        lines: &mut Vec<Directive>,
    ) -> Result<Plan, Error> {
        let toolkit = self.toolchain.need_toolkit()?;
        let Some(nvcc) = toolkit.nvcc.clone() else {
            return Err(missing::nvcc(toolkit, &self.toolchain.candidates, sources).into());
        };
        let mut selection = self.toolchain.selection()?;
        if let Some(minimum) = self.minimum {
            let noticed = minimum::apply(minimum, &mut selection);
            selection.findings.extend(noticed);
        }
        let targets = match product {
            Product::Object => selection.list().gencodes().to_vec(),
            Product::Ptx => ptx_for_all(&selection.targets)
                .into_iter()
                .map(Gencode::plain)
                .collect(),
        };
        let (stop, findings): (Vec<_>, Vec<_>) = selection
            .findings
            .into_iter()
            .partition(|finding| finding.severity == Severity::Error);
        if !stop.is_empty() {
            return Err(Error::new(stop));
        }
        let warned = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Warning);
        lines.extend(warned.flat_map(|finding| warnings(&finding.to_string())));
        let cudnn = self
            .toolchain
            .cudnn
            .iter()
            .filter_map(|cudnn| cudnn.include_dir.as_ref());
        let mut flags = self.flags.clone();
        flags.extend(cudnn.map(|dir| format!("-I{}", dir.display())));
        let mut paths = vec![nvcc.clone(), self.out_dir()?];
        paths.extend(sources.iter().cloned());
        let included = flags.iter().filter_map(|flag| flag.strip_prefix("-I"));
        paths.extend(included.map(PathBuf::from));
        paths.retain(|_| self.toolchain.host.platform.os != Os::Windows);
        if let Some((path, sign)) = paths
            .iter()
            .find_map(|path| Some((path, not_to_nvcc(path)?)))
        {
            return Err(missing::untaken(path, sign).into());
        }
        let platform = &self.toolchain.host.platform;
        let choice = host_compiler::choice(&self.toolchain.host.env, &flags);
        Ok(Plan {
            ccbin: host_compiler::ccbin(&choice, platform, visual_studio(&platform.triple)),
            nvcc,
            product,
            targets,
            flags,
        })
    }

    /// The directories of the toolkit and of the system, whose headers cargo need not watch.
    fn foreign(&self) -> Vec<PathBuf> {
        let mut dirs = ["/usr/include", "/usr/lib"].map(PathBuf::from).to_vec();
        if let Some(toolkit) = &self.toolchain.toolkit {
            // The folder of a package may be /usr/src/app.
            let root = Some(&toolkit.root).filter(|root| *root != Path::new("/usr"));
            for dir in toolkit.include_dirs.iter().chain(root) {
                dirs.extend(files::canonical(dir, None));
            }
        }
        dirs
    }

    fn out_dir(&self) -> Result<PathBuf, Finding> {
        let named = self.toolchain.host.env.named("OUT_DIR");
        named.map(PathBuf::from).ok_or_else(|| {
            Finding::error(
                "config-invalid",
                "OUT_DIR is not set, and kernels are written there",
            )
            .help("call this from a build script")
        })
    }
}

fn is_own(path: &Path, foreign: &[PathBuf]) -> bool {
    files::is_file(path)
        && files::canonical(path, None)
            .is_ok_and(|real| !foreign.iter().any(|dir| real.starts_with(dir)))
}

/// A text as cargo shows it.
fn warnings(text: &str) -> Vec<Directive> {
    let said = text.lines().filter(|line| !line.trim().is_empty());
    said.map(|line| Directive::Warning(line.to_string()))
        .collect()
}

/// PTX that every target can run: that of the lowest. A letter stays only if it is the only one, since it would tie
/// the PTX to that GPU.
fn ptx_for_all(targets: &[Target]) -> Option<Target> {
    let lowest = targets.iter().min()?;
    let alone = targets
        .iter()
        .all(|target| (target.capability, target.suffix) == (lowest.capability, lowest.suffix));
    Some(Target {
        suffix: if alone { lowest.suffix } else { Suffix::None },
        code: Code::Ptx,
        ..*lowest
    })
}

#[cfg(all(test, unix))]
mod package;
#[cfg(all(test, unix))]
mod real;
#[cfg(all(test, unix))]
mod tests;
