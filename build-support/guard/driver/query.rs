//! NVIDIA's driver, loaded at run time: its version, and the GPUs that programs see.
//!
//! Nothing here waits or starts a thread, but `cuInit` itself can hang on a faulty machine: callers need a deadline.

use crate::runtime::binary::{Defect, Image};
use crate::runtime::driver::call::{CallStatus, address, check, functions};
use crate::runtime::driver::no_gpu::GpuVisibility;
use crate::runtime::driver::{ENOENT, MissingDriver, RefusedRequest, driver_release};
use crate::runtime::facts::{ComputeCapability, Version};
use crate::runtime::loader::{SearchPath, search_path};
use crate::runtime::system::{self, DRIVER, DRIVER_IN_WSL, Library, by_system};
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::mem::transmute;
use std::path::{Path, PathBuf};

// `CUdevice_attribute` of cuda.h, the same since CUDA 5.
const COMPUTE_MODE: c_int = 20;
const CAPABILITY_MAJOR: c_int = 75;
const CAPABILITY_MINOR: c_int = 76;

/// `CUDA_ERROR_STUB_LIBRARY`: every function of the toolkit's `stubs/libcuda.so` returns it.
const STUB: c_int = 34;
/// `CUDA_ERROR_NO_DEVICE`
const NO_DEVICE: c_int = 100;
/// `CUDA_ERROR_SYSTEM_DRIVER_MISMATCH`
pub const MISMATCH: c_int = 803;
/// The codes of a driver to which the system refuses something: out of memory, not initialized, operating system, not
/// supported, unknown.
const REFUSED: [c_int; 5] = [2, 3, 304, 801, 999];
/// A limit above the number of GPUs in any machine, for the case that the driver returns a wrong count.
const MOST_DEVICES: c_int = 256;

/// A GPU that programs see.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// The name, as NVIDIA's driver reports it.
    pub name: String,
    /// The compute capability.
    pub capability: ComputeCapability,
}

impl Device {
    /// Creates a GPU of this name and compute capability.
    pub fn new(name: impl Into<String>, capability: ComputeCapability) -> Self {
        Self {
            name: name.into(),
            capability,
        }
    }
}

/// NVIDIA's driver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Driver {
    /// The file that is loaded; if the system does not report it, the name by which it was opened.
    pub library: String,
    /// The version of its kernel module; if that cannot be read, the one in the library's file name.
    pub version: Option<String>,
    /// The newest CUDA that it supports.
    pub cuda: Option<Version>,
    /// The GPUs that programs see, in CUDA's order.
    pub devices: Vec<Device>,
}

/// The reason why no GPU can be used. It is never the program's fault, so it does not stop the program by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DriverProblem {
    Missing(Box<MissingDriver>),
    /// The library that was found is the toolkit's stub, which is only for linking.
    Stub(Driver),
    /// The driver answers, but shows no GPU.
    NoDevice {
        driver: Driver,
        visibility: Box<GpuVisibility>,
    },
    /// The library is missing a function that every driver has.
    NotADriver {
        driver: Driver,
        function: &'static str,
    },
    Failed(FailedCall),
}

/// A call of the driver that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    pub driver: Driver,
    pub call: &'static str,
    /// Its `CUresult`.
    pub code: i32,
    /// A request of the driver that the system refuses, if the code may result from that.
    pub refused: Option<Box<RefusedRequest>>,
}

impl DriverProblem {
    pub fn driver(&self) -> Option<&Driver> {
        match self {
            DriverProblem::Missing(_) => None,
            DriverProblem::Stub(driver)
            | DriverProblem::NoDevice { driver, .. }
            | DriverProblem::NotADriver { driver, .. }
            | DriverProblem::Failed(FailedCall { driver, .. }) => Some(driver),
        }
    }

    /// Creates the problem of a failed call on the machine below a root directory.
    pub fn failed(driver: Driver, call: &'static str, code: i32, root: &Path) -> Self {
        // Without a device, the driver does not report that there is no memory (2).
        let is_reason = |it: &RefusedRequest| it.errno != ENOENT || code != 2;
        let refused = RefusedRequest::detect(root).filter(is_reason).map(Box::new);
        DriverProblem::Failed(FailedCall {
            driver,
            call,
            code,
            refused: refused.filter(|_| REFUSED.contains(&code)),
        })
    }

    /// Tries `memfd_create` too, which the driver calls first. Some sandboxes end a process for that, so only a child of
    /// the guard and the terminal program may do so.
    pub fn with_memory_file(mut self) -> Self {
        if let DriverProblem::Failed(failed) = &mut self {
            if REFUSED.contains(&failed.code) {
                let memory_file = RefusedRequest::detect_memory_file().map(Box::new);
                failed.refused = memory_file.or(failed.refused.take());
            }
        }
        self
    }

    fn no_device(driver: Driver) -> Self {
        DriverProblem::NoDevice {
            driver,
            visibility: Box::new(GpuVisibility::detect()),
        }
    }
}

