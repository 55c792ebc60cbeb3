//! The comparison of a program's guards with the libraries that the loader would find.

pub mod found;
pub mod refused;

use crate::inspection::InspectionFault;
use crate::inspection::nvrtc::{BUILTINS, missing_builtins};
use crate::loader::main_library::is_bundled;
use crate::loader::{DllDependencies, LoadGraph};
use crate::model::{Cudnn, LoadPhase, Missing, Os, Platform};
use crate::runtime::driver::{Device, Driver};
use crate::runtime::facts::{Allowed, Built, Loader};
use crate::runtime::loader::LoadOrigin;
use crate::runtime::system::DRIVER_SO;
use crate::{Finding, Version};
use std::path::PathBuf;

/// Everything that is known about the program and about the system that will run it.
#[derive(Clone, Debug, Default)]
pub struct PreflightInput {
    pub program: PathBuf,
    pub platform: Platform,
    /// The root of the inspected system, if it is not this one.
    pub root: Option<PathBuf>,
    /// `true` if the program has more privileges than the user who inspects it.
    pub is_privileged: bool,
    pub guards: Vec<Built>,
    /// The cudarc of a program without a guard, if it opens cuDNN.
    pub cudarc: Option<Built>,
    /// The loaded files and the missing ones; empty if they were not searched.
    pub graph: LoadGraph,
    /// The index of the main library of the cuDNN, if it is loaded.
    pub main_library: Option<usize>,
    /// The cuDNN that the program uses.
    pub cudnn: Option<Cudnn>,
    /// The reason why the loader uses this cuDNN.
    pub via: Option<LoadOrigin>,
    /// Files elsewhere on that system that could replace missing ones.
    pub others: Vec<Other>,
    /// A cuDNN that the loader would find under a name that the program does not request.
    pub unrequested: Option<PathBuf>,
    /// A cuDNN in an earlier directory, under a name that cudarc requests later.
    pub hidden: Option<Cudnn>,
    /// For Windows: the dependencies of cuDNN outside its own sub-libraries.
    pub dll_dependencies: DllDependencies,
    /// For Windows: `true` if PATH is the one on the system that runs the program.
    pub path_known: bool,
    pub allow: Allowed,
    /// The driver and its GPUs, if they were queried.
    pub driver: Option<Driver>,
}

/// A library that exists but that the loader does not find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The missing name.
    pub instead_of: String,
    pub path: PathBuf,
    pub soname: Option<String>,
    pub version: Option<Version>,
}

