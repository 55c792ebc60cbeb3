//! The descriptors of a convolution.

use crate::runtime::cudnn::owned_descriptor::OwnedDescriptor;
use crate::runtime::cudnn::status::int;
use crate::runtime::cudnn::{Cudnn, DataType, Layout, Shape};
use crate::runtime::driver::call::CallStatus;
use std::ffi::c_int;

// Constants of cudnn_graph.h and cudnn_ops.h (cudnn_ops_infer.h in 8), compared with them by
// tests/programs/real/signatures.rs.
/// `cudnnDataType_t` of single precision.
pub const FLOAT: c_int = 0;
const HALF: c_int = 2;
const BFLOAT16: c_int = 9;
/// `cudnnConvolutionMode_t` of networks.
pub const CROSS_CORRELATION: c_int = 1;
const RELU: c_int = 1;
const NOT_PROPAGATE_NAN: c_int = 0;
const DEFAULT_MATH: c_int = 0;
const TENSOR_OP_MATH: c_int = 1;
const FMA_MATH: c_int = 3;

impl Cudnn {
    pub fn tensor(
        &self,
        dims: [usize; 4],
        data_type: DataType,
        layout: Layout,
    ) -> Result<OwnedDescriptor, CallStatus> {
        let calls = [
            "cudnnCreateTensorDescriptor",
            "cudnnDestroyTensorDescriptor",
            "cudnnSetTensor4dDescriptor",
        ];
        self.sized(calls, [layout as c_int, data_type_number(data_type)], dims)
    }

    pub fn filter(
        &self,
        dims: [usize; 4],
        data_type: DataType,
        layout: Layout,
    ) -> Result<OwnedDescriptor, CallStatus> {
        let calls = [
            "cudnnCreateFilterDescriptor",
            "cudnnDestroyFilterDescriptor",
            "cudnnSetFilter4dDescriptor",
        ];
        // The order of type and layout is the reverse of a tensor's.
        self.sized(calls, [data_type_number(data_type), layout as c_int], dims)
    }

    fn sized(
        &self,
        [create, destroy, set]: [&'static str; 3],
        [first, second]: [c_int; 2],
        [a, b, c, d]: [usize; 4],
    ) -> Result<OwnedDescriptor, CallStatus> {
        let descriptor = self.create(create, destroy)?;
        let (pointer, a, b, c, d) = (descriptor.pointer, int(a), int(b), int(c), int(d));
        // SAFETY: the descriptor is alive.
        unsafe { self.set_sizes(set, pointer, first, second, a, b, c, d)? };
        Ok(descriptor)
    }

    /// Creates a convolution that sums in single precision.
    pub fn convolution(
        &self,
        shape: &Shape,
        data_type: DataType,
    ) -> Result<OwnedDescriptor, CallStatus> {
        let convolution = self.create(
            "cudnnCreateConvolutionDescriptor",
            "cudnnDestroyConvolutionDescriptor",
        )?;
        let ([pad_h, pad_w], [step_h, step_w]) = (shape.pad.map(int), shape.stride.map(int));
        let (pointer, mode) = (convolution.pointer, CROSS_CORRELATION);
        // SAFETY: the descriptor is alive.
        unsafe { self.set_convolution(pointer, pad_h, pad_w, step_h, step_w, 1, 1, mode, FLOAT)? };
        // The default lets Ampere and later round single precision to TF32.
        let math = match data_type {
            DataType::F32 => FMA_MATH,
            DataType::Tf32 => DEFAULT_MATH,
            DataType::F16 | DataType::Bf16 => TENSOR_OP_MATH,
        };
        self.set_math(&convolution, math)?;
        Ok(convolution)
    }

    /// Sets the `cudnnMathType_t`.
    pub fn set_math(&self, convolution: &OwnedDescriptor, math: i32) -> Result<(), CallStatus> {
        // SAFETY: the descriptor is alive.
        unsafe { self.set_math_type(convolution.pointer, math) }
    }

    /// Creates a ReLU. A fused convolution refuses any other treatment of NaN.
    pub fn relu(&self) -> Result<OwnedDescriptor, CallStatus> {
        let relu = self.create(
            "cudnnCreateActivationDescriptor",
            "cudnnDestroyActivationDescriptor",
        )?;
        let pointer = relu.pointer;
        // SAFETY: the descriptor is alive.
        unsafe { self.set_activation(pointer, RELU, NOT_PROPAGATE_NAN, 0.0)? };
        Ok(relu)
    }
}

pub fn data_type_number(data_type: DataType) -> c_int {
    match data_type {
        DataType::F32 | DataType::Tf32 => FLOAT,
        DataType::F16 => HALF,
        DataType::Bf16 => BFLOAT16,
    }
}
