//! The CUDA and cuDNN of this machine, as found by `Config::probe`.

pub mod environment_checks;
pub mod findings;
pub mod lazy_link;
#[cfg(test)]
mod listing;
pub mod probe;
pub mod rerun;
pub mod static_link;
pub mod targets;

pub use lazy_link::{LazyLibraries, LazyLibrary, LazyLinkFault};
pub use probe::{Needs, chosen_pair};
pub use static_link::{ArchiveSource, Archives, StaticLinkFault};
/// Tests of the complete search: cases, orders, and real files if available.
#[cfg(test)]
pub mod tests {
    mod cases;
    #[cfg(feature = "cli")]
    mod cross;
    mod orders;
    mod queries;
    #[cfg(unix)]
    pub mod real;
    #[cfg(unix)]
    pub mod real_device_code;
    #[cfg(unix)]
    pub mod real_mixed;
    #[cfg(unix)]
    pub mod real_windows;
}

use crate::choice::requirement::Requirements;
use crate::config::{Config, Link};
#[cfg(feature = "cli")]
use crate::cudnn::device_code;
use crate::error::Error;
#[cfg(feature = "cli")]
use crate::model::Found;
use crate::model::{Candidate, Cudnn, Rejection, Toolkit, Variable};
#[cfg(feature = "cli")]
use crate::runtime::facts::FindingId;
use crate::runtime::facts::{Allowed, Built, Target};
use crate::runtime::system::PathCache;
use crate::system::{Directive, Host, cargo, files, out_dir};
use crate::targets::select::Selection;
use crate::toolchain::findings::{ConfigFault, config_faults};
use crate::{Finding, Severity, Version};
use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};

/// The chosen CUDA and cuDNN, the other candidates, and the findings about them.
#[derive(Debug)]
#[must_use = "nothing is linked, compiled or written until its methods are called"]
pub struct Toolchain {
    pub(crate) config: Config,
    pub(crate) host: Host,
    pub(crate) needs: Needs,
    pub(crate) requirements: Requirements,
    /// The findings that the user or the build script allows.
    pub(crate) allowed: Allowed,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) findings: Vec<Finding>,
    /// Existing regular files that the result depends on.
    pub(crate) read: Vec<PathBuf>,
    /// The reason why there is no CUDA, if the build continues without it.
    pub(crate) absent: Option<Error>,
    /// The reason why there is no toolkit, for calls that need one later.
    pub(crate) toolkit_fault: Option<Finding>,
    /// The GPU targets, once they were requested.
    pub(crate) selection: OnceCell<Result<Selection, Error>>,
    /// The toolchain of the build system, once its nvcc was needed.
    pub(crate) build_system: OnceCell<Box<Self>>,
    /// The archives for static linking.
    pub(crate) archives: Archives,
    /// The archives for `Link::Lazy`.
    pub(crate) lazy: LazyLibraries,
    /// The output files of kernels.
    pub(crate) written: RefCell<Vec<(PathBuf, String)>>,
    pub(crate) guard: RefCell<GuardState>,
}

/// The build script's actions that its guard reports.
#[derive(Debug, Default)]
pub(crate) struct GuardState {
    /// The targets of all compiled kernels, sorted and without duplicates.
    pub targets: Vec<Target>,
    pub written: Option<Built>,
}

impl Config {
    /// Finds and checks CUDA and cuDNN. Tells cargo which files and variables the result depends on, even after an
    /// error.
    ///
    /// # Errors
    /// All errors that stop the build, together: missing or incompatible installations, and invalid settings in the
    /// build script or in variables.
    pub fn probe(&self) -> Result<Toolchain, Error> {
        let host = self.host();
        out_dir::remove_stale_guard(&host.env);
        let toolchain = Toolchain::find(self.clone(), host, self.needs());
        for directive in toolchain.reruns() {
            cargo::emit(&directive);
        }
        if toolchain.host.env.get(Variable::GuardPrint).is_some() {
            return Err(toolchain.report_as_error());
        }
        for finding in &toolchain.findings {
            if finding.severity == Severity::Warning {
                cargo::warn(finding);
            }
        }
        let toolchain = toolchain.settle()?;
        toolchain.built_without_cuda().iter().for_each(cargo::emit);
        Ok(toolchain)
    }

