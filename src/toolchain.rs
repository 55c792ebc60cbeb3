//! What this machine has, checked.

use crate::config::{Config, Link};
use crate::error::Error;
use crate::host::Host;
use crate::host::look::{Sight, look};
use crate::host::{cargo, files};
use crate::model::candidate::{Candidate, Cudnn, Found, Toolkit};
use crate::model::env::{Kind as Meaning, Variable};
use crate::model::finding::{Finding, Severity};
use crate::model::id;
use crate::model::version::Version;
use crate::rules::check::Situation;
use crate::rules::choose::{Wants, choose, kind_of};
use crate::rules::directive::Directive;
use crate::rules::requirement::Requirement;
use crate::rules::search::{Kind, steps};
use crate::rules::select::Selection;
use std::cell::OnceCell;
use std::path::PathBuf;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod real;

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
}

impl Config {
    /// Finds CUDA and cuDNN, reads what they are and checks them. Tells cargo what the answer rests on, even if the
    /// answer is an error; everything that stops the build is in that one error.
    pub fn probe(&self) -> Result<Toolchain, Error> {
        let host = Host::capture(self);
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
            finding
                .to_string()
                .lines()
                .for_each(|line| cargo::tell(&Directive::Warning(line.to_string())));
        }
        toolchain.settled()
    }

    /// Looks at the machine as `probe` does, for CUDA and cuDNN both; prints nothing and never fails. What is wrong
    /// is among the findings.
    pub fn survey(&self) -> Toolchain {
        Toolchain::find(
            self.clone(),
            Host::capture(self),
            Needs {
                toolkit: true,
                cudnn: true,
            },
        )
    }

    /// What the build cannot do without. A program that opens cuDNN while it runs needs nothing to be built.
    fn needs(&self) -> Needs {
        let builds_with = self.link != Link::Runtime;
        Needs {
            toolkit: self.cuda.is_some() && builds_with,
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
        each_once(cudnn.chain(cuda))
    }

    /// Directories with the libraries of cuDNN and CUDA, without stubs.
    pub fn link_dirs(&self) -> Vec<PathBuf> {
        let cudnn = self.cudnn.iter().filter_map(|cudnn| cudnn.link_dir.clone());
        let cuda = self
            .toolkit
            .iter()
            .flat_map(|toolkit| toolkit.link_dirs.clone());
        each_once(cudnn.chain(cuda))
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
        if !needs.cudnn {
            // A crate that only compiles kernels is not asked about cuDNN.
            steps.retain(|step| step.kind != Kind::Cudnn);
        }
        let sight = look(&steps, &host);
        let mut candidates = sight.candidates.clone();
        let wants = Wants {
            cuda: cuda.as_ref(),
            cudnn: cudnn.as_ref(),
            toolkit_needed: needs.toolkit,
        };
        let choice = choose(&mut candidates, &wants);
        let situation = Situation {
            env: &host.env,
            platform: &host.platform,
            steps: &steps,
            candidates: &candidates,
            choice,
            cuda: cuda.as_ref(),
            cudnn: cudnn.as_ref(),
        };
        let allowed = |id: &str| is_allowed(&config, &host, id);
        let (toolkit_wishes, toolkit_fault) = verdict(&situation, &sight, Kind::Toolkit, &allowed);
        let (cudnn_wishes, cudnn_fault) = verdict(&situation, &sight, Kind::Cudnn, &allowed);
        for (needed, wishes, fault) in [
            (needs.toolkit, toolkit_wishes, &toolkit_fault),
            (needs.cudnn, cudnn_wishes, &cudnn_fault),
        ] {
            for finding in wishes.into_iter().chain(fault.clone()).filter(|_| needed) {
                if !findings.contains(&finding) {
                    findings.push(finding);
                }
            }
        }
        findings.extend(situation.flavour().filter(|_| needs.toolkit && needs.cudnn));
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
        Self {
            toolkit,
            cudnn,
            candidates,
            findings,
            read: sight.read,
            absent: None,
            toolkit_fault,
            selection: OnceCell::new(),
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

    /// What makes cargo run the build script again. Only files that are there: cargo takes a missing one for changed,
    /// every time.
    fn reruns(&self) -> Vec<Directive> {
        let mut names: Vec<&str> = Vec::new();
        for &variable in Variable::ALL {
            let asked = matches!(variable.kind(), Meaning::Wish | Meaning::Setting);
            let by_path = variable == Variable::Path
                && self
                    .candidates
                    .iter()
                    .any(|one| one.chosen && one.via == "nvcc on PATH");
            if asked || by_path || matches!(variable, Variable::VirtualEnv | Variable::CondaPrefix)
            {
                names.push(variable.name());
            }
        }
        let env = names
            .into_iter()
            .map(|name| Directive::RerunIfEnvChanged(name.to_string()));
        env.chain(self.read.iter().cloned().map(Directive::RerunIfChanged))
            .collect()
    }

    /// Everything that was found, as an error: cargo hides what a successful build script says.
    fn shown(&self) -> Error {
        Finding::error(
            "config-invalid",
            "`CUDNN_GUARD_PRINT` is set, so this build stops to show what was found",
        )
        .with("found", self.listing().trim_end())
        .help("unset CUDNN_GUARD_PRINT to build")
        .into()
    }

    /// What was chosen, what was passed over and why, what was noticed.
    pub(crate) fn listing(&self) -> String {
        let mut out = String::new();
        for candidate in &self.candidates {
            let mark = if candidate.chosen { "+" } else { "-" };
            let what = match &candidate.found {
                Found::Toolkit(toolkit) => describe_toolkit(toolkit),
                Found::Cudnn(cudnn) => describe_cudnn(cudnn),
            };
            let reason = candidate
                .rejected
                .as_deref()
                .map_or_else(String::new, |reason| format!("\n    because  {reason}"));
            out.push_str(&format!("{mark} {}: {what}{reason}\n", candidate.via));
        }
        let absent = self.absent.iter().flat_map(Error::findings);
        for finding in self.findings.iter().chain(absent) {
            out.push_str(&format!("{}: {finding}\n", finding.severity));
        }
        out
    }
}

/// What is wrong with one kind: unusable variables that another wish makes harmless are warnings; else the first of
/// them is the fault, and what the search says after it counts no more.
fn verdict(
    situation: &Situation,
    sight: &Sight,
    kind: Kind,
    allowed: &dyn Fn(&str) -> bool,
) -> (Vec<Finding>, Option<Finding>) {
    let mut noticed = situation.disagreements(kind);
    let place = |variable| {
        situation
            .steps
            .iter()
            .position(|step| step.wish == Some(variable))
    };
    let wished = |candidate: &&Candidate| kind_of(candidate) == kind && candidate.wish.is_some();
    let first = situation.candidates.iter().find(wished);
    let mut fault = None;
    for unusable in &sight.unusable {
        let asks = |step: &&crate::rules::search::Step| {
            step.wish == Some(unusable.variable) && step.kind == kind
        };
        if !situation.steps.iter().any(|step| asks(&step)) {
            continue;
        }
        let before = first.filter(|first| first.wish.and_then(place) < place(unusable.variable));
        match before {
            Some(first) => noticed.push(situation.idle(unusable.variable, first)),
            None => {
                let finding = situation.unusable(
                    unusable.variable,
                    unusable.exists,
                    unusable.reason.as_ref(),
                );
                noticed.extend(fault.replace(finding));
            }
        }
    }
    match fault {
        Some(finding) if allowed(finding.id) => {
            noticed.push(finding);
            (noticed, situation.fault(kind))
        }
        Some(finding) => (noticed, Some(finding)),
        None => (noticed, situation.fault(kind)),
    }
}

/// What the build script says that cannot be.
fn config_faults(config: &Config, host: &Host) -> Vec<Finding> {
    let mut findings = Vec::new();
    for id in config
        .allow
        .iter()
        .filter(|id| !id::ALL.contains(&id.as_str()))
    {
        findings.push(
            Finding::error(
                "config-invalid",
                format!("`.allow({id:?})` names no finding"),
            )
            .help("copy the id from the brackets behind the headline that is to pass"),
        );
    }
    if let Some(root) = host.root.as_deref().filter(|root| !files::is_dir(root)) {
        findings.push(
            Finding::error(
                "config-invalid",
                format!("the root `{}` is not a directory", root.display()),
            )
            .help("name a directory that holds usr/ of the system to look at"),
        );
    }
    findings
}

fn is_allowed(config: &Config, host: &Host, id: &str) -> bool {
    let listed = host
        .env
        .text(Variable::GuardAllow.name())
        .unwrap_or_default();
    let mut named = listed
        .split([',', ' '])
        .chain(config.allow.iter().map(String::as_str));
    id != "config-invalid" && named.any(|name| name == id)
}

fn describe_toolkit(toolkit: &Toolkit) -> String {
    let version = toolkit
        .version
        .map_or_else(|| "of unknown release".into(), Version::short);
    let nvcc = toolkit
        .nvcc
        .as_ref()
        .map_or_else(|| "no nvcc".into(), |nvcc| nvcc.display().to_string());
    format!(
        "CUDA {version} at {}\n    nvcc     {nvcc}\n    include  {}\n    lib      {}",
        toolkit.root.display(),
        listed(&toolkit.include_dirs),
        listed(&toolkit.link_dirs),
    )
}

fn describe_cudnn(cudnn: &Cudnn) -> String {
    use crate::model::candidate::LinkName;
    let version = cudnn.version().map_or_else(
        || "of unknown release".into(),
        |version| version.to_string(),
    );
    let flavour = cudnn
        .cuda_major
        .map_or_else(String::new, |major| format!(" for CUDA {major}"));
    let link = match &cudnn.link_name {
        Some(LinkName::Short(name)) => name.clone(),
        Some(LinkName::Verbatim(name)) => format!("{name}, by its whole name"),
        None => "nothing".into(),
    };
    let header = cudnn
        .header
        .as_ref()
        .map_or_else(|| "none".into(), |header| header.display().to_string());
    let mut out = format!(
        "cuDNN {version}{flavour} at {}\n    header   {header}\n    link     {link}",
        cudnn.root.display()
    );
    for part in &cudnn.parts {
        let version = part
            .version
            .map_or_else(|| "unknown".into(), |version| version.to_string());
        let told = part
            .told_by
            .as_ref()
            .map_or_else(String::new, |told| format!(" by {told}"));
        out.push_str(&format!(
            "\n    part     {} {version}{told} {}",
            part.name,
            part.path.display()
        ));
    }
    out
}

fn listed(paths: &[PathBuf]) -> String {
    let texts: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if texts.is_empty() {
        "none".into()
    } else {
        texts.join(", ")
    }
}

fn each_once(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = Vec::new();
    for path in paths {
        if !seen.contains(&path) {
            seen.push(path);
        }
    }
    seen
}
