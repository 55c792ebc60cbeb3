//! What this machine has, checked.

#[cfg(test)]
mod cases;
pub mod environment_checks;
pub mod findings;
#[cfg(test)]
mod listing;
#[cfg(test)]
mod orders;
pub mod output_registry;
#[cfg(all(test, unix))]
pub mod real;
#[cfg(all(test, unix))]
pub mod real_device_code;
#[cfg(all(test, unix))]
pub mod real_mixed;
#[cfg(all(test, unix))]
pub mod real_windows;
pub mod rerun;
pub mod static_link;
pub mod targets;

use crate::choice::findings::Situation;
use crate::choice::requirement::Requirement;
use crate::choice::scan::look;
use crate::choice::select_pair::{Wants, choose, kind_of};
use crate::compat::rules;
use crate::config::{Config, Link};
use crate::cudnn::device_code;
use crate::error::Error;
use crate::model::candidate::{Candidate, Cudnn, Found, Toolkit};
use crate::model::environment::Variable;
use crate::model::finding::{Finding, Severity};
use crate::model::version::Version;
use crate::search::search_step::Kind;
use crate::search::steps;
use crate::system::{Host, cargo, files};
use crate::targets::select::Selection;
pub(crate) use crate::toolchain::findings::is_allowed;
use crate::toolchain::findings::{config_faults, join, too_narrow, verdict};
pub(crate) use crate::toolchain::output_registry::Written;
use std::cell::OnceCell;
use std::path::PathBuf;

/// The CUDA and cuDNN that were chosen, all that was passed over, and what is thought of them.
#[derive(Debug)]
pub struct Toolchain {
    pub(crate) config: Config,
    pub(crate) host: Host,
    pub(crate) toolkit: Option<Toolkit>,
    pub(crate) cudnn: Option<Cudnn>,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) findings: Vec<Finding>,
    /// Existing regular files that the answer rests on.
    pub(crate) read: Vec<PathBuf>,
    /// Why there is no CUDA, where the build goes on without.
    pub(crate) absent: Option<Error>,
    /// Why there is no toolkit, for whoever needs one later.
    pub(crate) toolkit_fault: Option<Finding>,
    /// The GPU targets, once somebody asked for them.
    pub(crate) selection: OnceCell<Result<Selection, Error>>,
    /// What kernels were compiled to.
    pub(crate) written: Written,
}

