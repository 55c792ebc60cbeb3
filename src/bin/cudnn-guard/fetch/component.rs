//! What `fetch` installs: the toolkit and cuDNN, each a few of NVIDIA's wheels.

use crate::fetch::release::Release;
use crate::fetch::requirements::Pin;
use crate::fetch::wheels::{self, Wheel};
use cudnn_guard::runtime::facts::majors;
use cudnn_guard::{Finding, FindingId};
use std::path::Path;

/// How large the toolkit and cuDNN are to download, in GB: the newest on PyPI for Linux on x86_64 at the end of 2026.
/// Neither pip nor uv tells that beforehand.
const GIGABYTES: &[(u32, [f32; 2])] = &[(13, [0.6, 0.5]), (12, [0.7, 0.7]), (11, [0.5, 0.4])];

/// The wheels of a toolkit from CUDA 13 on, all in one folder. The first one tells its release.
const TOOLKIT: [&str; 7] = [
    "nvidia-cuda-nvcc",
    "nvidia-cuda-runtime",
    "nvidia-cuda-crt",
    "nvidia-nvvm",
    "nvidia-cuda-cccl",
    "nvidia-cublas",
    "nvidia-cuda-nvrtc",
];
/// The folders and wheels of CUDA 12; 11 lacks the last.
const TOOLKIT_12: [(&str, &str); 5] = [
    ("cuda_runtime", "nvidia-cuda-runtime"),
    ("cuda_nvcc", "nvidia-cuda-nvcc"),
    ("cuda_nvrtc", "nvidia-cuda-nvrtc"),
    ("cublas", "nvidia-cublas"),
    ("cuda_cccl", "nvidia-cuda-cccl"),
];
const CUDNN: &str = "nvidia/cudnn";

/// What is fetched, replaced and found damaged as one.
pub struct Component {
    /// What people call it.
    pub title: &'static str,
    /// The CUDA that it is or that it is for.
    pub cuda: u32,
    /// Its folders below the home, as its wheels have them.
    pub folders: Vec<String>,
    /// Its wheels. The first one's release is the component's.
    pub packages: Vec<String>,
    /// About how large they are to download, in GB.
    pub gigabytes: f32,
    /// What the installer is asked for.
    pub asked: Vec<String>,
    /// Whether that names the others and their releases.
    pub dependencies: bool,
    /// The release that somebody asked for.
    pub wanted: Option<Release>,
    /// The exact wheels that somebody asked for, in the order of `packages`.
    pub pins: Vec<Pin>,
}

impl Component {
    /// The toolkit of a CUDA: nvcc where there is one as a wheel, headers, cudart, and what cuDNN opens when it computes,
    /// cuBLAS and NVRTC. cuDNN names a libnvJitLink too, under a name that no wheel has, and does without.
    ///
    /// From 13 on NVIDIA's `cuda-toolkit` tells what belongs together, as CCCL and cuBLAS count their own releases; before,
    /// all but the cuBLAS of CUDA 11 have the release of their CUDA.
    pub fn toolkit(cuda: u32, wanted: Option<&Release>) -> Self {
        let cuda = with_wheels(cuda);
        let release = wanted.map_or_else(|| cuda.to_string(), Release::to_string);
        let (folders, packages, asked): (Vec<String>, Vec<String>, Vec<String>) = if cuda >= 13 {
            (
                vec![format!("nvidia/cu{cuda}")],
                TOOLKIT.map(String::from).to_vec(),
                vec![format!("cuda-toolkit[cccl,cublas,nvcc]=={release}.*")],
            )
        } else {
            let known = if cuda == 11 {
                &TOOLKIT_12[..4]
            } else {
                &TOOLKIT_12
            };
            let packages = known
                .iter()
                .map(|(_, package)| format!("{package}-cu{cuda}"));
            let packages: Vec<String> = packages.collect();
            let asked = |package: &String| match (package.as_str(), release.as_str()) {
                ("nvidia-cublas-cu11", "11.7") => format!("{package}==11.10.*"),
                ("nvidia-cublas-cu11", "11.8") => format!("{package}==11.11.*"),
                _ => format!("{package}=={release}.*"),
            };
            let asked = packages.iter().map(asked).collect();
            let folders = known.iter().map(|(folder, _)| format!("nvidia/{folder}"));
            (folders.collect(), packages, asked)
        };
        Self {
            title: "CUDA toolkit",
            cuda,
            folders,
            packages,
            gigabytes: gigabytes(cuda)[0],
            asked,
            dependencies: cuda >= 13,
            wanted: wanted.cloned(),
            pins: Vec::new(),
        }
    }

