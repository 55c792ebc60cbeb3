//! The variables of the guard, and the report file.

use crate::runtime::facts::finding::listed;
use crate::runtime::facts::{Finding, FindingId};
use crate::runtime::report::{RequireGpu, VariableFault};

impl VariableFault {
    pub fn finding(&self) -> Finding {
        let finding = |summary| FindingId::VariableUnusable.warning(summary);
        match self {
            VariableFault::Invalid {
                name,
                value,
                expected,
                default,
            } => finding(format!(
                "{name}={value:?} is not {expected}; using {default}"
            )),
            VariableFault::UnknownId(id) => {
                let meant = FindingId::similar(id).map(|id| format!("; did you mean `{id}`?"));
                let meant = meant.unwrap_or_default();
                finding(format!(
                    "CUDNN_GUARD_ALLOW: unknown finding id {id:?}{meant}"
                ))
            }
            VariableFault::UnwrittenReport(path, error) => FindingId::IoError.warning(format!(
                "CUDNN_GUARD_REPORT: cannot write `{}`: {error}",
                path.display()
            )),
            VariableFault::Privileged(names) => finding(format!(
                "ignoring {}: this program runs with elevated privileges (setuid, capabilities)",
                names.join(", ")
            )),
            VariableFault::DevicesOutOfRange(numbers, count) => {
                let requested: Vec<_> = numbers.iter().map(|number| number.to_string()).collect();
                let requested = listed(&requested);
                let gpus = if numbers.len() == 1 { "GPU" } else { "GPUs" };
                let (visible, usable) = match count.saturating_sub(1) {
                    0 => ("GPU 0 is".to_string(), "0 or all".to_string()),
                    last => (
                        format!("GPUs 0 to {last} are"),
                        format!("numbers from 0 to {last}, or to all"),
                    ),
                };
                finding(format!(
                    "CUDNN_GUARD_DEVICES requests {gpus} {requested}, but only {visible} visible"
                ))
                .help(format!("set CUDNN_GUARD_DEVICES to {usable}"))
            }
        }
    }
}

impl RequireGpu {
    /// Returns the request that makes an unknown verdict a failure. `by_program`: the program itself requires a GPU.
    pub fn request(self, by_program: bool) -> Option<&'static str> {
        match self {
            RequireGpu::Strict => {
                Some("CUDNN_GUARD_REQUIRE_GPU=strict requires a check that passes")
            }
            RequireGpu::Present => {
                Some("CUDNN_GUARD_REQUIRE_GPU=1 requires a GPU, its driver and cuDNN")
            }
            RequireGpu::No if by_program => {
                Some("this program requires a GPU, its driver and cuDNN")
            }
            RequireGpu::No => None,
        }
    }
}
