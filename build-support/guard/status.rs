//! What CUDA and cuDNN answer, by name and in words.

/// A `CUresult` by name and number.
pub fn cuda_named(code: i32) -> String {
    match cuda(code).name {
        "" => format!("CUDA error {}", code),
        name => format!("{} ({})", name, code),
    }
}

/// What a `CUresult` means to somebody who has to mend it.
pub struct Explanation {
    /// Its name in cuda.h without the common `CUDA_ERROR_`; empty where this text does not know it.
    pub name: &'static str,
    /// What happened.
    pub words: &'static str,
    /// What to do.
    pub help: &'static str,
}

/// Explains a `CUresult`. The numbers have never been reused: <https://docs.nvidia.com/cuda/cuda-driver-api/>.
pub fn cuda(code: i32) -> Explanation {
    let (name, words, help) = match code {
        2 => (
            "CUDA_ERROR_OUT_OF_MEMORY",
            "there is not enough memory for CUDA",
            "free memory on the GPU, or raise the limit on this process's memory (`ulimit -v`)",
        ),
        3 => (
            "CUDA_ERROR_NOT_INITIALIZED",
            "CUDA cannot be used in this process",
            "start CUDA after forking, not before: a child of a process that uses CUDA cannot use it",
        ),
        34 => (
            "CUDA_ERROR_STUB_LIBRARY",
            "the library is the toolkit's stub, not NVIDIA's driver",
            "remove the `stubs` directory from the library path",
        ),
        36 => (
            "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER",
            "NVIDIA's driver is too old for this call",
            "update NVIDIA's driver",
        ),
        46 => (
            "CUDA_ERROR_DEVICE_UNAVAILABLE",
            "the GPU is in exclusive use or unavailable",
            "wait for the other program, or see `nvidia-smi -q -d COMPUTE` for the compute mode",
        ),
        100 => (
            "CUDA_ERROR_NO_DEVICE",
            "NVIDIA's driver shows no GPU",
            "run on a machine that has a GPU",
        ),
        101 => (
            "CUDA_ERROR_INVALID_DEVICE",
            "the GPU cannot be used by this process",
            "see `nvidia-smi -q -d COMPUTE` for the compute mode, and check CUDA_VISIBLE_DEVICES",
        ),
        209 => (
            "CUDA_ERROR_NO_BINARY_FOR_GPU",
            "there is no machine code for this GPU",
            "install a cuDNN that serves this GPU",
        ),
        214 => (
            "CUDA_ERROR_ECC_UNCORRECTABLE",
            "the GPU's memory has an error that cannot be corrected",
            "reset or replace the GPU: `nvidia-smi -q -d ECC` tells more",
        ),
        222 => (
            "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
            "the PTX is newer than NVIDIA's driver",
            "update NVIDIA's driver",
        ),
        304 => (
            "CUDA_ERROR_OPERATING_SYSTEM",
            "the system refused something to NVIDIA's driver",
            "check who may open /dev/nvidia*, and the limits of this process and its container",
        ),
        700 => (
            "CUDA_ERROR_ILLEGAL_ADDRESS",
            "code on the GPU touched memory that it may not touch",
            "run it under `compute-sanitizer` to see where",
        ),
        719 => (
            "CUDA_ERROR_LAUNCH_FAILED",
            "code on the GPU crashed",
            "run it under `compute-sanitizer` to see where",
        ),
        800 => (
            "CUDA_ERROR_NOT_PERMITTED",
            "this process may not use the GPU so",
            "check who may open /dev/nvidia*",
        ),
        802 => (
            "CUDA_ERROR_SYSTEM_NOT_READY",
            "the system is not ready for CUDA yet",
            "start `nvidia-fabricmanager` on a machine with NVSwitch, or wait until the machine is up",
        ),
        803 => (
            "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
            "the driver's library and its kernel module are of different releases",
            "reboot, so that the new kernel module is loaded; in a container, give it the host's libraries",
        ),
        804 => (
            "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
            "the forward-compatibility library does not serve this GPU",
            "remove the `compat` directory (package cuda-compat) from LD_LIBRARY_PATH, or update NVIDIA's driver",
        ),
        805..=810 => (
            "",
            "NVIDIA's multi-process service (MPS) does not answer",
            "restart it with `nvidia-cuda-mps-control`, or unset CUDA_MPS_PIPE_DIRECTORY",
        ),
        999 => (
            "CUDA_ERROR_UNKNOWN",
            "NVIDIA's driver cannot start, and does not know why",
            "run `nvidia-smi`, see `dmesg` for lines with NVRM, and reload the module `nvidia_uvm` (after a suspend above all)",
        ),
        _ => (
            "",
            "NVIDIA's driver failed",
            "run `nvidia-smi`, and see `dmesg` for lines with NVRM",
        ),
    };
    Explanation { name, words, help }
}

/// Whether a `CUresult` says that there is too little memory.
pub fn is_memory(code: i32) -> bool {
    code == 2
}

/// Whether a `CUresult` says that the GPU is in use, or at its end, rather than that something does not fit.
pub fn is_elsewhere(code: i32) -> bool {
    matches!(code, 46 | 101 | 214 | 800 | 802 | 805..=810 | 999)
}

/// A `cudnnStatus_t` by name and number. cuDNN numbered them anew at 9.
pub fn cudnn_named(code: i32, major: u32) -> String {
    let name = if major < 9 {
        cudnn8(code)
    } else {
        cudnn9(code)
    };
    match name {
        "" => format!("status {}", code),
        name => format!("CUDNN_STATUS_{} ({})", name, code),
    }
}

