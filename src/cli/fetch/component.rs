//! The components that `fetch` installs: the toolkit and cuDNN, each from several wheels.

use crate::cli::fetch::fault::FetchFault;
use crate::cli::fetch::release::Release;
use crate::cli::fetch::requirements::Pin;
use crate::cli::fetch::wheel::{self, Wheel};
use crate::model::kind::Kind;
use crate::runtime::facts::majors;
use crate::toolkit::package_names::{CUTLASS, CUTLASS_DIR, FETCHED_ON_REQUEST};
use std::collections::BTreeSet;
use std::path::Path;

/// The download sizes of the toolkit and of cuDNN in GB, by CUDA: the newest on PyPI for Linux on x86_64 at the end of
/// 2026. Neither pip nor uv reports them beforehand.
const GIGABYTES: [(u32, f32, f32); 3] = [(13, 0.6, 0.5), (12, 0.7, 0.7), (11, 0.5, 0.4)];

/// The wheels of a toolkit from CUDA 13 on, all in the same directory. The first wheel has the toolkit's version.
const TOOLKIT: [&str; 7] = [
    "nvidia-cuda-nvcc",
    "nvidia-cuda-runtime",
    "nvidia-cuda-crt",
    "nvidia-nvvm",
    "nvidia-cuda-cccl",
    "nvidia-cublas",
    "nvidia-cuda-nvrtc",
];
/// The directories and wheels of CUDA 12. CUDA 11 has no CCCL.
const TOOLKIT_12: [(&str, &str); 5] = [
    ("cuda_runtime", "nvidia-cuda-runtime"),
    ("cuda_nvcc", "nvidia-cuda-nvcc"),
    ("cuda_nvrtc", "nvidia-cuda-nvrtc"),
    ("cublas", "nvidia-cublas"),
    ("cuda_cccl", "nvidia-cuda-cccl"),
];

/// Returns the other libraries of `--with` that a library needs.
fn needs(library: &str) -> &'static [&'static str] {
    match library {
        "cufft" | "cusparse" => &["nvjitlink"],
        "cusolver" => &["cusparse", "nvjitlink"],
        _ => &[],
    }
}

/// Returns the download size of a library of `--with` in GB.
fn gigabytes(library: &str) -> f32 {
    match library {
        "cufft" | "cusparse" | "cusolver" | "npp" => 0.2,
        CUTLASS => 0.01,
        _ => 0.05,
    }
}

/// The toolkit contains nvcc (if there is a wheel of it), headers, cudart, and the libraries that cuDNN opens when it
/// computes: cuBLAS and NVRTC. cuDNN also opens a libnvJitLink, under a name that no wheel has, and works without it.
impl Kind {
    /// Returns how many numbers a version has in an option of `fetch`.
    pub fn numbers(self) -> usize {
        match self {
            Self::Toolkit => 2,
            Self::Cudnn => 3,
        }
    }

    /// Returns the components of this kind for every CUDA, which replace each other.
    pub fn every(self) -> Vec<Component> {
        let component = |cuda: &u32| Component::new(self, *cuda, None);
        majors::CUDA.iter().map(component).collect()
    }

    /// Returns the directories of this kind for all CUDAs.
    pub fn dirs(self) -> Vec<String> {
        let every = self.every().into_iter();
        let dirs = every.flat_map(|component| component.with(&FETCHED_ON_REQUEST).dirs);
        let dirs: BTreeSet<String> = dirs.collect();
        dirs.into_iter().collect()
    }

    /// Returns the wheels of this kind in a directory, for any CUDA.
    pub fn wheels(self, dir: &Path) -> Vec<Wheel> {
        let every = self.every().into_iter();
        let wheels = every.flat_map(|component| component.with(&FETCHED_ON_REQUEST).wheels(dir));
        let mut wheels: Vec<Wheel> = wheels.flatten().collect();
        // CUTLASS's wheel is the same for every CUDA.
        wheels.sort_by(|one, other| one.info.cmp(&other.info));
        wheels.dedup_by(|one, other| one.info == other.info);
        wheels
    }
}

/// A toolkit or a cuDNN for one CUDA, which is fetched, replaced and checked as a unit.
pub struct Component {
    pub kind: Kind,
    pub cuda: u32,
    /// Its directories below the home, as in its wheels.
    pub dirs: Vec<String>,
    /// Its wheels. The first wheel's version is the component's.
    pub packages: Vec<String>,
    /// The libraries of `--with`.
    pub libraries: Vec<&'static str>,
    pub required: Option<Release>,
    /// The wheels that `--lock` requires, in the order of `packages`.
    pub pins: Vec<Pin>,
}

