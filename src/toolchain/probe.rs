//! The steps of a probe: locate, select, check. The last one, settle, is the toolchain's.

use crate::choice::findings::Situation;
use crate::choice::requirement::Requirements;
use crate::choice::scan::{Sight, look};
use crate::choice::select_pair::{Choice, Wants, choose};
use crate::compat::rules;
use crate::config::{Config, Link};
use crate::model::candidate::{Candidate, Cudnn, Found, Toolkit};
use crate::runtime::facts::allowed::Allowed;
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::search::search_step::{Kind, Place, Step};
use crate::search::{pkg_config, steps};
use crate::system::{Host, files};
use crate::toolchain::environment_checks;
use crate::toolchain::findings::{config_faults, is_blocked, join, too_narrow, verdict};
use crate::toolchain::static_link::Archives;

/// What a probe goes by.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// What the build script says.
    pub config: &'a Config,
    /// The machine.
    pub host: &'a Host,
    /// What the build cannot do without.
    pub needs: Needs,
    /// What the build script asks of CUDA and cuDNN, read.
    pub requirements: &'a Requirements,
    /// The findings that may pass.
    pub allowed: &'a Allowed,
}

/// What the build cannot do without.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// A CUDA toolkit.
    pub toolkit: bool,
    /// A cuDNN.
    pub cudnn: bool,
}

/// What the search found.
#[derive(Debug)]
pub struct Located {
    /// The places, in the order of the search.
    pub steps: Vec<Step>,
    /// What lies there.
    pub sight: Sight,
}

/// What was chosen of it.
#[derive(Debug)]
pub struct Selected {
    /// Everything that was found, each chosen or with the reason why not.
    pub candidates: Vec<Candidate>,
    /// The best pair, even if a variable that asks for another place forbids its use.
    pub choice: Choice,
}

impl Selected {
    /// The chosen toolkit.
    pub fn toolkit(&self) -> Option<&Toolkit> {
        let mut chosen = self.candidates.iter().filter(|one| one.chosen);
        chosen.find_map(Candidate::toolkit)
    }

    /// The chosen cuDNN.
    pub fn cudnn(&self) -> Option<&Cudnn> {
        let mut chosen = self.candidates.iter().filter(|one| one.chosen);
        chosen.find_map(Candidate::cudnn)
    }
}

impl Probe<'_> {
    /// Looks at every place where a toolkit or a cuDNN may be.
    pub fn locate(&self) -> Located {
        let host = self.host;
        let mut steps = steps(&host.env, &host.platform, host.root.as_deref());
        if too_narrow(host).is_some() {
            steps.clear();
        }
        if !pkg_config::serves(host) {
            steps.retain(|step| !matches!(step.place, Place::PkgConfig(_)));
        }
        if !self.needs.cudnn {
            // A crate that only compiles kernels is not asked about cuDNN.
            steps.retain(|step| step.kind != Kind::Cudnn);
        }
        let mut sight = look(&steps, host, &self.wants(&[]));
        if self.config.link == Link::Static {
            sight.candidates.iter_mut().for_each(link_to_archives);
        }
        Located { steps, sight }
    }

    /// Chooses the first pair that meets the requirements and fits.
    pub fn select(&self, located: &Located) -> Selected {
        let mut candidates = located.sight.candidates.clone();
        let mut blocked = Vec::new();
        if !self.allowed.contains(FindingId::VariableUnusable.as_str()) {
            blocked.extend([Kind::Toolkit, Kind::Cudnn]);
            blocked.retain(|&kind| is_blocked(&located.steps, &located.sight, kind));
        }
        let choice = choose(&mut candidates, &self.wants(&blocked));
        Selected { candidates, choice }
    }

    fn wants<'a>(&'a self, blocked: &'a [Kind]) -> Wants<'a> {
        Wants {
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
        located: &Located,
        selected: &Selected,
        archives: &Archives,
    ) -> (Vec<Finding>, Option<Finding>) {
        let situation = Situation {
            env: &self.host.env,
            platform: &self.host.platform,
            steps: &located.steps,
            candidates: &selected.candidates,
            left_out: &located.sight.left_out,
            choice: selected.choice,
            requirements: self.requirements,
        };
        let mut findings = config_faults(self.config, self.host);
        findings.extend(invalid);
        let (faults, toolkit_fault) = self.faults(&situation, &located.sight);
        findings.extend(faults);
        if self.needs.toolkit && self.needs.cudnn {
            findings.extend(situation.flavour());
        }
        findings.extend(self.met_at_run_time(selected));
        if self.needs.toolkit {
            findings.extend(situation.partial());
        }
        findings.extend(self.releases(selected));
        findings.extend(archives.lacking.iter().cloned());
        self.allowed.apply(&mut findings);
        (findings, toolkit_fault)
    }

    /// Why no toolkit or no cuDNN can be used, with what is wrong with the variables that ask for one; and the fault of
    /// the toolkit alone, which counts once somebody needs a toolkit.
    fn faults(&self, situation: &Situation, sight: &Sight) -> (Vec<Finding>, Option<Finding>) {
        let mut findings = Vec::new();
        if let Some(finding) = too_narrow(self.host) {
            if self.needs.toolkit || self.needs.cudnn {
                findings.push(finding.clone());
            }
            return (findings, Some(finding));
        }
        let (toolkit_noticed, toolkit) = verdict(situation, sight, Kind::Toolkit, self.allowed);
        let (cudnn_noticed, cudnn) = verdict(situation, sight, Kind::Cudnn, self.allowed);
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

    /// What the program meets when it opens the cuDNN. One with `Link::Static` opens none.
    fn met_at_run_time(&self, selected: &Selected) -> Vec<Finding> {
        let best = |index: Option<usize>| index.and_then(|index| selected.candidates.get(index));
        let Some(cudnn) = best(selected.choice.cudnn).and_then(Candidate::cudnn) else {
            return Vec::new();
        };
        if !self.needs.cudnn || self.config.link == Link::Static {
            return Vec::new();
        }
        let toolkit = best(selected.choice.toolkit).and_then(Candidate::toolkit);
        let built_with = match self.needs.toolkit {
            true => toolkit,
            false => None,
        };
        environment_checks::of(cudnn, toolkit, built_with, self.config, self.host)
    }

    /// What the tables say of the releases that the build needs, and what its libraries do not find in each other.
    fn releases(&self, selected: &Selected) -> Vec<Finding> {
        let toolkit = match self.needs.toolkit {
            true => selected.toolkit(),
            false => None,
        };
        let cudnn = match self.needs.cudnn {
            true => selected.cudnn(),
            false => None,
        };
        let mut findings = rules::releases(toolkit, cudnn, &self.host.platform);
        if let Some(toolkit) = toolkit {
            let unmet = environment_checks::unmet_needs(self.config, self.host, toolkit);
            findings.extend(unmet);
        }
        findings
    }
}

/// Makes a cuDNN usable of which there are archives alone.
fn link_to_archives(candidate: &mut Candidate) {
    if let Found::Cudnn(cudnn) = &mut candidate.found {
        if cudnn.link_dir.is_none() {
            cudnn.link_dir.clone_from(&cudnn.files.archives);
        }
    }
}