    /// Searches CUDA and cuDNN like [`probe`](Self::probe), but prints nothing and never fails. Errors are among the
    /// findings.
    #[cfg(feature = "cli")]
    pub fn survey(&self) -> Toolchain {
        self.survey_on(self.host())
    }

    /// Like [`survey`](Self::survey), but with an environment that was read before.
    #[cfg(feature = "cli")]
    pub(crate) fn survey_on(&self, host: Host) -> Toolchain {
        let is_built_without = self.link == Link::Runtime;
        let needs = Needs {
            toolkit: !is_built_without,
            // Without requirements, both are searched.
            cudnn: self.cudnn.is_some() || self.cuda.is_none(),
        };
        let config = Config {
            is_survey: true,
            ..self.clone()
        };
        let mut toolchain = Toolchain::find(config, host, needs);
        let is_needed =
            |one: &Finding| !is_built_without || one.id != FindingId::CudnnHeadersMissing;
        toolchain.findings.retain(is_needed);
        // A build uses the tables instead, because reading so many headers from a hard disk takes seconds.
        let os = toolchain.host.platform.os;
        for candidate in &mut toolchain.candidates {
            if let (true, Found::Cudnn(cudnn)) = (candidate.is_chosen(), &mut candidate.found) {
                cudnn.gpu_codes = device_code::read(cudnn, os);
            }
        }
        toolchain
    }

    /// Returns the machine, with the settings of this configuration.
    pub(crate) fn host(&self) -> Host {
        Host::capture(self.target.as_deref(), self.root.clone(), &self.env)
    }

    /// Returns what the build requires. A program that opens cuDNN at run time needs no installation to be built.
    fn needs(&self) -> Needs {
        let builds_with = self.link != Link::Runtime;
        Needs {
            // The archives of a static program are in a toolkit.
            toolkit: self.cuda.is_some() && builds_with || self.link == Link::Static,
            cudnn: self.cudnn.is_some() && builds_with,
        }
    }
}

impl Toolchain {
    /// Returns the version of the toolkit.
    pub fn cuda_version(&self) -> Option<Version> {
        self.toolkit()?.version
    }

    /// Returns the root directory of the toolkit, which other tools call `CUDA_HOME`.
    pub fn cuda_root(&self) -> Option<&Path> {
        Some(&self.toolkit()?.root)
    }

    /// Returns the path of the nvcc that compiles for the target: the toolkit's if it runs on the build system, or else
    /// that of a toolkit for the build system.
    pub fn nvcc(&self) -> Option<&Path> {
        let own = self.toolkit()?.nvcc.as_deref();
        own.or_else(|| self.build_system()?.nvcc())
    }

    /// Returns the version of cuDNN from its headers, or else from its libraries.
    pub fn cudnn_version(&self) -> Option<Version> {
        self.cudnn()?.version()
    }

    /// Returns the header directories of cuDNN, CUDA, and the C++ libraries of CUDA 13 (`cccl`).
    pub fn include_dirs(&self) -> Vec<PathBuf> {
        let mut dirs = Vec::new();
        dirs.extend(self.cudnn().and_then(|one| one.include_dir.clone()));
        dirs.append(&mut self.cuda_include_dirs());
        files::dedup(dirs.into_iter())
    }

    pub(crate) fn cuda_include_dirs(&self) -> Vec<PathBuf> {
        let mut dirs = self
            .toolkit()
            .map_or(Vec::new(), |one| one.include_dirs.clone());
        let mut cccl = files::join_each(&dirs, "cccl");
        files::keep(&mut cccl, &files::is_dir);
        dirs.extend(cccl);
        dirs
    }

    /// Returns the library directories of cuDNN and CUDA, without stubs.
    pub fn link_dirs(&self) -> Vec<PathBuf> {
        let mut dirs = Vec::new();
        dirs.extend(self.cudnn().and_then(|one| one.link_dir.clone()));
        dirs.extend_from_slice(self.toolkit().map_or(&[], |one| &one.link_dirs));
        files::dedup(dirs.into_iter())
    }

    /// Returns the findings of the search.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Returns the chosen toolkit. A build that continues without CUDA has none, even if one was found.
    pub(crate) fn toolkit(&self) -> Option<&Toolkit> {
        let (toolkit, _) = chosen_pair(&self.candidates);
        toolkit.filter(|_| self.absent.is_none())
    }

