//! A GPU in use: CUDA's own context, and memory between canaries, through the driver only.

use crate::runtime::driver::call::{CallStatus, address, check, functions};
use crate::runtime::driver::query;
use crate::runtime::system::platform::Library;
use std::ffi::{c_int, c_uint, c_void};
use std::mem::transmute;

/// The place of a write outside a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    Before,
    /// Only within the first 512 bytes past its end.
    JustPast,
    FarPast,
}

/// The memory of a GPU, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub free: usize,
    pub total: usize,
}

type Address = u64;
type Context = *mut c_void;

/// Bytes of canaries before every buffer. cuDNN requires buffers aligned to 16; 512 keeps the alignment of
/// `cuMemAlloc`, which helps engines with wide loads.
const MARGIN: usize = 512;
/// Bytes of canaries after every buffer. An engine may write a full tile, which ends in the first half; no version of
/// cuDNN rules that out.
const BEHIND: usize = 1024;
/// The canary: as a float an unlikely 9.1e-16, as a pointer never valid.
const CANARY: u32 = 0x2684_C5A3;
/// Every byte of a buffer before it is written: a NaN in each format, of four bytes and of two.
pub const POISON: u8 = 0xFF;

functions! {
    struct MemoryFunctions {
        device = "cuDeviceGet": unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
        retain = "cuDevicePrimaryCtxRetain": unsafe extern "C" fn(*mut Context, c_int) -> c_int;
        // The `_v2` function came with CUDA 11. For this use, the older one does the same.
        release = "cuDevicePrimaryCtxRelease_v2" or "cuDevicePrimaryCtxRelease": unsafe extern "C" fn(c_int) -> c_int;
        push = "cuCtxPushCurrent_v2": unsafe extern "C" fn(Context) -> c_int;
        pop = "cuCtxPopCurrent_v2": unsafe extern "C" fn(*mut Context) -> c_int;
        synchronize = "cuCtxSynchronize": unsafe extern "C" fn() -> c_int;
        info = "cuMemGetInfo_v2": unsafe extern "C" fn(*mut usize, *mut usize) -> c_int;
        alloc = "cuMemAlloc_v2": unsafe extern "C" fn(*mut Address, usize) -> c_int;
        free = "cuMemFree_v2": unsafe extern "C" fn(Address) -> c_int;
        to_device = "cuMemcpyHtoD_v2": unsafe extern "C" fn(Address, *const c_void, usize) -> c_int;
        to_host = "cuMemcpyDtoH_v2": unsafe extern "C" fn(*mut c_void, Address, usize) -> c_int;
        fill = "cuMemsetD32_v2": unsafe extern "C" fn(Address, c_uint, usize) -> c_int;
        // Since CUDA 10.1.
        ? is_capturing = "cuStreamIsCapturing": unsafe extern "C" fn(*mut c_void, *mut c_int) -> c_int;
        ? exchange_mode = "cuThreadExchangeStreamCaptureMode": unsafe extern "C" fn(*mut c_int) -> c_int;
    }
}

/// The primary context of a GPU, current while this value lives. Dropping it makes the previous context current again.
/// The CUDA runtime, and so cuDNN, works in the primary context too.
pub struct CurrentContext {
    functions: MemoryFunctions,
    device: c_int,
    /// The thread's previous capture mode.
    mode: c_int,
}

/// `CU_STREAM_CAPTURE_MODE_RELAXED`: driver calls of this thread break no capture of another thread.
const RELAXED: c_int = 2;
/// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`: a stream that waits for the legacy one is being captured.
const CAPTURE_IMPLICIT: c_int = 906;
/// `CU_STREAM_LEGACY`
const LEGACY: usize = 1;

impl CurrentContext {
    /// Makes the primary context of the GPU of this number current. CUDA must have been started.
    pub fn enter(ordinal: i32) -> Result<Self, CallStatus> {
        let (call, code) = ("cuInit", None);
        let library = query::open().map_err(|_| CallStatus { call, code })?;
        let functions = MemoryFunctions::resolve(library)?;
        let mut device = 0;
        // SAFETY: `device` outlives the call.
        check("cuDeviceGet", unsafe {
            (functions.device)(&mut device, ordinal)
        })?;
        let mut context: Context = std::ptr::null_mut();
        // SAFETY: `context` outlives the call.
        check("cuDevicePrimaryCtxRetain", unsafe {
            (functions.retain)(&mut context, device)
        })?;
        // SAFETY: the context was retained just now.
        let pushed = check("cuCtxPushCurrent", unsafe { (functions.push)(context) });
        if pushed.is_err() {
            // SAFETY: retained once, released once.
            unsafe { (functions.release)(device) };
        }
        pushed.map(|()| {
            let mut current = Self {
                functions,
                device,
                mode: RELAXED,
            };
            current.exchange_mode();
            current
        })
    }

    fn exchange_mode(&mut self) {
        if let Some(exchange) = self.functions.exchange_mode {
            // SAFETY: the number outlives the call.
            unsafe { exchange(&mut self.mode) };
        }
    }

