//! The functions of cuDNN that convolutions need.
//!
//! A broken cuDNN may crash the process in any of them: they are called in the child.

use crate::runtime::cudnn::owned_descriptor::{Descriptors, OwnedDescriptor};
pub use crate::runtime::cudnn::signatures::Cudnn;
use crate::runtime::cudnn::signatures::{AlgorithmPerf, Destroy, Opaque};
use crate::runtime::cudnn::status::int;
use crate::runtime::cudnn::{Algorithm, Operation};
use crate::runtime::driver::call::{CallStatus, address};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;

/// A limit above the number of algorithms.
const MOST_OFFERS: usize = 16;

impl Cudnn {
    /// Returns cuDNN's message about the last failed call on this thread, on one line; empty if there is none. The
    /// function exists since 9.0.
    pub fn last_error(&self) -> String {
        let Some(address) = self.0.symbol("cudnnGetLastErrorString") else {
            return String::new();
        };
        // SAFETY: the type is that of cudnn.h.
        let get_message: unsafe extern "C" fn(*mut c_char, usize) = unsafe { transmute(address) };
        let mut text = [0u8; 1024];
        // SAFETY: cuDNN writes at most `text.len()` bytes, the last of them NUL.
        unsafe { get_message(text.as_mut_ptr().cast::<c_char>(), text.len()) };
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
        text.to_string_lossy().trim().to_string()
    }

    /// Creates a handle or descriptor with the function `create`, to be destroyed by the function `destroy`.
    pub(crate) fn create(
        &self,
        create: &'static str,
        destroy: &'static str,
    ) -> Result<OwnedDescriptor, CallStatus> {
        let mut pointer: Opaque = std::ptr::null_mut();
        let destroy = address(self.0, destroy)?;
        // SAFETY: the type is that of cudnn.h, and `pointer` outlives the call.
        unsafe {
            let destroy: Destroy = transmute(destroy);
            self.create_object(create, &mut pointer)?;
            Ok(OwnedDescriptor { pointer, destroy })
        }
    }

    /// Creates a handle on the GPU of the current context.
    pub fn handle(&self) -> Result<OwnedDescriptor, CallStatus> {
        self.create("cudnnCreate", "cudnnDestroy")
    }

    /// Returns the algorithms that cuDNN's heuristic offers for a forward convolution, each with its
    /// `cudnnMathType_t`.
    pub fn heuristic_algorithms(
        &self,
        with: &Descriptors,
    ) -> Result<Vec<(Algorithm, i32)>, CallStatus> {
        let [x, w, y] = with.pointers();
        let mut offers = [AlgorithmPerf::default(); MOST_OFFERS];
        let mut count: c_int = 0;
        // SAFETY: handle and descriptors are alive, and `offers` has `MOST_OFFERS` places.
        unsafe {
            self.heuristic(
                with.handle.pointer,
                x,
                w,
                with.convolution.pointer,
                y,
                int(MOST_OFFERS),
                &mut count,
                offers.as_mut_ptr(),
            )?
        };
        let mut algorithms = Vec::new();
        for offer in offers.iter().take(count.unsigned_abs() as usize) {
            if offer.status == 0 {
                let algorithm = Algorithm::forward(offer.algorithm);
                algorithms.push((algorithm, offer.math));
            }
        }
        Ok(algorithms)
    }

    pub fn workspace(
        &self,
        operation: Operation,
        with: &Descriptors,
        by: Algorithm,
    ) -> Result<usize, CallStatus> {
        let call = match operation {
            Operation::Forward | Operation::Fused => "cudnnGetConvolutionForwardWorkspaceSize",
            Operation::BackwardData => "cudnnGetConvolutionBackwardDataWorkspaceSize",
            Operation::BackwardFilter => "cudnnGetConvolutionBackwardFilterWorkspaceSize",
        };
        let [first, second, result] = operation.operands(with.pointers());
        let (handle, convolution, by) = (with.handle.pointer, with.convolution.pointer, by.number);
        let mut bytes = 0;
        // SAFETY: handle and descriptors are alive, and the number outlives the call.
        unsafe {
            self.workspace_size(
                call,
                handle,
                first,
                second,
                convolution,
                result,
                by,
                &mut bytes,
            )?
        };
        Ok(bytes)
    }

    /// Runs the convolution.
    ///
    /// # Safety
    /// The pointers are memory of the current GPU. The tensors are as large as the descriptors state, and the workspace
    /// has `bytes` bytes.
    pub unsafe fn convolve(
        &self,
        operation: Operation,
        with: &Descriptors,
        by: Algorithm,
        data: &DeviceTensors,
        bytes: usize,
    ) -> Result<(), CallStatus> {
        let factor = |value: &'static f32| std::ptr::from_ref(value).cast::<c_void>();
        let (one, zero) = (factor(&1.0), factor(&0.0));
        let ([x, w, y], [x_data, w_data, y_data]) = (with.pointers(), data.tensors);
        let (handle, convolution) = (with.handle.pointer, with.convolution.pointer);
        let call = match operation {
            Operation::Forward => "cudnnConvolutionForward",
            Operation::BackwardData => "cudnnConvolutionBackwardData",
            Operation::BackwardFilter => "cudnnConvolutionBackwardFilter",
            Operation::Fused => {
                let call = "cudnnConvolutionBiasActivationForward";
                let missing = CallStatus { call, code: None };
                let [bias, relu] = with.fused.as_ref().ok_or(missing)?;
                // SAFETY: handle and descriptors are alive, and the caller vouches for the rest. `z`, which is
                // multiplied by 0 and added, has the output's descriptor.
                return unsafe {
                    self.convolve_fused(
                        handle,
                        one,
                        x,
                        x_data,
                        w,
                        w_data,
                        convolution,
                        by.number,
                        data.workspace,
                        bytes,
                        zero,
                        y,
                        data.z,
                        bias.pointer,
                        data.bias,
                        relu.pointer,
                        y,
                        y_data,
                    )
                };
            }
        };
        let [first, second, result] = operation.operands([(x, x_data), (w, w_data), (y, y_data)]);
        // SAFETY: handle and descriptors are alive, and the caller vouches for the rest.
        unsafe {
            self.convolve_operands(
                call,
                handle,
                one,
                first.0,
                first.1,
                second.0,
                second.1,
                convolution,
                by.number,
                data.workspace,
                bytes,
                zero,
                result.0,
                result.1,
            )
        }
    }
}

/// The data of a convolution on the GPU.
pub struct DeviceTensors {
    /// The input, the filters and the output, or their gradients.
    pub tensors: [*mut c_void; 3],
    /// For a fused convolution: as many numbers as the output, which are multiplied by 0.
    pub z: *mut c_void,
    /// For a fused convolution.
    pub bias: *mut c_void,
    pub workspace: *mut c_void,
}
