//! The wheels to install: the toolkit with its libraries, and cuDNN.

use crate::cli::fetch::installed::Installed;
use crate::cli::fetch::project::{self, AcceptedCuda};
use crate::cli::numbers;
use crate::cli::terminal::show_step;
use crate::compat::newest_cuda;
use crate::model::joined;
use crate::report::machine::query_driver;
use crate::runtime::facts::{Version, majors};
use crate::toolkit::package_names::FETCHED_ON_REQUEST;
use std::collections::BTreeSet;
use std::path::Path;

/// The extras of NVIDIA's project `cuda-toolkit` that every installation has. CUDA 11 has no `cccl`.
const EXTRAS: [&str; 5] = ["cublas", "cudart", "nvcc", "nvrtc", "cccl"];

/// The versions that the user named, as leading numbers. `None` means the installed one, else the newest.
#[derive(Default, PartialEq)]
pub struct Choice {
    pub cuda: Option<String>,
    pub cudnn: Option<String>,
    /// The libraries of CUDA besides those that cuDNN opens.
    pub libraries: Vec<String>,
    /// The wheels in a lock file, instead of all others.
    pub lock: Option<String>,
}

impl Choice {
    /// Adds what the user left open: the libraries that the crate uses, and a CUDA that the driver supports. Without a
    /// requirement, an installed toolkit stays.
    pub fn complete(mut self, installed: &Installed) -> Self {
        let project = Path::new(".");
        let is_project = project.join("Cargo.toml").exists();
        if self.libraries.is_empty() && is_project {
            self.libraries = project::libraries(project);
            if !self.libraries.is_empty() {
                let used = joined(&self.libraries, ", ");
                show_step("i", "added", format!("{used}, which this project uses"));
            }
        }
        if self.cuda.is_some() {
            return self;
        }
        let driver = || query_driver().ok().and_then(|(driver, _)| driver?.cuda);
        let accepted = is_project.then(|| AcceptedCuda::find(project)).flatten();
        if let Some(present) = installed.version("nvidia-cuda-runtime") {
            if let Some(other) = accepted.and_then(|accepted| accepted.other(present)) {
                show_step("!", "installed", other);
            }
        } else if let Some((cuda, reason)) = chosen(accepted, driver()) {
            show_step("i", "chosen", format!("CUDA {cuda}, {reason}"));
            self.cuda = Some(cuda);
        }
        self
    }

    /// Returns the requirements for the installer. Without a choice, the installed versions and libraries stay.
    pub fn requirements(&self, installed: &Installed) -> String {
        if let Some(lock) = &self.lock {
            return lock.clone();
        }
        let cuda = installed.version("nvidia-cuda-runtime");
        let cuda = numbers::or_present(&self.cuda, cuda, 2);
        let cuda = cuda.unwrap_or(majors::NEWEST_CUDA.to_string());
        let major = numbers::major(&cuda);
        let cudnn = format!("nvidia-cudnn-cu{major}");
        let version = numbers::or_present(&self.cudnn, installed.version(&cudnn), 3);
        let version = version.map_or(String::new(), |version| format!("=={version}.*"));
        let mut extras = [&EXTRAS[..], &FETCHED_ON_REQUEST].concat();
        extras.retain(|name| {
            let is_missing = major == 11 && ["cccl", "nvjitlink"].contains(name);
            let is_chosen = EXTRAS.contains(name) || self.libraries.iter().any(|one| one == name);
            !is_missing && (is_chosen || installed.version(&format!("nvidia-{name}")).is_some())
        });
        let extras = extras.join(",");
        format!("cuda-toolkit[{extras}]=={cuda}.*\n{cudnn}{version}\n")
    }

    /// Returns the reason why these wheels are not installed, if they are not.
    pub fn missing_in(&self, installed: &Installed) -> Option<String> {
        let requirements = self.requirements(installed);
        let words = requirements.split_whitespace().map(String::from);
        let wheels = words.filter(|word| word.contains("=="));
        let is_met = match self.lock {
            Some(_) => wheels.collect::<BTreeSet<_>>() == installed.wheels,
            None => requirements == Self::default().requirements(installed),
        };
        if is_met && !installed.wheels.is_empty() {
            return installed.damaged().into_iter().next();
        }
        Some("other versions or libraries are required".into())
    }
}

/// Returns the CUDA that the project's cudarc is compiled for, or the newest that it and the driver support, and the reason.
fn chosen(accepted: Option<AcceptedCuda>, driver: Option<Version>) -> Option<(String, String)> {
    // A driver does not run the PTX of a newer minor version. The wheels of an older CUDA have no nvcc.
    let is_exact =
        |driver: Version| driver.major == majors::NEWEST_CUDA && Some(driver) < newest_cuda();
    let is_supported = |cuda: Version| match driver {
        Some(driver) if is_exact(driver) => cuda <= driver,
        Some(driver) => cuda.major <= driver.major,
        None => true,
    };
    if let Some(one) = accepted.filter(|one| one.is_chosen || is_supported(one.version)) {
        return Some((one.version.short(), one.reason));
    }
    let (driver, mut majors) = (driver?, majors::CUDA.iter());
    let major = majors.find(|major| **major <= driver.major)?;
    let cuda = match is_exact(driver) {
        true => driver.short(),
        false => major.to_string(),
    };
    let reason = format!("since the driver supports CUDA {}", driver.short());
    Some((cuda, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// cudarc's feature, else the newest CUDA that cudarc and the driver support.
    #[test]
    fn the_cuda_that_cudarc_and_the_driver_support() {
        let is_chosen = true;
        for (cudarc, driver, cuda) in [
            (None, None, None),
            (None, Some((13, 0)), Some("13.0")),
            (None, Some((12, 4)), Some("12")),
            (None, Some((14, 0)), Some("13")),
            (Some((13, 0, !is_chosen)), None, Some("13.0")),
            (Some((13, 0, !is_chosen)), Some((13, 1)), Some("13.0")),
            (Some((13, 0, !is_chosen)), Some((14, 0)), Some("13.0")),
            (Some((13, 1, !is_chosen)), Some((13, 0)), Some("13.0")),
            (Some((13, 0, !is_chosen)), Some((12, 8)), Some("12")),
            // Programs run on any driver for the major.
            (Some((12, 8, !is_chosen)), Some((12, 4)), Some("12.8")),
            (Some((12, 8, is_chosen)), Some((13, 0)), Some("12.8")),
            (Some((13, 0, is_chosen)), Some((12, 8)), Some("13.0")),
        ] {
            let accepted = cudarc.map(|(major, minor, is_chosen)| AcceptedCuda {
                version: Version::new(major, minor, 0),
                is_chosen,
                reason: String::new(),
            });
            let version = driver.map(|(major, minor)| Version::new(major, minor, 0));
            let found = chosen(accepted, version).map(|(cuda, _)| cuda);
            assert_eq!(found.as_deref(), cuda, "{cudarc:?} {driver:?}");
        }
    }
}
