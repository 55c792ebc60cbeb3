//! The GPUs of this machine, within a time limit.

use crate::model::Environment;
use crate::runtime::driver::{Device, DriverProblem, query};
use crate::system::Waiting;
use std::time::{Duration, Instant};

/// The time limit of a query. A driver that has to wake its GPUs needs two or three seconds, and a broken one never
/// answers.
pub const DEADLINE: Duration = Duration::from_secs(5);

/// A query for the GPUs of this machine that failed. A build needs no GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuQueryFault {
    Silent(SilentDriver),
    /// A driver that failed, or that cannot be opened: whether this machine has a GPU is unknown.
    Driver(DriverProblem),
    /// A CUDA that cannot be initialized, with cudarc's error.
    #[cfg(feature = "cudarc")]
    Cudarc(String),
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
    within(deadline, ask).map_err(GpuQueryFault::Silent)?
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

/// Queries the driver's library.
fn ask_driver() -> Result<Vec<Device>, GpuQueryFault> {
    match query::driver() {
        Ok(driver) => Ok(driver.devices),
        Err(DriverProblem::NoDevice { .. }) => Ok(Vec::new()),
        Err(problem) => Err(GpuQueryFault::Driver(problem)),
    }
}

#[cfg(not(feature = "cudarc"))]
use ask_driver as ask;

#[cfg(feature = "cudarc")]
fn ask() -> Result<Vec<Device>, GpuQueryFault> {
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
        return ask_driver();
    }
    match devices() {
        Ok(gpus) => Ok(gpus),
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => Ok(Vec::new()),
        Err(DriverError(CUresult::CUDA_ERROR_STUB_LIBRARY)) => ask_driver(),
        Err(error) => Err(GpuQueryFault::Cudarc(format!("{error:?}"))),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::runtime::facts::Severity;

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

    #[test]
    fn this_machine_can_be_queried() {
        // The result is an answer or a note, with or without a GPU.
        if let Err(fault) = gpus(&Environment::default()) {
            assert_eq!(fault.finding().severity, Severity::Note);
        }
    }
}
