//! Whether a program will run: what its guards say it was built with, against what the loader would give it.

pub mod dlls;
pub mod found;
pub mod refused;

use crate::inspection::fault::{InspectionFault, Request, UnresolvedCudnn};
use crate::loader::dll_dependencies::DllDependencies;
use crate::model::candidate::Cudnn;
use crate::model::linkage::{LoadPhase, Missing, Object};
use crate::model::platform::{Os, Platform};
use crate::runtime::driver::query::Device;
use crate::runtime::facts::allowed::Allowed;
use crate::runtime::facts::built::{Built, Loader};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::version::Version;
use crate::runtime::install::later_dll::LaterDll;
use crate::runtime::loader::load_origin::LoadOrigin;
use crate::runtime::loader::misplaced::Misplaced;
use crate::runtime::system::names::DRIVER_SO;
use std::path::PathBuf;

/// All that is known of the program and of where it is to run.
#[derive(Clone, Debug, Default)]
pub struct PreflightInput {
    /// The program's file.
    pub program: PathBuf,
    /// The system that it is for.
    pub platform: Platform,
    /// Where it lies, if that is another than this one.
    pub root: Option<PathBuf>,
    /// Whether it has more rights than the user who inspects it.
    pub is_privileged: bool,
    /// What its guards say.
    pub guards: Vec<Built>,
    /// What is loaded, the program first.
    pub objects: Vec<Object>,
    /// What the loader does not find.
    pub missing: Vec<Missing>,
    /// The cuDNN that it comes to.
    pub cudnn: Option<Cudnn>,
    /// What made the loader take that cuDNN.
    pub via: Option<LoadOrigin>,
    /// How the library was found, for people.
    pub found_via: String,
    /// Files elsewhere on that system, for what is missing.
    pub others: Vec<Other>,
    /// The cuDNN that the loader would find, under a name that cudarc does not ask for; for Windows, by no name that the
    /// program asks for.
    pub unasked: Option<PathBuf>,
    /// One in a folder before it, under a name that cudarc asks for later.
    pub hidden: Option<Cudnn>,
    /// For Windows: those of the same name in directories after it, whole.
    pub later: Vec<LaterDll>,
    /// For Windows: the cuDNN that it would open, in a directory that PATH names in quotation marks.
    pub in_quotes: Option<Misplaced>,
    /// For Windows: where DLLs are looked for.
    pub dll_folders: Vec<LoadOrigin>,
    /// For Windows: what the cuDNN needs besides its own parts.
    pub dll_dependencies: Option<DllDependencies>,
    /// For Windows: whether PATH is that of the system where the program runs.
    pub path_known: bool,
    /// What the operator lets pass.
    pub allow: Allowed,
    /// The newest CUDA that the driver serves, where it could be asked.
    pub driver: Option<Version>,
    /// The GPUs that programs see, where they could be asked for.
    pub gpus: Vec<Device>,
}

/// A library that lies somewhere and that the loader does not come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The name that is missing.
    pub instead_of: String,
    /// The file.
    pub path: PathBuf,
    /// Its SONAME.
    pub soname: Option<String>,
    /// Its release.
    pub version: Option<Version>,
}

/// The cuDNN whose archives are linked into the program, where the guard knows its release.
pub fn within(guard: &Built) -> Option<Cudnn> {
    if guard.loader != Loader::Static || guard.absent.is_some() {
        return None;
    }
    Some(Cudnn {
        library_version: Some(guard.cudnn?),
        cuda_major: guard.cudnn_cuda_major,
        ..Cudnn::default()
    })
}

impl PreflightInput {
    /// Returns the findings, and what could not be checked.
    pub fn judge(&self) -> (Vec<Finding>, Vec<String>) {
        let mut findings = Vec::new();
        let mut unknown = Vec::new();
        if self.guards.is_empty() {
            unknown.push("the program holds no facts of a guard".into());
        }
        for guard in &self.guards {
            self.guard(guard, &mut findings, &mut unknown);
        }
        self.opened(&mut findings, &mut unknown);
        self.allow.apply(&mut findings);
        // CUDNN_GUARD_ALLOW cannot permit what the loader refuses: the program ends before the guard starts.
        self.not_found(&mut findings, &mut unknown);
        self.damaged(&mut findings);
        self.too_old(&mut findings);
        if let Some(cudnn) = &self.cudnn {
            let mut of_cudnn = Vec::new();
            self.cudnn(cudnn, &mut of_cudnn, &mut unknown);
            if !self.stops_at(cudnn) {
                self.allow.apply(&mut of_cudnn);
            }
            findings.extend(of_cudnn);
        }
        (findings, unknown)
    }

