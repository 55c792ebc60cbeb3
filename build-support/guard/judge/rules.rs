//! The rules of compatibility that the build and the running program share.

use crate::runtime::facts::built::{Built, Policy};
use crate::runtime::facts::compute_capability::{Code, ComputeCapability, Target};
use crate::runtime::facts::majors;
use crate::runtime::facts::tables::{CudnnTargets, KnownBad};
use crate::runtime::facts::version::Version;
use crate::runtime::judge::gpu_support::{self, GpuSupport};

/// A loaded cuDNN of a version that the program cannot run with.
pub struct ReleaseMismatch {
    /// The loaded version.
    pub loaded: Version,
    /// `true` if only the major of the loaded version is known.
    pub is_major: bool,
    /// The versions that the program can run with.
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

/// A loaded cuDNN for another CUDA major than the program was built with. Both CUDA majors may be installed.
pub struct CudaMajorMismatch {
    /// The CUDA major of the loaded cuDNN.
    pub loaded: u32,
    /// The CUDA major of the cuDNN that the program was built with.
    pub built_with: u32,
}

/// A driver that supports only an older CUDA major than the one that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverTooOld {
    /// The newest CUDA that the driver supports.
    pub driver: Version,
    /// The CUDA major that is needed.
    pub needed: u32,
    pub needed_by: DriverUser,
    /// The first driver version that supports the needed major, if the tables know it.
    pub first_driver: Option<String>,
    /// `false` if there is no GPU that the driver could be used for.
    pub has_gpu: bool,
}

/// The library or program that needs a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverUser {
    /// The cuDNN that a program loads.
    LoadedCudnn,
    /// The kernels of a program.
    Program,
    /// The cuDNN that a build chose.
    ChosenCudnn,
    /// The toolkit that a build chose.
    ChosenToolkit,
}

/// A GPU of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu<'a> {
    pub name: &'a str,
    pub capability: ComputeCapability,
    /// `false` if the program may run without this GPU.
    pub is_required: bool,
    /// The rule that determines the first GPU, if the GPUs differ.
    pub order: Option<DeviceOrder<'a>>,
}

impl<'a> Gpu<'a> {
    /// Creates a GPU that the program requires, among GPUs that do not differ.
    pub fn new(name: &'a str, capability: ComputeCapability) -> Self {
        Self {
            name,
            capability,
            is_required: true,
            order: None,
        }
    }
}

/// The rule that determines the first GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceOrder<'a> {
    /// This value of CUDA_DEVICE_ORDER.
    Variable(&'a str),
    /// CUDA, which puts the fastest GPU first.
    Fastest,
}

/// A GPU that no kernel of the program runs on.
pub struct UncoveredGpu<'a> {
    pub gpu: Gpu<'a>,
    /// The targets that the kernels are compiled for.
    pub targets: &'a [Target],
    /// The PTX that would run on the GPU if the driver were newer.
    pub newer_ptx: Option<NewerPtx>,
}

/// PTX of a CUDA version that the driver does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewerPtx {
    /// The CUDA version of the PTX.
    pub cuda: Version,
    /// The newest CUDA that the driver supports.
    pub driver: Version,
}

/// A GPU that a cuDNN has no machine code for.
pub struct UnsupportedGpu<'a> {
    pub cudnn: Cudnn,
    pub gpu: JudgedGpu<'a>,
    pub gap: SupportGap,
}

/// A GPU that a cuDNN is judged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JudgedGpu<'a> {
    /// A GPU of this machine.
    Device(Gpu<'a>),
    /// The GPUs of a compute capability that kernels are compiled for, and the source of the targets.
    Target(ComputeCapability, &'a str),
}

/// The reason why a cuDNN has no machine code for a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupportGap {
    /// The GPU is older than all that the cuDNN supports. The last cuDNN that is known to support the GPU, and the CUDA
    /// major that it is built for.
    Dropped(Option<(Version, u32)>),
    /// The GPU is newer than the cuDNN, or was left out of it.
    Missing {
        /// `true` if the cuDNN has PTX that the driver can compile for the GPU.
        by_ptx: bool,
        /// The newest GPU that the cuDNN supports, if the judged GPU is newer.
        newest: Option<ComputeCapability>,
        /// The first cuDNN that is known to support the GPU, and the CUDA major that it is built for.
        first: Option<(Version, u32)>,
    },
}

/// A cuDNN with a known fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownBadRelease<'a> {
    pub cudnn: Version,
    pub row: &'a KnownBad,
    pub impact: Impact,
}

/// The effect of a known fault of cuDNN on a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impact {
    /// The program uses the operation that has the fault.
    Used,
    /// Every program can meet the fault.
    General,
    /// Only an operation that few programs use has the fault, or only a machine with several GPUs shows it.
    Possible,
}

