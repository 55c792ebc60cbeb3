//! The wheels to install: the toolkit with its libraries, and cuDNN.

use crate::Finding;
use crate::cli::fetch::choice::Choice;
use crate::cli::fetch::fault;
use crate::cli::fetch::installed::Installed;
use crate::cli::fetch::release::Release;
use crate::cli::fetch::requirements::Pin;
use crate::runtime::facts::majors;
use crate::toolkit::package_names::{CUTLASS, FETCHED_ON_REQUEST};

/// The extras of NVIDIA's project `cuda-toolkit`, and its wheels from CUDA 13 on. The first has the toolkit's version.
const TOOLKIT: (&str, &str) = (
    "cccl,cublas,nvcc",
    "cuda-nvcc cuda-runtime cuda-crt nvvm cuda-cccl cublas cuda-nvrtc",
);
/// The wheels of CUDA 12 and 11, without `-cu12`.
const TOOLKIT_12: (&str, &str) = (
    "cccl,cublas,cudart,nvcc,nvrtc",
    "cuda-runtime cuda-nvcc cuda-nvrtc cublas cuda-cccl",
);
const TOOLKIT_11: (&str, &str) = (
    "cublas,cudart,nvcc,nvrtc",
    "cuda-runtime cuda-nvcc cuda-nvrtc cublas",
);

/// The wheels to install, and the arguments for the installer.
pub struct Wheels {
    /// The wheels, each with the beginning of its version if one is required.
    pub required: Vec<(String, Option<String>)>,
    /// The packages of each installation, with options.
    pub installations: Vec<Vec<String>>,
    /// The wheels of a lock file, which are installed instead.
    pub pins: Vec<Pin>,
    /// The approximate size of the downloads in GB. Neither pip nor uv reports it beforehand.
    gigabytes: Option<f32>,
}

impl Wheels {
    /// Chooses the wheels. Without a requirement, the installed versions and libraries stay.
    pub fn new(choice: &Choice, installed: &Installed) -> Result<Self, Finding> {
        let present = installed.cuda();
        let toolkit = choice.cuda.as_ref().map(|cuda| cuda.release.clone());
        let major = toolkit.as_ref().or(present.as_ref()).map(Release::major);
        let cuda = major.unwrap_or(majors::NEWEST_CUDA);
        let (extras, names, suffix, gigabytes) = match cuda {
            13 => (TOOLKIT.0, TOOLKIT.1, "", 1.1),
            12 => (TOOLKIT_12.0, TOOLKIT_12.1, "-cu12", 1.4),
            11 => (TOOLKIT_11.0, TOOLKIT_11.1, "-cu11", 0.9),
            _ => return Err(fault::unknown_cuda(cuda)),
        };
        let stays = present.filter(|present| present.major() == cuda);
        let stays = stays.filter(|_| toolkit.as_ref().is_none_or(|one| one.0.len() == 1));
        let toolkit = stays.or(toolkit).map(|release| release.to_string());
        let cudnn = choice.cudnn.clone().or(installed.cudnn_for(cuda));
        let cudnn = cudnn.map(|release| release.to_string());

        let wanted: Vec<String> = installed
            .libraries()
            .chain(choice.libraries.clone())
            .collect();
        let libraries = with_dependencies(cuda, &wanted);
        let names = names
            .split(' ')
            .map(|name| format!("nvidia-{name}{suffix}"));
        let mut required: Vec<_> = names.map(|name| (name, None)).collect();
        required[0].1.clone_from(&toolkit);
        for library in &libraries {
            let suffix = if *library == CUTLASS { "" } else { suffix };
            required.push((format!("nvidia-{library}{suffix}"), None));
        }
        let project = format!("nvidia-cudnn-cu{cuda}");
        required.push((project.clone(), cudnn.clone()));

        let mut extras = [&[extras], &*libraries].concat();
        extras.retain(|extra| *extra != CUTLASS);
        let toolkit = toolkit.unwrap_or_else(|| cuda.to_string());
        let toolkit = format!("cuda-toolkit[{}]=={toolkit}.*", extras.join(","));
        let cudnn = cudnn.map_or(project.clone(), |release| format!("{project}=={release}.*"));
        let mut installations = vec![vec![toolkit, cudnn]];
        if libraries.contains(&CUTLASS) {
            // It depends on Python packages that no kernel needs.
            installations.push(["--no-deps", "nvidia-cutlass"].map(String::from).to_vec());
        }
        Ok(Self {
            gigabytes: Some(gigabytes + 0.15 * libraries.len() as f32),
            required,
            installations,
            pins: Vec::new(),
        })
    }

