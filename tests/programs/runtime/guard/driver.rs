//! A fake of the guard's driver. The test sets its answers in the environment.

use cudnn_guard::internals::driver::driver_missing::MissingDriver;
use cudnn_guard::internals::driver::query::{self, Device, Driver, DriverProblem};
use cudnn_guard::internals::facts::{ComputeCapability, Version};

/// `TEST_GPU` is a compute capability or several separated by commas, `none` for a driver without devices, `real` for
/// the driver that the loader finds, or unset for no driver. `TEST_DRIVER` is the file of the driver, and `TEST_CUDA`
/// the CUDA version that it supports.
pub fn ask() -> Result<Driver, DriverProblem> {
    let Ok(gpu) = std::env::var("TEST_GPU") else {
        return Err(DriverProblem::Missing(Box::new(MissingDriver {
            message: "libcuda.so.1:\nno".to_string(),
            ..MissingDriver::default()
        })));
    };
    if gpu == "real" {
        return query::driver();
    }
    let cuda = std::env::var("TEST_CUDA")
        .ok()
        .and_then(|number| number.parse().ok());
    let mut driver = Driver::default();
    driver.library = std::env::var("TEST_DRIVER").unwrap_or("/drv/libcuda.so.1".to_string());
    driver.version = Some("580.1".to_string());
    driver.cuda = Some(Version::from_cuda(cuda.unwrap_or(13_000)));
    for number in gpu.split(',').filter_map(|number| number.parse().ok()) {
        let capability = ComputeCapability::from_number(number);
        driver.devices.push(Device::new("Test\tGPU", capability));
    }
    if driver.devices.is_empty() {
        return Err(DriverProblem::NoDevice {
            driver,
            visibility: Box::default(),
        });
    }
    Ok(driver)
}
