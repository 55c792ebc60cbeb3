//! The status codes of CUDA (`CUresult`), by name and in words.

use crate::runtime::system::{by_system, proc};

/// Rows for a `CUresult`: its number, its name in cuda.h and its meaning, then the help, then the help on Windows if it
/// differs. The numbers have never been reused: <https://docs.nvidia.com/cuda/cuda-driver-api/>.
const STATUS: &str = "\
gap CUDA_ERROR_OUT_OF_MEMORY: AddressSanitizer takes addresses that CUDA needs
    run the program with `ASAN_OPTIONS=protect_shadow_gap=0`, which leaves these addresses to CUDA
2 CUDA_ERROR_OUT_OF_MEMORY: there is not enough memory for CUDA
    free memory on the GPU, or raise the limit on this process's memory (`ulimit -v`)
    free memory on the GPU, or let the Windows page file grow
3 CUDA_ERROR_NOT_INITIALIZED: CUDA cannot be used in this process
    start CUDA after forking, not before: a child of a process that uses CUDA cannot use it
4 CUDA_ERROR_DEINITIALIZED: NVIDIA's driver is shutting down
    start the program again
34 CUDA_ERROR_STUB_LIBRARY: the library is the toolkit's stub, not NVIDIA's driver
    remove the `stubs` directory from the library path
36 CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER: NVIDIA's driver is too old for this call
    update NVIDIA's driver
46 CUDA_ERROR_DEVICE_UNAVAILABLE: the GPU is in exclusive use or unavailable
    wait for the other program, or see `nvidia-smi -q -d COMPUTE` for the compute mode
100 CUDA_ERROR_NO_DEVICE: NVIDIA's driver reports no GPU
    run on a machine that has a GPU
101 CUDA_ERROR_INVALID_DEVICE: the GPU cannot be used by this process
    see `nvidia-smi -q -d COMPUTE` for the compute mode, and check CUDA_VISIBLE_DEVICES
209 CUDA_ERROR_NO_BINARY_FOR_GPU: there is no machine code for this GPU
    install a cuDNN that supports this GPU
214 CUDA_ERROR_ECC_UNCORRECTABLE: the GPU's memory has an error that cannot be corrected
    reset or replace the GPU: `nvidia-smi -q -d ECC` shows the errors
220 CUDA_ERROR_NVLINK_UNCORRECTABLE: an NVLink of the GPU has an error that cannot be corrected
    reset the GPU, or restart the machine: `nvidia-smi nvlink -e` counts the errors of each link
222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the PTX is newer than NVIDIA's driver
    update NVIDIA's driver
226 CUDA_ERROR_CONTAINED: the GPU has an error that affects only this process
    restart the program; if the error recurs, check `dmesg` for lines with Xid, and `nvidia-smi -q -d ECC`
    restart the program; if the error recurs, check the Windows event log for errors of nvlddmkm, and `nvidia-smi -q -d ECC`
304 CUDA_ERROR_OPERATING_SYSTEM: the system refused a request of NVIDIA's driver
    check the permissions of /dev/nvidia*, and the limits of this process and its container
    run `nvidia-smi`, check the Windows event log for errors of nvlddmkm, and restart Windows if the driver was updated
700 CUDA_ERROR_ILLEGAL_ADDRESS: code on the GPU accessed invalid memory
    run it under `compute-sanitizer` to see where
702 CUDA_ERROR_LAUNCH_TIMEOUT: code on the GPU ran longer than the system allows on a GPU that drives a display
    use a GPU that drives no display, or raise the limit on run time
719 CUDA_ERROR_LAUNCH_FAILED: code on the GPU crashed
    run it under `compute-sanitizer` to see where
800 CUDA_ERROR_NOT_PERMITTED: this process is not permitted to use the GPU in this way
    check the permissions of /dev/nvidia*
    run `nvidia-smi`, check the Windows event log for errors of nvlddmkm, and restart Windows if the driver was updated
802 CUDA_ERROR_SYSTEM_NOT_READY: the system is not ready for CUDA yet
    start `nvidia-fabricmanager` on a machine with NVSwitch, or wait until the machine is up
803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: the driver's library and its kernel module have different versions
    reboot to load the new kernel module; in a container, use the driver libraries of the host
    restart Windows, so that the driver and its DLLs have the same version
804 CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: the forward-compatibility library does not support this GPU
    remove the `compat` directory (package cuda-compat) from LD_LIBRARY_PATH, or update NVIDIA's driver
    update NVIDIA's driver
805 : NVIDIA's multi-process service (MPS) does not respond
    restart it with `nvidia-cuda-mps-control`, or unset CUDA_MPS_PIPE_DIRECTORY
999 CUDA_ERROR_UNKNOWN: NVIDIA's driver cannot start, for an unknown reason
    run `nvidia-smi`, check `dmesg` for lines with NVRM, and reload the module `nvidia_uvm` (especially after a suspend)
    run `nvidia-smi`, check the Windows event log for errors of nvlddmkm, and restart Windows if the driver was updated
";

/// Returns the name and the number of a `CUresult`.
pub fn status_name(code: i32) -> String {
    match explain(code).name {
        "" => format!("CUDA error {code}"),
        name => format!("{name} ({code})"),
    }
}

pub struct Explanation {
    /// Its name in cuda.h; empty if unknown.
    pub name: &'static str,
    pub words: &'static str,
    pub help: &'static str,
}

pub fn explain(code: i32) -> Explanation {
    find(code).unwrap_or(Explanation {
        name: "",
        words: "NVIDIA's driver failed",
        help: by_system!(
            "run `nvidia-smi`, and check `dmesg` for lines with NVRM",
            "run `nvidia-smi`, and check the Windows event log for errors of nvlddmkm"
        ),
    })
}

fn find(code: i32) -> Option<Explanation> {
    let start = match code {
        2 if proc::has_shadow_gap() => "gap ".to_string(),
        805..=810 => "805 ".to_string(), // all six are about MPS
        code => format!("{code} "),
    };
    let mut lines = STATUS.lines();
    let row = lines.find_map(|line| line.strip_prefix(&start));
    let (name, words) = row?.split_once(": ")?;
    let help = lines.next()?.trim_start();
    let on_windows = lines.next().and_then(|line| line.strip_prefix("    "));
    let help = by_system!(help, on_windows.unwrap_or(help));
    Some(Explanation { name, words, help })
}
