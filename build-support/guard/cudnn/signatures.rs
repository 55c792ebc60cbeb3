//! The types of cuDNN's functions, as in `cudnn.h`; tests/programs/real/signatures.rs compares them with it.

use std::ffi::{c_char, c_int, c_void};

/// A pointer to an object of cuDNN.
pub type Opaque = *mut c_void;
pub type Create = unsafe extern "C" fn(*mut Opaque) -> c_int;
pub type Destroy = unsafe extern "C" fn(Opaque) -> c_int;
/// Parameters: buffer, its size.
pub type LastError = unsafe extern "C" fn(*mut c_char, usize);
/// Parameters: tensor, layout, type, four dimensions. For a filter, the type comes before the layout.
pub type SetDimensions =
    unsafe extern "C" fn(Opaque, c_int, c_int, c_int, c_int, c_int, c_int) -> c_int;
/// Parameters: height and width of padding, stride and dilation; mode; type.
pub type SetConvolution =
    unsafe extern "C" fn(Opaque, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int) -> c_int;
/// Parameters: convolution, math type.
pub type SetMathType = unsafe extern "C" fn(Opaque, c_int) -> c_int;
/// Parameters: activation, its kind, treatment of NaN, a bound that ReLU does not have.
pub type SetActivation = unsafe extern "C" fn(Opaque, c_int, c_int, f64) -> c_int;
/// Parameters: convolution, x, w; n, c, h, w of the output.
pub type OutputDim = unsafe extern "C" fn(
    Opaque,
    Opaque,
    Opaque,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
) -> c_int;
/// Parameters: handle, two inputs, convolution, output, algorithm, bytes. For the gradient of the filters, the inputs
/// are x and dy.
pub type WorkspaceSize =
    unsafe extern "C" fn(Opaque, Opaque, Opaque, Opaque, Opaque, c_int, *mut usize) -> c_int;
/// Parameters: handle, x, w, convolution, y, capacity, resulting count, results.
pub type GetAlgorithms = unsafe extern "C" fn(
    Opaque,
    Opaque,
    Opaque,
    Opaque,
    Opaque,
    c_int,
    *mut c_int,
    *mut AlgorithmPerf,
) -> c_int;
/// Parameters: handle, alpha, first input, its data, second input, its data, convolution, algorithm, workspace, its
/// bytes, beta, output, its data.
pub type Convolve = unsafe extern "C" fn(
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
/// Parameters: handle, alpha, x, its data, w, its data, convolution, algorithm, workspace, its bytes, alpha2, z, its
/// data, bias, its data, activation, y, its data.
pub type Fuse = unsafe extern "C" fn(
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
    *const c_void,
    Opaque,
    *const c_void,
    Opaque,
    Opaque,
    *mut c_void,
) -> c_int;

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