    /// Returns exactly the wheels in a lock file.
    pub fn locked(pins: &[Pin]) -> Self {
        let exact = |pin: &Pin| (pin.name.clone(), Some(pin.version.clone()));
        Self {
            required: pins.iter().map(exact).collect(),
            installations: Vec::new(),
            pins: pins.to_vec(),
            gigabytes: None,
        }
    }

    /// Returns the version of a CUDA whose wheels do not contain nvcc.
    pub fn without_nvcc(&self) -> Option<String> {
        let mut required = self.required.iter();
        let (name, version) =
            required.find(|(name, _)| name.starts_with("nvidia-cuda-runtime-cu"))?;
        let major = name.rsplit("-cu").next()?.to_string();
        let version = version.as_deref().map(Release::from_wheel);
        Some(version.map_or(major, |version| version.first(2).to_string()))
    }

    /// Describes the downloads.
    pub fn download(&self) -> String {
        let count = self.required.len();
        match self.gigabytes {
            Some(size) => format!("{count} wheels, about {size:.1} GB"),
            None => format!("the {count} wheels of the lock file"),
        }
    }

    /// Returns the reason why these wheels are not installed, if they are not.
    pub fn missing_in(&self, installed: &Installed) -> Option<String> {
        self.required.iter().find_map(|(name, required)| {
            let Some(wheel) = installed.find(name) else {
                return Some(format!("{name} is missing"));
            };
            let found = &wheel.version;
            match required {
                Some(required) if !matches(required, found) => Some(format!(
                    "{name} {found} is installed, but {required} is required"
                )),
                _ => Some(format!("{name} is damaged: {}", wheel.check().1.first()?)),
            }
        })
    }
}

/// Returns `true` for the projects whose wheels `fetch` installs, for any CUDA.
pub fn is_known(name: &str) -> bool {
    let lists = [TOOLKIT, TOOLKIT_12, TOOLKIT_11].map(|(_, names)| names.split(' '));
    let mut names = lists.into_iter().flatten().chain(FETCHED_ON_REQUEST);
    let Some(rest) = name.strip_prefix("nvidia-") else {
        return name == "cuda-toolkit";
    };
    let (project, cuda) = rest.rsplit_once("-cu").unwrap_or((rest, ""));
    match (project, cuda) {
        ("cudnn" | "cudnn-jit", cuda) => ["13", "12", "11"].contains(&cuda),
        // Since CUDA 13, the names have no suffix.
        (_, "12" | "11") => names.any(|name| name == project),
        _ => names.any(|name| name == rest),
    }
}

/// Returns `true` if a wheel's version begins with the numbers of the required version.
fn matches(required: &str, found: &str) -> bool {
    let rest = found.strip_prefix(required);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Adds the libraries of `--with` that these need. CUDA 11 has no nvJitLink.
fn with_dependencies(cuda: u32, libraries: &[String]) -> Vec<&'static str> {
    let has_any = |names: &[&str]| libraries.iter().any(|one| names.contains(&one.as_str()));
    let mut all = FETCHED_ON_REQUEST.to_vec();
    all.retain(|name| match *name {
        "nvjitlink" => cuda > 11 && has_any(&[name, "cufft", "cusparse", "cusolver"]),
        "cusparse" => has_any(&[name, "cusolver"]),
        name => has_any(&[name]),
    });
    all
}