    /// Returns `true` if this process is capturing work of this context into a graph. A convolution would break the
    /// capture.
    ///
    /// The legacy stream is queried: captures on streams that do not wait for it go unnoticed.
    pub fn is_capturing(&self) -> bool {
        let Some(is_capturing) = self.functions.is_capturing else {
            return false;
        };
        let mut status: c_int = 0;
        // SAFETY: a context is current, and the number outlives the call.
        let code = unsafe { is_capturing(LEGACY as *mut c_void, &mut status) };
        code == CAPTURE_IMPLICIT || code == 0 && status != 0
    }

    /// Waits for all work on the GPU, and returns its error if it failed.
    pub fn wait(&self) -> Result<(), CallStatus> {
        // SAFETY: a context is current.
        check("cuCtxSynchronize", unsafe {
            (self.functions.synchronize)()
        })
    }

    /// Returns the GPU's memory, if the driver reports it.
    pub fn memory(&self) -> Option<Memory> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: a context is current, both numbers outlive the call.
        let code = unsafe { (self.functions.info)(&mut free, &mut total) };
        (code == 0).then_some(Memory { free, total })
    }

    /// Allocates a poisoned buffer with canaries before and after it. Its size is rounded up to a multiple of four
    /// bytes.
    pub fn buffer(&self, bytes: usize) -> Result<Buffer<'_>, CallStatus> {
        let words = bytes / 4 + usize::from(bytes % 4 != 0);
        let bytes = words.saturating_mul(4).saturating_add(MARGIN + BEHIND);
        let mut start: Address = 0;
        // SAFETY: a context is current, `start` outlives the call.
        check("cuMemAlloc", unsafe {
            (self.functions.alloc)(&mut start, bytes)
        })?;
        let buffer = Buffer {
            current: self,
            start,
            words,
        };
        self.fill(start, CANARY, bytes / 4)?;
        self.fill(buffer.address(), u32::from_ne_bytes([POISON; 4]), words)?;
        Ok(buffer)
    }

    fn fill(&self, at: Address, value: u32, words: usize) -> Result<(), CallStatus> {
        if words == 0 {
            return Ok(());
        }
        // SAFETY: callers give a range of a buffer of theirs.
        check("cuMemsetD32", unsafe {
            (self.functions.fill)(at, value, words)
        })
    }

    fn read(&self, at: Address, into: &mut [u8]) -> Result<(), CallStatus> {
        let bytes = into.len();
        // SAFETY: callers give a range of a buffer of theirs that is as long as `into`.
        check("cuMemcpyDtoH", unsafe {
            (self.functions.to_host)(into.as_mut_ptr().cast::<c_void>(), at, bytes)
        })
    }
}

impl Drop for CurrentContext {
    fn drop(&mut self) {
        self.exchange_mode();
        let mut context: Context = std::ptr::null_mut();
        // SAFETY: pushed once and retained once, so popped once and released once.
        unsafe {
            (self.functions.pop)(&mut context);
            (self.functions.release)(self.device);
        }
    }
}

/// Memory on the GPU.
pub struct Buffer<'a> {
    current: &'a CurrentContext,
    start: Address,
    words: usize,
}

impl Buffer<'_> {
    /// Returns the buffer's beginning in the GPU's address space.
    pub fn address(&self) -> u64 {
        self.start.wrapping_add(MARGIN as u64)
    }

    /// Returns the address as a pointer for cuDNN; null for an empty buffer.
    pub fn pointer(&self) -> *mut c_void {
        if self.words == 0 {
            std::ptr::null_mut()
        } else {
            self.address() as usize as *mut c_void
        }
    }

    /// Writes the buffer. Values beyond its end are ignored.
    pub fn write(&self, values: &[u8]) -> Result<(), CallStatus> {
        let bytes = values.len().min(self.words.saturating_mul(4));
        // SAFETY: not longer than either side.
        check("cuMemcpyHtoD", unsafe {
            let from = values.as_ptr().cast::<c_void>();
            (self.current.functions.to_device)(self.address(), from, bytes)
        })
    }

    /// Reads the buffer.
    pub fn bytes(&self) -> Result<Vec<u8>, CallStatus> {
        let mut bytes = vec![0; self.words.saturating_mul(4)];
        self.current.read(self.address(), &mut bytes)?;
        Ok(bytes)
    }

    /// Returns the worst place where something was written before the buffer's beginning or past its end, if any.
    pub fn breach(&self) -> Result<Option<Breach>, CallStatus> {
        let end = self.address().wrapping_add(self.words as u64 * 4);
        let canary = CANARY.to_ne_bytes();
        let is_touched = |bytes: &[u8]| bytes.chunks(4).any(|word| word != canary);
        let (mut before, mut behind) = ([0; MARGIN], [0; BEHIND]);
        self.current.read(self.start, &mut before)?;
        self.current.read(end, &mut behind)?;
        let (near, far) = behind.split_at(BEHIND / 2);
        Ok(if is_touched(&before) {
            Some(Breach::Before)
        } else if is_touched(far) {
            Some(Breach::FarPast)
        } else {
            is_touched(near).then_some(Breach::JustPast)
        })
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated once, freed once, in the context that is current as long as `current` lives.
        unsafe { (self.current.functions.free)(self.start) };
    }
}
