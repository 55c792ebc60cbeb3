//! The few functions of cuDNN that convolutions take, found in the library that is judged.
//!
//! A broken cuDNN ends the process in any of them: they are called in the child.

use super::algorithm::Algorithm;
use super::cudnn_calls::{
    Convolve, Create, Destroy, Fuse, LastError, Offer, Offers, Opaque, OutputDim, SetActivation,
    SetConvolution, SetDimensions, SetNumber, WorkspaceSize,
};
use super::data_type::DataType;
use super::driver::function;
use super::kind::Operation;
use super::platform::Library;
use super::shape::{Layout, Shape};
use std::ffi::{c_char, c_int, c_void};

/// `cudnnStatus_t` of a call that failed, with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The call.
    pub call: &'static str,
    /// What it answered; none if this cuDNN has no such function.
    pub status: Option<i32>,
}

// Constants of cudnn_graph.h and cudnn_ops.h (cudnn_ops_infer.h in 8), held against them by
// tests/real_signatures.rs.
/// `cudnnDataType_t` of single precision.
pub const FLOAT: c_int = 0;
const HALF: c_int = 2;
const BFLOAT16: c_int = 9;
const NCHW: c_int = 0;
const NHWC: c_int = 1;
/// `cudnnConvolutionMode_t` of networks.
pub const CROSS_CORRELATION: c_int = 1;
const RELU: c_int = 1;
const NOT_PROPAGATE_NAN: c_int = 0;
const DEFAULT_MATH: c_int = 0;
const TENSOR_OP_MATH: c_int = 1;
const FMA_MATH: c_int = 3;
/// More than there are algorithms.
const MOST_OFFERS: usize = 16;

/// cuDNN, ready to be called.
#[derive(Clone, Copy)]
pub struct Cudnn {
    /// Its first library.
    pub shim: Library,
    /// Since 9.0; in 8 there is nothing of the kind.
    last_error: Option<LastError>,
}

impl Cudnn {
    /// The cuDNN of a shim.
    pub fn of(shim: Library) -> Self {
        // SAFETY: the type is that of cudnn.h.
        let last_error = unsafe { function(shim, "cudnnGetLastErrorString") };
        let last_error = last_error.ok();
        Self { shim, last_error }
    }

    /// A function of it.
    ///
    /// # Safety
    /// As with [`function`]: the type is that of cudnn.h.
    unsafe fn find<Function: Copy>(&self, call: &'static str) -> Result<Function, Refused> {
        let status = None;
        // SAFETY: the caller vouches for the type.
        unsafe { function(self.shim, call) }.map_err(|call| Refused { call, status })
    }

