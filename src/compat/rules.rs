//! What the version tables say of what was chosen: of each by itself, of both together, and with a driver.

#[cfg(test)]
mod tests;

use crate::compat;
use crate::model::candidate::{Cudnn, Toolkit};
use crate::model::chosen_by::ChosenBy;
use crate::model::platform::Platform;
#[cfg(feature = "cli")]
use crate::runtime::driver::query::Device;
#[cfg(feature = "cli")]
use crate::runtime::facts::compute_capability::Code;
use crate::runtime::facts::compute_capability::{ComputeCapability, Target};
use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::tables::CudnnTargets;
use crate::runtime::facts::version::Version;
use crate::runtime::judge::gpu_support::GpuSupport;
#[cfg(feature = "cli")]
use crate::runtime::judge::rules::{DriverTooOld, DriverUser, Gpu, SupportGap};
use crate::runtime::judge::rules::{KnownBadRelease, NewerPtx, NewerRelease, UnsupportedGpu};
use crate::runtime::judge::{gpu_support, rules};

/// A toolkit that is newer than the documentation of its cuDNN.
pub struct UndocumentedToolkit {
    pub cuda: Version,
    pub cudnn: Version,
    /// The newest toolkit that the documentation of this cuDNN names.
    pub newest: Version,
}

/// A toolkit whose PTX the driver of this machine does not support.
pub struct NewerToolkitPtx {
    /// The PTX of the toolkit, and the driver.
    pub ptx: NewerPtx,
    /// The first driver version that supports the PTX, if the tables know it.
    pub first_driver: Option<&'static str>,
    /// `false` if the targets have machine code for every GPU of this machine.
    pub is_needed: bool,
}

/// Releases that the tables do not know, or know nothing good of. None of it stops a build.
pub fn releases(
    toolkit: Option<&Toolkit>,
    cudnn: Option<&Cudnn>,
    platform: &Platform,
) -> Vec<Finding> {
    let cuda = toolkit.and_then(|toolkit| toolkit.version);
    let version = cudnn.and_then(Cudnn::linked_version);
    let mut findings = Vec::new();
    if let Some(version) = version {
        let rows = compat::known_bad();
        let bad = rules::known_bad(&rows, version, cuda, None, &[]);
        findings.extend(bad.iter().map(KnownBadRelease::finding));
    }
    let newest_cudnn = compat::newest_cudnn(&platform.cpu);
    let newer = [
        newer(NewerRelease::Cudnn, version, newest_cudnn),
        newer(NewerRelease::Cuda, cuda, compat::newest_cuda()),
    ];
    findings.extend(newer.iter().flatten().map(NewerRelease::finding));
    let flavour = cudnn.and_then(|cudnn| cudnn.cuda_major);
    if let (Some(version), Some(cuda), Some(flavour)) = (version, cuda, flavour) {
        let fault = undocumented(version, cuda, flavour);
        findings.extend(fault.map(|fault| fault.finding()));
    }
    findings
}

fn newer(
    fault: fn(Version, Version) -> NewerRelease,
    found: Option<Version>,
    known: Option<Version>,
) -> Option<NewerRelease> {
    let (found, known) = (found?, known?);
    let is_newer = (found.major, found.minor) > (known.major, known.minor);
    is_newer.then(|| fault(found, known))
}

/// Returns the fault of a toolkit that came out after the cuDNN.
fn undocumented(cudnn: Version, cuda: Version, flavour: u32) -> Option<UndocumentedToolkit> {
    let newest = compat::newest_toolkit(cudnn, flavour)?;
    let is_newer = cuda.major == flavour && cuda.minor > newest.minor;
    is_newer.then_some(UndocumentedToolkit {
        cuda,
        cudnn,
        newest,
    })
}

/// GPUs that kernels are compiled for and that the cuDNN does not serve. What is compiled for them may run without
/// cuDNN, or with another: a warning.
pub fn targets(
    cudnn: &Cudnn,
    targets: &[Target],
    chosen_by: ChosenBy,
    platform: &Platform,
) -> Vec<Finding> {
    let (Some(version), Some(cuda)) = (cudnn.version(), cudnn.cuda_major) else {
        return Vec::new();
    };
    let rows = rows(cudnn, version, cuda, platform);
    let chosen_by = chosen_by.to_string();
    let faults = rules::Cudnn { version, cuda }.targets(&rows, targets, &chosen_by);
    faults.iter().map(UnsupportedGpu::finding).collect()
}

