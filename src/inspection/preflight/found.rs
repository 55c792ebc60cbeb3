//! The cuDNN that the program comes to: its files, its release, and what driver and GPUs serve.

use crate::compat;
use crate::cudnn::consistency;
use crate::inspection::preflight::{PreflightInput, within};
use crate::loader::dll_dependencies;
use crate::model::candidate::Cudnn;
use crate::model::linkage::{Missing, Object};
use crate::model::platform::Os;
use crate::runtime::binary::defect::Defect;
use crate::runtime::facts::built::Built;
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::library_name::LibraryName;
use crate::runtime::facts::tables::Tables;
use crate::runtime::facts::version::Version;
use crate::runtime::install::later_dll::LaterDll;
use crate::runtime::install::mixed_sub_libraries::{
    self, Foreign, ForeignSubLibraries, Replacement,
};
use crate::runtime::install::refusal::{Need, UnusableFile};
use crate::runtime::install::sub_library_file::SubLibraryFile;
use crate::runtime::judge::rules;
use crate::runtime::loader::library_names::HiddenCudnn;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::opener::Opener;
use crate::system::files;
use std::path::Path;

impl PreflightInput {
    /// All that is noticed of it.
    pub(super) fn cudnn(
        &self,
        cudnn: &Cudnn,
        findings: &mut Vec<Finding>,
        unknown: &mut Vec<String>,
    ) {
        self.files(cudnn, findings, unknown);
        let guards = self.guards.iter();
        for guard in guards.filter(|guard| within(guard).is_none()) {
            self.release(cudnn, guard, findings);
            self.machine(cudnn, guard, findings);
        }
        self.known_bad(cudnn, findings);
        if cudnn.library_version.is_none() {
            unknown.push("the cuDNN does not tell its release".into());
        }
    }

    /// What the release is known to get wrong.
    pub(super) fn known_bad(&self, cudnn: &Cudnn, findings: &mut Vec<Finding>) {
        let Some(version) = cudnn.library_version else {
            return;
        };
        let gpus = self.driver.map(|_| self.gpus.len());
        let needs = self.guards.iter().flat_map(|guard| &guard.needs);
        let needs: Vec<String> = needs.cloned().collect();
        let bad = rules::known_bad(&compat::known_bad(), version, None, gpus, &needs);
        findings.extend(bad.into_iter().filter(|one| one.severity != Severity::Note));
    }

    /// What shows in the files of the cuDNN.
    fn files(&self, cudnn: &Cudnn, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        let own = cudnn.flaw().map(|(path, flaw)| {
            let summary = format!("`{}` {flaw}", path.display());
            Finding::error(flaw.id(), summary).help(match flaw {
                Defect::Cpu(_) => self.replacement_help(flaw),
                _ => flaw.help(path),
            })
        });
        let is_part = |missing: &&Missing| missing.name.starts_with("libcudnn_");
        let parts = || self.missing.iter().filter(is_part);
        let later = parts().find_map(|missing| missing.stands_in.as_ref());
        // What is there and cannot be used is not missing.
        let unfit = parts().filter_map(|missing| missing.unfit.as_ref());
        let unfit =
            unfit.map(|one| UnusableFile::new(&one.path, &one.defect, Need::Needed).finding());
        let all_are_there = parts().all(|missing| missing.unfit.is_some());
        let own = own.into_iter().chain(unfit);
        let found = consistency::findings(cudnn, &[]);
        for mut finding in own.chain(found) {
            let foreign = self.foreign_parts(cudnn);
            if finding.id == FindingId::PartsMissing && foreign.is_some() {
                // A whole cuDNN is asked for already.
                continue;
            }
            if let (FindingId::PartsMixed, Some(other)) = (finding.id, foreign) {
                // Where parts come from is asked once the first library itself is the right one.
                if self.is_unfit(cudnn) {
                    continue;
                }
                let severity = finding.severity;
                finding = Finding {
                    severity,
                    evidence: [other.evidence, finding.evidence].concat(),
                    ..other
                };
                if severity != Severity::Error {
                    finding.summary += ", which no convolution uses";
                }
            }
            if finding.id == FindingId::PartsMissing {
                // Parts of the release that the name promises would not help it.
                if is_misnamed(cudnn) || parts().count() > 0 && all_are_there {
                    continue;
                }
                match later {
                    None if self.platform.os == Os::Windows && !self.path_known => {
                        unknown.push("parts of the cuDNN may lie along the PATH of wherever the program runs".into());
                    }
                    None => finding.severity = Severity::Error,
                    Some(place) => {
                        finding = finding.with("is nothing", place.display());
                        unknown.push("parts of the cuDNN are mounted later, if at all".into());
                    }
                }
            }
            let found_via = ("found via", self.found_via.clone());
            finding.evidence.insert(0, found_via);
            findings.push(finding);
        }
        if let Some(dll_dependencies) = &self.dll_dependencies {
            findings.extend(dll_dependencies::findings(cudnn, dll_dependencies));
            if !dll_dependencies.missing_dlls.is_empty() {
                let reason =
                    "DLLs that the cuDNN needs may lie along the PATH of wherever the program runs";
                unknown.push(reason.into());
            }
        }
    }