    /// Returns the chosen cuDNN, like [`toolkit`](Self::toolkit).
    pub(crate) fn cudnn(&self) -> Option<&Cudnn> {
        let (_, cudnn) = chosen_pair(&self.candidates);
        cudnn.filter(|_| self.absent.is_none())
    }

    /// Returns the toolkit, or the reason why there is none.
    pub(crate) fn require_toolkit(&self) -> Result<&Toolkit, Error> {
        match (self.toolkit(), &self.absent, &self.toolkit_fault) {
            (Some(toolkit), _, _) => Ok(toolkit),
            (None, Some(error), _) => Err(error.clone()),
            (None, None, Some(fault)) => Err(fault.clone().into()),
            (None, None, None) => Err(ConfigFault::NoToolkit.finding().into()),
        }
    }

    /// Searches, chooses and checks. Prints nothing.
    fn find(config: Config, host: Host, needs: Needs) -> Self {
        let _cache = PathCache::start();
        let (requirements, invalid) =
            Requirements::parse(config.cuda.as_deref(), config.cudnn.as_deref());
        let mut findings = config_faults(&config, &host);
        findings.extend(invalid);
        let mut toolchain = Self {
            allowed: config.allowed(&host.env),
            candidates: Vec::new(),
            findings,
            read: Vec::new(),
            absent: None,
            toolkit_fault: None,
            selection: OnceCell::new(),
            build_system: OnceCell::new(),
            archives: Archives::default(),
            lazy: LazyLibraries::default(),
            written: RefCell::default(),
            guard: RefCell::default(),
            requirements,
            config,
            host,
            needs,
        };
        toolchain.search();
        toolchain
    }

    /// Returns the build system's toolchain, if the target is a different system and its toolkit has no nvcc to run.
    pub(crate) fn build_system(&self) -> Option<&Self> {
        let platform = self.host.builder();
        if self.toolkit()?.nvcc.is_some() || platform == self.host.platform {
            return None;
        }
        let find = || {
            let config = Config {
                target: Some(platform.triple.clone()),
                root: None,
                cudnn: None,
                link: Link::Dynamic,
                ..self.config.clone()
            };
            let host = Host {
                env: self.host.env.clone().for_target(&platform.triple),
                platform,
                root: None,
                answers: self.host.answers.clone(),
            };
            let needs = Needs {
                toolkit: true,
                cudnn: false,
            };
            Box::new(Self::find(config, host, needs))
        };
        Some(self.build_system.get_or_init(find))
    }

    /// Decides whether the build continues: with CUDA, without it, or not at all.
    fn settle(mut self) -> Result<Self, Error> {
        let mut errors = Vec::new();
        for finding in std::mem::take(&mut self.findings) {
            match finding.severity {
                Severity::Error => errors.push(finding),
                _ => self.findings.push(finding),
            }
        }
        if errors.is_empty() {
            return Ok(self);
        }
        let is_foreign = |one: &Candidate| {
            one.request.is_some() && matches!(one.rejected, Some(Rejection::OtherCpu(_)))
        };
        let mut error = Error::new(errors);
        error.is_wrong_cpu_requested = self.candidates.iter().any(is_foreign);
        let docs_rs = self.host.env.get(Variable::DocsRs).is_some();
        if !error.is_not_found() || !(self.config.optional || docs_rs) {
            return Err(error);
        }
        // If only a part of an optional CUDA is found, none of it is used.
        self.absent = Some(error);
        self.lazy.libraries.clear();
        Ok(self)
    }

    /// Returns the warning that the build continues without CUDA. On docs.rs this is expected, so there is none.
    fn built_without_cuda(&self) -> Option<Directive> {
        let reason = &self.absent.as_ref()?.findings().first()?.summary;
        let is_unexpected = self.config.optional && self.host.env.get(Variable::DocsRs).is_none();
        is_unexpected.then(|| {
            Directive::Warning(format!(
                "built without CUDA: {reason}; CUDA is not linked, no kernel is compiled, and the guard reports this  \
                 [built-without-cuda]"
            ))
        })
    }

    /// Returns the report as an error, since cargo hides the output of a successful build script.
    fn report_as_error(&self) -> Error {
        let report = self.report().to_string();
        let mut lines = Vec::new();
        for line in report.lines() {
            let line = line.strip_prefix("  ").unwrap_or(line);
            if !line.is_empty() {
                lines.push(line);
            }
        }
        ConfigFault::Shown(&lines).finding().into()
    }
}
