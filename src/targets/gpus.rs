//! The GPUs of this machine, within a time limit.

use crate::model::{Environment, Invocation, Variable};
use crate::runtime::driver::query::{self, Device};
#[cfg(not(feature = "cudarc"))]
use crate::runtime::driver::query::{DriverProblem, FailedCall};
use crate::runtime::facts::Finding;
use crate::system::programs::{Waiting, on_path, run};
use crate::targets::nvidia_smi;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The time limit of a query. A driver that has to wake its GPUs needs two or three seconds, and a broken one never
/// answers.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// The GPUs that the driver reports. `None` if its library cannot be opened. `nvidia-smi` may still work then.
type DriverAnswer = Result<Option<Vec<Device>>, GpuQueryFault>;

/// A query for the GPUs of this machine that failed. A build needs no GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuQueryFault {
    Silent(SilentDriver),
    #[cfg(not(feature = "cudarc"))]
    Driver(FailedCall),
    /// A CUDA that cannot be initialized, with cudarc's error.
    #[cfg(feature = "cudarc")]
    Cudarc(String),
    /// An `nvidia-smi` that did not run to completion.
    SmiNotRun(Finding),
    SmiFailed {
        program: PathBuf,
        output: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilentDriver {
    /// A query that took longer than this.
    Deadline(Duration),
    Panicked,
}

/// Returns the visible GPUs, in CUDA's order. A machine without GPUs is not an error.
pub fn gpus(env: &Environment) -> Result<Vec<Device>, GpuQueryFault> {
    let deadline = env.program_deadline().unwrap_or(DEADLINE);
    match within(deadline, ask).map_err(GpuQueryFault::Silent)?? {
        Some(gpus) => Ok(gpus),
        None => without_library(env, deadline),
    }
}

/// Runs a query of the driver within a time limit. CUDA's initialization can hang forever inside the driver. A thread
/// that hangs is abandoned.
pub fn within<T: Send + 'static>(deadline: Duration, ask: fn() -> T) -> Result<T, SilentDriver> {
    let begun = Instant::now();
    let query = std::thread::spawn(ask);
    let mut waiting = Waiting::default();
    while !query.is_finished() && begun.elapsed() < deadline {
        waiting.report(&"NVIDIA's driver", begun.elapsed(), deadline);
        std::thread::sleep(Duration::from_millis(5));
    }
    if !query.is_finished() {
        return Err(SilentDriver::Deadline(deadline));
    }
    query.join().map_err(|_| SilentDriver::Panicked)
}

#[cfg(not(feature = "cudarc"))]
fn ask() -> DriverAnswer {
    match query::driver() {
        Ok(driver) => Ok(Some(driver.devices)),
        Err(DriverProblem::NoDevice { .. }) => Ok(Some(Vec::new())),
        Err(DriverProblem::Failed(call)) => Err(GpuQueryFault::Driver(call)),
        Err(
            DriverProblem::Missing(_) | DriverProblem::Stub(_) | DriverProblem::NotADriver { .. },
        ) => Ok(None),
    }
}

#[cfg(feature = "cudarc")]
fn ask() -> DriverAnswer {
    use crate::runtime::facts::ComputeCapability;
    use crate::runtime::system::names::DRIVER;
    use cudarc::driver::sys::{CUdevice_attribute as Attribute, CUresult, is_culib_present};
    use cudarc::driver::{DriverError, result};

    fn devices() -> Result<Vec<Device>, DriverError> {
        result::init()?;
        let describe = |ordinal| {
            let device = result::device::get(ordinal)?;
            let number = |attribute| {
                // SAFETY: the device comes from the driver.
                let value = unsafe { result::device::get_attribute(device, attribute) };
                value.map(i32::unsigned_abs)
            };
            Ok(Device {
                name: result::device::get_name(device)?,
                capability: ComputeCapability::new(
                    number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                    number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
                ),
            })
        };
        (0..result::device::get_count()?).map(describe).collect()
    }

    let is_unsafe = |name| query::unsafe_file(name).is_some();
    // SAFETY: this opens the driver's library by its usual names, as CUDA itself does. Without the library all other
    // functions of cudarc panic.
    if ["libcuda.so", DRIVER].into_iter().any(is_unsafe) || !unsafe { is_culib_present() } {
        return Ok(None);
    }
    match devices() {
        Ok(gpus) => Ok(Some(gpus)),
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => Ok(Some(Vec::new())),
        Err(DriverError(CUresult::CUDA_ERROR_STUB_LIBRARY)) => Ok(None),
        Err(error) => Err(GpuQueryFault::Cudarc(format!("{error:?}"))),
    }
}

