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
    /// The rows do not contain the answer.
    Unknown,
}

/// The facts about a cuDNN that determine the GPUs that it supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cudnn {
    pub version: Version,
    /// The CUDA major that it was built for.
    pub cuda: u32,
}

impl Cudnn {
    /// Returns whether this cuDNN supports the GPU. For a version between two rows, the answer is known if both rows
    /// agree. For a version that is newer than all rows, the newest row shows which GPUs are supported and which are
    /// too old.
    pub fn support(self, rows: &[CudnnTargets], gpu: ComputeCapability) -> GpuSupport {
        match (self.row(rows), self.next_row(rows)) {
            (Some(row), _) if self.version <= row.last => support_in_row(row, gpu),
            (Some(row), Some(next)) if support_in_row(row, gpu) == support_in_row(next, gpu) => {
                support_in_row(row, gpu)
            }
            (Some(row), None) => match support_in_row(row, gpu) {
                GpuSupport::Yes => GpuSupport::Yes,
                GpuSupport::No if is_below(row, gpu) => GpuSupport::No,
                _ => GpuSupport::Unknown,
            },
            _ => GpuSupport::Unknown,
        }
    }

    /// Returns `true` if the GPU is older than all that this cuDNN has machine code for.
    pub fn is_gpu_too_old(self, rows: &[CudnnTargets], gpu: ComputeCapability) -> bool {
        self.row(rows).is_some_and(|row| is_below(row, gpu))
    }

    /// Returns the newest GPU that this cuDNN has machine code for.
    pub fn newest_gpu(self, rows: &[CudnnTargets]) -> Option<ComputeCapability> {
        machine_code(self.row(rows)?).max()
    }

    /// Returns the last version before this one that is known to have machine code for the GPU.
    pub fn last_with(self, rows: &[CudnnTargets], gpu: ComputeCapability) -> Option<Version> {
        let builds = rows.iter().filter(|row| row.cuda == self.cuda);
        let supporting = builds.filter(|row| row.last < self.version && has_code(row, gpu));
        supporting.map(|row| row.last).max()
    }

    /// Returns the first version after this one that is known to have machine code for the GPU, and its CUDA major,
    /// preferably that of the program.
    pub fn first_with(
        self,
        rows: &[CudnnTargets],
        gpu: ComputeCapability,
    ) -> Option<(Version, u32)> {
        let is_later = |row: &&CudnnTargets| {
            row.cuda > self.cuda || row.cuda == self.cuda && row.first > self.version
        };
        let later = rows.iter().filter(is_later);
        let supporting = later.filter(|row| row.last >= self.version && has_code(row, gpu));
        let first = supporting.min_by_key(|row| (row.cuda, row.first))?;
        Some((first.first, first.cuda))
    }

    /// Returns the last row that begins at or before this version. Of two rows that begin at the same version, the
    /// later row counts.
    fn row(self, rows: &[CudnnTargets]) -> Option<&CudnnTargets> {
        let rows = rows.iter().filter(|row| row.cuda == self.cuda);
        let begun = rows.filter(|row| row.first <= self.version);
        begun.max_by_key(|row| row.first)
    }

    /// Returns the first row that begins after this version.
    fn next_row(self, rows: &[CudnnTargets]) -> Option<&CudnnTargets> {
        let rows = rows.iter().filter(|row| row.cuda == self.cuda);
        let later = rows.filter(|row| row.first > self.version);
        later.min_by_key(|row| row.first)
    }
}

fn support_in_row(row: &CudnnTargets, gpu: ComputeCapability) -> GpuSupport {
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
    newest_before(rows, cudnn).is_some()
}

/// Returns the newest version in these rows, if this version is newer than all of them.
pub fn newest_before(rows: &[CudnnTargets], cudnn: Version) -> Option<Version> {
    let newest = rows.iter().map(|row| row.last).max()?;
    let is_newer = (cudnn.major, cudnn.minor) > (newest.major, newest.minor);
    is_newer.then_some(newest)
}

/// Returns the newest GPU in these rows; 0.0 for a version that is newer than they are, `None` without rows.
pub fn newest_gpu(rows: &[CudnnTargets], cudnn: Option<Version>) -> Option<ComputeCapability> {
    if cudnn.is_some_and(|cudnn| is_newer(rows, cudnn)) {
        return Some(ComputeCapability::new(0, 0));
    }
    let targets = rows.iter().flat_map(|row| &row.code);
    targets.map(|target| target.capability).max()
}

/// Returns `true` if only Jetsons have this compute capability.
pub fn is_jetson(gpu: ComputeCapability) -> bool {
    [(5, 3), (6, 2), (7, 2), (8, 7)].contains(&(gpu.major, gpu.minor))
}

fn is_below(row: &CudnnTargets, gpu: ComputeCapability) -> bool {
    machine_code(row).min().is_some_and(|oldest| gpu < oldest)
}

fn has_code(row: &CudnnTargets, gpu: ComputeCapability) -> bool {
    support_in_row(row, gpu) == GpuSupport::Yes
}

/// Returns the GPUs that there is machine code for.
fn machine_code(row: &CudnnTargets) -> impl Iterator<Item = ComputeCapability> + '_ {
    let targets = row.code.iter();
    let machine = targets.filter(|target| target.code == Code::Machine);
    machine.map(|target| target.capability)
}
