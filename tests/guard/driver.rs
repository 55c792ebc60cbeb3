//! The driver's place in the guard, held by one that answers what the test says in the environment.

use super::arch::ComputeCapability;
use super::finding::Finding;
use super::version::Version;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub name: String,
    pub capability: ComputeCapability,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver {
    pub library: String,
    pub version: Option<String>,
    pub cuda: Option<Version>,
    pub devices: Vec<Device>,
}

pub struct Problem(Option<Driver>);

impl Problem {
    pub fn driver(&self) -> Option<&Driver> {
        self.0.as_ref()
    }

    pub fn finding(&self) -> Finding {
        match self.0 {
            Some(_) => {
                Finding::warning("no-gpu", "NVIDIA's driver shows no GPU").help("plug one in")
            }
            None => Finding::warning("driver-missing", "there is no driver")
                .with("loader", "libcuda.so.1:\nno"),
        }
    }
}

/// `TEST_GPU` is a compute capability, `none` for a driver without devices, or unset for no driver. `TEST_DRIVER` is its
/// file, and `TEST_CUDA` what it serves.
pub fn ask() -> Result<Driver, Problem> {
    let Ok(gpu) = std::env::var("TEST_GPU") else {
        return Err(Problem(None));
    };
    let cuda = std::env::var("TEST_CUDA")
        .ok()
        .and_then(|number| number.parse().ok());
    let mut driver = Driver {
        library: std::env::var("TEST_DRIVER").unwrap_or("/drv/libcuda.so.1".to_string()),
        version: Some("580.1".to_string()),
        cuda: Some(Version::from_cuda(cuda.unwrap_or(13_000))),
        devices: Vec::new(),
    };
    let Ok(number) = gpu.parse() else {
        return Err(Problem(Some(driver)));
    };
    driver.devices.push(Device {
        name: "Test\tGPU".to_string(),
        capability: ComputeCapability::from_number(number),
    });
    Ok(driver)
}
