//! The modes in which the driver keeps the GPUs when no process uses them, as NVML reports them
//! (<https://docs.nvidia.com/deploy/nvml-api/>).

use crate::runtime::driver::call::{CallStatus, address, functions};
use crate::runtime::system::platform::Library;
use std::ffi::{c_int, c_uint, c_void};
use std::mem::transmute;

const NVML: &str = "libnvidia-ml.so.1";

/// The modes in which the GPUs are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuModes {
    /// `true` if a GPU is shut down when the last process that uses it ends: its next start takes seconds.
    pub is_shut_down: bool,
    /// `true` if the GPUs are used in confidential computing, where a GPU that was shut down may not start again.
    pub is_confidential: bool,
}

functions! {
    struct Functions {
        init = "nvmlInit_v2": unsafe extern "C" fn() -> c_int;
        shutdown = "nvmlShutdown": unsafe extern "C" fn() -> c_int;
        count = "nvmlDeviceGetCount_v2": unsafe extern "C" fn(*mut c_uint) -> c_int;
        handle = "nvmlDeviceGetHandleByIndex_v2": unsafe extern "C" fn(c_uint, *mut *mut c_void) -> c_int;
        persistence = "nvmlDeviceGetPersistenceMode": unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int;
        // Since driver 535. `environment`, `ccFeature` and `devToolsMode` are the fields of the structure.
        ? confidential = "nvmlSystemGetConfComputeState": unsafe extern "C" fn(*mut [c_uint; 3]) -> c_int;
    }
}

/// Queries NVML. Returns `None` if it is missing or does not answer.
pub fn modes() -> Option<GpuModes> {
    let functions = Functions::resolve(Library::open(NVML).ok()?).ok()?;
    // SAFETY: it takes nothing.
    if unsafe { (functions.init)() } != 0 {
        return None;
    }
    let mut state = [0; 3];
    let has_state = functions.confidential.is_some_and(|get_state| {
        // SAFETY: the structure is three numbers, and outlives the call.
        unsafe { get_state(&mut state) == 0 }
    });
    let mut count = 0;
    let mut is_shut_down = false;
    // SAFETY: NVML is started, and each place outlives its call.
    unsafe {
        (functions.count)(&mut count);
        for index in 0..count {
            let (mut device, mut mode) = (std::ptr::null_mut(), 1);
            is_shut_down |= (functions.handle)(index, &mut device) == 0
                && (functions.persistence)(device, &mut mode) == 0
                && mode == 0;
        }
        (functions.shutdown)();
    }
    Some(GpuModes {
        is_shut_down,
        is_confidential: has_state && state[1] != 0,
    })
}
