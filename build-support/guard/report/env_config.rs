//! The environment variables by which the operator of a program configures its guard.

use crate::runtime::driver::{Devices, RANKS};
use crate::runtime::facts::codec::named;
use crate::runtime::facts::{Allowed, Fields, Finding};
use crate::runtime::system::platform;
use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(60);
/// The time for about a hundred convolutions. cuDNN may compile an engine for each of them.
const THOROUGH_DEADLINE: Duration = Duration::from_secs(300);

/// The action of `startup` on a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Print it and exit.
    Deny,
    /// Print it and continue.
    Warn,
    Off,
}

named!(Mode {
    Deny = "deny",
    Warn = "warn",
    Off = "off",
});

/// The reasons for which `CUDNN_GUARD_REQUIRE_GPU` turns an unknown verdict into a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequireGpu {
    No,
    /// No GPU, no responding driver, no cuDNN, or no library of the CUDA provider of ONNX Runtime.
    Present,
    /// Any reason.
    Strict,
}

named!(RequireGpu {
    No = "0",
    Present = "1",
    Strict = "strict",
});

#[derive(Clone, Debug)]
pub struct EnvConfig {
    /// `CUDNN_GUARD`
    pub mode: Mode,
    /// `CUDNN_GUARD_REPORT`, with the process id inserted.
    pub report: Option<PathBuf>,
    /// `CUDNN_GUARD_DEADLINE`
    pub deadline: Duration,
    pub thorough_deadline: Duration,
    /// `CUDNN_GUARD_ALLOW`
    pub allow: Allowed,
    /// `CUDNN_GUARD_REQUIRE_GPU`
    pub require_gpu: RequireGpu,
    /// `CUDNN_GUARD_DEVICES`
    pub devices: Devices,
    /// Values that are ignored.
    pub complaints: Vec<VariableFault>,
}

#[derive(Clone, Debug)]
pub enum VariableFault {
    Invalid {
        name: &'static str,
        value: String,
        /// The valid values, in words.
        expected: &'static str,
        /// The value that is used instead.
        default: &'static str,
    },
    /// An entry of `CUDNN_GUARD_ALLOW` that is not an id.
    UnknownId(String),
    /// A file for the report that cannot be written, with the system's error.
    UnwrittenReport(PathBuf, String),
    /// Variables that a program with more privileges than its user ignores.
    Privileged(Vec<String>),
    /// The numbers of GPUs that do not exist, and the number of visible GPUs.
    DevicesOutOfRange(Vec<usize>, usize),
}

impl EnvConfig {
    pub fn findings(&self) -> Vec<Finding> {
        self.complaints.iter().map(VariableFault::finding).collect()
    }

    /// Reads the environment. If the program has more privileges than its user, the user can neither switch its guard
    /// off nor make it write a file.
    pub fn read() -> Self {
        if !platform::is_privileged() {
            return Self::parse(&|name| std::env::var_os(name));
        }
        let set = RefCell::new(Vec::new());
        let mut config = Self::parse(&|name| {
            if name.starts_with("CUDNN_GUARD") && std::env::var_os(name).is_some() {
                set.borrow_mut().push(name.to_string());
            }
            None
        });
        let set = set.into_inner();
        if !set.is_empty() {
            config.complaints.push(VariableFault::Privileged(set));
        }
        config
    }

    /// Reads the variables through a function.
    pub fn parse(get: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let variable = |name: &str| get(name).map(|value| value.to_string_lossy().into_owned());
        let mut complaints = Vec::new();
        let mode = ["CUDNN_GUARD", "one of deny, warn, off", "deny"];
        let mode = read(&variable, mode, &mut complaints, Mode::decode);
        let deadline = ["CUDNN_GUARD_DEADLINE", "a number of seconds above 0", "60"];
        let deadline = read(&variable, deadline, &mut complaints, |value| {
            let seconds: f64 = value.parse().ok().filter(|seconds| *seconds > 0.0)?;
            // A day is long enough, and overflows no clock.
            Some(Duration::from_secs_f64(seconds.min(86_400.0)))
        });
        let require_gpu = ["CUDNN_GUARD_REQUIRE_GPU", "one of 0, 1, strict", "0"];
        let require_gpu = read(&variable, require_gpu, &mut complaints, RequireGpu::decode);
        let rank = RANKS.iter().find_map(|name| variable(name)?.parse().ok());
        let devices = [
            "CUDNN_GUARD_DEVICES",
            "`all` or a comma-separated list of numbers",
            "the first visible GPU",
        ];
        let devices = read(&variable, devices, &mut complaints, Devices::parse);
        let allow = Allowed::parse(&variable("CUDNN_GUARD_ALLOW").unwrap_or_default());
        for id in allow.unknown_ids() {
            complaints.push(VariableFault::UnknownId(id.to_string()));
        }
        let report = get("CUDNN_GUARD_REPORT").filter(|file| !file.is_empty());
        Self {
            mode: mode.unwrap_or(Mode::Deny),
            report: report.map(|file| with_process_id(&file)),
            deadline: deadline.unwrap_or(DEADLINE),
            thorough_deadline: deadline.unwrap_or(THOROUGH_DEADLINE),
            allow,
            require_gpu: require_gpu.unwrap_or(RequireGpu::No),
            devices: devices.unwrap_or_else(|| rank.map_or(Devices::First, Devices::Rank)),
            complaints,
        }
    }
}

/// Reads a variable, unless it is blank. If `parse` does not accept the value, adds a complaint.
fn read<T>(
    variable: &dyn Fn(&str) -> Option<String>,
    [name, expected, default]: [&'static str; 3],
    complaints: &mut Vec<VariableFault>,
    parse: fn(&str) -> Option<T>,
) -> Option<T> {
    let value = variable(name).filter(|value| !value.trim().is_empty())?;
    let parsed = parse(value.trim());
    if parsed.is_none() {
        complaints.push(VariableFault::Invalid {
            name,
            value,
            expected,
            default,
        });
    }
    parsed
}

/// Inserts the process id for `%p`, unless the path is not UTF-8.
fn with_process_id(file: &OsStr) -> PathBuf {
    match file.to_str() {
        Some(text) => text.replace("%p", &std::process::id().to_string()).into(),
        None => file.into(),
    }
}
