//! What the version tables say of what was chosen: of each by itself, of both together, and with a driver.

#[cfg(test)]
mod tests;

use crate::compat;
use crate::model::candidate::{Cudnn, Toolkit};
use crate::model::chosen_by::ChosenBy;
use crate::model::platform::Platform;
#[cfg(feature = "cli")]
use crate::runtime::driver::query::Device;
#[cfg(feature = "cli")]
use crate::runtime::facts::compute_capability::Code;
use crate::runtime::facts::compute_capability::{ComputeCapability, Target};
use crate::runtime::facts::finding::{Finding, Severity};
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::facts::tables::CudnnTargets;
use crate::runtime::facts::version::Version;
use crate::runtime::judge::gpu_support::GpuSupport;
use crate::runtime::judge::{gpu_support, rules};

/// Releases that the tables do not know, or know nothing good of. None of it stops a build.
pub fn releases(
    toolkit: Option<&Toolkit>,
    cudnn: Option<&Cudnn>,
    platform: &Platform,
) -> Vec<Finding> {
    let cuda = toolkit.and_then(|toolkit| toolkit.version);
    let version = cudnn.and_then(Cudnn::linked_version);
    let mut findings = Vec::new();
    if let Some(version) = version {
        findings.extend(rules::known_bad(
            &compat::known_bad(),
            version,
            cuda,
            None,
            &[],
        ));
    }
    findings.extend(newer(
        "cuDNN",
        version,
        compat::newest_cudnn(&platform.cpu),
        Version::to_string,
    ));
    findings.extend(newer("CUDA", cuda, compat::newest_cuda(), |cuda| {
        cuda.short()
    }));
    let flavour = cudnn.and_then(|cudnn| cudnn.cuda_major);
    if let (Some(version), Some(cuda), Some(flavour)) = (version, cuda, flavour) {
        findings.extend(undocumented(version, cuda, flavour));
    }
    findings
}

fn newer(
    product: &str,
    found: Option<Version>,
    known: Option<Version>,
    text: impl Fn(&Version) -> String,
) -> Option<Finding> {
    let (found, known) = (found?, known?);
    let is_newer = (found.major, found.minor) > (known.major, known.minor);
    is_newer.then(|| rules::newer(product, &text(&found), &text(&known)))
}

/// A toolkit that came out after the cuDNN: minor-version compatibility makes them fit all the same.
fn undocumented(cudnn: Version, cuda: Version, flavour: u32) -> Option<Finding> {
    let newest = compat::newest_toolkit(cudnn, flavour)?;
    if cuda.major != flavour || cuda.minor <= newest.minor {
        return None;
    }
    Some(
        Finding::note(
            FindingId::UnknownNewerVersion,
            format!(
                "the toolkit is CUDA {}, and cuDNN {cudnn} is documented for CUDA {} at most",
                cuda.short(),
                newest.short()
            ),
        )
        .with(
            "but",
            "within one CUDA major every toolkit serves every cuDNN",
        )
        .help("install a newer cuDNN, if something does not work that should"),
    )
}

/// GPUs that kernels are compiled for and that the cuDNN does not serve. What is compiled for them may run without
/// cuDNN, or with another: a warning.
pub fn targets(
    cudnn: &Cudnn,
    targets: &[Target],
    chosen_by: ChosenBy,
    platform: &Platform,
) -> Vec<Finding> {
    let (Some(version), Some(cuda)) = (cudnn.version(), cudnn.cuda_major) else {
        return Vec::new();
    };
    let rows = rows(cudnn, version, cuda, platform);
    rules::Cudnn { version, cuda }.targets(&rows, targets, &chosen_by.to_string())
}

/// The table, with a row for what was read off this very cuDNN: it goes before the row of its release.
fn rows(cudnn: &Cudnn, version: Version, cuda: u32, platform: &Platform) -> Vec<CudnnTargets> {
    let read = CudnnTargets {
        first: version,
        last: version,
        cuda,
        code: cudnn.gpu_codes.clone(),
    };
    let known = compat::gpus(&platform.cpu).into_iter();
    known
        .chain((!read.code.is_empty()).then_some(read))
        .collect()
}