    /// Whether a guard refuses the release.
    fn is_unfit(&self, cudnn: &Cudnn) -> bool {
        let refuses = |version| {
            let mut guards = self.guards.iter();
            guards.any(|guard| guard.absent.is_none() && rules::version(guard, version).is_err())
        };
        cudnn.library_version.is_some_and(refuses)
    }

    /// Parts of another release from other folders than that of the first library, as the guard names them.
    fn foreign_parts(&self, cudnn: &Cudnn) -> Option<Finding> {
        let (library, release) = (cudnn.library.as_ref()?, cudnn.library_version?);
        let folder = library.parent()?;
        let mut foreign = self.foreign(cudnn, folder);
        foreign.retain(|part| part.version.is_some_and(|version| version != release));
        let fault = ForeignSubLibraries {
            release: Some(release),
            folder,
            foreign: &foreign,
            mixed: None,
        };
        (!foreign.is_empty()).then(|| fault.finding())
    }

    /// The parts that do not lie in this folder, that of the first library.
    fn foreign<'a>(&self, cudnn: &'a Cudnn, folder: &Path) -> Vec<Foreign<'a>> {
        let foreign = |part: &'a SubLibraryFile| {
            let has_own = |name| files::is_file(&folder.join(name));
            let has_own = part.path.file_name().is_some_and(has_own);
            let place = |dir: Option<&Path>| {
                let mut dirs = self.dll_folders.iter();
                dirs.position(|origin| Some(origin.folder()) == dir)
            };
            let (own, other) = (place(Some(folder)), place(part.path.parent()));
            (part.path.parent() != Some(folder)).then(|| Foreign {
                path: &part.path,
                version: part.version,
                origin: self.origin(&part.path),
                has_own,
                yields: has_own || own.is_some() && own < other,
            })
        };
        cudnn.parts.iter().filter_map(foreign).collect()
    }

    /// What makes the loader take this file.
    fn origin(&self, path: &Path) -> LoadOrigin {
        let names = |origin: &&LoadOrigin| Some(origin.folder()) == path.parent();
        if let Some(origin) = self.dll_folders.iter().find(names) {
            return origin.clone();
        }
        let object = self.objects.iter().find(|object| object.path == path);
        let asking = object.and_then(|object| self.objects.get(object.asked_by?));
        let is_cudnn = |object: &Object| object.name.starts_with("libcudnn");
        match (object.and_then(|object| object.via.clone()), asking) {
            // The program has no name.
            (Some(_), Some(asking)) if !asking.name.is_empty() && !is_cudnn(asking) => {
                LoadOrigin::Library(Opener {
                    path: asking.path.clone(),
                    preloaded: asking.via == Some(LoadOrigin::Preload),
                })
            }
            (via, _) => via.unwrap_or(LoadOrigin::Elsewhere),
        }
    }

    /// Whether a guard of the program accepts the release.
    fn release(&self, cudnn: &Cudnn, guard: &Built, findings: &mut Vec<Finding>) {
        let Some(library) = &cudnn.library else {
            return;
        };
        let major = named_major(library);
        let major = major.filter(|major| !rules::majors(guard).contains(major));
        let by_name = major.map(|major| Version::new(major, 0, 0));
        let version = cudnn.library_version.or(by_name);
        let (Some(version), None) = (version, &guard.absent) else {
            return;
        };
        if let Err(mismatch) = rules::version(guard, version) {
            let mut evidence = vec![
                ("loaded", library.display().to_string()),
                ("found via", self.found_via.clone()),
            ];
            if self.guards.len() > 1 {
                evidence.extend(guard.package.clone().map(|package| ("crate", package)));
            }
            let dir = library.parent().unwrap_or(library);
            let wanted = &mismatch.wanted;
            let help = match &self.via {
                Some(via) => {
                    let lasting =
                        mixed_sub_libraries::lasting_folders(&self.foreign(cudnn, dir), via);
                    let fits = |version| rules::version(guard, version).is_ok();
                    Replacement::new(via, library, &lasting, &fits).help(wanted)
                }
                None => format!("install {wanted} in `{}`", dir.display()),
            };
            let fits = |hidden: &&Cudnn| {
                let release = hidden.library_version;
                release.is_some_and(|release| rules::version(guard, release).is_ok())
            };
            let hidden = self.hidden.as_ref().filter(fits);
            findings.push(match hidden.and_then(|hidden| hidden.library.as_ref()) {
                Some(hidden) => {
                    evidence.push(("there is", hidden.display().to_string()));
                    let mut finding = mismatch.finding(evidence);
                    finding
                        .help
                        .extend(HiddenCudnn::new(guard, hidden.clone()).help(&help));
                    finding
                }
                None => {
                    let fits = |one: &&LaterDll| rules::version(guard, one.release).is_ok();
                    let later = self.later.iter().find(fits);
                    evidence.extend(later.map(|later| ("there is", later.words())));
                    let leads = later.zip(self.via.as_ref());
                    let leads = leads.and_then(|(later, via)| later.help(via));
                    mismatch.finding(evidence).help(leads.unwrap_or(help))
                }
            });
        }
        let cuda = cudnn.cuda_major;
        findings.extend(cuda.and_then(|major| rules::flavour(guard, major)));
    }

    /// Whether driver and GPUs serve both.
    pub(super) fn machine(&self, cudnn: &Cudnn, guard: &Built, findings: &mut Vec<Finding>) {
        let Some(driver) = self.driver else {
            return;
        };
        let built = Built {
            tables: Tables {
                drivers: compat::drivers(&self.platform),
                ptx: guard.cuda.and_then(compat::ptx_from),
                ..Tables::default()
            },
            ..guard.clone()
        };
        let mut add = |finding: Option<Finding>| {
            findings.extend(finding.filter(|finding| !findings.contains(finding)));
        };
        add(rules::driver(&built, cudnn.cuda_major, driver));
        let Some(gpu) = self.gpus.first() else {
            return;
        };
        add(rules::kernels(
            &built,
            Some(driver),
            &gpu.name,
            gpu.capability,
        ));
        if let (Some(version), Some(cuda)) = (cudnn.library_version, cudnn.cuda_major) {
            let rows = compat::gpus(&self.platform.cpu);
            add(rules::Cudnn { version, cuda }.device(&rows, &gpu.name, gpu.capability));
        }
    }
}

/// Whether it is of another major than its name says: 8 under the name of 9.
fn is_misnamed(cudnn: &Cudnn) -> bool {
    let promised = cudnn.library.as_deref().and_then(named_major);
    let version = cudnn.library_version.map(|version| version.major);
    promised.is_some() && version.is_some() && promised != version
}

fn named_major(library: &Path) -> Option<u32> {
    LibraryName::of(library)?.major()
}
