//! The steps of a probe: locate, select, check. The last one, settle, is the toolchain's.

use crate::choice::findings::CheckContext;
use crate::choice::requirement::Requirements;
use crate::choice::scan::{ScanResult, look};
use crate::choice::select_pair::{Choice, SelectionConstraints, choose};
use crate::compat::rules;
use crate::config::{Config, Link};
use crate::model::candidate::{Candidate, Cudnn, Found, Toolkit};
use crate::model::environment::Variable;
use crate::model::found_via::FoundVia;
use crate::runtime::facts::allowed::Allowed;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::search::search_step::{Kind, Place, Step};
use crate::search::{pkg_config, steps};
use crate::system::{Host, files};
use crate::toolchain::environment_checks::{self, compiler_skew};
use crate::toolchain::findings::{config_faults, is_blocked, join, verdict};
use crate::toolchain::static_link::Archives;
use crate::toolkit::{self, find_library, missing_library};

/// What a probe goes by.
#[derive(Debug)]
pub struct Probe<'a> {
    pub config: &'a Config,
    pub host: &'a Host,
    pub needs: Needs,
    /// What the build script asks of CUDA and cuDNN, read.
    pub requirements: &'a Requirements,
    /// The findings that may pass.
    pub allowed: &'a Allowed,
    /// Why nothing is searched for.
    pub forbidden: Option<Finding>,
}

/// What the build cannot do without.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    pub toolkit: bool,
    pub cudnn: bool,
}

impl Needs {
    /// What it can do without.
    pub fn unasked(self) -> Vec<Kind> {
        let asked = [(Kind::Toolkit, self.toolkit), (Kind::Cudnn, self.cudnn)];
        let unasked = asked.into_iter().filter(|(_, asked)| !asked);
        unasked.map(|(kind, _)| kind).collect()
    }
}