impl Config {
    /// Finds CUDA and cuDNN, reads what they are and checks them. Tells cargo what the answer rests on, even if the
    /// answer is an error; everything that stops the build is in that one error.
    pub fn probe(&self) -> Result<Toolchain, Error> {
        let host = self.host();
        let toolchain = Toolchain::find(self.clone(), host, self.needs());
        for directive in toolchain.reruns() {
            cargo::tell(&directive);
        }
        if toolchain.host.env.get(Variable::GuardPrint).is_some() {
            return Err(toolchain.shown());
        }
        for finding in toolchain
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Warning)
        {
            cargo::warn(finding);
        }
        toolchain.settled()
    }

    /// Looks at the machine as `probe` does, for CUDA and cuDNN both; prints nothing and never fails. What is wrong
    /// is among the findings.
    pub fn survey(&self) -> Toolchain {
        let mut toolchain = Toolchain::find(
            self.clone(),
            self.host(),
            Needs {
                toolkit: true,
                cudnn: true,
            },
        );
        // A build has the tables: on a disk that has to turn, so many headers take seconds.
        let os = toolchain.host.platform.os;
        if let Some(cudnn) = &mut toolchain.cudnn {
            cudnn.gpu_codes = device_code::of(cudnn, os);
        }
        toolchain
    }

    /// The machine, as this build script has it.
    pub(crate) fn host(&self) -> Host {
        Host::capture(self.target.as_deref(), self.root.clone(), &self.env)
    }

    /// Whether the program is told where its libraries are.
    fn links_by_rpath(&self) -> bool {
        self.link == Link::Dynamic && self.rpath
    }

    /// What the build cannot do without. A program that opens cuDNN while it runs needs nothing to be built.
    fn needs(&self) -> Needs {
        let builds_with = self.link != Link::Runtime;
        Needs {
            // What a program carries in itself comes out of a toolkit.
            toolkit: self.cuda.is_some() && builds_with || self.link == Link::Static,
            cudnn: self.cudnn.is_some() && builds_with,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Needs {
    toolkit: bool,
    cudnn: bool,
}

impl Toolchain {
    /// The toolkit's release.
    pub fn cuda_version(&self) -> Option<Version> {
        self.toolkit.as_ref()?.version
    }

    /// cuDNN's release: what its headers say, else what its libraries say.
    pub fn cudnn_version(&self) -> Option<Version> {
        self.cudnn.as_ref()?.version()
    }

    /// Directories with the headers of cuDNN and CUDA.
    pub fn include_dirs(&self) -> Vec<PathBuf> {
        let cudnn = self
            .cudnn
            .iter()
            .filter_map(|cudnn| cudnn.include_dir.clone());
        let cuda = self
            .toolkit
            .iter()
            .flat_map(|toolkit| toolkit.include_dirs.clone());
        files::each_once(cudnn.chain(cuda))
    }

    /// Directories with the libraries of cuDNN and CUDA, without stubs.
    pub fn link_dirs(&self) -> Vec<PathBuf> {
        let cudnn = self.cudnn.iter().filter_map(|cudnn| cudnn.link_dir.clone());
        let cuda = self
            .toolkit
            .iter()
            .flat_map(|toolkit| toolkit.link_dirs.clone());
        files::each_once(cudnn.chain(cuda))
    }

    /// What was noticed.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The toolkit, or why there is none.
    pub(crate) fn need_toolkit(&self) -> Result<&Toolkit, Error> {
        match (&self.toolkit, &self.absent, &self.toolkit_fault) {
            (Some(toolkit), _, _) => Ok(toolkit),
            (None, Some(error), _) => Err(error.clone()),
            (None, None, Some(fault)) => Err(fault.clone().into()),
            (None, None, None) => {
                Err(Finding::error("cuda-not-found", "no CUDA toolkit was found").into())
            }
        }
    }

    /// Looks, chooses and checks. Prints nothing.
    fn find(config: Config, host: Host, needs: Needs) -> Self {
        let mut findings = config_faults(&config, &host);
        let mut read_requirement = |text: &Option<String>, method| {
            let parsed = text
                .as_deref()
                .map(|text| Requirement::parse(text, method))?;
            parsed.map_err(|finding| findings.push(finding)).ok()
        };
        let cuda = read_requirement(&config.cuda, "cuda");
        let cudnn = read_requirement(&config.cudnn, "cudnn");

        let mut steps = steps(&host.env, &host.platform, host.root.as_deref());
        let too_narrow = too_narrow(&host);
        if too_narrow.is_some() {
            steps.clear();
        }
        if !needs.cudnn {
            // A crate that only compiles kernels is not asked about cuDNN.
            steps.retain(|step| step.kind != Kind::Cudnn);
        }
        let sight = look(&steps, &host);
        let mut candidates = sight.candidates.clone();
        if config.link == Link::Static {
            candidates.iter_mut().for_each(to_be_taken_in);
        }
        let wants = Wants {
            cuda: cuda.as_ref(),
            cudnn: cudnn.as_ref(),
            platform: Some(&host.platform),
            toolkit_needed: needs.toolkit,
        };
        let choice = choose(&mut candidates, &wants);
        let situation = Situation {
            env: &host.env,
            platform: &host.platform,
            steps: &steps,
            candidates: &candidates,
            silent: &sight.silent,
            choice,
            cuda: cuda.as_ref(),
            cudnn: cudnn.as_ref(),
        };
        let allowed = |id: &str| is_allowed(&config, &host, id);
        let (toolkit_wishes, toolkit_fault) = verdict(&situation, &sight, Kind::Toolkit, &allowed);
        let (cudnn_wishes, cudnn_fault) = verdict(&situation, &sight, Kind::Cudnn, &allowed);
        let (toolkit_fault, cudnn_fault) = match needs.toolkit && needs.cudnn {
            true => join(toolkit_fault, cudnn_fault, &allowed),
            false => (toolkit_fault, cudnn_fault),
        };
        // Below a root that is not there nothing can be found, which is no news.
        let rooted = host.root.as_deref().is_none_or(files::is_dir) && too_narrow.is_none();
        let toolkit_fault = too_narrow.clone().or(toolkit_fault);
        findings.extend(too_narrow.filter(|_| needs.toolkit || needs.cudnn));
        for (needed, wishes, fault) in [
            (needs.toolkit && rooted, toolkit_wishes, &toolkit_fault),
            (needs.cudnn && rooted, cudnn_wishes, &cudnn_fault),
        ] {
            for finding in wishes.into_iter().chain(fault.clone()).filter(|_| needed) {
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
        }
        findings.extend(situation.flavour().filter(|_| needs.toolkit && needs.cudnn));
        let chosen = choice.cudnn.and_then(|index| candidates.get(index));
        // Nothing shared of it gets into the program, nor what else lies about when that runs.
        let opened = needs.cudnn && config.link != Link::Static;
        if let Some(Found::Cudnn(cudnn)) = chosen.map(|one| &one.found).filter(|_| opened) {
            let toolkit = choice.toolkit.and_then(|index| candidates.get(index));
            let toolkit = toolkit.and_then(|one| match &one.found {
                Found::Toolkit(toolkit) => Some(toolkit),
                Found::Cudnn(_) => None,
            });
            let built_with = toolkit.filter(|_| needs.toolkit);
            let met = crate::toolchain::environment_checks::of(
                cudnn, toolkit, built_with, &config, &host,
            );
            findings.extend(met);
        }
        findings.extend(situation.partial().filter(|_| needs.toolkit));
        for finding in &mut findings {
            if finding.severity == Severity::Error && allowed(finding.id) {
                finding.severity = Severity::Warning;
            }
        }
        let blocked = |fault: &Option<Finding>| {
            fault
                .as_ref()
                .is_some_and(|fault| fault.id == "variable-unusable" && !allowed(fault.id))
        };
        // What was asked for and is not there: to take something else instead would be the fall-through.
        for candidate in candidates.iter_mut().filter(|candidate| candidate.chosen) {
            let fault = match kind_of(candidate) {
                Kind::Toolkit => &toolkit_fault,
                Kind::Cudnn => &cudnn_fault,
            };
            if blocked(fault) {
                candidate.chosen = false;
                candidate.rejected = Some("another place was asked for".into());
            }
        }
        let (mut toolkit, mut cudnn) = (None, None);
        for candidate in candidates.iter().filter(|candidate| candidate.chosen) {
            match &candidate.found {
                Found::Toolkit(found) => toolkit = Some(found.clone()),
                Found::Cudnn(found) => cudnn = Some(found.clone()),
            }
        }
        let asked = (
            toolkit.as_ref().filter(|_| needs.toolkit),
            cudnn.as_ref().filter(|_| needs.cudnn),
        );
        findings.extend(rules::releases(asked.0, asked.1, &host.platform));
        if let Some(toolkit) = toolkit.as_ref().filter(|_| needs.toolkit) {
            findings.extend(crate::toolchain::environment_checks::unmet_needs(
                &config, &host, toolkit,
            ));
        }
        let archives = static_link::find(&config, &host, toolkit.as_ref(), cudnn.as_ref());
        findings.extend(archives.lacking.into_iter().map(|mut finding| {
            if allowed(finding.id) {
                finding.severity = Severity::Warning;
            }
            finding
        }));
        let mut read = sight.read;
        read.extend(archives.files);
        Self {
            toolkit,
            cudnn,
            candidates,
            findings,
            read,
            absent: None,
            toolkit_fault,
            selection: OnceCell::new(),
            written: Written::default(),
            config,
            host,
        }
    }

    /// Whether the build goes on with this: yes, yes without CUDA, or no.
    fn settled(mut self) -> Result<Self, Error> {
        let (errors, rest): (Vec<_>, Vec<_>) = self
            .findings
            .into_iter()
            .partition(|finding| finding.severity == Severity::Error);
        self.findings = rest;
        if errors.is_empty() {
            return Ok(self);
        }
        let error = Error::new(errors);
        let docs_rs = self.host.env.get(Variable::DocsRs).is_some();
        if !error.is_not_found() || !(self.config.optional || docs_rs) {
            return Err(error);
        }
        // Half a CUDA is as good as none to a program that can do without.
        self.toolkit = None;
        self.cudnn = None;
        self.absent = Some(error);
        Ok(self)
    }

    /// Everything that was found, as an error: cargo hides what a successful build script says.
    fn shown(&self) -> Error {
        let report = self.report().to_string();
        let lines = report
            .lines()
            .map(|line| line.strip_prefix("  ").unwrap_or(line));
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        Finding::error(
            "config-invalid",
            "`CUDNN_GUARD_PRINT` is set, so this build stops to show what was found",
        )
        .with("found", lines.join("\n"))
        .help("unset CUDNN_GUARD_PRINT to build")
        .into()
    }
}

/// A cuDNN of which there are archives alone is one all the same.
fn to_be_taken_in(candidate: &mut Candidate) {
    if let Found::Cudnn(cudnn) = &mut candidate.found {
        if cudnn.link_dir.is_none() {
            cudnn.link_dir.clone_from(&cudnn.files.archives);
        }
    }
}
