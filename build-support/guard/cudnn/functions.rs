//! The functions of cuDNN that convolutions need.
//!
//! A broken cuDNN may crash the process in any of them: they are called in the child.

use crate::runtime::cudnn::owned_descriptor::{Descriptors, OwnedDescriptor};
use crate::runtime::cudnn::signatures::{AlgorithmPerf, Destroy, Functions, Opaque};
use crate::runtime::cudnn::status::int;
use crate::runtime::cudnn::{Algorithm, Operation};
use crate::runtime::driver::call::{CallStatus, address};
use crate::runtime::system::platform::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;

/// A limit above the number of algorithms.
const MOST_OFFERS: usize = 16;

/// cuDNN, ready to be called.
#[derive(Clone, Copy)]
pub struct Cudnn {
    pub(crate) functions: Functions,
}

impl Cudnn {
    pub fn open(main_library: Library) -> Self {
        let functions = Functions(main_library);
        Self { functions }
    }

    /// Returns cuDNN's message about the last failed call on this thread, on one line; empty if there is none. The
    /// function exists since 9.0.
    pub fn last_error(&self) -> String {
        let Some(address) = self.functions.0.symbol("cudnnGetLastErrorString") else {
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
        let destroy = address(self.functions.0, destroy)?;
        // SAFETY: the type is that of cudnn.h, and `pointer` outlives the call.
        unsafe {
            let destroy: Destroy = transmute(destroy);
            self.functions.create(create, &mut pointer)?;
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
        let mut offers = [AlgorithmPerf::default(); MOST_OFFERS];
        let mut count: c_int = 0;
        // SAFETY: handle and descriptors are alive, and `offers` has `MOST_OFFERS` places.
        unsafe {
            self.functions.algorithms(
                with.handle.pointer,
                with.x.pointer,
                with.w.pointer,
                with.convolution.pointer,
                with.y.pointer,
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
        let tensors = [with.x.pointer, with.w.pointer, with.y.pointer];
        let [first, second, result] = operation.operands(tensors);
        let (handle, convolution, by) = (with.handle.pointer, with.convolution.pointer, by.number);
        let mut bytes = 0;
        // SAFETY: handle and descriptors are alive, and the number outlives the call.
        unsafe {
            self.functions.workspace(
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
        let (x, w, y) = (
            (with.x.pointer, data.x),
            (with.w.pointer, data.w),
            (with.y.pointer, data.y),
        );
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
                    self.functions.convolve_fused(
                        handle,
                        one,
                        x.0,
                        x.1,
                        w.0,
                        w.1,
                        convolution,
                        by.number,
                        data.workspace,
                        bytes,
                        zero,
                        y.0,
                        data.z,
                        bias.pointer,
                        data.bias,
                        relu.pointer,
                        y.0,
                        y.1,
                    )
                };
            }
        };
        let [first, second, result] = operation.operands([x, w, y]);
        // SAFETY: handle and descriptors are alive, and the caller vouches for the rest.
        unsafe {
            self.functions.convolve(
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
    /// The input, or its gradient.
    pub x: *mut c_void,
    /// The filters, or their gradient.
    pub w: *mut c_void,
    /// The output, or its gradient.
    pub y: *mut c_void,
    /// For a fused convolution: as many numbers as `y`, which are multiplied by 0.
    pub z: *mut c_void,
    /// For a fused convolution.
    pub bias: *mut c_void,
    pub workspace: *mut c_void,
}
