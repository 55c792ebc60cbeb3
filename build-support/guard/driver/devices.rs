//! The GPUs that are tried.

use crate::runtime::facts::finding::Finding;
use crate::runtime::facts::finding_id::FindingId;
use crate::runtime::system;
use crate::runtime::system::by_system;
use std::path::{Path, PathBuf};

/// Which of the visible GPUs, in CUDA's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// The first one, as nobody asked; none where other programs share them through MPS.
    First,
    /// The one of this rank among the processes of a machine, as nobody asked.
    Rank(usize),
    /// Every one.
    All,
    /// These.
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
            let number = number.trim().parse().ok()?;
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        Some(Devices::Listed(numbers))
    }

    /// Whether it was said which.
    pub fn is_asked(&self) -> bool {
        matches!(self, Devices::All | Devices::Listed(_))
    }

    /// Those of so many that are tried.
    pub fn selected(&self, count: usize) -> Vec<usize> {
        let mut selected = Vec::new();
        match self {
            Devices::Listed(numbers) => {
                for number in numbers {
                    if *number < count {
                        selected.push(*number);
                    }
                }
            }
            Devices::Rank(rank) => {
                if self.shared_rank(count).is_none() {
                    selected.extend(rank.checked_rem(count));
                }
            }
            Devices::First | Devices::All => {
                for number in 0..count {
                    if number == 0 || *self == Devices::All {
                        selected.push(number);
                    }
                }
            }
        }
        selected
    }

    /// Returns the local rank of this process and its GPU if it shares the GPU with a lower rank, which tests it.
    ///
    /// A launcher that gives each process a GPU of its own sets CUDA_VISIBLE_DEVICES.
    pub fn shared_rank(&self, count: usize) -> Option<(usize, usize)> {
        let is_bound = count == 1 && std::env::var_os("CUDA_VISIBLE_DEVICES").is_some();
        match self {
            Devices::Rank(rank) if *rank >= count && !is_bound => {
                Some((*rank, rank.checked_rem(count)?))
            }
            _ => None,
        }
    }

    /// Those that are asked for and not there.
    pub fn out_of_range(&self, count: usize) -> Vec<usize> {
        let mut beyond = Vec::new();
        if let Devices::Listed(numbers) = self {
            for number in numbers {
                if *number >= count {
                    beyond.push(*number);
                }
            }
        }
        beyond
    }
}

/// Returns the finding that this process leaves the convolution to a lower rank on the same GPU.
pub fn left_to_rank((rank, gpu): (usize, usize)) -> Finding {
    let summary =
        format!("local rank {rank} shares GPU {gpu} with local rank {gpu}, which tests it");
    Finding::warning(FindingId::DeviceBusy, summary).help(format!(
        "set CUDNN_GUARD_DEVICES={gpu} to test the GPU in this process too"
    ))
}

/// The variables in which launchers give each process its number on this machine (torchrun, Open MPI, Intel MPI, Hydra,
/// PALS, Flux, Slurm). One launcher often starts another (`srun torchrun`), and the inner one knows best.
pub const RANKS: [&str; 7] = [
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "PMI_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "FLUX_TASK_LOCAL_ID",
    "SLURM_LOCALID",
];

/// That a GPU in this mode is not tried unasked: while the guard has it, other processes do not get it.
pub fn not_shared(mode: u32, device: &str, number: usize) -> Option<Finding> {
    let (name, words) = match mode {
        1 => ("EXCLUSIVE", "one process at a time may use it"),
        2 => ("PROHIBITED", "no process may use it"),
        3 => ("EXCLUSIVE_PROCESS", "one process at a time may use it"),
        _ => return None,
    };
    let summary = format!("{device} is in a compute mode in which {words}, so it was not tried");
    let finding = Finding::warning(FindingId::DeviceBusy, summary).with("mode", name);
    Some(if mode == 2 {
        finding.help(by_system!(
            "share the GPU again: `sudo nvidia-smi -c DEFAULT`",
            "share the GPU again: `nvidia-smi -c DEFAULT` as administrator"
        ))
    } else {
        finding.help(format!(
            "set CUDNN_GUARD_DEVICES={number} to try it all the same"
        ))
    })
}

/// That the program is capturing a graph.
pub fn captures(device: &str) -> Finding {
    let summary = format!(
        "this program is capturing work on {device} into a graph, which a convolution would break, so none was tried"
    );
    Finding::warning(FindingId::DeviceBusy, summary)
        .help("check cuDNN before the capture begins, or after its end")
}

/// The name of the GPU with this number: several may be called the same.
pub fn label(name: &str, number: usize) -> String {
    if number == 0 {
        name.to_string()
    } else {
        format!("{name}, GPU {number}")
    }
}

/// The control pipe of CUDA's multi-process service, if somebody serves it. What one program does wrong on a GPU that is
/// shared so may end the others.
pub fn shared_by() -> Option<PathBuf> {
    if cfg!(windows) {
        return None;
    }
    let folder = std::env::var_os("CUDA_MPS_PIPE_DIRECTORY").filter(|folder| !folder.is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("/tmp/nvidia-mps"), PathBuf::from);
    let control = folder.join("control");
    if system::is_there(&control) && !is_left_behind(&control) {
        Some(control)
    } else {
        None
    }
}

/// Returns the finding that a GPU which is shared so is not tried by default.
pub fn shared(control: &Path) -> Finding {
    let summary = "other programs may share the GPU through MPS, and a fault while cuDNN is tried would end them too";
    Finding::warning(FindingId::DeviceBusy, summary)
        .with("shared by", control.display())
        .help("set CUDNN_GUARD_DEVICES=0 to try it all the same")
}

/// Returns `true` if no process serves this socket: a service that was killed leaves its socket.
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
