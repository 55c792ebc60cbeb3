//! The GPUs that are tested.

use crate::runtime::facts::codec::parsed;
use crate::runtime::system;
use std::path::{Path, PathBuf};

/// A choice among the visible GPUs, in CUDA's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Devices {
    /// The first GPU, by default; none if other programs share the GPUs through MPS.
    #[default]
    First,
    /// The GPU for this rank of the process on its machine, by default if a launcher sets a rank.
    Rank(usize),
    All,
    Listed(Vec<usize>),
}

impl Devices {
    /// Reads `CUDNN_GUARD_DEVICES`: numbers with commas between them, each counted once, or `all`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "all" {
            return Some(Devices::All);
        }
        let mut numbers = Vec::new();
        for number in text.split(',') {
            let number = parsed(number.trim())?;
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        Some(Devices::Listed(numbers))
    }

    /// Returns `true` if the user chose the GPUs.
    pub fn is_explicit(&self) -> bool {
        matches!(self, Devices::All | Devices::Listed(_))
    }

    /// Returns the numbers of the GPUs that are tested, out of `count`.
    pub fn selected(&self, count: usize) -> Vec<usize> {
        let numbers = 0..count;
        match self {
            Devices::Listed(listed) => {
                let listed = listed.iter().copied();
                listed.filter(|number| numbers.contains(number)).collect()
            }
            Devices::Rank(_) if self.shared_rank(count).is_some() => Vec::new(),
            Devices::Rank(rank) => rank.checked_rem(count).into_iter().collect(),
            Devices::First => numbers.take(1).collect(),
            Devices::All => numbers.collect(),
        }
    }

    /// Returns the reason not to test a GPU that this process shares with a lower rank, which tests it.
    ///
    /// A launcher that gives each process a GPU of its own sets CUDA_VISIBLE_DEVICES.
    pub fn shared_rank(&self, count: usize) -> Option<BusyDevice> {
        let is_bound = count == 1 && std::env::var_os("CUDA_VISIBLE_DEVICES").is_some();
        match self {
            Devices::Rank(rank) if *rank >= count && !is_bound => {
                let gpu = rank.checked_rem(count)?;
                Some(BusyDevice::SharedWithRank { rank: *rank, gpu })
            }
            _ => None,
        }
    }

    /// Returns the requested numbers that do not exist.
    pub fn out_of_range(&self, count: usize) -> Vec<usize> {
        let mut numbers = Vec::new();
        if let Devices::Listed(listed) = self {
            numbers.extend(listed.iter().filter(|number| **number >= count));
        }
        numbers
    }
}

/// The reason why a GPU is not tested: other programs or this one may use it.
pub enum BusyDevice {
    /// The process of this local rank shares the GPU with the rank that has the GPU's number, which tests it.
    SharedWithRank { rank: usize, gpu: usize },
    /// A compute mode keeps other processes out while the guard uses the GPU.
    Restricted {
        /// The `CUcomputemode`.
        mode: u32,
        /// The name of the GPU.
        device: String,
        number: usize,
    },
    /// This program is capturing a graph on the GPU of this name.
    Capturing(String),
    /// CUDA's multi-process service has this control pipe. A fault of one program may stop the others on the GPU.
    SharedByMps(PathBuf),
}

/// The variables in which launchers give each process its number on this machine (torchrun, Open MPI, Intel MPI, Hydra,
/// PALS, Flux, Slurm). One launcher often starts another (`srun torchrun`), so the inner one comes first.
pub const RANKS: [&str; 7] = [
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "PMI_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "FLUX_TASK_LOCAL_ID",
    "SLURM_LOCALID",
];

/// Returns the name of a GPU with its number, since several may have the same name.
pub fn label(name: &str, number: usize) -> String {
    match number {
        0 => name.to_string(),
        _ => format!("{name}, GPU {number}"),
    }
}

/// Finds CUDA's multi-process service, if a process listens on its control pipe.
pub fn find_mps() -> Option<BusyDevice> {
    if cfg!(windows) {
        return None;
    }
    let directory =
        std::env::var_os("CUDA_MPS_PIPE_DIRECTORY").filter(|directory| !directory.is_empty());
    let directory = directory.map_or_else(|| PathBuf::from("/tmp/nvidia-mps"), PathBuf::from);
    let control = directory.join("control");
    let is_used = system::is_there(&control) && !is_left_behind(&control);
    is_used.then_some(BusyDevice::SharedByMps(control))
}

/// Returns `true` if no process listens on this socket: a service that was killed leaves its socket.
///
/// A datagram socket cannot connect to the service's stream socket, so this never waits in the queue of a service that
/// was stopped. Linux refuses with ECONNREFUSED if the socket is left behind, and with EPROTOTYPE otherwise.
#[cfg(unix)]
fn is_left_behind(control: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    use std::os::unix::net::UnixDatagram;
    let is_socket = std::fs::metadata(control).is_ok_and(|it| it.file_type().is_socket());
    let refused = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionRefused;
    is_socket
        && UnixDatagram::unbound()
            .and_then(|socket| socket.connect(control))
            .is_err_and(refused)
}

#[cfg(not(unix))]
fn is_left_behind(_control: &Path) -> bool {
    false
}
