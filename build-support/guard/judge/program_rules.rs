//! The rules about a program and the cuDNN, the driver and the GPUs of the machine that it runs on.

use crate::runtime::facts::{Built, Code, Finding, Loader, Policy, Version};
use crate::runtime::judge::rules::majors;
use crate::runtime::judge::{Gpu, NewerPtx};

/// A loaded cuDNN of a version that the program cannot run with.
pub struct ReleaseMismatch {
    pub loaded: Version,
    /// `true` if only the major of the loaded version is known.
    pub is_major: bool,
    pub accepted: AcceptedReleases,
}

/// The versions of cuDNN that a program can run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptedReleases {
    /// The versions that meet a requirement: `>=9.1, <10`.
    Requirement(String),
    /// The versions that a policy accepts for a program that was built with this version.
    BuiltWith(Version, Policy),
}

/// A loaded cuDNN for another CUDA major than the cuDNN that the program was built with.
pub struct CudaMajorMismatch {
    pub loaded: u32,
    pub built_with: u32,
}

/// The library or program that needs a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverUser {
    LoadedCudnn,
    /// The kernels of a program.
    Program,
    ProgramWithoutCudnn,
    /// The cuDNN that a build chose.
    ChosenCudnn,
    ChosenToolkit,
}

/// Checks that the program can run with the loaded version.
pub fn version(built: &Built, loaded: Version) -> Result<(), ReleaseMismatch> {
    check_requirement(built, loaded, false)
}

/// Checks that a cuDNN of this major may be loaded, if only its major is known.
pub fn major(built: &Built, loaded: u32) -> Result<(), ReleaseMismatch> {
    if majors(built).contains(&loaded) {
        return Ok(());
    }
    check_requirement(built, Version::new(loaded, 0, 0), true)
}

/// Returns the fault if the loaded cuDNN is for another CUDA major than the cuDNN that the program was built with.
pub fn cuda_major(built: &Built, loaded: u32) -> Option<CudaMajorMismatch> {
    let built_with = built.cudnn_cuda_major?;
    (built_with != loaded).then_some(CudaMajorMismatch { loaded, built_with })
}

fn check_requirement(
    built: &Built,
    loaded: Version,
    is_major: bool,
) -> Result<(), ReleaseMismatch> {
    let (is_accepted, accepted) = match (built.policy, &built.requirement, built.cudnn) {
        (Policy::Requirement, Some(required), _) => (
            loaded >= required.from && required.below.is_none_or(|below| loaded < below),
            AcceptedReleases::Requirement(required.text.clone()),
        ),
        // The program was built without a cuDNN and requires no version.
        (_, _, None) => return Ok(()),
        (policy, _, Some(with)) => {
            let has_major = loaded.major == with.major;
            let is_accepted = match policy {
                Policy::Compatible | Policy::Requirement => has_major && loaded.minor >= with.minor,
                Policy::SameMinor => has_major && loaded.minor == with.minor,
                Policy::Exact => loaded == with,
            };
            (is_accepted, AcceptedReleases::BuiltWith(with, policy))
        }
    };
    if is_accepted {
        return Ok(());
    }
    Err(ReleaseMismatch {
        loaded,
        is_major,
        accepted,
    })
}

/// Returns the finding about a driver whose CUDA is of an older major than the loaded cuDNN or the program. Within a
/// major, every driver supports every version.
pub fn driver(built: &Built, cudnn_cuda_major: Option<u32>, driver: Version) -> Option<Finding> {
    let by_program = built.cuda.map(|cuda| cuda.major);
    let (needed, needed_by) = match (cudnn_cuda_major, by_program) {
        (Some(cudnn), program) if Some(cudnn) >= program => (cudnn, DriverUser::LoadedCudnn),
        (_, program) if built.loader == Loader::None => (program?, DriverUser::ProgramWithoutCudnn),
        (_, program) => (program?, DriverUser::Program),
    };
    let is_too_old = needed > driver.major;
    is_too_old.then(|| needed_by.driver_too_old(driver, needed, &built.tables.drivers))
}

/// Returns the finding if none of the compiled kernels runs on the GPU, or only PTX could that the driver does not
/// support.
pub fn kernels(built: &Built, driver: Option<Version>, gpu: Gpu<'_>) -> Option<Finding> {
    let targets = &*built.targets;
    if targets.is_empty() {
        return None;
    }
    let (mut runs, mut runs_code) = (false, false);
    for target in targets {
        if target.runs_on(gpu.capability) {
            runs = true;
            runs_code |= target.code == Code::Machine;
        }
    }
    let mut newer_ptx = None;
    if runs {
        let (driver, first, cuda) = (driver?, built.tables.ptx?, built.cuda?);
        if driver >= first || runs_code {
            return None;
        }
        newer_ptx = Some(NewerPtx { cuda, driver });
    }
    Some(gpu.uncovered_finding(targets, newer_ptx))
}
