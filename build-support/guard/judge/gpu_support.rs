//! The GPUs that a cuDNN supports, by the rows of a table.

use crate::runtime::facts::compute_capability::{Code, ComputeCapability};
use crate::runtime::facts::tables::CudnnTargets;
use crate::runtime::facts::version::Version;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuSupport {
    /// Every core sub-library contains machine code.
    Yes,
    /// PTX, which the driver compiles on first use.
    ByPtx,
    No,
    /// The rows do not determine it.
    Unknown,
}

/// Returns the support of this cuDNN, built for this CUDA major, for the GPU. Between two builds that were read, it is
/// known if both agree. A version that is newer than all of them supports what the newest supports, and not the GPUs
/// that are too old for the newest.
pub fn serves(
    rows: &[CudnnTargets],
    cudnn: Version,
    cuda: u32,
    gpu: ComputeCapability,
) -> GpuSupport {
    let (below, above) = bracketing_rows(rows, cudnn, cuda);
    match (below, above) {
        (Some(row), _) if cudnn <= row.last => answer(row, gpu),
        (Some(row), Some(next)) if answer(row, gpu) == answer(next, gpu) => answer(row, gpu),
        (Some(row), None) => match answer(row, gpu) {
            GpuSupport::Yes => GpuSupport::Yes,
            GpuSupport::No if is_below(row, gpu) => GpuSupport::No,
            _ => GpuSupport::Unknown,
        },
        _ => GpuSupport::Unknown,
    }
}

/// Returns `true` if the GPU is older than all that this cuDNN has machine code for.
pub fn is_too_old(
    rows: &[CudnnTargets],
    cudnn: Version,
    cuda: u32,
    gpu: ComputeCapability,
) -> bool {
    bracketing_rows(rows, cudnn, cuda)
        .0
        .is_some_and(|row| is_below(row, gpu))
}

/// Returns the newest GPU that this cuDNN has machine code for.
pub fn newest(rows: &[CudnnTargets], cudnn: Version, cuda: u32) -> Option<ComputeCapability> {
    let row = bracketing_rows(rows, cudnn, cuda).0?;
    let mut newest = None;
    for target in &row.code {
        if target.code == Code::Machine {
            newest = newest.max(Some(target.capability));
        }
    }
    newest
}

/// Returns the last version before this one that is known to have machine code for the GPU.
pub fn last_with(
    rows: &[CudnnTargets],
    cudnn: Version,
    cuda: u32,
    gpu: ComputeCapability,
) -> Option<Version> {
    let mut last = None;
    for row in rows {
        if row.cuda == cuda && row.last < cudnn && answer(row, gpu) == GpuSupport::Yes {
            last = last.max(Some(row.last));
        }
    }
    last
}

/// Returns the first version after this one that is known to have machine code for the GPU, and its CUDA major,
/// preferably that of the program.
pub fn first_with(
    rows: &[CudnnTargets],
    cudnn: Version,
    cuda: u32,
    gpu: ComputeCapability,
) -> Option<(Version, u32)> {
    let mut first: Option<(u32, Version)> = None;
    for row in rows {
        let later = row.cuda > cuda || row.cuda == cuda && row.first > cudnn;
        let this = (row.cuda, row.first);
        if later
            && row.last >= cudnn
            && answer(row, gpu) == GpuSupport::Yes
            && first.is_none_or(|first| this < first)
        {
            first = Some(this);
        }
    }
    first.map(|(major, release)| (release, major))
}

/// Returns the last row that begins at or before the version, and the first row that begins after it. Of two rows that
/// begin at the same version, the later row counts.
fn bracketing_rows(
    rows: &[CudnnTargets],
    cudnn: Version,
    cuda: u32,
) -> (Option<&CudnnTargets>, Option<&CudnnTargets>) {
    let (mut below, mut above): (Option<&CudnnTargets>, Option<&CudnnTargets>) = (None, None);
    for row in rows {
        if row.cuda != cuda {
            continue;
        }
        if row.first > cudnn {
            if above.is_none_or(|above| row.first < above.first) {
                above = Some(row);
            }
        } else if below.is_none_or(|below| row.first >= below.first) {
            below = Some(row);
        }
    }
    (below, above)
}

fn answer(row: &CudnnTargets, gpu: ComputeCapability) -> GpuSupport {
    // NVIDIA does not promise that machine code for cards runs on the GPU of a Jetson.
    if is_jetson(gpu) {
        return GpuSupport::Unknown;
    }
    let runs = |code: Code| {
        let mut targets = row.code.iter();
        targets.any(|target| target.code == code && target.runs_on(gpu))
    };
    if runs(Code::Machine) {
        GpuSupport::Yes
    } else if runs(Code::Ptx) {
        GpuSupport::ByPtx
    } else {
        GpuSupport::No
    }
}

/// Returns `true` if a version is newer than all in these rows.
pub fn is_newer(rows: &[CudnnTargets], cudnn: Version) -> bool {
    let is_newer =
        |row: &CudnnTargets| (cudnn.major, cudnn.minor) > (row.last.major, row.last.minor);
    !rows.is_empty() && rows.iter().all(is_newer)
}

/// Returns the newest GPU in these rows; 0.0 for a version that is newer than they are, `None` without rows.
pub fn newest_gpu(rows: &[CudnnTargets], cudnn: Option<Version>) -> Option<ComputeCapability> {
    if cudnn.is_some_and(|cudnn| is_newer(rows, cudnn)) {
        return Some(ComputeCapability::new(0, 0));
    }
    let mut newest = None;
    for row in rows {
        for target in &row.code {
            newest = newest.max(Some(target.capability));
        }
    }
    newest
}

/// Returns `true` if only Jetsons have such a GPU.
pub fn is_jetson(gpu: ComputeCapability) -> bool {
    [(5, 3), (6, 2), (7, 2), (8, 7)].contains(&(gpu.major, gpu.minor))
}

fn is_below(row: &CudnnTargets, gpu: ComputeCapability) -> bool {
    let mut below = false;
    for target in &row.code {
        if target.code == Code::Machine {
            if gpu >= target.capability {
                return false;
            }
            below = true;
        }
    }
    below
}
