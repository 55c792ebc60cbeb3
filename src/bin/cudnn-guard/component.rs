//! What `fetch` installs: the toolkit and cuDNN, each a few of NVIDIA's wheels.

use crate::wheels::{self, Wheel};
use std::fmt;
use std::path::Path;

/// A release as somebody asks for it: `13`, `13.0`, `9.14.0`.
#[derive(Clone, Debug, PartialEq)]
pub struct Release(Vec<u32>);

impl Release {
    /// Reads it; CUDA's have at most two numbers, cuDNN's three.
    pub fn parse(text: &str, most: usize) -> Result<Self, String> {
        let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        match numbers {
            Ok(numbers) if numbers.len() <= most => Ok(Self(numbers)),
            _ => Err(format!("write it as {}", ["", "13", "13.0", "9.14"][most])),
        }
    }

    /// Its first number.
    pub fn major(&self) -> u32 {
        self.0.first().copied().unwrap_or(0)
    }

    /// Whether a wheel's release begins with these numbers.
    fn is_start_of(&self, version: &str) -> bool {
        let mut numbers = version.split('.').map(str::parse);
        self.0
            .iter()
            .all(|wanted| numbers.next() == Some(Ok(*wanted)))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

/// What is fetched, replaced and found damaged as one.
pub struct Component {
    /// What people call it.
    pub title: &'static str,
    /// Its folder below the home, as its wheels have it.
    pub folder: &'static str,
    /// Its wheels with the release that pip is asked for. The first one's release is the component's.
    pub packages: Vec<(&'static str, String)>,
    wanted: Option<Release>,
}

impl Component {
    /// nvcc and what it needs to compile, link and run a kernel.
    pub fn toolkit(wanted: Option<&Release>) -> Self {
        let release = match wanted {
            Some(release) => format!("=={release}.*"),
            None => ">=13,<14".to_string(),
        };
        // From CUDA 13.3 on, CCCL counts its own releases: 13.3.5.0.6 came with CUDA 13.5.
        // https://pypi.org/project/nvidia-cuda-cccl/#history
        let cccl = match wanted {
            Some(Release(numbers)) if numbers.get(1).is_some_and(|minor| *minor >= 3) => {
                ">=13.3,<14".to_string()
            }
            _ => release.clone(),
        };
        Self {
            title: "CUDA toolkit",
            folder: "nvidia/cu13",
            packages: vec![
                ("nvidia-cuda-nvcc", release.clone()),
                ("nvidia-cuda-runtime", release.clone()),
                ("nvidia-cuda-crt", release.clone()),
                ("nvidia-nvvm", release),
                ("nvidia-cuda-cccl", cccl),
            ],
            wanted: wanted.cloned(),
        }
    }

    /// cuDNN for CUDA 13.
    pub fn cudnn(wanted: Option<&Release>) -> Self {
        let release = wanted.map_or(String::new(), |release| format!("=={release}.*"));
        Self {
            title: "cuDNN",
            folder: "nvidia/cudnn",
            packages: vec![("nvidia-cudnn-cu13", release)],
            wanted: wanted.cloned(),
        }
    }

    /// Its wheels among those of a folder, in the order of `packages`; none for one that is not there.
    pub fn wheels(&self, dir: &Path) -> Vec<Option<Wheel>> {
        let mut installed = wheels::installed(dir);
        self.packages
            .iter()
            .map(|(name, _)| {
                let name = name.replace('-', "_");
                let index = installed.iter().position(|wheel| wheel.name == name)?;
                Some(installed.swap_remove(index))
            })
            .collect()
    }

    /// Its release in a folder if it is there, whole and the one that is wanted; else why not, or nothing if
    /// there is nothing.
    pub fn check(&self, dir: &Path) -> Result<String, Option<String>> {
        let wheels = self.wheels(dir);
        if wheels.iter().all(Option::is_none) {
            return Err(None);
        }
        let mut release = None;
        for (wheel, (name, _)) in wheels.iter().zip(&self.packages) {
            let Some(wheel) = wheel else {
                return Err(Some(format!("{name} is missing")));
            };
            if let Some(damage) = wheel.damage() {
                return Err(Some(format!("{name} is damaged: {damage}")));
            }
            release.get_or_insert(wheel.version.clone());
        }
        let release = release.unwrap_or_default();
        match &self.wanted {
            Some(wanted) if !wanted.is_start_of(&release) => {
                Err(Some(format!("{release} is there, {wanted} is wanted")))
            }
            _ => Ok(release),
        }
    }

    /// Whether all its wheels but CCCL, which counts for itself, are of one X.Y: they were looked up one by one.
    pub fn is_of_one_release(&self, dir: &Path) -> bool {
        let mut short: Vec<String> = self
            .wheels(dir)
            .into_iter()
            .flatten()
            .filter(|wheel| wheel.name != "nvidia_cuda_cccl")
            .map(|wheel| {
                wheel
                    .version
                    .split('.')
                    .take(2)
                    .collect::<Vec<_>>()
                    .join(".")
            })
            .collect();
        short.dedup();
        short.len() <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_the_start_of_a_wheels() {
        let release = |text| Release::parse(text, 3).expect("a release");
        assert!(release("9.1").is_start_of("9.1.0.70"));
        assert!(!release("9.1").is_start_of("9.14.0.64"));
        assert!(!release("9.14.0.64".get(..6).expect("six")).is_start_of("9.14"));
        assert!(release("13").is_start_of("13.5.37"));
    }

    #[test]
    fn a_release_that_cannot_be_read_is_refused() {
        for text in ["", "x", "9.", ".9", "9.1.2.3", "-1", "9 .1"] {
            assert!(Release::parse(text, 3).is_err(), "{text}");
        }
        assert!(Release::parse("13.0.1", 2).is_err());
    }

    #[test]
    fn cccl_counts_its_own_releases_from_13_3_on() {
        let asked = |text| {
            let release = Release::parse(text, 2).expect("a release");
            let component = Component::toolkit(Some(&release));
            component
                .packages
                .last()
                .map(|(_, release)| release.clone())
        };
        assert_eq!(asked("13.2").as_deref(), Some("==13.2.*"));
        assert_eq!(asked("13.5").as_deref(), Some(">=13.3,<14"));
    }
}