impl Component {
    /// Creates a component. If CUDA is too old for wheels, uses the oldest CUDA that has some.
    pub fn new(kind: Kind, cuda: u32, required: Option<Release>) -> Self {
        let mut known = majors::CUDA.iter();
        let with_wheels = known.find(|known| **known <= cuda);
        let cuda = *with_wheels.or(majors::CUDA.last()).unwrap_or(&cuda);
        let (dirs, packages) = match kind {
            Kind::Cudnn => (
                vec!["nvidia/cudnn".to_string()],
                vec![format!("nvidia-cudnn-cu{cuda}")],
            ),
            Kind::Toolkit if cuda >= 13 => (
                vec![format!("nvidia/cu{cuda}")],
                TOOLKIT.map(String::from).to_vec(),
            ),
            Kind::Toolkit => TOOLKIT_12
                .iter()
                .filter(|(dir, _)| cuda > 11 || *dir != "cuda_cccl")
                .map(|(dir, wheel)| (format!("nvidia/{dir}"), format!("{wheel}-cu{cuda}")))
                .unzip(),
        };
        Self {
            kind,
            cuda,
            dirs,
            packages,
            libraries: Vec::new(),
            required,
            pins: Vec::new(),
        }
    }

    /// Adds libraries to a toolkit, and the libraries that these need.
    pub fn with(mut self, libraries: &[&str]) -> Self {
        if self.kind == Kind::Cudnn {
            return self;
        }
        let is_needed = |name| libraries.iter().any(|one| needs(one).contains(&name));
        for name in FETCHED_ON_REQUEST {
            // CUDA 11 has no nvJitLink.
            let exists = self.cuda > 11 || name != "nvjitlink";
            if !(is_needed(name) || libraries.contains(&name))
                || !exists
                || self.libraries.contains(&name)
            {
                continue;
            }
            self.libraries.push(name);
            self.packages.push(self.package_of(name));
            if name == CUTLASS {
                self.dirs.push(CUTLASS_DIR.to_string());
            } else if self.cuda < 13 {
                self.dirs.push(format!("nvidia/{name}"));
            }
        }
        self
    }

    pub fn with_installed(self, dir: &Path) -> Self {
        let installed = wheel::installed(dir);
        let is_there = |library: &&str| {
            let name = self.package_of(library).replace('-', "_");
            installed.iter().any(|wheel| wheel.name == name)
        };
        let libraries: Vec<_> = FETCHED_ON_REQUEST.into_iter().filter(is_there).collect();
        self.with(&libraries)
    }

    /// Returns the wheel of a library.
    pub fn package_of(&self, library: &str) -> String {
        match self.cuda {
            cuda @ ..13 if library != CUTLASS => format!("nvidia-{library}-cu{cuda}"),
            _ => format!("nvidia-{library}"),
        }
    }

    /// Returns `true` if the installer gets a single requirement that depends on the other wheels: NVIDIA's
    /// `cuda-toolkit`. Many of its libraries have their own versions.
    pub fn has_dependencies(&self) -> bool {
        self.kind == Kind::Toolkit
    }

    /// Returns the project on PyPI that has this component's version.
    pub fn project(&self) -> &str {
        match self.packages.first() {
            Some(package) if !self.has_dependencies() => package,
            _ => "cuda-toolkit",
        }
    }

    /// Returns the requirement for the installer, without CUTLASS.
    pub fn requirement(&self) -> String {
        let release = match (&self.required, self.kind) {
            (Some(release), _) => release.to_string(),
            (None, Kind::Toolkit) => self.cuda.to_string(),
            (None, Kind::Cudnn) => return self.project().to_string(),
        };
        let extras = match (self.kind, self.cuda) {
            (Kind::Cudnn, _) => return format!("{}=={release}.*", self.project()),
            (_, 13..) => "cccl,cublas,nvcc",
            (_, 12) => "cccl,cublas,cudart,nvcc,nvrtc",
            _ => "cublas,cudart,nvcc,nvrtc",
        };
        let mut extras = [&[extras], &*self.libraries].concat();
        extras.retain(|extra| *extra != CUTLASS);
        format!("cuda-toolkit[{}]=={release}.*", extras.join(","))
    }

    /// Returns this component's wheels in a directory, in the order of `packages`.
    pub fn wheels(&self, dir: &Path) -> Vec<Option<Wheel>> {
        let installed = wheel::installed(dir);
        let find = |package: &String| {
            let name = package.replace('-', "_");
            installed.iter().find(|wheel| wheel.name == name).cloned()
        };
        self.packages.iter().map(find).collect()
    }