/// Returns the cuDNN whose archives are linked into the program, if the guard knows its version.
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
    /// Returns the findings, and descriptions of what could not be checked.
    pub fn check(&self) -> (Vec<Finding>, Vec<String>) {
        let mut findings = Vec::new();
        let mut unknown = Vec::new();
        if self.guards.is_empty() {
            unknown.push("the program contains no cudnn-guard record".into());
        }
        for guard in &self.guards {
            self.guard(guard, &mut findings, &mut unknown);
        }
        self.opened(&mut findings, &mut unknown);
        self.allow.apply(&mut findings);
        // CUDNN_GUARD_ALLOW cannot allow a failure of the loader, because the program exits before the guard starts.
        self.not_found(&mut findings, &mut unknown);
        self.damaged(&mut findings);
        self.too_old(&mut findings);
        if let Some(cudnn) = &self.cudnn {
            let mut of_cudnn = self.cudnn(cudnn, &mut unknown);
            let is_refused_at_start = self.graph.objects.iter().any(|object| {
                object.need == LoadPhase::Start
                    && object.defect.is_some()
                    && Some(&object.path) == cudnn.library.as_ref()
            });
            if !is_refused_at_start {
                self.allow.apply(&mut of_cudnn);
            }
            findings.extend(of_cudnn);
        }
        (findings, unknown)
    }

    /// Describes how the cuDNN was found.
    pub fn found_via(&self) -> Option<String> {
        let is_windows = self.platform.os == Os::Windows;
        Some(self.via.as_ref()?.describe(is_windows))
    }

    pub fn gpus(&self) -> &[Device] {
        self.driver.as_ref().map_or(&[], |driver| &driver.devices)
    }

    /// Adds the findings of a guard that do not depend on the cuDNN.
    fn guard(&self, guard: &Built, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        let package = guard.package.as_deref().unwrap_or("this program");
        if let Some(reason) = &guard.absent {
            let finding = InspectionFault::WithoutCuda(package, reason).finding();
            unknown.push(finding.summary.clone());
            findings.push(finding);
            return;
        }
        let is_reported = self.graph.missing.iter().any(|one| {
            let is_main = one.name.starts_with("libcudnn") && one.need != LoadPhase::Part;
            is_main || one.name.starts_with("cudnn64_")
        });
        match guard.loader {
            Loader::Static => match within(guard) {
                Some(cudnn) => {
                    self.machine(&cudnn, guard, findings);
                    self.known_bad(&cudnn, findings);
                }
                None => unknown.push(format!("the version of the cuDNN in {package} is unknown")),
            },
            Loader::None => self.machine(&Cudnn::default(), guard, findings),
            _ if self.graph.objects.is_empty() => {} // its libraries are unknown
            Loader::Linked if self.cudnn.is_none() && !is_reported => {
                let fault = InspectionFault::NotLinked(package, &self.program);
                findings.push(fault.finding());
                unknown.push("the program does not depend on cuDNN".into());
            }
            _ => {}
        }
    }

    /// Returns the guard whose cuDNN is opened by cudarc, or the record of a cudarc without a guard.
    pub(super) fn by_cudarc(&self) -> Option<&Built> {
        let mut guards = self.guards.iter();
        let guard = guards.find(|built| built.loader == Loader::Cudarc);
        guard.or(self.cudarc.as_ref())
    }

    /// Adds the finding about a cuDNN that the program opens itself, if none is found.
    fn opened(&self, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        let is_dll = self.platform.os == Os::Windows;
        let is_opened = |one: &&Missing| match is_dll {
            true => self.opens_dll(one),
            false => one.need == LoadPhase::Later && one.name.starts_with("libcudnn.so"),
        };
        let opened: Vec<&Missing> = self.graph.missing.iter().filter(is_opened).collect();
        let Some(first) = opened.first() else {
            return;
        };
        let names = opened.iter().map(|one| one.name.clone()).collect();
        // Without a GPU, the program may not need it. A guard stops the program if there is a GPU.
        let sure = !self.gpus().is_empty() && !self.guards.is_empty();
        let unfit = opened.iter().find(|one| one.unfit.is_some());
        let missing = unfit.unwrap_or(first);
        findings.push(self.no_cudnn(None, names, missing, sure).finding());
        if !sure && !is_dll {
            unknown.push("cuDNN was not found, but the program may not need it".into());
        }
    }

    fn not_found(&self, findings: &mut Vec<Finding>, unknown: &mut Vec<String>) {
        if self.platform.os == Os::Windows {
            return self.dlls_not_found(findings, unknown);
        }
        for missing in &self.graph.missing {
            let Missing { name, need, .. } = missing;
            let is_cudnn = name.starts_with("libcudnn") && !is_bundled(name);
            if is_cudnn && *need != LoadPhase::Start {
                // A missing main library is already reported, and missing sub-libraries are reported together.
                continue;
            }
            findings.push(if let Some(place) = &missing.placeholder {
                unknown.push(format!("{name} may be mounted later"));
                InspectionFault::MountedLater(place, missing).finding()
            } else if name == DRIVER_SO {
                if self.root.is_none() {
                    unknown.push("no NVIDIA driver was found".into());
                }
                InspectionFault::NoDriver(missing, self.root.is_some()).finding()
            } else if name.starts_with(BUILTINS) {
                missing_builtins(missing, self.graph.sysroot())
            } else if is_cudnn {
                let user = Some(&*missing.needed_by);
                self.no_cudnn(user, vec![name.clone()], missing, true)
                    .finding()
            } else {
                self.no_library(missing).finding()
            });
        }
    }
}