    /// Returns `true` if the loader refuses the cuDNN before the program begins.
    fn stops_at(&self, cudnn: &Cudnn) -> bool {
        self.objects.iter().any(|object| {
            object.need == LoadPhase::Start
                && object.defect.is_some()
                && Some(&object.path) == cudnn.library.as_ref()
        })
    }

    /// What a guard says that does not depend on the cuDNN that is found.
    fn guard(&self, guard: &Built, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        let package = guard.package.as_deref().unwrap_or("this program");
        if let Some(reason) = &guard.absent {
            let finding = InspectionFault::WithoutCuda(package, reason).finding();
            unknown.push(finding.summary.clone());
            findings.push(finding);
            return;
        }
        match guard.loader {
            Loader::Static => match within(guard) {
                Some(cudnn) => {
                    self.machine(&cudnn, guard, findings);
                    self.known_bad(&cudnn, findings);
                }
                None => unknown.push(format!(
                    "the release of the cuDNN in {package} is not known"
                )),
            },
            Loader::Linked if self.cudnn.is_none() && !self.misses_cudnn() => {
                let fault = InspectionFault::NotLinked(package, &self.program);
                findings.push(fault.finding());
                unknown.push("the program depends on no cuDNN".into());
            }
            _ => {}
        }
    }

    /// The guard whose cuDNN cudarc opens.
    pub(super) fn by_cudarc(&self) -> Option<&Built> {
        let mut guards = self.guards.iter();
        guards.find(|built| built.loader == Loader::Cudarc)
    }

    fn misses_cudnn(&self) -> bool {
        let mut missing = self.missing.iter();
        missing.any(|missing| {
            let is_main = missing.name.starts_with("libcudnn") && missing.need != LoadPhase::Part;
            is_main || missing.name.starts_with("cudnn64_")
        })
    }

    /// Adds what is known of the cuDNN that the program opens itself, where there is none.
    fn opened(&self, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        let is_dll = self.platform.os == Os::Windows;
        let is_opened = |one: &&Missing| match is_dll {
            true => self.opens_dll(one),
            false => one.need == LoadPhase::Later && one.name.starts_with("libcudnn.so"),
        };
        let opened: Vec<&Missing> = self.missing.iter().filter(is_opened).collect();
        let Some(first) = opened.first() else {
            return;
        };
        let names: Vec<&str> = opened.iter().map(|one| one.name.as_str()).collect();
        // Without a GPU it may do without.
        let sure = !self.gpus.is_empty();
        let unfit = opened.iter().find(|one| one.unfit.is_some());
        let missing = unfit.unwrap_or(first);
        let request = match self.by_cudarc() {
            _ if is_dll => Request::Dll,
            Some(built) => Request::Cudarc(built.cudarc),
            None => Request::Opened,
        };
        findings.push(self.no_cudnn(request, names, missing, sure));
        if !sure && !is_dll {
            unknown.push("no cuDNN is found, which the program may do without".into());
        }
    }

    /// Returns the finding for a cuDNN that the loader finds by none of these names.
    fn no_cudnn(
        &self,
        request: Request<'_>,
        names: Vec<&str>,
        missing: &Missing,
        is_needed: bool,
    ) -> Finding {
        let fault = UnresolvedCudnn {
            alternatives: match request {
                Request::Dll => self.other_dlls(&names, missing),
                _ => self.other_cudnns(&names, missing),
            },
            request,
            names,
            missing,
            is_needed,
        };
        fault.finding()
    }

    fn not_found(&self, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        if self.platform.os == Os::Windows {
            return self.dlls_not_found(findings, unknown);
        }
        for missing in &self.missing {
            let Missing { name, need, .. } = missing;
            let is_cudnn = name.starts_with("libcudnn");
            if is_cudnn && *need != LoadPhase::Start {
                // Its first library is said already; of the parts that lack, all are said at once.
                continue;
            }
            findings.push(if let Some(place) = &missing.placeholder {
                unknown.push(format!("{name} is mounted later, if at all"));
                InspectionFault::MountedLater(place, missing).finding()
            } else if name == DRIVER_SO {
                if self.root.is_none() {
                    unknown.push("there is no driver here".into());
                }
                InspectionFault::NoDriver(missing, self.root.is_some()).finding()
            } else if is_cudnn {
                let request = Request::Linked(&missing.needed_by);
                self.no_cudnn(request, vec![name], missing, true)
            } else {
                self.no_library(missing).finding()
            });
        }
    }
}
