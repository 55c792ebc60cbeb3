//! The GPUs that are tried.

use std::path::PathBuf;

/// Which of the visible GPUs, in CUDA's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Devices {
    /// The first one, as nobody asked; none where other programs share them through MPS.
    First,
    /// Every one.
    All,
    /// These.
    Listed(Vec<usize>),
}

impl Devices {
    /// Reads `CUDNN_GUARD_DEVICES`: numbers with commas between them, or `all`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "all" {
            return Some(Devices::All);
        }
        let mut numbers = Vec::new();
        for number in text.split(',') {
            numbers.push(number.trim().parse().ok()?);
        }
        Some(Devices::Listed(numbers))
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

/// The name of the GPU with this number: several may be called the same.
pub fn label(name: &str, number: usize) -> String {
    if number == 0 {
        name.to_string()
    } else {
        format!("{}, GPU {}", name, number)
    }
}

/// The control pipe of CUDA's multi-process service, if it is there. What one program does wrong on a GPU that is
/// shared so may end the others.
pub fn shared_by() -> Option<PathBuf> {
    let folder = std::env::var_os("CUDA_MPS_PIPE_DIRECTORY").filter(|folder| !folder.is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("/tmp/nvidia-mps"), PathBuf::from);
    let control = folder.join("control");
    if control.exists() {
        Some(control)
    } else {
        None
    }
}
