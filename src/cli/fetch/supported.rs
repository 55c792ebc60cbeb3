//! The versions of CUDA and cuDNN that the driver, the GPUs and a cudarc in `Cargo.lock` support.

use crate::cli::cuda_version::CudaVersion;
use crate::cli::fetch::choice::{Choice, show_chosen};
use crate::cli::fetch::installed::Installed;
use crate::cli::fetch::release::Release;
use crate::compat::cudarc_refusals::accepted_instead;
use crate::compat::fitting::fitting;
use crate::model::text::joined;
use crate::report::machine::driver;
use crate::runtime::facts::majors;
use crate::system::Host;

/// Stands for the newest minor version of a CUDA: no release has one as high.
const NEWEST_MINOR: u32 = 99;

impl Choice {
    /// Chooses an open version of CUDA. Without a requirement, an installed toolkit stays.
    pub fn with_cuda(self, installed: &Installed) -> Self {
        let installed = installed.cuda();
        match self.cuda.clone() {
            Some(least) if least.or_later => self.with_later_cuda(&least, installed),
            Some(cuda) if cuda.release.0.len() == 1 => self.with_cudarc(installed),
            None if installed.is_none() => {
                let chosen = self.with_machine(&|_| true);
                chosen.unwrap_or(self).with_cudarc(None)
            }
            _ => self,
        }
    }

    /// Chooses a CUDA of the same major that a cudarc in `Cargo.lock` accepts, if its build script rejects the
    /// installed one, or else the newest.
    fn with_cudarc(mut self, installed: Option<Release>) -> Self {
        let newest = || Release(vec![majors::NEWEST_CUDA]);
        let chosen = self.cuda.clone().map_or_else(newest, |cuda| cuda.release);
        let installed = installed.filter(|one| one.major() == chosen.major());
        let cuda = installed.unwrap_or(chosen).with_minor(NEWEST_MINOR);
        let accepted = accepted_instead(&Host::capture(None, None, &[]).env, cuda);
        if let Some((accepted, cudarc)) = accepted.filter(|(one, _)| one.major == cuda.major) {
            let release = Release(vec![accepted.major, accepted.minor]);
            show_chosen(&format!(
                "CUDA {release}, the newest that cudarc {cudarc} supports"
            ));
            self.cuda = Some(release.into());
        }
        self
    }

    /// Fills in open versions so that they are compatible with the driver and the GPUs here, if a driver answers.
    ///
    /// Returns `None` if the version of CUDA is not allowed.
    fn with_machine(&self, is_allowed: &dyn Fn(&Release) -> bool) -> Option<Self> {
        let driver = driver()?;
        let supported = driver.cuda?;
        let gpus: Vec<_> = driver.devices.iter().map(|gpu| gpu.capability).collect();
        let compatible = fitting(majors::CUDA, supported, &gpus, std::env::consts::ARCH)?;
        // The wheels of an older CUDA have no nvcc, so the minor version does not matter.
        let minor = compatible
            .minor
            .filter(|_| compatible.cuda == majors::NEWEST_CUDA);
        let cuda = Release(std::iter::once(compatible.cuda).chain(minor).collect());
        if !is_allowed(&cuda) {
            return None;
        }
        let mut text = format!(
            "CUDA {cuda}, since the driver supports CUDA {}",
            supported.short()
        );
        let mut chosen = self.clone();
        if let (Some(last), None) = (compatible.cudnn, &self.cudnn) {
            let cudnn = Release(vec![last.major, last.minor, last.patch]);
            let names = joined(driver.devices.iter().map(|gpu| &gpu.name), ", ");
            text += &format!(", and cuDNN {cudnn}, the last for {names}");
            chosen.cudnn = Some(cudnn);
        }
        show_chosen(&text);
        chosen.cuda = Some(cuda.into());
        Some(chosen)
    }

    /// Chooses a CUDA that is at least this version: the installed one, or the newest that the driver supports, or the
    /// newest.
    fn with_later_cuda(mut self, least: &CudaVersion, installed: Option<Release>) -> Self {
        let installed = installed.filter(|cuda| least.may_be(cuda));
        if installed.is_none() {
            if let Some(chosen) = self.with_machine(&|cuda| least.may_be(cuda)) {
                return chosen;
            }
        }
        let newest = || Release(vec![majors::NEWEST_CUDA.max(least.release.major())]);
        self.cuda = Some(installed.unwrap_or_else(newest).into());
        self
    }
}
