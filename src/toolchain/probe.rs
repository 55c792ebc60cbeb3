//! The stages of a probe: places, scan, choose, check. The last stage is `Toolchain::settle`.

use crate::choice::CheckContext;
use crate::choice::pair::{Choice, Constraints, choose};
use crate::choice::requirement::Requirements;
use crate::choice::variable_findings::is_blocked;
use crate::compat::rules;
use crate::config::Link;
use crate::loader::elsewhere;
use crate::model::candidate::chosen;
use crate::model::{Candidate, Cudnn, Found, Kind, Os, Toolkit};
use crate::reading::{Reader, Scan};
use crate::search::{Place, Step, pkg_config, steps};
use crate::system::files;
use crate::toolchain::environment_checks::compiler_skew;
use crate::toolchain::findings::forbids_search;
use crate::toolchain::{LazyLinkFault, Toolchain, lazy_link, static_link};
use crate::toolkit::{find_library, missing_library};
use crate::{Finding, FindingId, toolkit};
use std::path::Path;

/// The kinds of installations that the build requires.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    pub toolkit: bool,
    pub cudnn: bool,
}

impl Needs {
    pub fn unrequired(self) -> Vec<Kind> {
        match (self.toolkit, self.cudnn) {
            (true, true) => Vec::new(),
            (true, false) => vec![Kind::Cudnn],
            (false, true) => vec![Kind::Toolkit],
            (false, false) => Kind::BOTH.to_vec(),
        }
    }
}

impl Toolchain {
    /// Runs all stages.
    pub(super) fn search(&mut self) {
        let forbidden = forbids_search(&self.host);
        let places = match forbidden {
            Some(_) => Vec::new(),
            None => self.places(),
        };
        let mut scan = self.scan(places);
        let choice = self.choose(&scan);
        choice.mark(&mut scan.candidates);
        let (toolkit, cudnn) = chosen_pair(&scan.candidates);
        self.archives = static_link::find(&self.config, &self.host, toolkit, cudnn);
        self.lazy = lazy_link::build(&self.config, &self.host, toolkit, cudnn);
        let (faults, toolkit_fault) = self.check(&scan, &choice, forbidden);
        self.toolkit_fault = toolkit_fault;
        self.findings.extend(faults);
        self.findings.append(&mut self.archives.findings);
        self.findings.append(&mut self.lazy.findings);
        self.allowed.apply(&mut self.findings);
        self.candidates = scan.candidates;
        self.read = scan.read;
        for (path, _) in &self.archives.found {
            self.read.push(path.clone());
        }
        self.read.append(&mut self.lazy.files);
    }

    /// Returns every place where a toolkit or a cuDNN may be.
    fn places(&self) -> Vec<Step> {
        let host = &self.host;
        let has_pkg_config = pkg_config::is_supported(host);
        let mut places = Vec::new();
        for step in steps(host) {
            // A crate that only compiles kernels gets no findings about cuDNN.
            if (step.kind == Kind::Toolkit || self.needs.cudnn)
                && (has_pkg_config || !matches!(step.place, Place::PkgConfig(_)))
            {
                places.push(step);
            }
        }
        places
    }

