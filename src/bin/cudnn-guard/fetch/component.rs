//! What `fetch` installs: the toolkit and cuDNN, each a few of NVIDIA's wheels.

use crate::fetch::release::Release;
use crate::fetch::requirements::Pin;
use crate::fetch::wheels::{self, Wheel};
use cudnn_guard::{Finding, FindingId};
use std::path::Path;

/// The wheels of one CUDA. The first package of a toolkit tells its release.
struct Wheels {
    cuda: u32,
    folders: &'static [&'static str],
    packages: &'static [&'static str],
    cudnn: &'static str,
    /// How large the toolkit's and cuDNN's are to download, in GB: the newest on PyPI for Linux on x86_64 at the end of
    /// 2026. Neither pip nor uv tells that beforehand.
    gigabytes: [f32; 2],
}

/// nvcc where there is one as a wheel, headers, cudart, and what cuDNN opens when it computes: cuBLAS, NVRTC.
/// cuDNN names a libnvJitLink too, under a name that no wheel has, and does without.
const WHEELS: [Wheels; 3] = [
    Wheels {
        cuda: 13,
        folders: &["nvidia/cu13"],
        packages: &[
            "nvidia-cuda-nvcc",
            "nvidia-cuda-runtime",
            "nvidia-cuda-crt",
            "nvidia-nvvm",
            "nvidia-cuda-cccl",
            "nvidia-cublas",
            "nvidia-cuda-nvrtc",
        ],
        cudnn: "nvidia-cudnn-cu13",
        gigabytes: [0.6, 0.5],
    },
    Wheels {
        cuda: 12,
        folders: &[
            "nvidia/cuda_runtime",
            "nvidia/cuda_nvcc",
            "nvidia/cuda_nvrtc",
            "nvidia/cublas",
            "nvidia/cuda_cccl",
        ],
        packages: &[
            "nvidia-cuda-runtime-cu12",
            "nvidia-cuda-nvcc-cu12",
            "nvidia-cuda-nvrtc-cu12",
            "nvidia-cublas-cu12",
            "nvidia-cuda-cccl-cu12",
        ],
        cudnn: "nvidia-cudnn-cu12",
        gigabytes: [0.7, 0.7],
    },
    Wheels {
        cuda: 11,
        folders: &[
            "nvidia/cuda_runtime",
            "nvidia/cuda_nvcc",
            "nvidia/cuda_nvrtc",
            "nvidia/cublas",
        ],
        packages: &[
            "nvidia-cuda-runtime-cu11",
            "nvidia-cuda-nvcc-cu11",
            "nvidia-cuda-nvrtc-cu11",
            "nvidia-cublas-cu11",
        ],
        cudnn: "nvidia-cudnn-cu11",
        gigabytes: [0.5, 0.4],
    },
];

/// The majors of CUDA that PyPI has, the newest first.
pub const MAJORS: [u32; 3] = [WHEELS[0].cuda, WHEELS[1].cuda, WHEELS[2].cuda];

const CUDNN: &[&str] = &["nvidia/cudnn"];

/// What is fetched, replaced and found damaged as one.
pub struct Component {
    /// What people call it.
    pub title: &'static str,
    /// The CUDA that it is or that it is for.
    pub cuda: u32,
    /// Its folders below the home, as its wheels have them.
    pub folders: &'static [&'static str],
    /// Its wheels. The first one's release is the component's.
    pub packages: &'static [&'static str],
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
    /// The toolkit of a CUDA. From 13 on NVIDIA's `cuda-toolkit` tells what belongs together, as CCCL and cuBLAS count
    /// their own releases; before, all but the cuBLAS of CUDA 11 have the release of their CUDA.
    pub fn toolkit(cuda: u32, wanted: Option<&Release>) -> Self {
        let wheels = wheels_for(cuda);
        let release = wanted.map_or_else(|| cuda.to_string(), Release::to_string);
        let asked = match wheels.cuda {
            13 => vec![format!("cuda-toolkit[cccl,cublas,nvcc]=={release}.*")],
            _ => {
                let asked = |package: &&str| match (*package, release.as_str()) {
                    ("nvidia-cublas-cu11", "11.7") => format!("{package}==11.10.*"),
                    ("nvidia-cublas-cu11", "11.8") => format!("{package}==11.11.*"),
                    _ => format!("{package}=={release}.*"),
                };
                wheels.packages.iter().map(asked).collect()
            }
        };
        Self {
            title: "CUDA toolkit",
            cuda: wheels.cuda,
            folders: wheels.folders,
            packages: wheels.packages,
            gigabytes: wheels.gigabytes[0],
            asked,
            dependencies: wheels.cuda == 13,
            wanted: wanted.cloned(),
            pins: Vec::new(),
        }
    }

    /// cuDNN for a CUDA. What it depends on comes with the toolkit.
    pub fn cudnn(cuda: u32, wanted: Option<&Release>) -> Self {
        let wheels = wheels_for(cuda);
        let release = wanted.map_or(String::new(), |release| format!("=={release}.*"));
        Self {
            title: "cuDNN",
            cuda: wheels.cuda,
            folders: CUDNN,
            packages: std::slice::from_ref(&wheels.cudnn),
            gigabytes: wheels.gigabytes[1],
            asked: vec![format!("{}{release}", wheels.cudnn)],
            dependencies: false,
            wanted: wanted.cloned(),
            pins: Vec::new(),
        }
    }

    /// A toolkit and a cuDNN, to ask for what is the same for every CUDA.
    pub fn both() -> [Self; 2] {
        let [newest, ..] = MAJORS;
        [Self::toolkit(newest, None), Self::cudnn(newest, None)]
    }

    /// Whether it is cuDNN.
    pub fn is_cudnn(&self) -> bool {
        self.folders == CUDNN
    }

    /// The same for every CUDA, whose place it takes.
    pub fn every(&self) -> Vec<Self> {
        let make = match self.is_cudnn() {
            true => Self::cudnn,
            false => Self::toolkit,
        };
        MAJORS.iter().map(|&cuda| make(cuda, None)).collect()
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

    /// The same as `fetch` is asked for it: two numbers of a toolkit, three of a cuDNN.
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
        for (wheel, name) in wheels.iter().zip(self.packages) {
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

/// The wheels for a CUDA; those of the oldest for one that is older.
fn wheels_for(cuda: u32) -> &'static Wheels {
    let [newest, .., oldest] = const { &WHEELS };
    let mut all = const { &WHEELS }.iter();
    let other = if cuda < oldest.cuda { oldest } else { newest };
    all.find(|wheels| wheels.cuda == cuda).unwrap_or(other)
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
            assert!(toolkit.packages.contains(&package), "{package}");
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