/// A version that is newer than the tables, whose newest rows are used for it, and the newest version of the tables.
pub enum NewerRelease {
    /// Versions of the CUDA toolkit.
    Cuda(Version, Version),
    Cudnn(Version, Version),
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

/// Returns the majors of the versions that the program may load, the newest first.
pub fn majors(built: &Built) -> Vec<u32> {
    match (built.policy, &built.requirement, built.cudnn) {
        (Policy::Requirement, Some(required), _) | (_, Some(required), None) => {
            let last = match required.below {
                Some(below) if below.minor == 0 && below.patch == 0 => {
                    below.major.saturating_sub(1)
                }
                Some(below) => below.major,
                // An open requirement: the last major that is tried is the one after the newest known.
                None => majors::NEWEST_CUDNN + 1,
            };
            let first = required.from.major.max(majors::OLDEST_CUDNN);
            let last = last.max(first).min(first.saturating_add(8));
            (first..=last).rev().collect()
        }
        (_, _, Some(with)) => vec![with.major],
        (_, None, None) => majors::CUDNN.to_vec(),
    }
}

/// Returns the fault of a loaded cuDNN that was built for this CUDA major.
pub fn cuda_major(built: &Built, loaded: u32) -> Option<CudaMajorMismatch> {
    let built_with = built.cudnn_cuda_major?;
    (built_with != loaded).then_some(CudaMajorMismatch { loaded, built_with })
}

/// Returns the fault of a driver whose CUDA is of an older major than the loaded cuDNN or the program. Within a major,
/// every driver supports every version.
pub fn driver(
    built: &Built,
    cudnn_cuda_major: Option<u32>,
    driver: Version,
) -> Option<DriverTooOld> {
    let by_program = built.cuda.map(|cuda| cuda.major);
    let (needed, needed_by) = match (cudnn_cuda_major, by_program) {
        (Some(cudnn), program)
            if cudnn > driver.major && program.is_none_or(|program| program <= cudnn) =>
        {
            (cudnn, DriverUser::LoadedCudnn)
        }
        (_, Some(program)) if program > driver.major => (program, DriverUser::Program),
        _ => return None,
    };
    let drivers = &built.tables.drivers;
    Some(DriverTooOld::new(driver, needed, needed_by, drivers))
}

impl DriverTooOld {
    /// Creates the fault. `drivers` contains the first driver for each CUDA major.
    pub fn new(
        driver: Version,
        needed: u32,
        needed_by: DriverUser,
        drivers: &[(u32, String)],
    ) -> Self {
        let first = drivers.iter().find(|row| row.0 == needed);
        Self {
            driver,
            needed,
            needed_by,
            first_driver: first.map(|row| row.1.clone()),
            has_gpu: true,
        }
    }
}

/// Returns the fault if none of the kernels that are compiled in runs on the GPU, or only PTX could that the driver
/// does not support.
pub fn kernels<'a>(
    built: &'a Built,
    driver: Option<Version>,
    gpu: Gpu<'a>,
) -> Option<UncoveredGpu<'a>> {
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
    Some(UncoveredGpu {
        gpu,
        targets,
        newer_ptx,
    })
}

/// The facts about a cuDNN that determine the GPUs that it supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cudnn {
    pub version: Version,
    /// The CUDA major that it was built for.
    pub cuda: u32,
}

impl Cudnn {
    /// Returns the fault if this cuDNN has no machine code for the GPU.
    pub fn device<'a>(self, rows: &[CudnnTargets], gpu: Gpu<'a>) -> Option<UnsupportedGpu<'a>> {
        let gap = self.gap(rows, gpu.capability)?;
        Some(UnsupportedGpu {
            cudnn: self,
            gpu: JudgedGpu::Device(gpu),
            gap,
        })
    }

    /// Returns a fault for each GPU that kernels are compiled for and that this cuDNN has no machine code for.
    pub fn targets<'a>(
        self,
        rows: &[CudnnTargets],
        targets: &[Target],
        chosen_by: &'a str,
    ) -> Vec<UnsupportedGpu<'a>> {
        let (mut faults, mut seen) = (Vec::new(), Vec::new());
        let machine = targets.iter().filter(|target| target.code == Code::Machine);
        for capability in machine.map(|target| target.capability) {
            if seen.contains(&capability) {
                continue;
            }
            seen.push(capability);
            faults.extend(self.gap(rows, capability).map(|gap| UnsupportedGpu {
                cudnn: self,
                gpu: JudgedGpu::Target(capability, chosen_by),
                gap,
            }));
        }
        faults
    }

    fn gap(self, rows: &[CudnnTargets], gpu: ComputeCapability) -> Option<SupportGap> {
        let (cudnn, cuda) = (self.version, self.cuda);
        let by_ptx = match gpu_support::serves(rows, cudnn, cuda, gpu) {
            GpuSupport::Yes | GpuSupport::Unknown => return None,
            GpuSupport::No if gpu_support::is_too_old(rows, cudnn, cuda, gpu) => {
                let last = gpu_support::last_with(rows, cudnn, cuda, gpu);
                return Some(SupportGap::Dropped(last.map(|last| (last, cuda))));
            }
            GpuSupport::No => false,
            GpuSupport::ByPtx => true,
        };
        Some(SupportGap::Missing {
            by_ptx,
            newest: gpu_support::newest(rows, cudnn, cuda).filter(|newest| *newest < gpu),
            first: gpu_support::first_with(rows, cudnn, cuda, gpu),
        })
    }
}

/// Returns the known faults of this cuDNN. `needs` names the operations that the program uses; `gpus` is `None` if the
/// number of GPUs is not known yet.
pub fn known_bad<'a>(
    rows: &'a [KnownBad],
    cudnn: Version,
    cublas: Option<Version>,
    gpus: Option<usize>,
    needs: &[String],
) -> Vec<KnownBadRelease<'a>> {
    let mut faults = Vec::new();
    for row in rows {
        if cudnn < row.from || row.below <= cudnn {
            continue;
        }
        if let Some(from) = row.cublas {
            let several = gpus.is_none_or(|gpus| gpus > 1);
            if !several || cublas.is_none_or(|cublas| cublas < from) {
                continue;
            }
        }
        faults.push(KnownBadRelease {
            cudnn,
            row,
            impact: match &row.operation {
                Some(operation) if needs.contains(operation) => Impact::Used,
                Some(_) => Impact::Possible,
                None if row.cublas.is_some() && gpus.is_none() => Impact::Possible,
                None => Impact::General,
            },
        });
    }
    faults
}
