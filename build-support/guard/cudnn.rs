//! The few functions of cuDNN that a convolution takes, found in the library that is judged.
//!
//! A broken cuDNN ends the process in any of them: they are called in the child.

use super::driver::function;
use super::platform::Library;
use std::ffi::{c_char, c_int, c_void};

/// `cudnnStatus_t` of a call that failed, with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The call.
    pub call: &'static str,
    /// What it answered.
    pub status: i32,
}

/// A pointer to something of cuDNN's own.
type Opaque = *mut c_void;
type Create = unsafe extern "C" fn(*mut Opaque) -> c_int;
type Destroy = unsafe extern "C" fn(Opaque) -> c_int;
/// height and width of padding, stride and dilation; mode; type
type SetConvolution =
    unsafe extern "C" fn(Opaque, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int) -> c_int;
/// convolution, x, w; n, c, h, w of what comes out
type OutputDim = unsafe extern "C" fn(
    Opaque,
    Opaque,
    Opaque,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
) -> c_int;
/// handle, x, w, convolution, y, algorithm, bytes
type WorkspaceSize =
    unsafe extern "C" fn(Opaque, Opaque, Opaque, Opaque, Opaque, c_int, *mut usize) -> c_int;
/// handle, alpha, x, its data, w, its data, convolution, algorithm, workspace, its bytes, beta, y, its data
type Forward = unsafe extern "C" fn(
    Opaque,
    *const c_void,
    Opaque,
    *const c_void,
    Opaque,
    *const c_void,
    Opaque,
    c_int,
    *mut c_void,
    usize,
    *const c_void,
    Opaque,
    *mut c_void,
) -> c_int;

// Constants of cudnn_graph.h and cudnn_ops.h (cudnn_ops_infer.h in 8), held against them by
// tests/real_signatures.rs.
const FLOAT: c_int = 0;
const NCHW: c_int = 0;
const CROSS_CORRELATION: c_int = 1;
const FMA_MATH: c_int = 3;

/// How a convolution is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// `CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM`
    ImplicitGemm,
    /// `CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM`
    ImplicitPrecompGemm,
}

impl Algorithm {
    /// As cuDNN calls it.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::ImplicitGemm => "IMPLICIT_GEMM",
            Algorithm::ImplicitPrecompGemm => "IMPLICIT_PRECOMP_GEMM",
        }
    }

    fn number(self) -> c_int {
        match self {
            Algorithm::ImplicitGemm => 0,
            Algorithm::ImplicitPrecompGemm => 1,
        }
    }
}

/// The functions.
#[derive(Clone, Copy)]
pub struct Cudnn {
    create: Create,
    destroy: Destroy,
    /// Since 9.0; in 8 there is nothing of the kind.
    last_error: Option<unsafe extern "C" fn(*mut c_char, usize)>,
    create_tensor: Create,
    set_tensor: unsafe extern "C" fn(Opaque, c_int, c_int, c_int, c_int, c_int, c_int) -> c_int,
    destroy_tensor: Destroy,
    create_filter: Create,
    set_filter: unsafe extern "C" fn(Opaque, c_int, c_int, c_int, c_int, c_int, c_int) -> c_int,
    destroy_filter: Destroy,
    create_convolution: Create,
    set_convolution: SetConvolution,
    set_math: unsafe extern "C" fn(Opaque, c_int) -> c_int,
    destroy_convolution: Destroy,
    output_dim: OutputDim,
    workspace_size: WorkspaceSize,
    forward: Forward,
}

impl Cudnn {
    /// Finds the functions in a shim; the error is the name of one that it lacks.
    pub fn of(shim: Library) -> Result<Self, &'static str> {
        // SAFETY: the types are those of cudnn.h, held against it by tests/real_signatures.rs.
        unsafe {
            Ok(Self {
                create: function(shim, "cudnnCreate")?,
                destroy: function(shim, "cudnnDestroy")?,
                last_error: function(shim, "cudnnGetLastErrorString").ok(),
                create_tensor: function(shim, "cudnnCreateTensorDescriptor")?,
                set_tensor: function(shim, "cudnnSetTensor4dDescriptor")?,
                destroy_tensor: function(shim, "cudnnDestroyTensorDescriptor")?,
                create_filter: function(shim, "cudnnCreateFilterDescriptor")?,
                set_filter: function(shim, "cudnnSetFilter4dDescriptor")?,
                destroy_filter: function(shim, "cudnnDestroyFilterDescriptor")?,
                create_convolution: function(shim, "cudnnCreateConvolutionDescriptor")?,
                set_convolution: function(shim, "cudnnSetConvolution2dDescriptor")?,
                set_math: function(shim, "cudnnSetConvolutionMathType")?,
                destroy_convolution: function(shim, "cudnnDestroyConvolutionDescriptor")?,
                output_dim: function(shim, "cudnnGetConvolution2dForwardOutputDim")?,
                workspace_size: function(shim, "cudnnGetConvolutionForwardWorkspaceSize")?,
                forward: function(shim, "cudnnConvolutionForward")?,
            })
        }
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

    /// A handle on the GPU whose context is current.
    pub fn handle(&self) -> Result<Owned, Refused> {
        Owned::new("cudnnCreate", self.create, self.destroy)
    }