    /// cuDNN for a CUDA. What it depends on comes with the toolkit.
    pub fn cudnn(cuda: u32, wanted: Option<&Release>) -> Self {
        let cuda = with_wheels(cuda);
        let package = format!("nvidia-cudnn-cu{cuda}");
        let release = wanted.map_or(String::new(), |release| format!("=={release}.*"));
        Self {
            title: "cuDNN",
            cuda,
            folders: vec![CUDNN.into()],
            asked: vec![format!("{package}{release}")],
            packages: vec![package],
            gigabytes: gigabytes(cuda)[1],
            dependencies: false,
            wanted: wanted.cloned(),
            pins: Vec::new(),
        }
    }

    /// A toolkit and a cuDNN, to ask for what is the same for every CUDA.
    pub fn both() -> [Self; 2] {
        let newest = majors::NEWEST_CUDA;
        [Self::toolkit(newest, None), Self::cudnn(newest, None)]
    }

    /// Whether it is cuDNN.
    pub fn is_cudnn(&self) -> bool {
        self.folders == [CUDNN]
    }

    /// Returns this component for every CUDA: an installed one takes the place of the others.
    pub fn every(&self) -> Vec<Self> {
        let make = match self.is_cudnn() {
            true => Self::cudnn,
            false => Self::toolkit,
        };
        majors::CUDA.iter().map(|&cuda| make(cuda, None)).collect()
    }

