//! The codes of `cudnnStatus_t`. They changed in cuDNN 9.

use std::ffi::c_int;

/// Returns the name of a `cudnnStatus_t`, without `CUDNN_STATUS_`; empty if it is not known.
pub fn name(code: i32, major: u32) -> &'static str {
    match (major, code) {
        (_, 0) => "SUCCESS",
        (..9, 1) => "NOT_INITIALIZED",
        (..9, 2) => "ALLOC_FAILED",
        (..9, 3) => "BAD_PARAM",
        (..9, 4) => "INTERNAL_ERROR",
        (..9, 5) => "INVALID_VALUE",
        (..9, 6) => "ARCH_MISMATCH",
        (..9, 7) => "MAPPING_ERROR",
        (..9, 8) => "EXECUTION_FAILED",
        (..9, 9) => "NOT_SUPPORTED",
        (..9, 10) => "LICENSE_ERROR",
        (..9, 11) => "RUNTIME_PREREQUISITE_MISSING",
        (..9, 12) => "RUNTIME_IN_PROGRESS",
        (..9, 13) => "RUNTIME_FP_OVERFLOW",
        (..9, 14) => "VERSION_MISMATCH",
        (9.., 1001) => "NOT_INITIALIZED",
        (9.., 1002) => "SUBLIBRARY_VERSION_MISMATCH",
        (9.., 1003) => "SERIALIZATION_VERSION_MISMATCH",
        (9.., 1004) => "DEPRECATED",
        (9.., 1005) => "LICENSE_ERROR",
        (9.., 1006) => "RUNTIME_IN_PROGRESS",
        (9.., 1007) => "RUNTIME_FP_OVERFLOW",
        (9.., 1008) => "SUBLIBRARY_LOADING_FAILED",
        (9.., 2000) => "BAD_PARAM",
        (9.., 2001) => "INVALID_VALUE",
        (9.., 2002) => "BAD_PARAM_NULL_POINTER",
        (9.., 2003) => "BAD_PARAM_MISALIGNED_POINTER",
        (9.., 2004) => "BAD_PARAM_NOT_FINALIZED",
        (9.., 2005) => "BAD_PARAM_OUT_OF_BOUND",
        (9.., 2006) => "BAD_PARAM_SIZE_INSUFFICIENT",
        (9.., 2007) => "BAD_PARAM_STREAM_MISMATCH",
        (9.., 2008) => "BAD_PARAM_SHAPE_MISMATCH",
        (9.., 2009) => "BAD_PARAM_DUPLICATED_ENTRIES",
        (9.., 2010) => "BAD_PARAM_ATTRIBUTE_TYPE",
        (9.., 2011) => "BAD_PARAM_CUDA_GRAPH_MISMATCH",
        (9.., 2012) => "BAD_PARAM_DESCRIPTOR_TYPE",
        (9.., 3000) => "NOT_SUPPORTED",
        (9.., 3001) => "NOT_SUPPORTED_GRAPH_PATTERN",
        (9.., 3002) => "NOT_SUPPORTED_SHAPE",
        (9.., 3003) => "NOT_SUPPORTED_DATA_TYPE",
        (9.., 3004) => "NOT_SUPPORTED_LAYOUT",
        (9.., 3005) => "NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER",
        (9.., 3006) => "NOT_SUPPORTED_INCOMPATIBLE_CUDART",
        (9.., 3007) => "NOT_SUPPORTED_ARCH_MISMATCH",
        (9.., 3008) => "NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING",
        (9.., 3009) => "NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE",
        (9.., 3010) => "NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT",
        (9.., 3011) => "NOT_SUPPORTED_PADDING",
        (9.., 3012) => "NOT_SUPPORTED_BAD_LAUNCH_PARAM",
        (9.., 3013) => "NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API",
        (9.., 3014) => "NOT_SUPPORTED_INVALID_DYNAMIC_SHAPE",
        (9.., 4000) => "INTERNAL_ERROR",
        (9.., 4001) => "INTERNAL_ERROR_COMPILATION_FAILED",
        (9.., 4002) => "INTERNAL_ERROR_UNEXPECTED_VALUE",
        (9.., 4003) => "INTERNAL_ERROR_HOST_ALLOCATION_FAILED",
        (9.., 4004) => "INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
        (9.., 4005) => "INTERNAL_ERROR_BAD_LAUNCH_PARAM",
        (9.., 4006) => "INTERNAL_ERROR_TEXTURE_CREATION_FAILED",
        (9.., 5000) => "EXECUTION_FAILED",
        (9.., 5001) => "EXECUTION_FAILED_CUDA_DRIVER",
        (9.., 5002) => "EXECUTION_FAILED_CUBLAS",
        (9.., 5003) => "EXECUTION_FAILED_CUDART",
        (9.., 5004) => "EXECUTION_FAILED_CURAND",
        _ => "",
    }
}

pub fn status_name(code: i32, major: u32) -> String {
    match name(code, major) {
        "" => format!("status {code}"),
        name => format!("CUDNN_STATUS_{name} ({code})"),
    }
}

/// Returns `true` if the status means that cuDNN does not offer this way of computing.
pub fn is_not_supported(code: i32, major: u32) -> bool {
    matches!((major, code), (..9, 9) | (9.., 3000..=3004 | 3010..=3014))
}

/// Returns `true` if a status of cuDNN 9 declines a request through this API on this machine. A missing sub-library
/// (3009) is a fault instead.
pub fn is_declined(code: i32) -> bool {
    matches!(code, 3000..=3999) && code != 3009
}

/// Returns `true` if the status may only mean that this version or this GPU does not support a kind of convolution.
pub fn may_be_unsupported(code: i32, major: u32) -> bool {
    matches!((major, code), (..9, 3 | 6) | (9.., 2000..=2999 | 3007))
        || is_not_supported(code, major)
}

/// Returns `true` if the status means that sub-libraries are missing, or have another version.
pub fn is_mismatch(code: i32, major: u32) -> bool {
    matches!((major, code), (..9, 14) | (9.., 1002 | 1008 | 3009))
}

/// Returns `true` if a status of cuDNN 9 means an internal error.
pub fn is_internal(code: i32) -> bool {
    matches!(code, 4000..=4999)
}

/// Returns `true` if the status means that there is too little memory.
pub fn is_memory(code: i32, major: u32) -> bool {
    matches!((major, code), (..9, 2) | (9.., 4003 | 4004))
}

/// Returns `true` if the status may also mean a lack of memory: not initialized, internal error, execution failed.
pub fn may_be_memory(code: i32, major: u32) -> bool {
    matches!((major, code), (..9, 1 | 4 | 8) | (9.., 1001 | 4000..=5999))
}

/// Converts a size of the guard's own convolutions, which are all small.
pub(crate) fn int(size: usize) -> c_int {
    size as c_int
}
