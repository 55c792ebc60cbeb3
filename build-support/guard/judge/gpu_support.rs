//! The GPUs that a cuDNN supports, by the rows of a table.

use crate::runtime::facts::{Code, ComputeCapability, CudnnTargets, Version};

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

/// The reason why a cuDNN has no machine code for a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupportGap {
    /// The GPU is older than all that the cuDNN supports. The last cuDNN that is known to support the GPU, and the CUDA
    /// major that it is built for.
    Dropped(Option<(Version, u32)>),
    /// The GPU is newer than the cuDNN, or was left out of it.
    Missing {
        /// `true` if the cuDNN has PTX that the driver can compile for the GPU.
        by_ptx: bool,
        /// The newest GPU that the cuDNN supports, if the judged GPU is newer.
        newest: Option<ComputeCapability>,
        /// The first cuDNN that is known to support the GPU, and the CUDA major that it is built for.
        first: Option<(Version, u32)>,
    },
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
        match self.rows_around(rows) {
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

    /// Returns the reason why this cuDNN has no machine code for the GPU.
    pub fn gap(self, rows: &[CudnnTargets], gpu: ComputeCapability) -> Option<SupportGap> {
        let by_ptx = match self.support(rows, gpu) {
            GpuSupport::Yes | GpuSupport::Unknown => return None,
            GpuSupport::No if is_below(self.rows_around(rows).0?, gpu) => {
                let last = self.last_with(rows, gpu);
                return Some(SupportGap::Dropped(last.map(|last| (last, self.cuda))));
            }
            GpuSupport::No => false,
            GpuSupport::ByPtx => true,
        };
        Some(SupportGap::Missing {
            by_ptx,
            newest: self.newest_gpu(rows).filter(|newest| *newest < gpu),
            first: self.first_with(rows, gpu),
        })
    }

    /// Returns the newest GPU that this cuDNN has machine code for.
    pub fn newest_gpu(self, rows: &[CudnnTargets]) -> Option<ComputeCapability> {
        let (_, newest) = machine_code(self.rows_around(rows).0?)?;
        Some(newest)
    }

    /// Returns the last version before this one that is known to have machine code for the GPU.
    pub fn last_with(self, rows: &[CudnnTargets], gpu: ComputeCapability) -> Option<Version> {
        let mut last = None;
        for row in rows {
            let is_earlier = row.cuda == self.cuda && row.last < self.version;
            if is_earlier && last < Some(row.last) && has_code(row, gpu) {
                last = Some(row.last);
            }
        }
        last
    }

    /// Returns the first version after this one that is known to have machine code for the GPU, and its CUDA major,
    /// preferably that of the program.
    pub fn first_with(
        self,
        rows: &[CudnnTargets],
        gpu: ComputeCapability,
    ) -> Option<(Version, u32)> {
        let mut first: Option<(u32, Version)> = None;
        for row in rows {
            let place = (row.cuda, row.first);
            let is_later = place > (self.cuda, self.version) && row.last >= self.version;
            if is_later && first.is_none_or(|first| place < first) && has_code(row, gpu) {
                first = Some(place);
            }
        }
        first.map(|(cuda, version)| (version, cuda))
    }

    /// Returns the last row that begins at or before this version, and the first row that begins after it. Of two rows
    /// that begin at the same version, the later row counts as the last.
    fn rows_around(self, rows: &[CudnnTargets]) -> (Option<&CudnnTargets>, Option<&CudnnTargets>) {
        let (mut last, mut next): (Option<&CudnnTargets>, Option<&CudnnTargets>) = (None, None);
        for row in rows.iter().filter(|row| row.cuda == self.cuda) {
            if row.first > self.version {
                if next.is_none_or(|next| row.first < next.first) {
                    next = Some(row);
                }
            } else if last.is_none_or(|last| row.first >= last.first) {
                last = Some(row);
            }
        }
        (last, next)
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

/// Returns the newest version in these rows, if this version is newer than all of them.
pub fn newest_before(rows: &[CudnnTargets], cudnn: Version) -> Option<Version> {
    let newest = rows.iter().map(|row| row.last).max()?;
    let is_newer = (cudnn.major, cudnn.minor) > (newest.major, newest.minor);
    is_newer.then_some(newest)
}

/// Returns the newest GPU in these rows; 0.0 for a version that is newer than they are, `None` without rows.
#[cfg(feature = "runtime")]
pub fn newest_gpu(rows: &[CudnnTargets], cudnn: Option<Version>) -> Option<ComputeCapability> {
    if cudnn.is_some_and(|cudnn| newest_before(rows, cudnn).is_some()) {
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
    machine_code(row).is_some_and(|(oldest, _)| gpu < oldest)
}

fn has_code(row: &CudnnTargets, gpu: ComputeCapability) -> bool {
    support_in_row(row, gpu) == GpuSupport::Yes
}

/// Returns the oldest and the newest GPU that there is machine code for.
fn machine_code(row: &CudnnTargets) -> Option<(ComputeCapability, ComputeCapability)> {
    let mut range = None;
    for target in &row.code {
        if target.code == Code::Machine {
            let gpu = target.capability;
            let (oldest, newest) = range.unwrap_or((gpu, gpu));
            range = Some((gpu.min(oldest), gpu.max(newest)));
        }
    }
    range
}
