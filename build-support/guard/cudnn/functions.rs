//! The functions of cuDNN that convolutions need.
//!
//! A broken cuDNN may crash the process in any of them: they are called in the child.

use crate::runtime::cudnn::algorithm::Algorithm;
use crate::runtime::cudnn::operation::Operation;
use crate::runtime::cudnn::owned_descriptor::{Descriptors, OwnedDescriptor};
use crate::runtime::cudnn::signatures::{
    AlgorithmPerf, Convolve, Create, Destroy, Fuse, GetAlgorithms, LastError, Opaque, OutputDim,
    WorkspaceSize,
};
use crate::runtime::cudnn::status::int;
use crate::runtime::driver::call::{CallStatus, address, check};
use crate::runtime::system::platform::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;

/// A limit above the number of algorithms.
const MOST_OFFERS: usize = 16;

/// cuDNN, ready to be called.
#[derive(Clone, Copy)]
pub struct Cudnn {
    pub main_library: Library,
    /// Available since 9.0.
    last_error: Option<LastError>,
}

impl Cudnn {
    pub fn open(main_library: Library) -> Self {
        let last_error = main_library.symbol("cudnnGetLastErrorString");
        Self {
            main_library,
            // SAFETY: the type is that of cudnn.h, and the address is not null.
            last_error: last_error.map(|it| unsafe { transmute::<Opaque, LastError>(it) }),
        }
    }

    pub(crate) fn find(&self, call: &'static str) -> Result<Opaque, CallStatus> {
        address(self.main_library, call)
    }

    /// Returns cuDNN's message about the last failed call on this thread, on one line; empty if there is none.
    pub fn last_error(&self) -> String {
        let Some(get_message) = self.last_error else {
            return String::new();
        };
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
        // SAFETY: the types are those of cudnn.h, and `pointer` outlives the call.
        unsafe {
            let destroy: Destroy = transmute(self.find(destroy)?);
            check(
                create,
                transmute::<Opaque, Create>(self.find(create)?)(&mut pointer),
            )?;
            Ok(OwnedDescriptor { pointer, destroy })
        }
    }

    /// Creates a handle on the GPU of the current context.
    pub fn handle(&self) -> Result<OwnedDescriptor, CallStatus> {
        self.create("cudnnCreate", "cudnnDestroy")
    }

    /// Returns the dimensions of the output that cuDNN reports.
    pub fn output(
        &self,
        x: &OwnedDescriptor,
        w: &OwnedDescriptor,
        convolution: &OwnedDescriptor,
    ) -> Result<[usize; 4], CallStatus> {
        let call = "cudnnGetConvolution2dForwardOutputDim";
        let mut out: [c_int; 4] = [0; 4];
        let [n, c, height, width] = &mut out;
        // SAFETY: the type is that of cudnn.h, the descriptors are alive, and the numbers outlive the call.
        check(call, unsafe {
            let get_dims: OutputDim = transmute(self.find(call)?);
            let (x, w) = (x.pointer, w.pointer);
            get_dims(convolution.pointer, x, w, n, c, height, width)
        })?;
        let size = |number: c_int| number.unsigned_abs() as usize;
        let [n, c, height, width] = out;
        Ok([size(n), size(c), size(height), size(width)])
    }

    /// Returns the algorithms that cuDNN's heuristic offers for a forward convolution, each with its
    /// `cudnnMathType_t`.
    pub fn heuristic_algorithms(
        &self,
        with: &Descriptors,
    ) -> Result<Vec<(Algorithm, i32)>, CallStatus> {
        let call = "cudnnGetConvolutionForwardAlgorithm_v7";
        let mut offers = [AlgorithmPerf::default(); MOST_OFFERS];
        let mut count: c_int = 0;
        // SAFETY: the type is that of cudnn.h, handle and descriptors are alive, and `offers` has `MOST_OFFERS` places.
        check(call, unsafe {
            transmute::<Opaque, GetAlgorithms>(self.find(call)?)(
                with.handle.pointer,
                with.x.pointer,
                with.w.pointer,
                with.convolution.pointer,
                with.y.pointer,
                int(MOST_OFFERS),
                &mut count,
                offers.as_mut_ptr(),
            )
        })?;
        let mut algorithms = Vec::new();
        for offer in offers.iter().take(count.unsigned_abs() as usize) {
            if offer.status == 0 {
                let algorithm = Algorithm::from_number(Operation::Forward, offer.algorithm);
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
        let (x, w, y) = (with.x.pointer, with.w.pointer, with.y.pointer);
        let (call, one, other, to) = match operation {
            Operation::Forward | Operation::Fused => {
                ("cudnnGetConvolutionForwardWorkspaceSize", x, w, y)
            }
            Operation::BackwardData => ("cudnnGetConvolutionBackwardDataWorkspaceSize", w, y, x),
            Operation::BackwardFilter => {
                ("cudnnGetConvolutionBackwardFilterWorkspaceSize", x, y, w)
            }
        };
        let (handle, convolution) = (with.handle.pointer, with.convolution.pointer);
        let mut bytes = 0;
        // SAFETY: the type is that of cudnn.h, handle and descriptors are alive, and the number outlives the call.
        check(call, unsafe {
            let get_size: WorkspaceSize = transmute(self.find(call)?);
            get_size(handle, one, other, convolution, to, by.number, &mut bytes)
        })?;
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
        let (one, zero) = (1.0f32, 0.0f32);
        let (one, zero): (*const f32, *const f32) = (&one, &zero);
        let (one, zero) = (one.cast::<c_void>(), zero.cast::<c_void>());
        let (x, w, y) = (
            (with.x.pointer, data.x),
            (with.w.pointer, data.w),
            (with.y.pointer, data.y),
        );
        let (handle, convolution) = (with.handle.pointer, with.convolution.pointer);
        let workspace = data.workspace;
        let (call, first, second, to) = match operation {
            Operation::Forward => ("cudnnConvolutionForward", x, w, y),
            Operation::BackwardData => ("cudnnConvolutionBackwardData", w, y, x),
            Operation::BackwardFilter => ("cudnnConvolutionBackwardFilter", x, y, w),
            Operation::Fused => {
                let call = "cudnnConvolutionBiasActivationForward";
                let Some([bias, relu]) = &with.fused else {
                    return Err(CallStatus { call, code: None });
                };
                let (bias, relu) = (bias.pointer, relu.pointer);
                // SAFETY: the type is that of cudnn.h, handle and descriptors are alive, and the caller vouches for
                // the rest. `z`, which is multiplied by 0 and added, has the output's descriptor.
                return check(call, unsafe {
                    transmute::<Opaque, Fuse>(self.find(call)?)(
                        handle,
                        one,
                        x.0,
                        x.1,
                        w.0,
                        w.1,
                        convolution,
                        by.number,
                        workspace,
                        bytes,
                        zero,
                        y.0,
                        data.z,
                        bias,
                        data.bias,
                        relu,
                        y.0,
                        y.1,
                    )
                });
            }
        };
        // SAFETY: the type is that of cudnn.h, handle and descriptors are alive, and the caller vouches for the rest.
        check(call, unsafe {
            transmute::<Opaque, Convolve>(self.find(call)?)(
                handle,
                one,
                first.0,
                first.1,
                second.0,
                second.1,
                convolution,
                by.number,
                workspace,
                bytes,
                zero,
                to.0,
                to.1,
            )
        })
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
