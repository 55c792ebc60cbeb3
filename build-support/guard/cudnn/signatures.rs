//! cuDNN's functions, as in `cudnn.h`; tests/programs/real/signatures.rs compares them with it.

use crate::runtime::driver::call::{CallStatus, address, check, functions};
use crate::runtime::system::platform::Library;
use std::ffi::{c_int, c_void};
use std::mem::transmute;

/// A pointer to an object of cuDNN.
pub type Opaque = *mut c_void;
/// A pointer to the data of a tensor, or to a factor.
pub type Data = *const c_void;
pub type Destroy = unsafe extern "C" fn(Opaque) -> c_int;

functions! {
    pub struct Cudnn {
        set_convolution = "cudnnSetConvolution2dDescriptor"(
            convolution: Opaque, pad_h: c_int, pad_w: c_int, step_h: c_int, step_w: c_int,
            dilation_h: c_int, dilation_w: c_int, mode: c_int, data_type: c_int
        );
        set_math_type = "cudnnSetConvolutionMathType"(convolution: Opaque, math: c_int);
        // ReLU has no bound.
        set_activation = "cudnnSetActivationDescriptor"(
            activation: Opaque, kind: c_int, nan: c_int, bound: f64
        );
        heuristic = "cudnnGetConvolutionForwardAlgorithm_v7"(
            handle: Opaque, x: Opaque, w: Opaque, convolution: Opaque, y: Opaque,
            capacity: c_int, count: *mut c_int, results: *mut AlgorithmPerf
        );
        convolve_fused = "cudnnConvolutionBiasActivationForward"(
            handle: Opaque, one: Data, x: Opaque, x_data: Data, w: Opaque, w_data: Data,
            convolution: Opaque, algorithm: c_int, workspace: Opaque, bytes: usize,
            zero: Data, z: Opaque, z_data: Data, bias: Opaque, bias_data: Data,
            activation: Opaque, y: Opaque, y_data: Opaque
        );
        [name] create_object(object: *mut Opaque);
        // A tensor's layout comes before its type, and a filter's type before its layout.
        [name] set_sizes(
            tensor: Opaque, first: c_int, second: c_int, a: c_int, b: c_int, c: c_int, d: c_int
        );
        // For the order of the tensors, see `Operation::operands`.
        [name] workspace_size(
            handle: Opaque, first: Opaque, second: Opaque, convolution: Opaque, result: Opaque,
            algorithm: c_int, bytes: *mut usize
        );
        [name] convolve_operands(
            handle: Opaque, one: Data, first: Opaque, first_data: Data, second: Opaque, second_data: Data,
            convolution: Opaque, algorithm: c_int, workspace: Opaque, bytes: usize,
            zero: Data, result: Opaque, result_data: Opaque
        );
    }
}

/// `cudnnConvolutionFwdAlgoPerf_t`
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct AlgorithmPerf {
    pub algorithm: c_int,
    /// 0 if the algorithm is available.
    pub status: c_int,
    /// An estimate, not used here.
    pub time: f32,
    /// Bytes of workspace.
    pub memory: usize,
    /// The `cudnnDeterminism_t`.
    pub determinism: c_int,
    /// The `cudnnMathType_t`.
    pub math: c_int,
    pub reserved: [c_int; 3],
}