    /// Returns the version in a directory, complete or not.
    pub fn release(&self, dir: &Path) -> Option<String> {
        Some(self.wheels(dir).into_iter().next()??.version)
    }

    /// Returns the version in a directory in the form of an option of `fetch`.
    pub fn short_release(&self, dir: &Path) -> Option<Release> {
        Some(Release::from_wheel(&self.release(dir)?).first(self.kind.numbers()))
    }

    /// Returns the version to name for a toolkit without an nvcc, which no wheel up to CUDA 12 has.
    pub fn without_nvcc(&self, dir: &Path) -> Option<Release> {
        let is_without = self.kind == Kind::Toolkit && self.cuda < 13;
        let known = || self.required.clone().or_else(|| self.short_release(dir));
        is_without.then(|| known().unwrap_or_else(|| Release(vec![self.cuda])))
    }

    /// Returns the option that requires the version in a directory. Without the toolkit's first wheel, only the major
    /// of CUDA is known.
    pub fn option(&self, dir: &Path) -> [String; 2] {
        let release = self.short_release(dir);
        let release = release.unwrap_or_else(|| Release(vec![self.cuda]));
        [format!("--{}", self.kind.name()), release.to_string()]
    }

    /// Returns the version in a directory if it is complete and the required one.
    ///
    /// The error is the reason; `None` if the component does not exist at all.
    pub fn check(&self, dir: &Path) -> Result<String, Option<String>> {
        let wheels = self.wheels(dir);
        if wheels.iter().all(Option::is_none) {
            return Err(self.other_cuda(dir));
        }
        for (wheel, name) in wheels.iter().zip(&self.packages) {
            let Some(wheel) = wheel else {
                return Err(Some(format!("{name} is missing")));
            };
            if let Some(damage) = wheel.damage() {
                return Err(Some(format!("{name} is damaged: {damage}")));
            }
            let found = &wheel.version;
            let is_other = |pin: &&Pin| pin.package == *name && pin.version != *found;
            if let Some(Pin { version, .. }) = self.pins.iter().find(is_other) {
                return Err(Some(format!(
                    "{name} {found} is installed, but {version} is required"
                )));
            }
        }
        let release = self.release(dir).unwrap_or_default();
        let found = [Release::from_wheel(&release)];
        match &self.required {
            Some(required) if !required.is_start_of_one(&found) => Err(Some(format!(
                "{release} is installed, but {required} is required"
            ))),
            _ => Ok(release),
        }
    }

    /// Returns the reason to fetch this component if one for another CUDA exists.
    fn other_cuda(&self, dir: &Path) -> Option<String> {
        self.kind.every().iter().find_map(|other| {
            let release = other.wheels(dir).into_iter().flatten().next()?.version;
            Some(format!(
                "{release} for CUDA {} is installed, but one for CUDA {} is required",
                other.cuda, self.cuda
            ))
        })
    }

    /// Returns its directory, unless it has several. CUTLASS's does not count.
    pub fn dir(&self) -> Option<&String> {
        let mut dirs = self.dirs.iter().filter(|dir| *dir != CUTLASS_DIR);
        dirs.next().filter(|_| dirs.next().is_none())
    }

    /// Returns its directory, or the parent of its directories.
    pub fn place(&self, home: &Path) -> String {
        let dir = self.dir().map_or("nvidia", String::as_str);
        home.join(dir).display().to_string()
    }

    pub fn download(&self) -> String {
        let (product, count) = (self.kind.product(), self.packages.len());
        let wheels = if count == 1 { "wheel" } else { "wheels" };
        let known = GIGABYTES.iter().find(|(cuda, ..)| *cuda == self.cuda);
        let (_, toolkit, cudnn) = known.unwrap_or(&GIGABYTES[0]);
        let mut size = match self.kind {
            Kind::Toolkit => *toolkit,
            Kind::Cudnn => *cudnn,
        };
        for library in &self.libraries {
            size += gigabytes(library);
        }
        format!("{product} ({count} {wheels}, about {size:.1} GB)")
    }

