//! What fits and what does not: the rules that the build and the running program share.

use crate::runtime::facts::built::{Built, Policy};
use crate::runtime::facts::compute_capability::{Code, ComputeCapability, Target};
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::majors;
use crate::runtime::facts::tables::{CudnnTargets, KnownBad};
use crate::runtime::facts::version::Version;
use crate::runtime::judge::gpu_support::{self, GpuSupport};

/// The release that is loaded is none that the program can run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseMismatch {
    /// What does not fit, in one sentence.
    pub headline: String,
    /// What was built with, and what may be loaded.
    pub allowed: String,
    /// What to install: "cuDNN 9.28 or a later 9.x".
    pub wanted: String,
}

impl ReleaseMismatch {
    /// The finding, with what is known of the loaded library before what was wanted.
    pub fn finding(&self, loaded: Vec<(&'static str, String)>) -> Finding {
        let mut finding = Finding::error(FindingId::CudnnVersionMismatch, self.headline.as_str());
        finding.evidence = loaded;
        finding.with("built with", &self.allowed)
    }
}

/// Whether the loaded release is one that the program can run with.
pub fn version(built: &Built, loaded: Version) -> Result<(), ReleaseMismatch> {
    check_requirement(built, loaded, &loaded.to_string())
}

/// Whether a cuDNN of this major may be loaded, if no more is known about it.
pub fn major(built: &Built, loaded: u32) -> Result<(), ReleaseMismatch> {
    if majors(built).contains(&loaded) {
        return Ok(());
    }
    check_requirement(built, Version::new(loaded, 0, 0), &loaded.to_string())
}

fn check_requirement(built: &Built, loaded: Version, name: &str) -> Result<(), ReleaseMismatch> {
    if let (Policy::Requirement, Some(wanted)) = (built.policy, &built.requirement) {
        let below = wanted.below.is_none_or(|below| loaded < below);
        if loaded >= wanted.from && below {
            return Ok(());
        }
        return Err(ReleaseMismatch {
            headline: format!(
                "loaded cuDNN {} does not meet the `{}` that this program asks for",
                name, wanted.text
            ),
            allowed: format!("the requirement `{}`", wanted.text),
            wanted: format!("a cuDNN that meets `{}`", wanted.text),
        });
    }
    let Some(with) = built.cudnn else {
        // Nothing was built with and nothing is asked for: every release will do.
        return Ok(());
    };
    let same_major = loaded.major == with.major;
    let (fits, range) = match built.policy {
        Policy::Compatible | Policy::Requirement => (
            same_major && loaded.minor >= with.minor,
            format!("{} or a later {}.x", with.short(), with.major),
        ),
        Policy::SameMinor => (
            same_major && loaded.minor == with.minor,
            format!("any {}", with.short()),
        ),
        Policy::Exact => (loaded == with, format!("{with} alone")),
    };
    if fits {
        return Ok(());
    }
    let relation = if !same_major {
        "is of another major release than"
    } else if loaded < with {
        "is older than"
    } else {
        "is newer than"
    };
    Err(ReleaseMismatch {
        headline: format!(
            "loaded cuDNN {name} {relation} the {with} that this program was built with"
        ),
        allowed: format!("{with}, so {range} may be loaded"),
        wanted: match built.policy {
            Policy::Compatible | Policy::Requirement => format!("cuDNN {range}"),
            Policy::SameMinor => format!("cuDNN {}", with.short()),
            Policy::Exact => format!("cuDNN {with}"),
        },
    })
}

/// The majors of the releases that the program may load, the newest first.
pub fn majors(built: &Built) -> Vec<u32> {
    match (built.policy, &built.requirement, built.cudnn) {
        (Policy::Requirement, Some(wanted), _) | (_, Some(wanted), None) => {
            let last = match wanted.below {
                Some(below) if below.minor == 0 && below.patch == 0 => {
                    below.major.saturating_sub(1)
                }
                Some(below) => below.major,
                // An open end: no later major than the one after the newest known is tried.
                None => majors::NEWEST_CUDNN + 1,
            };
            let first = wanted.from.major.max(majors::OLDEST_CUDNN);
            let last = last.max(first).min(first.saturating_add(8));
            (first..=last).rev().collect()
        }
        (_, _, Some(with)) => vec![with.major],
        (_, None, None) => majors::CUDNN.to_vec(),
    }
}

/// A cuDNN for another CUDA major than the one that was built with. Both may be there, so it is a warning.
pub fn flavour(built: &Built, loaded: u32) -> Option<Finding> {
    let with = built.cudnn_cuda_major?;
    if with == loaded {
        return None;
    }
    Some(
        Finding::warning(
            FindingId::CudaFlavourMismatch,
            format!(
                "loaded cuDNN is for CUDA {loaded}, and this program was built with one for CUDA {with}"
            ),
        )
        .help(format!("install the cuDNN for CUDA {with}")),
    )
}

/// A driver whose CUDA is of an older major than the loaded cuDNN or the program. Within a major, every driver
/// serves every release.
pub fn driver(built: &Built, cudnn_cuda_major: Option<u32>, driver: Version) -> Option<Finding> {
    let by_program = built.cuda.map(|cuda| cuda.major);
    let (needed, what) = match (cudnn_cuda_major, by_program) {
        (Some(cudnn), program)
            if cudnn > driver.major && program.is_none_or(|program| program <= cudnn) =>
        {
            (cudnn, "the loaded cuDNN is")
        }
        (_, Some(program)) if program > driver.major => (program, "this program is"),
        _ => return None,
    };
    let finding = too_old(driver, needed, what, &built.tables.drivers);
    Some(finding.help(format!(
        "or use a program and a cuDNN that are built for CUDA {}",
        driver.major
    )))
}

/// That the driver serves an older CUDA major than what needs it. `first` holds the first driver for each major.
pub fn too_old(driver: Version, needed: u32, what: &str, first: &[(u32, String)]) -> Finding {
    let headline = format!(
        "the NVIDIA driver serves CUDA {}, and {} for CUDA {}",
        driver.short(),
        what,
        needed
    );
    Finding::error(FindingId::DriverTooOld, headline).help(
        match first.iter().find(|row| row.0 == needed) {
            Some((_, first)) => format!(
                "install NVIDIA's driver {first} or a later one, which serves CUDA {needed}"
            ),
            None => format!("install an NVIDIA driver for CUDA {needed} or later"),
        },
    )
}

/// None of the kernels that are compiled in runs on the device, or only PTX could that the driver does not take.
pub fn kernels(
    built: &Built,
    driver: Option<Version>,
    device: &str,
    capability: ComputeCapability,
) -> Option<Finding> {
    if built.targets.is_empty() {
        return None;
    }
    let gpu = device_words(device, capability);
    let (mut list, mut runs, mut runs_code) = (Vec::new(), false, false);
    for target in &built.targets {
        list.push(target.to_string());
        if target.runs_on(capability) {
            runs = true;
            runs_code |= target.code == Code::Machine;
        }
    }
    let finding = if !runs {
        Finding::error(
            FindingId::KernelsNotCoveringGpu,
            format!("no kernel of this program runs on {gpu}"),
        )
    } else {
        let (driver, first, cuda) = (driver?, built.tables.ptx?, built.cuda?);
        if driver >= first || runs_code {
            return None;
        }
        ptx(cuda, driver, &format!("all that could run on {gpu}, is"))
    };
    Some(finding.with("compiled", list.join(", ")).help(format!(
        "build the program with CUDNN_GUARD_ARCHS={capability} set"
    )))
}

/// PTX of a CUDA that is newer than the driver, which therefore does not take it.
pub fn ptx(cuda: Version, driver: Version, what: &str) -> Finding {
    Finding::error(
        FindingId::PtxNewerThanDriver,
        format!(
            "the NVIDIA driver takes PTX up to that of CUDA {}, and {} PTX of CUDA {}",
            driver.short(),
            what,
            cuda.short()
        ),
    )
    .help(format!(
        "update the NVIDIA driver, or build with a CUDA toolkit up to {}",
        driver.short()
    ))
}

/// A cuDNN, as far as it matters which GPUs it serves.
#[derive(Clone, Copy, Debug)]
pub struct Cudnn {
    /// Its release.
    pub version: Version,
    /// The CUDA major that it was built for.
    pub cuda: u32,
}

impl Cudnn {
    fn words(self) -> String {
        format!("cuDNN {} for CUDA {}", self.version, self.cuda)
    }