    /// What cuDNN says of the last call that failed on this thread, on one line; empty if it says nothing.
    pub fn last_error(&self) -> String {
        let Some(ask) = self.last_error else {
            return String::new();
        };
        let mut text = [0u8; 1024];
        // SAFETY: cuDNN writes at most as many bytes as it is given, the last of them NUL.
        unsafe { ask(text.as_mut_ptr().cast::<c_char>(), text.len()) };
        let text: Vec<u8> = text.iter().copied().take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&text).trim().to_string()
    }

    fn create(&self, create: &'static str, destroy: &'static str) -> Result<Owned, Refused> {
        let mut what: Opaque = std::ptr::null_mut();
        // SAFETY: the types are those of cudnn.h, and `what` outlives the call.
        unsafe {
            let destroy: Destroy = self.find(destroy)?;
            check(create, self.find::<Create>(create)?(&mut what))?;
            Ok(Owned { what, destroy })
        }
    }

    /// A handle on the GPU whose context is current.
    pub fn handle(&self) -> Result<Owned, Refused> {
        self.create("cudnnCreate", "cudnnDestroy")
    }

    /// A tensor.
    pub fn tensor(
        &self,
        dims: [usize; 4],
        data_type: DataType,
        layout: Layout,
    ) -> Result<Owned, Refused> {
        let tensor = self.create(
            "cudnnCreateTensorDescriptor",
            "cudnnDestroyTensorDescriptor",
        )?;
        let (call, [n, c, h, w]) = ("cudnnSetTensor4dDescriptor", dims.map(int));
        let (order, kind) = (order(layout), number(data_type));
        // SAFETY: the type is that of cudnn.h, and the descriptor is alive.
        check(call, unsafe {
            self.find::<SetDimensions>(call)?(tensor.what, order, kind, n, c, h, w)
        })?;
        Ok(tensor)
    }

    /// Filters.
    pub fn filter(
        &self,
        dims: [usize; 4],
        data_type: DataType,
        layout: Layout,
    ) -> Result<Owned, Refused> {
        let filter = self.create(
            "cudnnCreateFilterDescriptor",
            "cudnnDestroyFilterDescriptor",
        )?;
        let (call, [k, c, h, w]) = ("cudnnSetFilter4dDescriptor", dims.map(int));
        let (order, kind) = (order(layout), number(data_type));
        // SAFETY: as above; type and order stand the other way round than for a tensor.
        check(call, unsafe {
            self.find::<SetDimensions>(call)?(filter.what, kind, order, k, c, h, w)
        })?;
        Ok(filter)
    }

    /// A convolution that sums in single precision.
    pub fn convolution(&self, shape: &Shape, data_type: DataType) -> Result<Owned, Refused> {
        let convolution = self.create(
            "cudnnCreateConvolutionDescriptor",
            "cudnnDestroyConvolutionDescriptor",
        )?;
        let ([pad_h, pad_w], [step_h, step_w]) = (shape.pad.map(int), shape.stride.map(int));
        let [wide_h, wide_w] = shape.dilation.map(int);
        let call = "cudnnSetConvolution2dDescriptor";
        // SAFETY: the type is that of cudnn.h, and the descriptor is alive.
        check(call, unsafe {
            let set: SetConvolution = self.find(call)?;
            let (mode, sum) = (CROSS_CORRELATION, FLOAT);
            let what = convolution.what;
            set(
                what, pad_h, pad_w, step_h, step_w, wide_h, wide_w, mode, sum,
            )
        })?;
        if shape.groups != 1 {
            self.set(
                "cudnnSetConvolutionGroupCount",
                &convolution,
                int(shape.groups),
            )?;
        }
        // The default lets Ampere and later round single precision to TF32.
        let math = match data_type {
            DataType::F32 => FMA_MATH,
            DataType::Tf32 => DEFAULT_MATH,
            DataType::F16 | DataType::Bf16 => TENSOR_OP_MATH,
        };
        self.set_math(&convolution, math)?;
        Ok(convolution)
    }

    /// With another kind of arithmetic, one that cuDNN itself named.
    pub fn set_math(&self, convolution: &Owned, math: i32) -> Result<(), Refused> {
        self.set("cudnnSetConvolutionMathType", convolution, math)
    }

    fn set(&self, call: &'static str, convolution: &Owned, value: c_int) -> Result<(), Refused> {
        // SAFETY: the type is that of cudnn.h, and the descriptor is alive.
        check(call, unsafe {
            self.find::<SetNumber>(call)?(convolution.what, value)
        })
    }

    /// What makes negative numbers 0. Any other treatment of NaN is refused in a fused convolution.
    pub fn relu(&self) -> Result<Owned, Refused> {
        let relu = self.create(
            "cudnnCreateActivationDescriptor",
            "cudnnDestroyActivationDescriptor",
        )?;
        let call = "cudnnSetActivationDescriptor";
        // SAFETY: the type is that of cudnn.h, and the descriptor is alive.
        check(call, unsafe {
            self.find::<SetActivation>(call)?(relu.what, RELU, NOT_PROPAGATE_NAN, 0.0)
        })?;
        Ok(relu)
    }

    /// The dimensions that cuDNN says come out.
    pub fn output(&self, x: &Owned, w: &Owned, convolution: &Owned) -> Result<[usize; 4], Refused> {
        let call = "cudnnGetConvolution2dForwardOutputDim";
        let mut out: [c_int; 4] = [0; 4];
        let [n, c, height, width] = &mut out;
        // SAFETY: the type is that of cudnn.h, the descriptors are alive, and the numbers outlive the call.
        check(call, unsafe {
            let ask: OutputDim = self.find(call)?;
            ask(convolution.what, x.what, w.what, n, c, height, width)
        })?;
        Ok(out.map(|number| number.unsigned_abs() as usize))
    }

    /// The algorithms that cuDNN's heuristic offers for a forward convolution, each with its kind of arithmetic.
    pub fn offers(&self, with: &Descriptors) -> Result<Vec<(Algorithm, i32)>, Refused> {
        let call = "cudnnGetConvolutionForwardAlgorithm_v7";
        let mut offers = [Offer::default(); MOST_OFFERS];
        let mut count: c_int = 0;
        // SAFETY: the type is that of cudnn.h, handle and descriptors are alive, and there is room for all answers.
        check(call, unsafe {
            self.find::<Offers>(call)?(
                with.handle.what,
                with.x.what,
                with.w.what,
                with.convolution.what,
                with.y.what,
                int(MOST_OFFERS),
                &mut count,
                offers.as_mut_ptr(),
            )
        })?;
        let answered = offers.iter().take(count.unsigned_abs() as usize);
        Ok(answered
            .filter(|offer| offer.status == 0)
            .map(|offer| {
                let algorithm = Algorithm::of(Operation::Forward, offer.algorithm);
                (algorithm, offer.math)
            })
            .collect())
    }

    /// Bytes of workspace that an algorithm needs.
    pub fn workspace(
        &self,
        operation: Operation,
        with: &Descriptors,
        by: Algorithm,
    ) -> Result<usize, Refused> {
        let (x, w, y) = (with.x.what, with.w.what, with.y.what);
        let (call, one, other, to) = match operation {
            Operation::Forward | Operation::Fused => {
                ("cudnnGetConvolutionForwardWorkspaceSize", x, w, y)
            }
            Operation::BackwardData => ("cudnnGetConvolutionBackwardDataWorkspaceSize", w, y, x),
            Operation::BackwardFilter => {
                ("cudnnGetConvolutionBackwardFilterWorkspaceSize", x, y, w)
            }
        };
        let (handle, convolution) = (with.handle.what, with.convolution.what);
        let mut bytes = 0;
        // SAFETY: the type is that of cudnn.h, handle and descriptors are alive, and the number outlives the call.
        check(call, unsafe {
            let ask: WorkspaceSize = self.find(call)?;
            ask(handle, one, other, convolution, to, by.number, &mut bytes)
        })?;
        Ok(bytes)
    }

    /// Convolves.
    ///
    /// # Safety
    /// The pointers are memory of the current GPU, as large as the descriptors say and the workspace as `bytes` says.
    pub unsafe fn convolve(
        &self,
        operation: Operation,
        with: &Descriptors,
        by: Algorithm,
        data: &Data,
        bytes: usize,
    ) -> Result<(), Refused> {
        let (one, zero) = (1.0f32, 0.0f32);
        let (one, zero): (*const f32, *const f32) = (&one, &zero);
        let (one, zero) = (one.cast::<c_void>(), zero.cast::<c_void>());
        let (x, w, y) = (
            (with.x.what, data.x),
            (with.w.what, data.w),
            (with.y.what, data.y),
        );
        let (handle, convolution) = (with.handle.what, with.convolution.what);
        let room = data.workspace;
        let (call, first, second, to) = match operation {
            Operation::Forward => ("cudnnConvolutionForward", x, w, y),
            Operation::BackwardData => ("cudnnConvolutionBackwardData", w, y, x),
            Operation::BackwardFilter => ("cudnnConvolutionBackwardFilter", x, y, w),
            Operation::Fused => {
                let call = "cudnnConvolutionBiasActivationForward";
                let Some([bias, relu]) = &with.fused else {
                    let status = None;
                    return Err(Refused { call, status });
                };
                let (bias, relu) = (bias.what, relu.what);
                // SAFETY: the type is that of cudnn.h, handle and descriptors are alive, and the caller vouches for
                // the rest. What is added is multiplied by 0, and of the kind of the output.
                return check(call, unsafe {
                    self.find::<Fuse>(call)?(
                        handle,
                        one,
                        x.0,
                        x.1,
                        w.0,
                        w.1,
                        convolution,
                        by.number,
                        room,
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
            self.find::<Convolve>(call)?(
                handle,
                one,
                first.0,
                first.1,
                second.0,
                second.1,
                convolution,
                by.number,
                room,
                bytes,
                zero,
                to.0,
                to.1,
            )
        })
    }
}

/// All that a convolution takes, but for its data. For a gradient, `x`, `w` and `y` describe the gradients too.
pub struct Descriptors<'a> {
    /// From [`Cudnn::handle`].
    pub handle: &'a Owned,
    /// The tensor that goes in.
    pub x: Owned,
    /// The filters.
    pub w: Owned,
    /// The tensor that comes out.
    pub y: Owned,
    /// The convolution.
    pub convolution: Owned,
    /// For a fused one: a number for each channel that comes out, and what [`Cudnn::relu`] gives.
    pub fused: Option<[Owned; 2]>,
}

/// Where the data of a convolution lies on the GPU.
pub struct Data {
    /// What goes in, or its gradient.
    pub x: *mut c_void,
    /// The filters, or their gradient.
    pub w: *mut c_void,
    /// What comes out, or its gradient.
    pub y: *mut c_void,
    /// For a fused one: as many numbers as `y`, times 0.
    pub z: *mut c_void,
    /// For a fused one.
    pub bias: *mut c_void,
    /// Room to work in.
    pub workspace: *mut c_void,
}

/// A handle or descriptor, destroyed when it goes away.
pub struct Owned {
    pub(super) what: Opaque,
    pub(super) destroy: Destroy,
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        unsafe { (self.destroy)(self.what) };
    }
}

/// What a call answered.
pub fn check(call: &'static str, status: c_int) -> Result<(), Refused> {
    if status == 0 {
        Ok(())
    } else {
        let status = Some(status);
        Err(Refused { call, status })
    }
}

/// Its `cudnnDataType_t`.
pub fn number(data_type: DataType) -> c_int {
    match data_type {
        DataType::F32 | DataType::Tf32 => FLOAT,
        DataType::F16 => HALF,
        DataType::Bf16 => BFLOAT16,
    }
}

fn order(layout: Layout) -> c_int {
    match layout {
        Layout::Nchw => NCHW,
        Layout::Nhwc => NHWC,
    }
}

/// Our own sizes are small.
fn int(size: usize) -> c_int {
    size as c_int
}
