//! The types of cuDNN's functions, as `cudnn.h` declares them; tests/programs/real/signatures.rs holds them against it.

use std::ffi::{c_char, c_int, c_void};

/// A pointer to something of cuDNN's own.
pub type Opaque = *mut c_void;
/// Creates a handle or a descriptor.
pub type Create = unsafe extern "C" fn(*mut Opaque) -> c_int;
/// Destroys it.
pub type Destroy = unsafe extern "C" fn(Opaque) -> c_int;
/// where to, its size
pub type LastError = unsafe extern "C" fn(*mut c_char, usize);
/// tensor, layout, type, four dimensions; of a filter the type stands first
pub type SetDimensions =
    unsafe extern "C" fn(Opaque, c_int, c_int, c_int, c_int, c_int, c_int) -> c_int;
/// height and width of padding, stride and dilation; mode; type
pub type SetConvolution =
    unsafe extern "C" fn(Opaque, c_int, c_int, c_int, c_int, c_int, c_int, c_int, c_int) -> c_int;
/// convolution, kind of arithmetic or number of groups
pub type SetNumber = unsafe extern "C" fn(Opaque, c_int) -> c_int;
/// activation, its kind, what becomes of NaN, a bound that ReLU has not
pub type SetActivation = unsafe extern "C" fn(Opaque, c_int, c_int, f64) -> c_int;
/// convolution, x, w; n, c, h, w of what comes out
pub type OutputDim = unsafe extern "C" fn(
    Opaque,
    Opaque,
    Opaque,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
) -> c_int;
/// handle, the two that go in, convolution, the one that comes out, algorithm, bytes. The gradient of the filters
/// alone takes its convolution in the fourth place too, after x and dy.
pub type WorkspaceSize =
    unsafe extern "C" fn(Opaque, Opaque, Opaque, Opaque, Opaque, c_int, *mut usize) -> c_int;
/// handle, x, w, convolution, y, room for so many answers, answers, the answers
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
/// handle, alpha, the first that goes in, its data, the second, its data, convolution, algorithm, workspace, its
/// bytes, beta, what comes out, its data
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
/// handle, alpha, x, its data, w, its data, convolution, algorithm, workspace, its bytes, alpha2, z, its data, bias,
/// its data, activation, y, its data
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
    /// The algorithm.
    pub algorithm: c_int,
    /// Whether it can be had.
    pub status: c_int,
    /// Guessed, so of no use here.
    pub time: f32,
    /// Bytes of workspace.
    pub memory: usize,
    /// Whether it gives the same numbers every time.
    pub determinism: c_int,
    /// The kind of arithmetic that goes with it.
    pub math: c_int,
    /// Nothing yet.
    pub reserved: [c_int; 3],
}
