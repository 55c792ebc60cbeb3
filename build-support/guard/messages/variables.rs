//! The variables of the guard, and the report file.

use crate::runtime::facts::{Finding, FindingId};
use crate::runtime::report::env_config::{RequireGpu, VariableFault};

impl VariableFault {
    pub fn finding(&self) -> Finding {
        let finding = |summary| Finding::warning(FindingId::VariableUnusable, summary);
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
                let meant = FindingId::similar(id);
                let meant = meant.map_or(String::new(), |id| format!("; did you mean `{id}`?"));
                finding(format!(
                    "CUDNN_GUARD_ALLOW: unknown finding id {id:?}{meant}"
                ))
            }
            VariableFault::UnwrittenReport(path, error) => Finding::warning(
                FindingId::IoError,
                format!(
                    "CUDNN_GUARD_REPORT: cannot write `{}`: {error}",
                    path.display()
                ),
            ),
            VariableFault::Privileged(names) => finding(format!(
                "ignoring {}: this program runs with elevated privileges (setuid, capabilities)",
                names.join(", ")
            )),
            VariableFault::DevicesOutOfRange(numbers, count) => {
                let numbers: Vec<_> = numbers.iter().map(|number| number.to_string()).collect();
                let numbers = numbers.join(", ");
                let visible = match count {
                    1 => "GPU 0 is".to_string(),
                    _ => format!("GPUs 0 to {} are", count.saturating_sub(1)),
                };
                finding(format!(
                    "CUDNN_GUARD_DEVICES requests GPU {numbers}, but only {visible} visible"
                ))
                .help(format!(
                    "set CUDNN_GUARD_DEVICES to numbers below {count}, or to all"
                ))
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
