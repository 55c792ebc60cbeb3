//! The wheels to install: the toolkit with its libraries, and cuDNN.

use crate::cli::fetch::choice::Choice;
use crate::cli::fetch::installed::Installed;
use crate::cli::fetch::requirements::{self, Pin};
use crate::cli::numbers;
use crate::runtime::facts::majors;
use crate::toolkit::package_names::FETCHED_ON_REQUEST;

/// The extras of NVIDIA's project `cuda-toolkit` that every installation has. CUDA 11 has no `cccl`.
const EXTRAS: [&str; 5] = ["cublas", "cudart", "nvcc", "nvrtc", "cccl"];

/// The wheels of these extras, without `nvidia-`, and without `-cu12` up to CUDA 12.
const TOOLKIT: [&str; 7] = [
    "cublas",
    "cuda-cccl",
    "cuda-crt",
    "cuda-nvcc",
    "cuda-nvrtc",
    "cuda-runtime",
    "nvvm",
];

/// The wheels to install.
pub enum Wheels {
    Chosen(Choice),
    /// Exactly the wheels in a lock file.
    Locked(Vec<Pin>),
}

impl Wheels {
    /// Returns the requirements for the installer.
    pub fn requirements(&self, installed: &Installed) -> String {
        match self {
            Self::Chosen(choice) => packages(choice, installed),
            Self::Locked(pins) => requirements::text(pins),
        }
    }

    /// Returns the reason why these wheels are not installed, if they are not.
    pub fn missing_in(&self, installed: &Installed) -> Option<String> {
        let (is_met, why) = match self {
            Self::Chosen(choice) => {
                let present = packages(&Choice::default(), installed);
                (
                    packages(choice, installed) == present,
                    "other versions or libraries are required",
                )
            }
            Self::Locked(pins) => {
                let has = |pin: &Pin| installed.has(&pin.name, &pin.version);
                let is_met = pins.len() == installed.wheels.len() && pins.iter().all(has);
                (is_met, "the lock file contains other wheels")
            }
        };
        match is_met && !installed.wheels.is_empty() {
            true => installed.damaged().into_iter().next(),
            false => Some(why.to_string()),
        }
    }
}

/// Returns the packages to install. Without a requirement, the installed versions and libraries stay.
fn packages(choice: &Choice, installed: &Installed) -> String {
    let newest = Some(majors::NEWEST_CUDA.to_string());
    let cuda = numbers::or_present(&choice.cuda, installed.cuda());
    let cuda = cuda.or(newest).unwrap_or_default();
    let major = numbers::major(&cuda);
    let cudnn = format!("nvidia-cudnn-cu{major}");
    let present = installed.find(&cudnn);
    let present = present.map(|wheel| numbers::first(&wheel.version, 3));
    let version = numbers::or_present(&choice.cudnn, present);
    let version = version.map_or(String::new(), |version| format!("=={version}.*"));
    let mut extras = [&EXTRAS[..], &FETCHED_ON_REQUEST].concat();
    extras.retain(|name| {
        let is_missing = major == 11 && ["cccl", "nvjitlink"].contains(name);
        let is_chosen = EXTRAS.contains(name) || choice.libraries.iter().any(|one| one == name);
        !is_missing && (is_chosen || installed.find(&format!("nvidia-{name}")).is_some())
    });
    format!(
        "cuda-toolkit[{}]=={cuda}.*\n{cudnn}{version}\n",
        extras.join(",")
    )
}

/// Returns `true` for the projects whose wheels `fetch` installs, for any CUDA.
pub fn is_known(name: &str) -> bool {
    let is_listed = |name: &str| TOOLKIT.contains(&name) || FETCHED_ON_REQUEST.contains(&name);
    let Some(rest) = name.strip_prefix("nvidia-") else {
        return name == "cuda-toolkit";
    };
    match rest.rsplit_once("-cu") {
        // NVIDIA has no such projects, so anyone could register them.
        Some(("cuda-crt" | "nvvm", _) | ("nvjitlink" | "cudnn-jit", "11")) => false,
        Some(("cudnn" | "cudnn-jit", cuda)) => ["13", "12", "11"].contains(&cuda),
        Some((project, "12" | "11")) => is_listed(project),
        // Since CUDA 13, the names have no suffix.
        _ => is_listed(rest),
    }
}
