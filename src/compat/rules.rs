//! The checks of the chosen toolkit and cuDNN against the version tables.

#[cfg(test)]
mod tests;

use crate::compat;
use crate::model::{ChosenBy, Cudnn, Platform, Toolkit};
#[cfg(feature = "cli")]
use crate::runtime::driver::query::Device;
use crate::runtime::facts::{Code, ComputeCapability, CudnnTargets, Finding, Target, Version};
#[cfg(feature = "cli")]
use crate::runtime::judge::program_rules::DriverUser;
#[cfg(feature = "cli")]
use crate::runtime::judge::{Gpu, SupportGap};
use crate::runtime::judge::{GpuSupport, NewerPtx, NewerVersion, gpu_support, rules};

/// Returns the findings about unknown or known bad versions, none of which is an error.
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
        let bad = rules::known_bad(&rows, version, cuda, None, &[]).into_iter();
        findings.extend(bad.map(|(row, impact)| row.finding(version, impact)));
    }
    let rows = compat::gpus(platform);
    let known = version.and_then(|found| gpu_support::newest_before(&rows, found));
    let cudnn = version.zip(known);
    let cudnn = cudnn.map(|(found, known)| NewerVersion::new("cuDNN", found, known));
    let is_newer = |(found, known): &(Version, Version)| {
        (found.major, found.minor) > (known.major, known.minor)
    };
    let cuda = cuda.zip(compat::newest_cuda()).filter(is_newer);
    let cuda = cuda.map(|(found, known)| NewerVersion::new("CUDA", found.short(), known.short()));
    findings.extend(cudnn.into_iter().chain(cuda).map(|newer| newer.finding()));
    findings
}

/// Returns warnings about target GPUs that the cuDNN does not support. The kernels may run without cuDNN, or with
/// another one.
pub fn targets(
    cudnn: &Cudnn,
    targets: &[Target],
    chosen_by: ChosenBy,
    platform: &Platform,
) -> Vec<Finding> {
    let (mut findings, mut seen) = (Vec::new(), Vec::new());
    let Some((cudnn, rows)) = supported(cudnn, platform) else {
        return findings;
    };
    for target in targets {
        let gpu = target.capability;
        if target.code != Code::Machine || seen.contains(&gpu) {
            continue;
        }
        seen.push(gpu);
        if let Some(gap) = cudnn.gap(&rows, gpu) {
            findings.push(gap.target_finding(cudnn, gpu, &chosen_by.to_string()));
        }
    }
    findings
}

/// Returns the version and the table, with a row read from this cuDNN's files, which takes precedence over the row for
/// its version.
fn supported(
    cudnn: &Cudnn,
    platform: &Platform,
) -> Option<(gpu_support::Cudnn, Vec<CudnnTargets>)> {
    let (version, cuda) = (cudnn.version()?, cudnn.cuda_major?);
    let mut rows = compat::gpus(platform);
    if !cudnn.gpu_codes.is_empty() {
        rows.push(CudnnTargets {
            first: version,
            last: version,
            cuda,
            code: cudnn.gpu_codes.clone(),
        });
    }
    Some((gpu_support::Cudnn { version, cuda }, rows))
}

/// Returns `true` if the cuDNN may support the GPU. Returns `false` if the answer is no, and for a Jetson, about which
/// the tables know nothing. Only the tables count, as in a build. A version that is newer than the tables counts as
/// their newest.
pub fn may_support(cudnn: &Cudnn, gpu: ComputeCapability, platform: &Platform) -> bool {
    let (Some(version), Some(cuda)) = (cudnn.version(), cudnn.cuda_major) else {
        return true;
    };
    let rows = compat::gpus(platform);
    let mut newest = None;
    for row in &rows {
        if row.cuda == cuda {
            newest = newest.max(Some(row.last));
        }
    }
    let version = newest.map_or(version, |newest| newest.min(version));
    let support = gpu_support::Cudnn { version, cuda }.support(&rows, gpu);
    !gpu_support::is_jetson(gpu) && support != GpuSupport::No
}

/// Returns the findings about GPUs of this machine that the cuDNN does not support.
#[cfg(feature = "cli")]
pub fn gpus(cudnn: &Cudnn, gpus: &[Device], platform: &Platform) -> Vec<Finding> {
    let Some((cudnn, rows)) = supported(cudnn, platform) else {
        return Vec::new();
    };
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for gpu in gpus {
        if seen.contains(&gpu.capability) {
            continue;
        }
        seen.push(gpu.capability);
        let mut rule = Gpu::new(&gpu.name, gpu.capability);
        // The program may load another cuDNN.
        rule.is_required = false;
        if let Some(mut gap) = cudnn.gap(&rows, gpu.capability) {
            // A cuDNN for an older CUDA may support the GPU.
            if let SupportGap::Dropped(last @ None) = &mut gap {
                let version = Version::new(u32::MAX, 0, 0);
                *last = (11..cudnn.cuda).rev().find_map(|cuda| {
                    let newest = gpu_support::Cudnn { version, cuda };
                    Some((newest.last_with(&rows, gpu.capability)?, cuda))
                });
            }
            findings.push(gap.finding(cudnn, rule));
        }
    }
    findings
}

/// Returns the finding if the driver of this machine does not support the build. It is a warning at most, because the
/// program may run elsewhere.
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
    let cuda_major = cudnn.and_then(|cudnn| cudnn.cuda_major);
    let (needed, needed_by) = match (cuda_major, cuda) {
        (Some(needed), _) if needed > driver.major => (needed, DriverUser::ChosenCudnn),
        (_, Some(cuda)) if cuda.major > driver.major => (cuda.major, DriverUser::ChosenToolkit),
        (_, cuda) => {
            let mut machine = targets.to_vec();
            machine.retain(|target| target.code == Code::Machine);
            let has_code =
                |gpu: &Device| machine.iter().any(|target| target.runs_on(gpu.capability));
            return ptx(cuda?, driver, platform, !gpus.iter().all(has_code));
        }
    };
    let first = compat::drivers(platform);
    Some(needed_by.driver_too_old(driver, needed, &first))
}

/// Returns the finding about a toolkit whose PTX the driver of this machine does not support. `is_needed`: a target has
/// no machine code for a GPU of this machine.
pub fn ptx(
    cuda: Version,
    driver: Version,
    platform: &Platform,
    is_needed: bool,
) -> Option<Finding> {
    let first = compat::ptx_from(cuda)?;
    if cuda.major > driver.major || driver >= first {
        return None;
    }
    let first = compat::driver_for(first, platform);
    Some(NewerPtx { cuda, driver }.toolkit_finding(first, is_needed))
}