    /// Whose releases are asked for.
    pub fn project(&self) -> &str {
        let asked = self.asked.first().map_or("", String::as_str);
        let end = asked.find(['[', '=']);
        end.and_then(|end| asked.get(..end)).unwrap_or(asked)
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

    /// The release that is in a folder, whole or not.
    pub fn release(&self, dir: &Path) -> Option<String> {
        let first = self.wheels(dir).into_iter().next().flatten()?;
        Some(first.version)
    }

    /// Returns the release in a folder as `fetch` takes it: two numbers for a toolkit, three for cuDNN.
    pub fn asked_release(&self, dir: &Path) -> Option<Release> {
        let most = if self.is_cudnn() { 3 } else { 2 };
        let release = self.release(dir)?;
        Some(Release::of_wheel(&release).first(most))
    }

    /// The option that asks `fetch` for what is in a folder. Of a toolkit whose first wheel is gone only the CUDA is
    /// known.
    pub fn option(&self, dir: &Path) -> String {
        let name = if self.is_cudnn() { "--cudnn" } else { "--cuda" };
        match self.asked_release(dir) {
            Some(release) => format!("{name} {release}"),
            None => format!("{name} {}", self.cuda),
        }
    }

    /// Its release in a folder if it is there, whole and the one that is wanted; else why not, or nothing if
    /// there is nothing.
    pub fn check(&self, dir: &Path) -> Result<String, Option<String>> {
        let wheels = self.wheels(dir);
        if wheels.iter().all(Option::is_none) {
            return Err(self.another(dir));
        }
        let mut release = None;
        let mut pins = self.pins.iter();
        for (wheel, name) in wheels.iter().zip(&self.packages) {
            let pin = pins.next();
            let Some(wheel) = wheel else {
                return Err(Some(format!("{name} is missing")));
            };
            if let Some(damage) = wheel.damage() {
                return Err(Some(format!("{name} is damaged: {damage}")));
            }
            let is_it = |pin: &&Pin| pin.version == wheel.version;
            if let Some(pin) = pin.filter(|pin| !is_it(pin)) {
                let (there, wanted) = (&wheel.version, &pin.version);
                return Err(Some(format!("{name} {there} is there, {wanted} is wanted")));
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

    /// What is to be downloaded.
    pub fn download(&self) -> String {
        let count = self.packages.len();
        let wheels = if count == 1 { "wheel" } else { "wheels" };
        let (title, size) = (self.title, self.gigabytes);
        format!("{title} ({count} {wheels}, about {size} GB)")
    }

    /// That the one for another CUDA is there.
    fn another(&self, dir: &Path) -> Option<String> {
        self.every().iter().find_map(|other| {
            let release = other.wheels(dir).into_iter().flatten().next()?.version;
            Some(format!(
                "{release} for CUDA {} is there, one for CUDA {} is wanted",
                other.cuda, self.cuda
            ))
        })
    }

    /// That PyPI does not have what is wanted, with the releases next to it; nothing if it has.
    pub fn not_offered(&self, offered: &[Release]) -> Option<Finding> {
        let wanted = self.wanted.as_ref()?;
        let nearest = wanted.nearest(offered)?;
        let (what, of_cuda) = match self.is_cudnn() {
            true => ("cuDNN", format!(" for CUDA {}", self.cuda)),
            false => ("CUDA", String::new()),
        };
        let names: Vec<String> = nearest.iter().map(Release::to_string).collect();
        let are = if nearest.len() == 1 { "is" } else { "are" };
        let commands: Vec<String> = nearest
            .iter()
            .map(|release| match self.is_cudnn() {
                true => format!("`cudnn-guard fetch --cuda {} --cudnn {release}`", self.cuda),
                false => format!("`cudnn-guard fetch --cuda {release}`"),
            })
            .collect();
        let summary = format!(
            "PyPI has no {what} {wanted}{of_cuda}; the nearest that it has {are} {}",
            names.join(" and ")
        );
        let help = format!("fetch what it has: {}", commands.join(", or "));
        Some(Finding::error(FindingId::FetchFailed, summary).help(help))
    }
}

/// The CUDA whose wheels are taken: the oldest for one that is older, the newest for any other that has none.
fn with_wheels(cuda: u32) -> u32 {
    match majors::CUDA.last() {
        _ if majors::CUDA.contains(&cuda) => cuda,
        Some(oldest) if cuda < *oldest => *oldest,
        _ => majors::NEWEST_CUDA,
    }
}

fn gigabytes(cuda: u32) -> [f32; 2] {
    let known = GIGABYTES.iter().find(|(major, _)| *major == cuda);
    known.map_or(GIGABYTES[0].1, |(_, size)| *size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Release {
        Release::of_wheel(text)
    }

    #[test]
    fn the_toolkit_is_asked_for_as_one_and_brings_what_cudnn_opens() {
        let toolkit = Component::toolkit(13, Some(&release("13.0")));
        assert_eq!(toolkit.asked, ["cuda-toolkit[cccl,cublas,nvcc]==13.0.*"]);
        assert_eq!(toolkit.project(), "cuda-toolkit");
        assert!(toolkit.dependencies);
        for package in ["nvidia-cublas", "nvidia-cuda-nvrtc"] {
            assert!(toolkit.packages.iter().any(|it| it == package), "{package}");
        }
    }

    #[test]
    fn wheels_up_to_cuda_12_are_asked_for_one_by_one() {
        let toolkit = Component::toolkit(12, Some(&release("12.4")));
        assert_eq!(
            toolkit.asked.join(" "),
            "nvidia-cuda-runtime-cu12==12.4.* nvidia-cuda-nvcc-cu12==12.4.* nvidia-cuda-nvrtc-cu12==12.4.* \
             nvidia-cublas-cu12==12.4.* nvidia-cuda-cccl-cu12==12.4.*"
        );
        assert_eq!(toolkit.project(), "nvidia-cuda-runtime-cu12");
        assert!(!toolkit.dependencies);
        // The cuBLAS of CUDA 11 counts its own releases.
        let cublas = |wanted: Option<Release>| Component::toolkit(11, wanted.as_ref()).asked.pop();
        let is = |text: &str| Some(format!("nvidia-cublas-cu11=={text}.*"));
        assert_eq!(cublas(Some(release("11.7"))), is("11.10"));
        assert_eq!(cublas(Some(release("11.8"))), is("11.11"));
        assert_eq!(cublas(None), is("11"));
    }

    #[test]
    fn what_pypi_does_not_have_is_told_with_what_is_next_to_it() {
        let offered = |text: &str| text.split(' ').map(Release::of_wheel).collect::<Vec<_>>();
        let cuda = offered("12.9.79 12.8.90 12.6.77 12.6.37 12.4.127.post1 12.0.107");
        let told = |text: &str| Component::toolkit(12, Some(&release(text))).not_offered(&cuda);
        assert!(told("12").is_none() && told("12.4").is_none());
        assert_eq!(
            told("12.7").expect("a finding").to_string(),
            "PyPI has no CUDA 12.7; the nearest that it has are 12.6 and 12.8  [fetch-failed]\n  \
             = help: fetch what it has: `cudnn-guard fetch --cuda 12.6`, or `cudnn-guard fetch --cuda 12.8`"
        );
        let cudnn = offered("9.28.1.4 9.12.0.46");
        let wanted = release("8.9");
        assert_eq!(
            Component::cudnn(13, Some(&wanted))
                .not_offered(&cudnn)
                .expect("a finding")
                .to_string(),
            "PyPI has no cuDNN 8.9 for CUDA 13; the nearest that it has is 9.12  [fetch-failed]\n  \
             = help: fetch what it has: `cudnn-guard fetch --cuda 13 --cudnn 9.12`"
        );
        assert!(
            Component::cudnn(13, Some(&wanted))
                .not_offered(&[])
                .is_none()
        );
    }
}
