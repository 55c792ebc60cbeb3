//! The finding for a kind without a usable candidate.

use crate::Finding;
use crate::choice::CheckContext;
use crate::choice::pair::{defect, is_offered};
use crate::model::owner::to_fetch;
use crate::model::{
    Candidate, FoundVia, Installer, Kind, Os, Owner, Platform, Rejection, Variable,
};
use crate::runtime::facts::majors;
use crate::search::Place;
use crate::search::search_step::directories;
use crate::system::files;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The number of directories of one search step above which they are counted instead of listed.
const MANY: usize = 4;

pub struct NoUsableCandidate<'a> {
    pub context: &'a CheckContext<'a>,
    pub kind: Kind,
    pub found: &'a [&'a Candidate],
    /// The main library that was found first, and its CPU, if all libraries are for other CPUs.
    pub foreign: Option<(&'a Candidate, &'static str)>,
    /// A wheel of cuDNN that exists only in pip's record, and the directory of its files.
    pub emptied: Option<(&'a Owner, &'a Path)>,
    /// The libraries in directories for another CPU.
    pub for_other_cpu: Vec<(PathBuf, &'static str)>,
    pub on_library_path: Option<&'a Candidate>,
    /// The command that installs a cuDNN.
    pub install: Option<(Installer, String)>,
}

/// A system that sets variables when a package is loaded. Only the system knows the directories of its packages.
pub enum ModuleSystem {
    Modules,
    Spack,
}

