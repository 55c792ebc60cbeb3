//! The default versions to fetch: those that the current crate names, or else those that are compatible with the driver
//! and the GPUs of this machine.

use crate::cli::cuda_version::CudaVersion;
use crate::cli::fetch::fault::FetchFault;
use crate::cli::fetch::home::ours;
use crate::cli::fetch::manifest;
use crate::cli::fetch::project::{self, Used};
use crate::cli::fetch::release::Release;
use crate::cli::terminal::{harmless, show_step};
use crate::compat::cudarc_refusals::accepted_instead;
use crate::compat::fitting::fitting;
use crate::model::kind::Kind;
use crate::model::text::joined;
use crate::report::machine::driver;
use crate::runtime::facts::majors;
use crate::system::Host;
use std::fs;
use std::path::Path;

/// The versions to fetch. `None` means the newest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    pub cuda: Option<CudaVersion>,
    pub cudnn: Option<Release>,
    /// The libraries of CUDA besides those that cuDNN opens.
    pub libraries: Vec<String>,
}

const MANIFEST: &str = "Cargo.toml";

/// Stands for the newest minor version of a CUDA: no release has one as high.
const NEWEST_MINOR: u32 = 99;

impl Choice {
    /// Fills in open versions from `[package.metadata.cudnn-guard]` in the current directory, or that table of the
    /// workspace.
    pub fn or_of_crate(self) -> Result<Self, FetchFault> {
        let text = fs::read_to_string(MANIFEST).unwrap_or_default();
        let named = manifest::read(&text)?;
        let mut chosen = Self {
            cuda: self.cuda.clone().or(named.cuda),
            cudnn: self.cudnn.clone().or(named.cudnn),
            libraries: [self.libraries.clone(), named.libraries].concat(),
        };
        if (&chosen.cuda, &chosen.cudnn) != (&self.cuda, &self.cudnn) {
            let cuda = chosen.cuda.iter().map(|cuda| format!("CUDA {cuda}"));
            let cudnn = chosen
                .cudnn
                .iter()
                .map(|release| format!("cuDNN {release}"));
            let both: Vec<String> = cuda.chain(cudnn).collect();
            show_chosen(&format!("{}, with {MANIFEST}", both.join(" and ")));
        }
        if self.libraries.is_empty() && Path::new(MANIFEST).exists() {
            chosen.add_libraries(project::libraries(Path::new(".")));
        }
        Ok(chosen)
    }

    fn add_libraries(&mut self, mut used: Used) {
        used.retain(|library, _| !self.libraries.iter().any(|one| one == library));
        let added = used.iter();
        let added = added.map(|(library, by)| format!("{library} for {}", by.join(" and ")));
        if !used.is_empty() {
            show_step("i", "added", joined(added, ", "));
        }
        self.libraries.extend(used.into_keys().map(String::from));
    }

    /// Chooses an open version of CUDA. Without a requirement, an installed toolkit stays.
    pub fn with_cuda(self, home: &Path) -> Self {
        let toolkit = ours(home, Kind::Toolkit);
        let installed = toolkit.as_ref().and_then(|one| one.short_release(home));
        match self.cuda.clone() {
            Some(least) if least.or_later => self.with_later_cuda(&least, installed),
            Some(cuda) if cuda.release.0.len() == 1 => self.with_cudarc(installed),
            None if toolkit.is_none() => {
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
        let cuda = Some(Release(
            [compatible.cuda].into_iter().chain(minor).collect(),
        ));
        let cuda = cuda.filter(is_allowed)?;
        let cudnn = compatible
            .cudnn
            .map(|one| Release(vec![one.major, one.minor, one.patch]));
        let last = match &cudnn {
            Some(cudnn) if self.cudnn.is_none() => {
                let names: Vec<&str> = driver.devices.iter().map(|gpu| gpu.name.as_str()).collect();
                format!(", and cuDNN {cudnn}, the last for {}", names.join(", "))
            }
            _ => String::new(),
        };
        let supported = supported.short();
        show_chosen(&format!(
            "CUDA {cuda}, since the driver supports CUDA {supported}{last}"
        ));
        Some(Self {
            cuda: Some(cuda.into()),
            cudnn: self.cudnn.clone().or(cudnn),
            ..self.clone()
        })
    }

    /// Chooses a CUDA that is at least this version: the installed one, or the newest that the driver supports, or the
    /// newest.
    fn with_later_cuda(self, least: &CudaVersion, installed: Option<Release>) -> Self {
        if let Some(cuda) = installed.filter(|cuda| least.may_be(cuda)) {
            return Self {
                cuda: Some(cuda.into()),
                ..self
            };
        }
        self.with_machine(&|cuda| least.may_be(cuda))
            .unwrap_or_else(|| {
                let newest = majors::NEWEST_CUDA.max(least.release.major());
                Self {
                    cuda: Some(Release(vec![newest]).into()),
                    ..self
                }
            })
    }
}

fn show_chosen(what: &str) {
    show_step("i", "chosen", harmless(what));
}