impl Probe<'_> {
    /// Looks at every place where a toolkit or a cuDNN may be: the places, and what lies there.
    pub fn locate(&self) -> (Vec<Step>, ScanResult) {
        let host = self.host;
        let mut steps = steps(&host.env, &host.platform, host.root.as_deref());
        if self.forbidden.is_some() {
            steps.clear();
        }
        if !pkg_config::serves(host) {
            steps.retain(|step| !matches!(step.place, Place::PkgConfig(_)));
        }
        if !self.needs.cudnn {
            // A crate that only compiles kernels is not asked about cuDNN.
            steps.retain(|step| step.kind != Kind::Cudnn);
        }
        let mut scan = look(&steps, host, &self.constraints(&[]));
        for candidate in &mut scan.candidates {
            if let Found::Toolkit(toolkit) = &mut candidate.found {
                toolkit.absent = toolkit::absent(toolkit, &self.config.libs, &host.platform);
            }
        }
        if self.config.link == Link::Static {
            scan.candidates.iter_mut().for_each(link_to_archives);
        }
        (steps, scan)
    }

    /// Chooses the first pair that meets the requirements and fits: everything that was found, each chosen or with the
    /// reason why not, and the best pair, even if a variable that asks for another place forbids its use.
    pub fn select(&self, steps: &[Step], scan: &ScanResult) -> (Vec<Candidate>, Choice) {
        let mut candidates = scan.candidates.clone();
        let mut blocked = Vec::new();
        if !self.allowed.contains(FindingId::VariableUnusable.as_str()) {
            blocked.extend(Kind::BOTH);
            blocked.retain(|&kind| is_blocked(steps, scan, kind));
        }
        let constraints = self.constraints(&blocked);
        let choice = choose(&mut candidates, &constraints);
        let lets_pass = |kind, id: FindingId| {
            choice.of(kind).is_none()
                && choice.misfit.is_none()
                && self.allowed.contains(id.as_str())
        };
        let passes = [
            lets_pass(Kind::Toolkit, FindingId::CudaRequirementUnmet),
            lets_pass(Kind::Cudnn, FindingId::CudnnRequirementUnmet),
        ];
        if passes == [false; 2] {
            return (candidates, choice);
        }
        // What may be of another release is taken where nothing meets the requirement.
        candidates.clone_from(&scan.candidates);
        let choice = choose(
            &mut candidates,
            &SelectionConstraints {
                cuda: constraints.cuda.filter(|_| !passes[0]),
                cudnn: constraints.cudnn.filter(|_| !passes[1]),
                ..constraints
            },
        );
        (candidates, choice)
    }

    fn constraints<'a>(&'a self, blocked: &'a [Kind]) -> SelectionConstraints<'a> {
        SelectionConstraints {
            cuda: self.requirements.cuda.as_ref(),
            cudnn: self.requirements.cudnn.as_ref(),
            platform: Some(&self.host.platform),
            toolkit_needed: self.needs.toolkit,
            blocked,
        }
    }

    /// Everything that is wrong or doubtful, and why there is no toolkit. `invalid` is what is wrong with the
    /// requirements.
    pub fn check(
        &self,
        invalid: Vec<Finding>,
        (steps, scan): (&[Step], &ScanResult),
        (candidates, choice): (&[Candidate], Choice),
        archives: &Archives,
    ) -> (Vec<Finding>, Option<Finding>) {
        let misfit = choice
            .misfit
            .and_then(|(toolkit, _)| candidates.get(toolkit));
        let toolkit = misfit.and_then(Candidate::toolkit);
        let skew = toolkit.and_then(|one| compiler_skew(one, candidates, self.host));
        let context = CheckContext {
            skew: skew.as_ref(),
            env: &self.host.env,
            platform: &self.host.platform,
            steps,
            candidates,
            left_out: &scan.left_out,
            choice,
            requirements: self.requirements,
        };
        let mut findings = config_faults(self.config, self.host);
        findings.extend(invalid);
        let (faults, toolkit_fault) = self.faults(&context, scan);
        findings.extend(faults);
        if self.needs.toolkit && self.needs.cudnn && choice.toolkit.is_some() {
            findings.extend(context.misfit());
        }
        findings.extend(self.met_at_run_time(&context));
        if self.needs.toolkit {
            findings.extend(context.partial());
        }
        findings.extend(self.missing_libraries(candidates));
        findings.extend(self.releases(candidates));
        findings.extend(archives.lacking.iter().cloned());
        self.allowed.apply(&mut findings);
        (findings, toolkit_fault)
    }

    /// Why no toolkit or no cuDNN can be used, with what is wrong with the variables that ask for one; and the fault of
    /// the toolkit alone, which counts once somebody needs a toolkit.
    fn faults(&self, context: &CheckContext, scan: &ScanResult) -> (Vec<Finding>, Option<Finding>) {
        let mut findings = Vec::new();
        if let Some(finding) = &self.forbidden {
            if self.needs.toolkit || self.needs.cudnn {
                findings.push(finding.clone());
            }
            return (findings, Some(finding.clone()));
        }
        let (toolkit_noticed, toolkit) = verdict(context, scan, Kind::Toolkit, self.allowed);
        let (cudnn_noticed, cudnn) = verdict(context, scan, Kind::Cudnn, self.allowed);
        let (toolkit, cudnn) = match self.needs.toolkit && self.needs.cudnn {
            true => join(toolkit, cudnn, self.allowed),
            false => (toolkit, cudnn),
        };
        // A root that does not exist is reported already, and nothing can be found below it.
        if !self.host.root.as_deref().is_none_or(files::is_dir) {
            return (findings, toolkit);
        }
        if self.needs.toolkit {
            findings.extend(toolkit_noticed.into_iter().chain(toolkit.clone()));
        }
        if self.needs.cudnn {
            findings.extend(cudnn_noticed.into_iter().chain(cudnn));
        }
        // One variable may ask for both.
        let mut each_once: Vec<Finding> = Vec::new();
        for finding in findings {
            if !each_once.contains(&finding) {
                each_once.push(finding);
            }
        }
        (each_once, toolkit)
    }

    /// The libraries of `.libs(..)` that are not there to be linked.
    fn missing_libraries(&self, candidates: &[Candidate]) -> Vec<Finding> {
        let mut chosen = candidates.iter().filter(|one| one.chosen);
        let toolkit = chosen.find(|one| one.toolkit().is_some());
        let Some(toolkit) = toolkit.filter(|_| self.config.link == Link::Dynamic) else {
            return Vec::new();
        };
        let is_missing = |name: &&String| {
            let absent = toolkit.toolkit().map(|toolkit| &toolkit.absent);
            absent.is_some_and(|absent| absent.contains(name))
                && !find_library::is_on_linker_path(name, self.host)
        };
        let missing = self.config.libs.iter().filter(is_missing);
        let missing =
            missing.filter_map(|name| missing_library::finding(toolkit, name, &self.host.platform));
        let headers = missing_library::headers(toolkit, &self.host.platform);
        missing.chain(headers).collect()
    }

    /// What the program meets when it opens the cuDNN. One with `Link::Static` opens none.
    fn met_at_run_time(&self, context: &CheckContext) -> Vec<Finding> {
        let best = |kind| context.candidates.get(context.choice.of(kind)?);
        let candidate = best(Kind::Cudnn);
        let cudnn = candidate.and_then(Candidate::cudnn);
        let Some(cudnn) = cudnn.filter(|_| self.needs.cudnn && self.config.link != Link::Static)
        else {
            return Vec::new();
        };
        let toolkit = best(Kind::Toolkit).and_then(Candidate::toolkit);
        let built_with = toolkit.filter(|_| self.needs.toolkit);
        let mut findings =
            environment_checks::cudnn_findings(cudnn, toolkit, built_with, self.config, self.host);
        let named = candidate.and_then(|one| named_apart(cudnn, &one.via, self.host));
        let skew = |one: &&mut Finding| one.id == FindingId::HeaderLibrarySkew;
        if let (Some(named), Some(skew)) = (named, findings.iter_mut().find(skew)) {
            skew.help.splice(..1, [named]);
        }
        findings
    }

    /// What the tables say of the releases that the build needs, and what its libraries do not find in each other.
    fn releases(&self, candidates: &[Candidate]) -> Vec<Finding> {
        let (toolkit, cudnn) = chosen(candidates);
        let toolkit = toolkit.filter(|_| self.needs.toolkit);
        let cudnn = cudnn.filter(|_| self.needs.cudnn);
        let mut findings = rules::releases(toolkit, cudnn, &self.host.platform);
        if let Some(toolkit) = toolkit {
            let unmet = environment_checks::unmet_needs(self.config, self.host, toolkit);
            findings.extend(unmet);
        }
        findings
    }
}