/// Runs `nvidia-smi`. If it does not exist, as in a container, there are no GPUs. An old one that does not support
/// `compute_cap` also returns none.
fn without_library(env: &Environment, deadline: Duration) -> Result<Vec<Device>, GpuQueryFault> {
    let name = format!("nvidia-smi{}", std::env::consts::EXE_SUFFIX);
    let path = env.get(Variable::Path).unwrap_or_default();
    let Some(program) = on_path(&name, path) else {
        return Ok(Vec::new());
    };
    let question = Invocation::new(&program, &[nvidia_smi::QUESTION, "--format=csv,noheader"]);
    let output = run(&question, deadline).map_err(GpuQueryFault::SmiNotRun)?;
    if !output.success {
        return Err(GpuQueryFault::SmiFailed {
            program,
            output: output.printed(),
        });
    }
    let listed = nvidia_smi::parse(&output.stdout);
    let visible = env.as_set("CUDA_VISIBLE_DEVICES");
    let visible = visible.map(|value| value.to_string_lossy());
    let by_bus = env.var("CUDA_DEVICE_ORDER") == Some("PCI_BUS_ID");
    Ok(nvidia_smi::visible(listed, visible.as_deref(), by_bus))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::facts::Severity;
    use std::os::unix::fs::PermissionsExt;

    /// The driver's own library can hang or crash.
    #[test]
    fn a_driver_that_hangs_or_dies_is_a_note() {
        fn hangs() {
            std::thread::sleep(Duration::from_secs(60));
        }
        fn dies() {
            std::panic::resume_unwind(Box::new(()));
        }
        for (ask, limit, words) in [
            (
                hangs as fn(),
                50,
                "the NVIDIA driver did not respond within 0.05 s",
            ),
            (dies, 5000, "cannot query the NVIDIA driver"),
        ] {
            let script_text = within(Duration::from_millis(limit), ask).unwrap_err();
            assert_eq!(script_text.finding().summary, words);
        }
    }

    /// An `nvidia-smi` in a temporary directory, which is removed when the test ends.
    struct Fake(PathBuf);

    impl Drop for Fake {
        fn drop(&mut self) {
            std::fs::remove_dir_all(self.0.parent().unwrap()).unwrap();
        }
    }

    /// Creates an `nvidia-smi` from this script. Another process copies it, because a file that is open for writing
    /// cannot be run. If this process wrote the file, a concurrent test that starts a program could keep it open.
    fn fake(name: &str, script: &str) -> Fake {
        let name = format!("cudnn-guard-smi-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let (text, program) = (dir.join("text"), dir.join("nvidia-smi"));
        std::fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&text, PermissionsExt::from_mode(0o755)).unwrap();
        let copied = std::process::Command::new("cp")
            .arg(&text)
            .arg(&program)
            .status();
        assert!(copied.unwrap().success());
        Fake(program)
    }

    /// Returns an environment with only this program's directory on PATH.
    fn with_path_of(program: &Fake) -> Environment {
        Environment::new([("PATH".to_string(), program.0.parent().unwrap().into())])
    }

    /// Every valid row counts. Without the program or without rows there is no GPU, which is not an
    /// error.
    #[test]
    fn only_valid_output_of_nvidia_smi_is_used() {
        assert_eq!(
            without_library(&Environment::default(), DEADLINE),
            Ok(Vec::new())
        );
        let question = "[ $1 = --query-gpu=index,uuid,name,compute_cap ] && printf '0, GPU-1, NVIDIA P40, %s\\n'";
        for (index, (script, expected)) in [
            (format!("{question} 8.0"), &[80][..]),
            (format!("{question} 6.1 6.1 6.1 8.6"), &[61, 61, 61, 86]),
            (
                "echo 'Field \"compute_cap\" is not a valid field to query.'".into(),
                &[],
            ),
        ]
        .into_iter()
        .enumerate()
        {
            let program = fake(&format!("answers-{index}"), &script);
            let gpus = without_library(&with_path_of(&program), DEADLINE).unwrap();
            let numbers: Vec<u32> = gpus.iter().map(|gpu| gpu.capability.number()).collect();
            assert_eq!(numbers, expected, "{script}");
        }
        let script_text = "echo \"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\"; exit 9";
        let program = fake("fails", script_text);
        let note = without_library(&with_path_of(&program), DEADLINE).unwrap_err();
        let note = note.finding();
        assert_eq!(note.severity, Severity::Note);
        let message = note
            .to_string()
            .replace(program.0.to_str().unwrap(), "nvidia-smi");
        assert_eq!(
            message,
            "`nvidia-smi` failed, so no GPU was detected  [driver-error]\n  \
             = help: run `nvidia-smi`, and reinstall the NVIDIA driver if it fails\n  \
             output      NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
        );
    }

    /// Variables from the build script count too, and an empty list of GPUs is valid.
    #[test]
    fn variables_of_the_build_script_select_the_visible_gpus() {
        let program = fake(
            "variables",
            "printf '0, GPU-1, NVIDIA A100, 8.0\\n1, GPU-2, NVIDIA H100, 9.0\\n'",
        );
        for (visible, expected) in [("1", &[90][..]), ("0", &[80]), ("", &[])] {
            let env = with_path_of(&program).with_pairs(&[
                ("CUDA_DEVICE_ORDER".to_string(), "PCI_BUS_ID".into()),
                ("CUDA_VISIBLE_DEVICES".to_string(), visible.into()),
            ]);
            let gpus = without_library(&env, DEADLINE).unwrap();
            let numbers: Vec<u32> = gpus.iter().map(|gpu| gpu.capability.number()).collect();
            assert_eq!(numbers, expected, "{visible:?}");
        }
    }

    /// `nvidia-smi` hangs with the driver, but the build does not.
    #[test]
    fn an_nvidia_smi_that_hangs_is_stopped() {
        let program = fake("hangs", "sleep 1000");
        let shown = program.0.display().to_string();
        let begun = Instant::now();
        let fault =
            without_library(&with_path_of(&program), Duration::from_millis(300)).unwrap_err();
        let finding = fault.finding();
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(
            finding.to_string(),
            format!(
                "`{shown}` did not finish within 0.3 s and was stopped  [program-timeout]\n  \
                 = help: run the command by hand to see where it hangs\n  \
                 = help: set CUDNN_GUARD_PROGRAM_DEADLINE=1 to give it more time\n  \
                 = help: look for `NVRM` and `Xid` in the output of `dmesg`: a driver that hangs has to be restarted\n  \
                 = help: set CUDNN_GUARD_ARCHS so that the driver is not queried\n  \
                 command     {shown} --query-gpu=index,uuid,name,compute_cap --format=csv,noheader"
            )
        );
    }

    #[test]
    fn this_machine_can_be_queried() {
        // The result is an answer or a note, with or without a GPU.
        if let Err(fault) = gpus(&Environment::default()) {
            assert_eq!(fault.finding().severity, Severity::Note);
        }
    }
}