    /// A GPU that this cuDNN has no machine code for.
    pub fn device(
        self,
        rows: &[CudnnTargets],
        device: &str,
        capability: ComputeCapability,
    ) -> Option<Finding> {
        let served = gpu_support::serves(rows, self.version, self.cuda, capability);
        let what = device_words(device, capability);
        self.unserved(rows, served, capability, |verb| {
            format!("{} {} {}", self.words(), verb, what)
        })
    }

    /// GPUs that kernels are compiled for and that this cuDNN has no machine code for.
    pub fn targets(
        self,
        rows: &[CudnnTargets],
        targets: &[Target],
        chosen_by: &str,
    ) -> Vec<Finding> {
        let mut findings: Vec<Finding> = Vec::new();
        let mut seen = Vec::new();
        let machine = targets.iter().filter(|target| target.code == Code::Machine);
        for capability in machine.map(|target| target.capability) {
            let served = gpu_support::serves(rows, self.version, self.cuda, capability);
            if seen.contains(&capability) {
                continue;
            }
            seen.push(capability);
            let finding = self.unserved(rows, served, capability, |verb| {
                format!(
                    "{} {} GPUs of compute capability {}, which kernels are compiled for",
                    self.words(),
                    verb,
                    capability
                )
            });
            findings.extend(finding.map(|mut finding| {
                finding.severity = Severity::Warning;
                finding.with("chosen by", chosen_by).help(format!(
                    "or leave {capability} out of the targets, if no program with cuDNN is to run there"
                ))
            }));
        }
        findings
    }

