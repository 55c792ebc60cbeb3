//! What fits and what does not: the rules that the build and the running program share.

use super::arch::{ComputeCapability, Target};
use super::facts::{Built, Policy};
use super::finding::Finding;
use super::version::Version;

/// The release that is loaded is none that the program can run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What does not fit, in one sentence.
    pub headline: String,
    /// What was built with, and what may be loaded.
    pub allowed: String,
    /// The same after "install": "cuDNN 9.28 or a later 9.x".
    pub wanted: String,
}

impl Mismatch {
    /// The finding, with what is known of the loaded library before what was wanted.
    pub fn finding(&self, loaded: Vec<(&'static str, String)>) -> Finding {
        let mut finding = Finding::error("cudnn-version-mismatch", self.headline.as_str());
        finding.evidence = loaded;
        finding.with("built with", &self.allowed)
    }
}

/// Whether the loaded release is one that the program can run with.
pub fn version(built: &Built, loaded: Version) -> Result<(), Mismatch> {
    if let (Policy::Requirement, Some(wanted)) = (built.policy, built.requirement) {
        let below = wanted.below.is_none_or(|below| loaded < below);
        if loaded >= wanted.from && below {
            return Ok(());
        }
        return Err(Mismatch {
            headline: format!(
                "loaded cuDNN {} does not meet the `{}` that this program asks for",
                loaded, wanted.text
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
        Policy::Exact => (loaded == with, format!("{} alone", with)),
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
    Err(Mismatch {
        headline: format!(
            "loaded cuDNN {} {} the {} that this program was built with",
            loaded, relation, with
        ),
        allowed: format!("{}, so {} may be loaded", with, range),
        wanted: match built.policy {
            Policy::Compatible | Policy::Requirement => format!("cuDNN {}", range),
            Policy::SameMinor => format!("cuDNN {}", with.short()),
            Policy::Exact => format!("cuDNN {}", with),
        },
    })
}

/// The majors of the releases that the program may load, the newest first.
pub fn majors(built: &Built) -> Vec<u32> {
    match (built.policy, built.requirement, built.cudnn) {
        (Policy::Requirement, Some(wanted), _) | (_, Some(wanted), None) => {
            let last = match wanted.below {
                Some(below) if below.minor == 0 && below.patch == 0 => {
                    below.major.saturating_sub(1)
                }
                Some(below) => below.major,
                // An open end: no later major than the one after the newest known is tried.
                None => 10,
            };
            let first = wanted.from.major.max(8);
            (first..=last.max(first).min(first.saturating_add(8)))
                .rev()
                .collect()
        }
        (_, _, Some(with)) => vec![with.major],
        (_, None, None) => vec![9, 8],
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
            "cuda-flavour-mismatch",
            format!(
                "loaded cuDNN is for CUDA {}, and this program was built with one for CUDA {}",
                loaded, with
            ),
        )
        .help(format!("install the cuDNN for CUDA {}", with)),
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
    Some(
        Finding::error(
            "driver-too-old",
            format!(
                "the NVIDIA driver serves CUDA {}, and {} for CUDA {}",
                driver.short(),
                what,
                needed
            ),
        )
        .help(format!(
            "install an NVIDIA driver for CUDA {} or later",
            needed
        ))
        .help(format!(
            "or use a program and a cuDNN that are built for CUDA {}",
            driver.major
        )),
    )
}

/// None of the kernels that are compiled in runs on the device.
pub fn kernels(targets: &[Target], device: &str, capability: ComputeCapability) -> Option<Finding> {
    if targets.is_empty() || targets.iter().any(|target| target.runs_on(capability)) {
        return None;
    }
    let list: Vec<String> = targets.iter().map(Target::to_string).collect();
    Some(
        Finding::error(
            "kernels-not-covering-gpu",
            format!(
                "no kernel of this program runs on {}, whose compute capability is {}",
                device, capability
            ),
        )
        .with("compiled", list.join(", "))
        .help(format!(
            "build the program with CUDNN_GUARD_ARCHS={} set",
            capability
        )),
    )
}
