//! What `fetch` installs: the toolkit and cuDNN, each a few of NVIDIA's wheels.

use crate::fetch::wheels::{self, Wheel};
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
    /// Its wheels. The first one's release is the component's.
    pub packages: &'static [&'static str],
    /// What the installer is asked for.
    pub asked: String,
    /// Whether that one names the others and their releases.
    pub dependencies: bool,
    wanted: Option<Release>,
}

impl Component {
    /// nvcc, what it needs to compile, link and run a kernel, and what cuDNN opens when it computes: cuBLAS, NVRTC.
    /// cuDNN names a libnvJitLink too, under a name that no wheel has, and does without.
    ///
    /// CCCL and cuBLAS count their own releases: 13.3.5.0.6 and 13.10.0.20 came with CUDA 13.5. This wheel of NVIDIA's
    /// tells what belongs together: <https://pypi.org/project/cuda-toolkit/>
    pub fn toolkit(wanted: Option<&Release>) -> Self {
        Self {
            title: "CUDA toolkit",
            folder: "nvidia/cu13",
            packages: &[
                "nvidia-cuda-nvcc",
                "nvidia-cuda-runtime",
                "nvidia-cuda-crt",
                "nvidia-nvvm",
                "nvidia-cuda-cccl",
                "nvidia-cublas",
                "nvidia-cuda-nvrtc",
            ],
            asked: match wanted {
                Some(release) => format!("cuda-toolkit[cccl,cublas,nvcc]=={release}.*"),
                None => "cuda-toolkit[cccl,cublas,nvcc]>=13,<14".to_string(),
            },
            dependencies: true,
            wanted: wanted.cloned(),
        }
    }

    /// cuDNN for CUDA 13. What it depends on comes with the toolkit.
    pub fn cudnn(wanted: Option<&Release>) -> Self {
        let release = wanted.map_or(String::new(), |release| format!("=={release}.*"));
        Self {
            title: "cuDNN",
            folder: "nvidia/cudnn",
            packages: &["nvidia-cudnn-cu13"],
            asked: format!("nvidia-cudnn-cu13{release}"),
            dependencies: false,
            wanted: wanted.cloned(),
        }
    }

    /// Whose releases are asked for.
    pub fn project(&self) -> &str {
        let end = self.asked.find(['[', '=', '>']);
        end.and_then(|end| self.asked.get(..end))
            .unwrap_or(&self.asked)
    }

    /// Its wheels among those of a folder, in the order of `packages`; none for one that is not there.
    pub fn wheels(&self, dir: &Path) -> Vec<Option<Wheel>> {
        let mut installed = wheels::installed(dir);
        self.packages
            .iter()
            .map(|name| {
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
        for (wheel, name) in wheels.iter().zip(self.packages) {
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
    fn the_toolkit_is_asked_for_as_one_and_brings_what_cudnn_opens() {
        let release = Release::parse("13.0", 2).expect("a release");
        let toolkit = Component::toolkit(Some(&release));
        assert_eq!(toolkit.asked, "cuda-toolkit[cccl,cublas,nvcc]==13.0.*");
        assert!(toolkit.dependencies);
        for package in ["nvidia-cublas", "nvidia-cuda-nvrtc"] {
            assert!(toolkit.packages.contains(&package), "{package}");
        }
    }
}