    /// Returns the fault if PyPI does not have the required version, with the nearest versions, and the CUDA for which
    /// PyPI has it.
    pub fn not_offered(
        &self,
        offered: &[Release],
        other_cuda: impl FnOnce(&Release) -> Option<u32>,
    ) -> Option<FetchFault> {
        let required = self.required.clone()?;
        Some(FetchFault::NotOffered {
            nearest: required.neighbors(offered)?,
            other_cuda: other_cuda(&required),
            kind: self.kind,
            cuda: self.cuda,
            required,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Release {
        Release::from_wheel(text)
    }

    #[test]
    fn the_toolkit_is_one_requirement_and_includes_what_cudnn_opens() {
        let requirement = |cuda, required: Option<&str>| {
            let toolkit = Component::new(Kind::Toolkit, cuda, required.map(release));
            assert_eq!(toolkit.project(), "cuda-toolkit");
            for package in ["nvidia-cublas", "nvidia-cuda-nvrtc"] {
                assert!(toolkit.packages.iter().any(|it| it.starts_with(package)));
            }
            toolkit.requirement()
        };
        assert_eq!(
            requirement(13, Some("13.0")),
            "cuda-toolkit[cccl,cublas,nvcc]==13.0.*"
        );
        assert_eq!(
            requirement(12, Some("12.4")),
            "cuda-toolkit[cccl,cublas,cudart,nvcc,nvrtc]==12.4.*"
        );
        assert_eq!(
            requirement(11, None),
            "cuda-toolkit[cublas,cudart,nvcc,nvrtc]==11.*"
        );
    }

    #[test]
    fn libraries_include_their_dependencies() {
        let toolkit = |cuda| Component::new(Kind::Toolkit, cuda, None).with(&["cusolver"]);
        assert_eq!(toolkit(13).libraries, ["nvjitlink", "cusparse", "cusolver"]);
        assert_eq!(toolkit(13).dirs, ["nvidia/cu13"]);
        assert_eq!(
            toolkit(13).requirement(),
            "cuda-toolkit[cccl,cublas,nvcc,nvjitlink,cusparse,cusolver]==13.*"
        );
        assert_eq!(toolkit(13).packages[7], "nvidia-nvjitlink");
        assert_eq!(toolkit(12).packages[5], "nvidia-nvjitlink-cu12");
        assert_eq!(toolkit(12).dirs[7], "nvidia/cusolver");
        assert_eq!(toolkit(11).libraries, ["cusparse", "cusolver"]);
    }

    #[test]
    fn cutlass_is_one_wheel_for_every_cuda_beside_the_toolkit() {
        for (cuda, dir) in [(13, Some("nvidia/cu13")), (12, None)] {
            let plain = Component::new(Kind::Toolkit, cuda, None);
            let requirement = plain.requirement();
            let toolkit = plain.with(&["cutlass"]);
            assert_eq!(toolkit.requirement(), requirement);
            let last = |list: &[String]| list.last().cloned();
            assert_eq!(last(&toolkit.packages).as_deref(), Some("nvidia-cutlass"));
            assert_eq!(last(&toolkit.dirs).as_deref(), Some("cutlass_library"));
            assert_eq!(toolkit.dir().map(String::as_str), dir);
        }
    }

    #[test]
    fn a_version_that_pypi_lacks_is_reported_with_the_nearest_ones() {
        let offered = |text: &str| text.split(' ').map(Release::from_wheel).collect::<Vec<_>>();
        let cuda = offered("12.9.79 12.8.90 12.6.77 12.6.37 12.4.127.post1 12.0.107");
        let fault = |text: &str| {
            let toolkit = Component::new(Kind::Toolkit, 12, Some(release(text)));
            toolkit.not_offered(&cuda, |_| None)
        };
        assert!(fault("12").is_none() && fault("12.4").is_none());
        assert_eq!(
            fault("12.7").expect("a fault").finding().to_string(),
            "PyPI does not have CUDA 12.7; the nearest versions are 12.6 and 12.8  [fetch-failed]\n  \
             = help: run `cudnn-guard fetch --cuda 12.6` or `cudnn-guard fetch --cuda 12.8`"
        );
        let cudnn = offered("9.28.1.4 9.12.0.46");
        let required = release("8.9");
        assert_eq!(
            Component::new(Kind::Cudnn, 13, Some(required.clone()))
                .not_offered(&cudnn, |_| None)
                .expect("a fault")
                .finding()
                .to_string(),
            "PyPI does not have cuDNN 8.9 for CUDA 13; the nearest version is 9.12  [fetch-failed]\n  \
             = help: run `cudnn-guard fetch --cuda 13 --cudnn 9.12`"
        );
        assert!(
            Component::new(Kind::Cudnn, 13, Some(required.clone()))
                .not_offered(&[], |_| None)
                .is_none()
        );
    }
}