    /// Reads the installations in the places. Runs pkg-config only if the earlier places are not sufficient.
    fn scan(&self, places: Vec<Step>) -> Scan {
        let constraints = self.constraints(&self.requirements, &[]);
        let mut reader = Reader::new(&places, &self.host);
        for step in &places {
            reader.read(step);
            let Place::PkgConfig(dirs) = &step.place else {
                continue;
            };
            for file in pkg_config::files(dirs, step.kind) {
                let candidates = &reader.scan.candidates;
                if choose(candidates, &constraints).is_met(step.kind, candidates) {
                    break;
                }
                reader.read_package(step, file);
            }
        }
        let mut scan = reader.finish();
        scan.steps = places;
        let opens_dlls = self.config.link == Link::Runtime && self.host.platform.os == Os::Windows;
        for candidate in &mut scan.candidates {
            let is_sound = candidate.rejected.is_none();
            match &mut candidate.found {
                Found::Toolkit(toolkit) => {
                    toolkit.absent =
                        toolkit::absent(toolkit, &self.config.libs, &self.host.platform);
                }
                // A cuDNN with only archives can be linked statically.
                Found::Cudnn(cudnn)
                    if self.config.link == Link::Static && cudnn.link_dir.is_none() =>
                {
                    cudnn.link_dir.clone_from(&cudnn.files.archives);
                }
                // A program that opens a DLL needs no import library.
                Found::Cudnn(cudnn) if opens_dlls && is_sound && cudnn.link_dir.is_none() => {
                    let dir = cudnn.library.as_deref().and_then(Path::parent);
                    cudnn.link_dir = dir.map(Path::to_path_buf);
                }
                Found::Cudnn(_) => {}
            }
            if let Found::Cudnn(cudnn) = &mut candidate.found {
                elsewhere::add_sub_libraries(cudnn, &self.host);
            }
        }
        scan
    }

    /// Chooses the first compatible pair that meets the requirements.
    fn choose(&self, scan: &Scan) -> Choice {
        let is_allowed = self.allowed.contains(FindingId::VariableUnusable);
        let mut blocked = Vec::new();
        for kind in Kind::BOTH {
            if !is_allowed && is_blocked(scan, kind) {
                blocked.push(kind);
            }
        }
        let constraints = self.constraints(&self.requirements, &blocked);
        let choice = choose(&scan.candidates, &constraints);
        if choice.mismatch.is_some() {
            return choice;
        }
        // If nothing meets the requirement, an installation of uncertain version is used.
        let mut relaxed = self.requirements.clone();
        let is_eased =
            |kind, id: FindingId| choice.best(kind).is_none() && self.allowed.contains(id);
        if is_eased(Kind::Toolkit, FindingId::CudaRequirementUnmet) {
            relaxed.cuda = None;
        }
        if is_eased(Kind::Cudnn, FindingId::CudnnRequirementUnmet) {
            relaxed.cudnn = None;
        }
        if relaxed == self.requirements {
            choice
        } else {
            choose(&scan.candidates, &self.constraints(&relaxed, &blocked))
        }
    }

