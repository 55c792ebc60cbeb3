//! Confidential computing, as reported by NVML (<https://docs.nvidia.com/deploy/nvml-api/>).

use crate::runtime::driver::call::{CallStatus, address, functions};
use crate::runtime::system::platform::Library;
use std::ffi::{c_int, c_uint, c_void};
use std::mem::transmute;

const NVML: &str = "libnvidia-ml.so.1";

functions! {
    struct Functions {
        init = "nvmlInit_v2": unsafe extern "C" fn() -> c_int;
        shutdown = "nvmlShutdown": unsafe extern "C" fn() -> c_int;
        // Since driver 535. `environment`, `ccFeature` and `devToolsMode` are the fields of the structure.
        state = "nvmlSystemGetConfComputeState": unsafe extern "C" fn(*mut [c_uint; 3]) -> c_int;
    }
}

/// Returns `true` if the GPUs are in confidential computing mode. Without persistence mode, such a GPU may not start
/// again after the last process that uses it has exited.
pub fn is_enabled() -> bool {
    let Some(functions) = Library::open(NVML)
        .ok()
        .and_then(|nvml| Functions::resolve(nvml).ok())
    else {
        return false;
    };
    let mut state = [0; 3];
    // SAFETY: the structure is three numbers, and outlives the call.
    unsafe {
        if (functions.init)() != 0 {
            return false;
        }
        let has_state = (functions.state)(&mut state) == 0;
        (functions.shutdown)();
        has_state && state[1] != 0
    }
}