/// What to do about a `cudnnStatus_t`, where its name alone tells.
pub fn cudnn_help(code: i32, major: u32) -> &'static str {
    let name = if major < 9 {
        cudnn8(code)
    } else {
        cudnn9(code)
    };
    match name {
        "VERSION_MISMATCH" | "SUBLIBRARY_VERSION_MISMATCH" => {
            "put the parts of one cuDNN release into one directory, and no other before it in LD_LIBRARY_PATH"
        }
        "SUBLIBRARY_LOADING_FAILED" | "NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE" => {
            "put every part of that cuDNN release beside its `libcudnn.so`"
        }
        "ARCH_MISMATCH" | "NOT_SUPPORTED_ARCH_MISMATCH" => {
            "install a cuDNN release that serves this GPU"
        }
        "NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER" => {
            "update NVIDIA's driver, or install a cuDNN for the CUDA that this driver serves"
        }
        "NOT_SUPPORTED_INCOMPATIBLE_CUDART" => {
            "install the CUDA libraries of the CUDA that this cuDNN was built for"
        }
        "RUNTIME_PREREQUISITE_MISSING" | "NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING" => {
            "install the libraries that cuDNN opens by itself (cuBLAS, NVRTC), of the CUDA that it was built for"
        }
        _ => {
            "set CUDNN_LOGLEVEL_DBG=3 and CUDNN_LOGDEST_DBG=stderr to see what cuDNN itself has to say"
        }
    }
}

/// Whether a `cudnnStatus_t` only says that this way of computing is not offered.
pub fn cudnn_not_supported(code: i32, major: u32) -> bool {
    if major < 9 {
        code == 9
    } else {
        matches!(code, 3000..=3004 | 3010 | 3011)
    }
}

/// Whether a `cudnnStatus_t` says that there is too little memory.
pub fn cudnn_is_memory(code: i32, major: u32) -> bool {
    if major < 9 {
        code == 2
    } else {
        matches!(code, 4003 | 4004)
    }
}

fn cudnn8(code: i32) -> &'static str {
    match code {
        0 => "SUCCESS",
        1 => "NOT_INITIALIZED",
        2 => "ALLOC_FAILED",
        3 => "BAD_PARAM",
        4 => "INTERNAL_ERROR",
        5 => "INVALID_VALUE",
        6 => "ARCH_MISMATCH",
        7 => "MAPPING_ERROR",
        8 => "EXECUTION_FAILED",
        9 => "NOT_SUPPORTED",
        10 => "LICENSE_ERROR",
        11 => "RUNTIME_PREREQUISITE_MISSING",
        12 => "RUNTIME_IN_PROGRESS",
        13 => "RUNTIME_FP_OVERFLOW",
        14 => "VERSION_MISMATCH",
        _ => "",
    }
}

fn cudnn9(code: i32) -> &'static str {
    match code {
        0 => "SUCCESS",
        1001 => "NOT_INITIALIZED",
        1002 => "SUBLIBRARY_VERSION_MISMATCH",
        1003 => "SERIALIZATION_VERSION_MISMATCH",
        1004 => "DEPRECATED",
        1005 => "LICENSE_ERROR",
        1006 => "RUNTIME_IN_PROGRESS",
        1007 => "RUNTIME_FP_OVERFLOW",
        1008 => "SUBLIBRARY_LOADING_FAILED",
        2000 => "BAD_PARAM",
        2001 => "INVALID_VALUE",
        2002 => "BAD_PARAM_NULL_POINTER",
        2003 => "BAD_PARAM_MISALIGNED_POINTER",
        2004 => "BAD_PARAM_NOT_FINALIZED",
        2005 => "BAD_PARAM_OUT_OF_BOUND",
        2006 => "BAD_PARAM_SIZE_INSUFFICIENT",
        2007 => "BAD_PARAM_STREAM_MISMATCH",
        2008 => "BAD_PARAM_SHAPE_MISMATCH",
        2009 => "BAD_PARAM_DUPLICATED_ENTRIES",
        2010 => "BAD_PARAM_ATTRIBUTE_TYPE",
        2011 => "BAD_PARAM_CUDA_GRAPH_MISMATCH",
        2012 => "BAD_PARAM_DESCRIPTOR_TYPE",
        3000 => "NOT_SUPPORTED",
        3001 => "NOT_SUPPORTED_GRAPH_PATTERN",
        3002 => "NOT_SUPPORTED_SHAPE",
        3003 => "NOT_SUPPORTED_DATA_TYPE",
        3004 => "NOT_SUPPORTED_LAYOUT",
        3005 => "NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER",
        3006 => "NOT_SUPPORTED_INCOMPATIBLE_CUDART",
        3007 => "NOT_SUPPORTED_ARCH_MISMATCH",
        3008 => "NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING",
        3009 => "NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE",
        3010 => "NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
        3011 => "NOT_SUPPORTED_PADDING",
        3012 => "NOT_SUPPORTED_BAD_LAUNCH_PARAM",
        3013 => "NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API",
        3014 => "NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE",
        4000 => "INTERNAL_ERROR",
        4001 => "INTERNAL_ERROR_COMPILATION_FAILED",
        4002 => "INTERNAL_ERROR_UNEXPECTED_VALUE",
        4003 => "INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
        4004 => "INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
        4005 => "INTERNAL_ERROR_BAD_LAUNCH_PARAM",
        4006 => "INTERNAL_ERROR_TEXTURE_CREATION_FAILED",
        5000 => "EXECUTION_FAILED",
        5001 => "EXECUTION_FAILED_CUDA_DRIVER",
        5002 => "EXECUTION_FAILED_CUBLAS",
        5003 => "EXECUTION_FAILED_CUDART",
        5004 => "EXECUTION_FAILED_CURAND",
        _ => "",
    }
}