impl CheckContext<'_> {
    pub(super) fn not_found(&self, kind: Kind, found: &[&Candidate]) -> Finding {
        let on_library_path =
            |one: &&&Candidate| one.via == FoundVia::LibraryPath && is_offered(one, self.platform);
        let fault = NoUsableCandidate {
            context: self,
            kind,
            found,
            foreign: self.foreign(found),
            emptied: self.emptied_wheel(kind),
            for_other_cpu: self.libraries_for_other_cpu(kind),
            on_library_path: found.iter().find(on_library_path).copied(),
            install: self.install(kind),
        };
        fault.finding()
    }

    /// Returns the options of `cudnn-guard fetch` that install a toolkit, and a cuDNN for the best toolkit, by default the
    /// newest versions that the driver supports. Returns `None` in a cross build, and if no version of CUDA or cuDNN that
    /// it can install meets the requirements.
    pub fn fetch(&self) -> Option<String> {
        let found = self.best(Kind::Toolkit).and_then(Candidate::version);
        let requirements = self.requirements;
        let cudnn = requirements.get(Kind::Cudnn);
        // NVIDIA's wheels for aarch64 begin with cuDNN 9 and CUDA 12.
        let is_arm = self.platform.cpu == "aarch64";
        let known = if is_arm { &[9][..] } else { majors::CUDNN };
        let is_unknown = cudnn.is_some_and(|one| !known.iter().any(|major| one.overlaps(*major)));
        if is_unknown || !self.env.is_native(self.platform) {
            return None;
        }
        let requested = |kind| {
            let mut all = self.scan.candidates.iter();
            let fetched = all.find(|one| one.kind() == kind && one.via == FoundVia::Fetched);
            let fetched = fetched.and_then(Candidate::version);
            let range = requirements.get(kind)?;
            to_fetch(kind, range.from, range.below, fetched)
        };
        let cuda = requirements.get(Kind::Toolkit);
        let has_wheel = |major: &u32| {
            !(is_arm && *major < 12)
                && cuda.is_none_or(|cuda| cuda.overlaps(*major))
                && requirements.install_cudnn(Installer::Pip, *major).is_some()
        };
        let usable = found.map(|toolkit| toolkit.major).filter(has_wheel);
        let newest = majors::CUDA.iter().copied().find(has_wheel)?;
        let option = |major| (major != majors::NEWEST_CUDA).then(|| format!(" --cuda {major}"));
        let cuda = match usable {
            Some(major) => option(major),
            None => requested(Kind::Toolkit).or_else(|| option(newest)),
        };
        Some(cuda.unwrap_or_default() + &requested(Kind::Cudnn).unwrap_or_default())
    }

    /// Returns the command that installs a cuDNN for the toolkit that was found, if an environment is active or apt has
    /// NVIDIA's packages.
    fn install(&self, kind: Kind) -> Option<(Installer, String)> {
        let cuda = self.best(Kind::Toolkit)?.version()?.major;
        let venv = self.env.path(Variable::VirtualEnv);
        let installer = match kind {
            _ if kind == Kind::Toolkit || !self.env.is_native(self.platform) => return None,
            _ if venv.is_some() => Installer::of_environment(&venv?),
            _ if self.env.get(Variable::CondaPrefix).is_some() => Installer::Conda,
            _ if self.has_nvidia_packages() => Installer::Apt,
            _ => return None,
        };
        Some((installer, self.requirements.install_cudnn(installer, cuda)?))
    }

    /// Returns `true` if apt has NVIDIA's package lists, which `cuda-keyring` installs.
    fn has_nvidia_packages(&self) -> bool {
        let base = self.scan.steps.iter().find_map(|step| match &step.place {
            Place::Tree(tree) if tree.base.ends_with("usr") => tree.base.parent(),
            _ => None,
        });
        let lists = base.map(|root| root.join("etc/apt/sources.list.d"));
        let is_list = |name: &str| name.starts_with("cuda-") && name.ends_with(".list");
        let listed = lists.and_then(|dir| files::list_named(&dir, &is_list).ok());
        listed.is_some_and(|lists| !lists.is_empty())
    }

    /// Returns a wheel of cuDNN that only exists in pip's record, and the directory of its files.
    fn emptied_wheel(&self, kind: Kind) -> Option<(&Owner, &Path)> {
        if kind == Kind::Toolkit {
            return None;
        }
        let is_emptied = |one: &&Candidate| {
            let is_wheel = one
                .owner()
                .is_some_and(|owner| owner.installer.is_for_wheels());
            is_wheel && one.cudnn().is_some_and(|cudnn| cudnn.library.is_none())
        };
        let emptied = self.scan.candidates.iter().find(is_emptied)?;
        Some((emptied.owner()?, emptied.root()))
    }

    /// Returns the main library that was found first, with its CPU, if all libraries that were found are for other CPUs.
    fn foreign<'a>(&self, found: &[&'a Candidate]) -> Option<(&'a Candidate, &'static str)> {
        let mut first = None;
        for one in found {
            if one.cudnn().is_some_and(|cudnn| cudnn.library.is_some()) {
                match defect(one, self.platform) {
                    Some(Rejection::OtherCpu(cpu)) => first = first.or(Some((*one, cpu))),
                    _ => return None,
                }
            }
        }
        first
    }

    /// Returns the places that were searched: their paths, or the number of directories of a search step.
    pub fn searched(&self, kind: Kind) -> Vec<(&FoundVia, String)> {
        let mut listed: Vec<(&FoundVia, String)> = Vec::new();
        for step in &self.scan.steps {
            let via = &step.via;
            let is_listed = listed.iter().any(|(known, _)| *known == via);
            if step.kind != kind || is_listed || matches!(step.place, Place::Copy(..)) {
                continue;
            }
            let mut places = self.places(via, kind);
            if via.is_inactive() {
                // Of the directories above the crate's own, only the first is listed.
                places.truncate(1);
            }
            for place in &places {
                // `…/nvidia` includes `…/nvidia/cu*`.
                let up = Path::new(place).parent();
                let is_up = |dir: &String| up == Some(Path::new(dir));
                if !(place.ends_with("cu*") && places.iter().any(is_up)) {
                    listed.push((via, place.clone()));
                }
            }
        }
        listed
    }

    /// Returns the places of a search step, or their number if there are many.
    fn places(&self, via: &FoundVia, kind: Kind) -> Vec<String> {
        let (mut bases, mut places) = (BTreeSet::<OsString>::new(), Vec::new());
        for step in &self.scan.steps {
            if step.via != *via {
                continue;
            }
            if let Place::Tree(tree) = &step.place {
                bases.insert(tree.base.clone().into());
            }
            let is_copy = matches!(step.place, Place::Copy(..));
            if step.kind == kind && !is_copy && bases.len() <= MANY {
                files::push_new(&mut places, step.description());
            }
        }
        match *via == FoundVia::EnvironmentOnPath || bases.len() > MANY {
            true => vec![directories(bases.len())],
            false => places,
        }
    }

    /// Returns the libraries of cuDNN for the other CPU, with that CPU, in the separate directories of distributions
    /// and of NVIDIA's packages for cross builds.
    fn libraries_for_other_cpu(&self, kind: Kind) -> Vec<(PathBuf, &'static str)> {
        let cpu = match (self.platform.os, &*self.platform.cpu) {
            _ if kind == Kind::Toolkit => return Vec::new(),
            (Os::Linux, "x86_64") => "aarch64",
            (Os::Linux, "aarch64") => "x86_64",
            _ => return Vec::new(),
        };
        let other = Platform::from_triple(&format!("{cpu}-unknown-linux-gnu"));
        let mut dirs = vec![Path::new("lib").join(other.multiarch())];
        for target in other.toolkit_targets() {
            dirs.push(Path::new("targets").join(target).join("lib"));
        }
        let mut libraries = Vec::new();
        for step in &self.scan.steps {
            let (Kind::Cudnn, Place::Tree(tree)) = (step.kind, &step.place) else {
                continue;
            };
            for dir in &dirs {
                for major in majors::CUDNN {
                    let file = tree.shown().join(dir).join(other.cudnn_library(*major));
                    if files::is_file(&file) {
                        files::push_new(&mut libraries, (file, cpu));
                    }
                }
            }
        }
        libraries
    }

    pub fn module_system(&self) -> Option<ModuleSystem> {
        let is_set = |variable| self.env.os_var(variable).is_some();
        if is_set("MODULESHOME") || is_set("LMOD_CMD") {
            return Some(ModuleSystem::Modules);
        }
        is_set("SPACK_ROOT").then_some(ModuleSystem::Spack)
    }
}