/// Opens the driver, starts CUDA and lists the GPUs.
///
/// After this CUDA is initialized in the process, and a child forked from it can no longer use CUDA.
pub fn driver() -> Result<Driver, DriverProblem> {
    let library = open()?;
    let file = match library.path() {
        Some(path) => by_system!(system::canonical(&path, None).unwrap_or(path), path)
            .to_string_lossy()
            .into_owned(),
        None => DRIVER.to_string(),
    };
    let mut driver = Driver {
        version: driver_release::of_module().or_else(|| driver_release::of_library(&file)),
        library: file,
        cuda: None,
        devices: Vec::new(),
    };
    let functions = match DriverFunctions::resolve(library) {
        Ok(functions) => functions,
        Err(CallStatus { call: function, .. }) => {
            return Err(DriverProblem::NotADriver { driver, function });
        }
    };
    // SAFETY: it has no conditions.
    let started = unsafe { functions.init(0) };
    // A driver without GPUs reports its version too.
    driver.cuda = functions.cuda();
    match started.and_then(|()| functions.devices()) {
        Ok(devices) if !devices.is_empty() => Ok(Driver { devices, ..driver }),
        Ok(_) => Err(DriverProblem::no_device(driver)),
        Err(CallStatus { call, code }) => Err(match code.unwrap_or_default() {
            STUB => DriverProblem::Stub(driver),
            NO_DEVICE => DriverProblem::no_device(driver),
            code => DriverProblem::failed(driver, call, code, Path::new("/")),
        }),
    }
}

/// Returns the newest CUDA that the driver supports. CUDA is not started, so nothing can hang.
pub fn newest_cuda() -> Option<Version> {
    DriverFunctions::resolve(open().ok()?).ok()?.cuda()
}

/// Returns the compute mode of a GPU, if it keeps other processes out. CUDA must have been started.
#[cfg(feature = "runtime")]
pub fn compute_mode(ordinal: usize) -> Option<u32> {
    let functions = DriverFunctions::resolve(open().ok()?).ok()?;
    let mut device = 0;
    // SAFETY: `device` outlives the call.
    unsafe { functions.device(&mut device, ordinal as c_int) }.ok()?;
    let mode = functions.number(COMPUTE_MODE, device).ok();
    mode.filter(|mode| matches!(mode, 1..=3))
}

/// Opens the driver's library and calls nothing in it.
pub fn open() -> Result<Library, DriverProblem> {
    let (mut messages, mut not_opened) = (Vec::new(), None);
    // The second place exists only in WSL.
    let in_wsl = DRIVER_IN_WSL.filter(|file| system::is_there(Path::new(file)));
    let mut names = vec![DRIVER];
    names.extend(in_wsl);
    for name in names {
        messages.push(match unsafe_file(name) {
            Some((path, defect)) => {
                let message = format!("not opened: `{}` {}", path.display(), defect);
                not_opened = not_opened.or(Some(defect));
                message
            }
            None => match Library::open(name) {
                Ok(library) => return Ok(library),
                Err(message) => message,
            },
        });
    }
    let message = messages.join("\n");
    let missing = MissingDriver {
        not_opened,
        ..MissingDriver::detect(Path::new("/"), message, driver_release::of_module())
    };
    Err(DriverProblem::Missing(Box::new(missing)))
}

/// Returns the file that the loader would select for a name, if opening it could kill or block this process. Windows
/// checks files before it maps them.
pub fn unsafe_file(name: &str) -> Option<(PathBuf, Defect)> {
    if cfg!(windows) || search_path::loaded(name).is_some() {
        return None;
    }
    let path = SearchPath::of_program().program_file(name)?;
    let defect = Image::open(&path).err()?;
    defect.is_unsafe().then_some((path, defect))
}

functions! {
    pub struct DriverFunctions {
        init = "cuInit"(flags: c_uint);
        driver_version = "cuDriverGetVersion"(version: *mut c_int);
        count = "cuDeviceGetCount"(count: *mut c_int);
        device = "cuDeviceGet"(device: *mut c_int, ordinal: c_int);
        name = "cuDeviceGetName"(name: *mut c_char, size: c_int, device: c_int);
        attribute = "cuDeviceGetAttribute"(value: *mut c_int, attribute: c_int, device: c_int);
    }
}

impl DriverFunctions {
    fn cuda(&self) -> Option<Version> {
        let mut number: c_int = 0;
        // SAFETY: `number` outlives the call.
        unsafe { self.driver_version(&mut number) }.ok()?;
        (number > 0).then(|| Version::from_cuda(number.unsigned_abs()))
    }

    fn devices(&self) -> Result<Vec<Device>, CallStatus> {
        let mut count = 0;
        // SAFETY: `count` outlives the call.
        unsafe { self.count(&mut count)? };
        let mut devices = Vec::new();
        for ordinal in 0..count.min(MOST_DEVICES) {
            devices.push(self.describe(ordinal)?);
        }
        Ok(devices)
    }

    fn describe(&self, ordinal: c_int) -> Result<Device, CallStatus> {
        let (mut device, mut name) = (0, [0u8; 256]);
        // SAFETY: `device` and `name` outlive the calls. The driver writes at most 256 bytes, the last of them NUL.
        unsafe {
            self.device(&mut device, ordinal)?;
            self.name(name.as_mut_ptr().cast::<c_char>(), 256, device)?;
        }
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(Device {
            name: name.to_string_lossy().trim().to_string(),
            capability: ComputeCapability::new(
                self.number(CAPABILITY_MAJOR, device)?,
                self.number(CAPABILITY_MINOR, device)?,
            ),
        })
    }

    fn number(&self, attribute: c_int, device: c_int) -> Result<u32, CallStatus> {
        let mut value = 0;
        // SAFETY: `value` outlives the call.
        unsafe { self.attribute(&mut value, attribute, device)? };
        Ok(value.unsigned_abs())
    }
}
