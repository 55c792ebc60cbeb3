//! Which GPUs a cuDNN serves: a rule over the rows of a table.

use crate::runtime::facts::compute_capability::{Code, ComputeCapability};
use crate::runtime::facts::tables::CudnnTargets;
use crate::runtime::facts::version::Version;

/// What a cuDNN has for a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuSupport {
    /// Machine code in every core part.
    Yes,
    /// PTX, which the driver compiles when it is first used.
    ByPtx,
    /// Nothing.
    No,
    /// No build is known that tells.
    Unknown,
}

/// What this cuDNN, built for this CUDA major, has for the GPU. Between two builds that were read it is known if both
/// agree; a release newer than all of them serves what the newest serves, and does not take up again what that left
/// behind.
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

/// Whether the GPU is older than all that this cuDNN has machine code for.
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

/// The newest GPU that this cuDNN has machine code for.
pub fn newest(rows: &[CudnnTargets], cudnn: Version, cuda: u32) -> Option<ComputeCapability> {
    machine_code(bracketing_rows(rows, cudnn, cuda).0?).max()
}

/// The last release before this one that is known to have machine code for the GPU.
pub fn last_with(
    rows: &[CudnnTargets],
    cudnn: Version,
    cuda: u32,
    gpu: ComputeCapability,
) -> Option<Version> {
    rows.iter()
        .filter(|row| row.cuda == cuda && row.last < cudnn && answer(row, gpu) == GpuSupport::Yes)
        .map(|row| row.last)
        .max()
}

/// The first release after this one that is known to have machine code for the GPU, and its CUDA major: that of the
/// program if it can be.
pub fn first_with(
    rows: &[CudnnTargets],
    cudnn: Version,
    cuda: u32,
    gpu: ComputeCapability,
) -> Option<(Version, u32)> {
    rows.iter()
        .filter(|row| row.cuda >= cuda && row.last >= cudnn && answer(row, gpu) == GpuSupport::Yes)
        .filter(|row| row.cuda != cuda || row.first > cudnn)
        .map(|row| (row.first, row.cuda))
        .min_by_key(|(release, major)| (*major, *release))
}

/// The row that the release lies in or behind, and the one before which it lies. Of two that begin alike, the later row
/// counts.
fn bracketing_rows(
    rows: &[CudnnTargets],
    cudnn: Version,
    cuda: u32,
) -> (Option<&CudnnTargets>, Option<&CudnnTargets>) {
    let of_cuda = || rows.iter().filter(|row| row.cuda == cuda);
    (
        of_cuda()
            .filter(|row| row.first <= cudnn)
            .max_by_key(|row| row.first),
        of_cuda()
            .filter(|row| row.first > cudnn)
            .min_by_key(|row| row.first),
    )
}

fn answer(row: &CudnnTargets, gpu: ComputeCapability) -> GpuSupport {
    // NVIDIA does not promise that machine code for cards runs on the GPU of a Jetson.
    if is_jetson(gpu) {
        return GpuSupport::Unknown;
    }
    let runs = |wanted: Code| {
        row.code
            .iter()
            .any(|target| target.code == wanted && target.runs_on(gpu))
    };
    if runs(Code::Machine) {
        GpuSupport::Yes
    } else if runs(Code::Ptx) {
        GpuSupport::ByPtx
    } else {
        GpuSupport::No
    }
}

/// Whether only Jetsons have such a GPU.
pub fn is_jetson(gpu: ComputeCapability) -> bool {
    [(5, 3), (6, 2), (7, 2), (8, 7)].contains(&(gpu.major, gpu.minor))
}

fn is_below(row: &CudnnTargets, gpu: ComputeCapability) -> bool {
    machine_code(row).min().is_some_and(|lowest| gpu < lowest)
}

fn machine_code(row: &CudnnTargets) -> impl Iterator<Item = ComputeCapability> + '_ {
    row.code
        .iter()
        .filter(|target| target.code == Code::Machine)
        .map(|target| target.capability)
}