/// Whether the cuDNN may have something for the GPU: all but a plain no, and a Jetson's, of which the tables know
/// nothing. They alone are asked, as in a build, whatever was read besides. A release that is newer than they are counts
/// as the newest that they know.
pub fn may_serve(cudnn: &Cudnn, gpu: ComputeCapability, platform: &Platform) -> bool {
    let (Some(version), Some(cuda)) = (cudnn.version(), cudnn.cuda_major) else {
        return true;
    };
    let rows = compat::gpus(&platform.cpu);
    let known = rows.iter().filter(|row| row.cuda == cuda);
    let newest = known.map(|row| row.last).max();
    let version = newest.map_or(version, |newest| newest.min(version));
    !gpu_support::is_jetson(gpu) && gpu_support::serves(&rows, version, cuda, gpu) != GpuSupport::No
}

/// GPUs of this machine that the cuDNN does not serve.
#[cfg(feature = "cli")]
pub fn gpus(cudnn: &Cudnn, gpus: &[Device], platform: &Platform) -> Vec<Finding> {
    let (Some(version), Some(cuda)) = (cudnn.version(), cudnn.cuda_major) else {
        return Vec::new();
    };
    let rows = rows(cudnn, version, cuda, platform);
    let cudnn = rules::Cudnn { version, cuda };
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for gpu in gpus {
        if !seen.contains(&gpu.capability) {
            seen.push(gpu.capability);
            let finding = cudnn.device(&rows, &gpu.name, gpu.capability);
            findings.extend(finding.map(|one| for_older_cuda(one, &rows, cudnn, gpu)));
        }
    }
    findings.into_iter().map(warned).collect()
}

/// Where no cuDNN for this CUDA ever served the GPU, one for an older CUDA may.
#[cfg(feature = "cli")]
fn for_older_cuda(
    mut finding: Finding,
    rows: &[CudnnTargets],
    cudnn: rules::Cudnn,
    gpu: &Device,
) -> Finding {
    let last = |before: Version, cuda| gpu_support::last_with(rows, before, cuda, gpu.capability);
    let is_dropped = finding.id == FindingId::ArchDroppedByCudnn;
    if is_dropped && last(cudnn.version, cudnn.cuda).is_none() {
        let newest = Version::new(u32::MAX, 0, 0);
        let mut older = (11..cudnn.cuda).rev();
        let served = older.find_map(|cuda| Some((cuda, last(newest, cuda)?)));
        if let Some((cuda, release)) = served {
            finding.help = vec![format!(
                "install a toolkit of CUDA {cuda} and cuDNN {release} for CUDA {cuda}, the last that is known to serve it"
            )];
        }
    }
    finding
}

/// Another cuDNN may be there when the program runs.
fn warned(mut finding: Finding) -> Finding {
    if finding.severity == Severity::Error {
        finding.severity = Severity::Warning;
    }
    finding
}

/// What the driver of this machine cannot do for what is built here. The program may run elsewhere, so that it is a
/// warning at most.
#[cfg(feature = "cli")]
pub fn driver(
    driver: Version,
    toolkit: Option<&Toolkit>,
    cudnn: Option<&Cudnn>,
    targets: &[Target],
    gpus: &[Device],
    platform: &Platform,
) -> Vec<Finding> {
    let floors = compat::drivers(platform);
    let cuda = toolkit.and_then(|toolkit| toolkit.version);
    let flavour = cudnn.and_then(|cudnn| cudnn.cuda_major);
    let mut findings = Vec::new();
    if let Some(needed) = flavour.filter(|needed| *needed > driver.major) {
        findings.push(rules::too_old(driver, needed, "the cuDNN is", &floors));
    } else if let Some(cuda) = cuda.filter(|cuda| cuda.major > driver.major) {
        findings.push(rules::too_old(
            driver,
            cuda.major,
            "the toolkit is",
            &floors,
        ));
    } else if let Some(cuda) = cuda {
        let by_ptx = |gpu: &Device| {
            let mut able = targets
                .iter()
                .filter(|target| target.runs_on(gpu.capability));
            !able.any(|target| target.code == Code::Machine)
        };
        let mut finding = ptx(cuda, driver, platform);
        if let (Some(finding), false) = (&mut finding, gpus.iter().any(by_ptx)) {
            finding.severity = Severity::Note;
        }
        findings.extend(finding);
    }
    findings.into_iter().map(warned).collect()
}

/// PTX that the driver of this machine does not take.
pub fn ptx(cuda: Version, driver: Version, platform: &Platform) -> Option<Finding> {
    let first = compat::ptx_from(cuda)?;
    if cuda.major > driver.major || driver >= first {
        return None;
    }
    let finding = warned(rules::ptx(cuda, driver, "the toolkit writes"));
    Some(match compat::driver_for(first, platform) {
        Some(release) => finding.with("taken by", format!("driver {release} and later ones")),
        None => finding,
    })
}