/// The table, with a row for what was read off this very cuDNN: it goes before the row of its release.
fn rows(cudnn: &Cudnn, version: Version, cuda: u32, platform: &Platform) -> Vec<CudnnTargets> {
    let read = CudnnTargets {
        first: version,
        last: version,
        cuda,
        code: cudnn.gpu_codes.clone(),
    };
    let known = compat::gpus(&platform.cpu).into_iter();
    known
        .chain((!read.code.is_empty()).then_some(read))
        .collect()
}

/// Whether the cuDNN may have something for the GPU: all but a plain no, and a Jetson's, of which the tables know
/// nothing. They alone are asked, as in a build, whatever was read besides. A release that is newer than they are counts
/// as the newest that they know.
pub fn may_serve(cudnn: &Cudnn, gpu: ComputeCapability, platform: &Platform) -> bool {
    let (Some(version), Some(cuda)) = (cudnn.version(), cudnn.cuda_major) else {
        return true;
    };
    let rows = compat::gpus(&platform.cpu);
    let known = rows.iter().filter(|row| row.cuda == cuda);
    let newest = known.map(|row| row.last).max();
    let version = newest.map_or(version, |newest| newest.min(version));
    !gpu_support::is_jetson(gpu) && gpu_support::serves(&rows, version, cuda, gpu) != GpuSupport::No
}

/// GPUs of this machine that the cuDNN does not serve.
#[cfg(feature = "cli")]
pub fn gpus(cudnn: &Cudnn, gpus: &[Device], platform: &Platform) -> Vec<Finding> {
    let (Some(version), Some(cuda)) = (cudnn.version(), cudnn.cuda_major) else {
        return Vec::new();
    };
    let rows = rows(cudnn, version, cuda, platform);
    let cudnn = rules::Cudnn { version, cuda };
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for gpu in gpus {
        if !seen.contains(&gpu.capability) {
            seen.push(gpu.capability);
            // Another cuDNN may be there when the program runs.
            let judged = Gpu {
                is_required: false,
                ..Gpu::new(&gpu.name, gpu.capability)
            };
            if let Some(mut fault) = cudnn.device(&rows, judged) {
                add_older_cuda(&mut fault, &rows, gpu.capability);
                findings.push(fault.finding());
            }
        }
    }
    findings
}

/// Adds a cuDNN for an older CUDA that supports the GPU, if none for this CUDA ever did.
#[cfg(feature = "cli")]
fn add_older_cuda(fault: &mut UnsupportedGpu<'_>, rows: &[CudnnTargets], gpu: ComputeCapability) {
    if let SupportGap::Dropped(last @ None) = &mut fault.gap {
        let newest = Version::new(u32::MAX, 0, 0);
        let mut older = (11..fault.cudnn.cuda).rev();
        *last =
            older.find_map(|cuda| Some((gpu_support::last_with(rows, newest, cuda, gpu)?, cuda)));
    }
}

/// What the driver of this machine cannot do for what is built here. The program may run elsewhere, so that it is a
/// warning at most.
#[cfg(feature = "cli")]
pub fn driver(
    driver: Version,
    toolkit: Option<&Toolkit>,
    cudnn: Option<&Cudnn>,
    targets: &[Target],
    gpus: &[Device],
    platform: &Platform,
) -> Option<Finding> {
    let cuda = toolkit.and_then(|toolkit| toolkit.version);
    let flavour = cudnn.and_then(|cudnn| cudnn.cuda_major);
    let (needed, needed_by) = match (flavour, cuda) {
        (Some(needed), _) if needed > driver.major => (needed, DriverUser::ChosenCudnn),
        (_, Some(cuda)) if cuda.major > driver.major => (cuda.major, DriverUser::ChosenToolkit),
        (_, cuda) => {
            let has_code = |gpu: &Device| {
                targets
                    .iter()
                    .any(|target| target.code == Code::Machine && target.runs_on(gpu.capability))
            };
            let fault = NewerToolkitPtx {
                is_needed: !gpus.iter().all(has_code),
                ..ptx(cuda?, driver, platform)?
            };
            return Some(fault.finding());
        }
    };
    let first = compat::drivers(platform);
    Some(DriverTooOld::new(driver, needed, needed_by, &first).finding())
}

/// Returns the fault of a toolkit whose PTX the driver of this machine does not support.
pub fn ptx(cuda: Version, driver: Version, platform: &Platform) -> Option<NewerToolkitPtx> {
    let first = compat::ptx_from(cuda)?;
    if cuda.major > driver.major || driver >= first {
        return None;
    }
    Some(NewerToolkitPtx {
        ptx: NewerPtx { cuda, driver },
        first_driver: compat::driver_for(first, platform),
        is_needed: true,
    })
}