    /// A tensor of single precision in NCHW order.
    pub fn tensor(&self, dims: [usize; 4]) -> Result<Owned, Refused> {
        let tensor = Owned::new(
            "cudnnCreateTensorDescriptor",
            self.create_tensor,
            self.destroy_tensor,
        )?;
        let [n, c, h, w] = dims.map(int);
        // SAFETY: the descriptor is alive.
        check("cudnnSetTensor4dDescriptor", unsafe {
            (self.set_tensor)(tensor.what, NCHW, FLOAT, n, c, h, w)
        })?;
        Ok(tensor)
    }

    /// Filters of single precision in the same order.
    pub fn filter(&self, dims: [usize; 4]) -> Result<Owned, Refused> {
        let filter = Owned::new(
            "cudnnCreateFilterDescriptor",
            self.create_filter,
            self.destroy_filter,
        )?;
        let [k, c, h, w] = dims.map(int);
        // SAFETY: the descriptor is alive. Type and order stand the other way round than for a tensor.
        check("cudnnSetFilter4dDescriptor", unsafe {
            (self.set_filter)(filter.what, FLOAT, NCHW, k, c, h, w)
        })?;
        Ok(filter)
    }

    /// A convolution in single precision without TF32.
    pub fn convolution(&self, pad: usize, stride: usize) -> Result<Owned, Refused> {
        let convolution = Owned::new(
            "cudnnCreateConvolutionDescriptor",
            self.create_convolution,
            self.destroy_convolution,
        )?;
        let (pad, stride) = (int(pad), int(stride));
        // SAFETY: the descriptor is alive.
        check("cudnnSetConvolution2dDescriptor", unsafe {
            let set = self.set_convolution;
            let mode = CROSS_CORRELATION;
            set(
                convolution.what,
                pad,
                pad,
                stride,
                stride,
                1,
                1,
                mode,
                FLOAT,
            )
        })?;
        // SAFETY: the descriptor is alive. The default would let Ampere and later round to TF32.
        check("cudnnSetConvolutionMathType", unsafe {
            (self.set_math)(convolution.what, FMA_MATH)
        })?;
        Ok(convolution)
    }

    /// The dimensions that cuDNN says come out.
    pub fn output(&self, x: &Owned, w: &Owned, convolution: &Owned) -> Result<[usize; 4], Refused> {
        let mut out: [c_int; 4] = [0; 4];
        let [n, c, height, width] = &mut out;
        // SAFETY: the descriptors are alive, and the numbers outlive the call.
        check("cudnnGetConvolution2dForwardOutputDim", unsafe {
            (self.output_dim)(convolution.what, x.what, w.what, n, c, height, width)
        })?;
        Ok(out.map(|number| number.unsigned_abs() as usize))
    }

    /// Bytes of workspace that an algorithm needs.
    pub fn workspace(&self, run: &Forwarding<'_>, by: Algorithm) -> Result<usize, Refused> {
        let mut bytes = 0;
        // SAFETY: handle and descriptors are alive, and the number outlives the call.
        check("cudnnGetConvolutionForwardWorkspaceSize", unsafe {
            (self.workspace_size)(
                run.handle.what,
                run.x.what,
                run.w.what,
                run.convolution.what,
                run.y.what,
                by.number(),
                &mut bytes,
            )
        })?;
        Ok(bytes)
    }

    /// Convolves.
    ///
    /// # Safety
    /// The pointers are memory of the current GPU, as large as the descriptors say and the workspace as `bytes` says.
    pub unsafe fn forward(
        &self,
        run: &Forwarding<'_>,
        by: Algorithm,
        data: Data,
        bytes: usize,
    ) -> Result<(), Refused> {
        let (one, zero) = (1.0f32, 0.0f32);
        let (one, zero): (*const f32, *const f32) = (&one, &zero);
        // SAFETY: handle and descriptors are alive, and the caller vouches for the rest.
        check("cudnnConvolutionForward", unsafe {
            (self.forward)(
                run.handle.what,
                one.cast::<c_void>(),
                run.x.what,
                data.x,
                run.w.what,
                data.w,
                run.convolution.what,
                by.number(),
                data.workspace,
                bytes,
                zero.cast::<c_void>(),
                run.y.what,
                data.y,
            )
        })
    }
}

/// All that a forward convolution takes, but for its data.
pub struct Forwarding<'a> {
    /// From [`Cudnn::handle`].
    pub handle: &'a Owned,
    /// The tensor that goes in.
    pub x: &'a Owned,
    /// The filters.
    pub w: &'a Owned,
    /// The convolution.
    pub convolution: &'a Owned,
    /// The tensor that comes out.
    pub y: &'a Owned,
}

/// Where the data of a convolution lies on the GPU.
#[derive(Clone, Copy)]
pub struct Data {
    /// What goes in.
    pub x: *const c_void,
    /// The filters.
    pub w: *const c_void,
    /// What comes out.
    pub y: *mut c_void,
    /// Room to work in.
    pub workspace: *mut c_void,
}

/// A handle or descriptor, destroyed when it goes away.
pub struct Owned {
    what: Opaque,
    destroy: Destroy,
}

impl Owned {
    fn new(call: &'static str, create: Create, destroy: Destroy) -> Result<Self, Refused> {
        let mut what: Opaque = std::ptr::null_mut();
        // SAFETY: `what` outlives the call.
        check(call, unsafe { create(&mut what) })?;
        Ok(Self { what, destroy })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        unsafe { (self.destroy)(self.what) };
    }
}

fn check(call: &'static str, status: c_int) -> Result<(), Refused> {
    if status == 0 {
        Ok(())
    } else {
        Err(Refused { call, status })
    }
}

/// Our own sizes are small.
fn int(size: usize) -> c_int {
    size as c_int
}
