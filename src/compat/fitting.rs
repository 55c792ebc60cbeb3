//! The versions to install that are compatible with a machine.

use crate::compat::{gpus, newest_cuda};
use crate::runtime::facts::compute_capability::ComputeCapability;
use crate::runtime::facts::version::Version;
use crate::runtime::judge::gpu_support::{Cudnn, GpuSupport};

/// The versions for a driver and its GPUs.
pub struct Fitting {
    pub cuda: u32,
    /// The CUDA minor, if the driver does not support the PTX of the major's newest minor.
    pub minor: Option<u32>,
    /// The last cuDNN that is known to support all GPUs, if the newest does not.
    pub cudnn: Option<Version>,
}

/// Returns the first of these CUDA majors that the driver supports and that has a cuDNN for these GPUs. `driver` is the
/// newest CUDA that the driver supports.
pub fn fitting(
    majors: &[u32],
    driver: Version,
    devices: &[ComputeCapability],
    cpu: &str,
) -> Option<Fitting> {
    let rows = gpus(cpu);
    let mut majors = majors.iter().filter(|major| **major <= driver.major);
    let version = Version::new(u32::MAX, 0, 0);
    majors.find_map(|&cuda| {
        let newest = Cudnn { version, cuda };
        let mut last: Option<Version> = None;
        for &gpu in devices {
            if newest.support(&rows, gpu) == GpuSupport::No {
                let for_gpu = newest.last_with(&rows, gpu)?;
                last = Some(last.map_or(for_gpu, |last| last.min(for_gpu)));
            }
        }
        let is_older = newest_cuda().is_some_and(|newest| driver < newest);
        Some(Fitting {
            cuda,
            minor: (cuda == driver.major && is_older).then_some(driver.minor),
            cudnn: last,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_compatible_version_is_used() {
        let fitting = |driver: (u32, u32), gpus: &[(u32, u32)]| {
            let gpus: Vec<_> = gpus
                .iter()
                .map(|gpu| ComputeCapability::new(gpu.0, gpu.1))
                .collect();
            let driver = Version::new(driver.0, driver.1, 0);
            let fits = super::fitting(&[13, 12, 11], driver, &gpus, "x86_64")?;
            let cudnn = fits.cudnn.map(|cudnn| cudnn.to_string());
            Some((fits.cuda, fits.minor, cudnn))
        };
        let last = |cudnn: &str| Some(cudnn.to_string());
        for (driver, gpus, fits) in [
            ((13, 5), &[][..], (13, None, None)),
            ((13, 0), &[(9, 0)], (13, Some(0), None)),
            ((14, 0), &[(9, 0)], (13, None, None)),
            ((12, 2), &[(8, 6)], (12, Some(2), None)),
            // Pascal alone, and Pascal beside an Ampere. CUDA 13 does not support Pascal.
            ((13, 0), &[(6, 1)], (12, None, last("9.10.2"))),
            ((12, 8), &[(8, 0), (6, 1)], (12, Some(8), last("9.10.2"))),
            ((11, 4), &[(3, 5)], (11, Some(4), last("8.7.0"))),
        ] {
            assert_eq!(fitting(driver, gpus), Some(fits), "{driver:?} {gpus:?}");
        }
        assert_eq!(fitting((10, 2), &[]), None);
        assert_eq!(fitting((13, 0), &[(2, 0)]), None);
    }
}