/// What to do where one variable names the headers and another the libraries, and they are of two releases.
fn named_apart(cudnn: &Cudnn, via: &FoundVia, host: &Host) -> Option<String> {
    let FoundVia::Variables(named) = via else {
        return None;
    };
    let mut names: Vec<String> = named.iter().map(|one| one.name.clone()).collect();
    let include = [Variable::CudnnIncludeDir, Variable::CudnnIncludePath];
    if !cudnn.header.as_ref()?.starts_with(&cudnn.root) {
        let include = include
            .into_iter()
            .filter(|one| host.env.get(*one).is_some());
        names.extend(include.map(|one| host.env.spelling(one)));
    }
    let names = (names.len() > 1).then(|| names.join(" and "))?;
    Some(format!(
        "let {names} name the headers and the libraries of one release"
    ))
}

/// The chosen toolkit and the chosen cuDNN.
pub fn chosen(candidates: &[Candidate]) -> (Option<&Toolkit>, Option<&Cudnn>) {
    let chosen = || candidates.iter().filter(|one| one.chosen);
    let toolkit = chosen().find_map(Candidate::toolkit);
    (toolkit, chosen().find_map(Candidate::cudnn))
}

/// Makes a cuDNN usable of which there are archives alone.
fn link_to_archives(candidate: &mut Candidate) {
    if let Found::Cudnn(cudnn) = &mut candidate.found {
        if cudnn.link_dir.is_none() {
            cudnn.link_dir.clone_from(&cudnn.files.archives);
        }
    }
}