    fn constraints<'a>(
        &'a self,
        requirements: &'a Requirements,
        blocked: &'a [Kind],
    ) -> Constraints<'a> {
        Constraints {
            requirements,
            platform: &self.host.platform,
            toolkit_needed: self.needs.toolkit,
            blocked,
        }
    }

    /// Returns the findings about the choice, and the reason why there is no toolkit.
    fn check(
        &self,
        scan: &Scan,
        choice: &Choice,
        forbidden: Option<Finding>,
    ) -> (Vec<Finding>, Option<Finding>) {
        let misfit = choice
            .mismatch
            .and_then(|(toolkit, _)| scan.candidates.get(toolkit)?.toolkit());
        let context = CheckContext {
            skew: misfit.and_then(|one| compiler_skew(one, &scan.candidates, &self.host)),
            env: &self.host.env,
            platform: &self.host.platform,
            scan,
            choice,
            requirements: &self.requirements,
            is_survey: self.config.is_survey,
        };
        let (mut findings, toolkit_fault) = self.faults(&context, forbidden);
        if self.needs.toolkit && self.needs.cudnn && choice.toolkit.is_some() {
            findings.extend(context.mismatch());
        }
        findings.extend(self.run_time_findings(&context));
        if self.needs.toolkit {
            findings.extend(context.partial());
        }
        findings.extend(self.missing_libraries(&scan.candidates));
        findings.extend(self.releases(&scan.candidates));
        (findings, toolkit_fault)
    }

    /// Returns the reasons why no toolkit or no cuDNN can be used, with the faults of the variables that point to one.
    /// The fault of the toolkit is separate, because it matters only if a toolkit is needed later.
    fn faults(
        &self,
        context: &CheckContext,
        forbidden: Option<Finding>,
    ) -> (Vec<Finding>, Option<Finding>) {
        let Needs { toolkit, cudnn } = self.needs;
        if forbidden.is_some() {
            let shown = forbidden.clone().filter(|_| toolkit || cudnn);
            return (shown.into_iter().collect(), forbidden);
        }
        let (toolkit_findings, mut toolkit_fault) = context.verdict(Kind::Toolkit, &self.allowed);
        let (cudnn_findings, mut cudnn_fault) = context.verdict(Kind::Cudnn, &self.allowed);
        // cuDNN is also searched in the toolkit. If the variable for the toolkit points to nothing, that may be the
        // reason why no cuDNN was found, and a list of all other places would hide it.
        let is_unusable = |fault: &Finding| {
            fault.id == FindingId::VariableUnusable && !self.allowed.contains(fault.id)
        };
        let is_missing = |fault: &Finding| fault.id == FindingId::CudnnNotFound;
        if toolkit_fault.as_ref().is_some_and(is_unusable)
            && cudnn_fault.as_ref().is_some_and(is_missing)
            && (toolkit && cudnn)
        {
            let also = |fault: Finding| fault.with("cuDNN", "not found there or anywhere else");
            (toolkit_fault, cudnn_fault) = (toolkit_fault.map(also), None);
        }
        let mut findings = Vec::new();
        // A missing root is already reported, and nothing can be found below it.
        if !self.host.root.as_deref().is_none_or(files::is_dir) {
            return (findings, toolkit_fault);
        }
        if toolkit {
            findings.extend(toolkit_findings);
            findings.extend(toolkit_fault.clone());
        }
        if cudnn {
            findings.extend(cudnn_findings);
            findings.extend(cudnn_fault);
        }
        // One variable may point to both.
        (files::dedup(findings.into_iter()), toolkit_fault)
    }

    /// Returns the findings about missing libraries of `.libs(..)`.
    fn missing_libraries(&self, candidates: &[Candidate]) -> Vec<Finding> {
        let chosen = chosen(candidates, Kind::Toolkit).and_then(|one| Some((one, one.toolkit()?)));
        let link = self.config.link;
        let (Some((candidate, toolkit)), Link::Dynamic | Link::Lazy) = (chosen, link) else {
            return Vec::new();
        };
        let platform = &self.host.platform;
        let mut findings = Vec::new();
        for name in &self.config.libs {
            if link == Link::Lazy && lazy_link::file(toolkit, name, &self.host).is_none() {
                let finding = missing_library::finding(candidate, name, platform, true);
                let unknown = || LazyLinkFault::NoLibrary(&toolkit.root, name).finding();
                findings.push(finding.unwrap_or_else(unknown));
            } else if toolkit.absent.contains(name)
                && !find_library::is_on_linker_path(name, &self.host)
            {
                findings.extend(missing_library::finding(candidate, name, platform, false));
            }
        }
        findings.extend(missing_library::headers(candidate, platform));
        findings
    }

    /// Returns the known bugs of the chosen versions, and the symbols that their libraries import but do not find in
    /// each other.
    fn releases(&self, candidates: &[Candidate]) -> Vec<Finding> {
        let (toolkit, cudnn) = chosen_pair(candidates);
        let toolkit = if self.needs.toolkit { toolkit } else { None };
        let cudnn = if self.needs.cudnn { cudnn } else { None };
        let mut findings = rules::releases(toolkit, cudnn, &self.host.platform);
        findings.extend(toolkit.and_then(|toolkit| self.unmet_needs(toolkit)));
        findings
    }
}

pub fn chosen_pair(candidates: &[Candidate]) -> (Option<&Toolkit>, Option<&Cudnn>) {
    let toolkit = chosen(candidates, Kind::Toolkit).and_then(Candidate::toolkit);
    let cudnn = chosen(candidates, Kind::Cudnn).and_then(Candidate::cudnn);
    (toolkit, cudnn)
}