    fn unserved(
        self,
        rows: &[CudnnTargets],
        served: GpuSupport,
        gpu: ComputeCapability,
        headline: impl Fn(&str) -> String,
    ) -> Option<Finding> {
        let (cudnn, cuda) = (self.version, self.cuda);
        let finding = match served {
            GpuSupport::Yes | GpuSupport::Unknown => return None,
            GpuSupport::No if gpu_support::is_too_old(rows, cudnn, cuda, gpu) => {
                let finding =
                    Finding::error(FindingId::ArchDroppedByCudnn, headline("no longer serves"));
                return Some(match gpu_support::last_with(rows, cudnn, cuda, gpu) {
                    Some(last) => finding.help(format!(
                        "install cuDNN {last} for CUDA {cuda}, the last that is known to serve it"
                    )),
                    None => finding.help("use a newer GPU, or an older cuDNN that serves this one"),
                });
            }
            GpuSupport::No => {
                Finding::error(FindingId::GpuNewerThanCudnn, headline("has no code for"))
            }
            GpuSupport::ByPtx => Finding::warning(
                FindingId::GpuNewerThanCudnn,
                headline("has only PTX, which the driver has to compile, for"),
            ),
        };
        let finding = match gpu_support::newest(rows, cudnn, cuda) {
            Some(newest) if newest < gpu => {
                finding.with("serves", format!("compute capabilities up to {newest}"))
            }
            _ => finding,
        };
        Some(match gpu_support::first_with(rows, cudnn, cuda, gpu) {
            Some((first, cuda)) => finding.help(format!(
                "install cuDNN {first} or a later one, for CUDA {cuda}"
            )),
            None => finding.help("install a newer cuDNN"),
        })
    }
}

fn device_words(device: &str, capability: ComputeCapability) -> String {
    format!("{device}, whose compute capability is {capability}")
}

/// What this release is known to do wrong. What shows in one operation alone, which few programs use, is a note, and an
/// error for a program that says it `needs` it; what shows on several GPUs is a note while nobody knows how many there
/// will be.
pub fn known_bad(
    rows: &[KnownBad],
    cudnn: Version,
    cublas: Option<Version>,
    gpus: Option<usize>,
    needs: &[String],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for row in rows {
        if cudnn < row.from || row.below <= cudnn {
            continue;
        }
        let mut finding = Finding::warning(
            FindingId::KnownBadRelease,
            format!("cuDNN {} is known to {}", cudnn, row.what),
        );
        if let Some(from) = row.cublas {
            let several = gpus.is_none_or(|gpus| gpus > 1);
            if !several || cublas.is_none_or(|cublas| cublas < from) {
                continue;
            }
        }
        if row
            .operation
            .as_ref()
            .is_some_and(|operation| needs.contains(operation))
        {
            finding.severity = Severity::Error;
            finding.summary.push_str(", which this program uses");
        } else if row.operation.is_some() || row.cublas.is_some() && gpus.is_none() {
            finding.severity = Severity::Note;
        }
        findings.push(finding.help(format!("install cuDNN {} or a later one", row.good)));
    }
    findings
}

/// A release newer than all that the tables know, which is judged by the newest of them.
pub fn newer(product: &str, found: &str, known: &str) -> Finding {
    Finding::note(
        FindingId::UnknownNewerVersion,
        format!(
            "{product} {found} is newer than {known}, the newest that this cudnn-guard knows, and is judged as that is"
        ),
    )
    .help("update cudnn-guard, if something does not work that should")
}
