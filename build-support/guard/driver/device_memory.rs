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
    pub struct MemoryFunctions {
        device = "cuDeviceGet"(device: *mut c_int, ordinal: c_int);
        retain = "cuDevicePrimaryCtxRetain"(context: *mut Context, device: c_int);
        release = "cuDevicePrimaryCtxRelease_v2"(device: c_int);
        push = "cuCtxPushCurrent_v2"(context: Context);
        pop = "cuCtxPopCurrent_v2"(context: *mut Context);
        synchronize = "cuCtxSynchronize"();
        info = "cuMemGetInfo_v2"(free: *mut usize, total: *mut usize);
        alloc = "cuMemAlloc_v2"(start: *mut Address, bytes: usize);
        free = "cuMemFree_v2"(start: Address);
        to_device = "cuMemcpyHtoD_v2"(to: Address, from: *const c_void, bytes: usize);
        to_host = "cuMemcpyDtoH_v2"(to: *mut c_void, from: Address, bytes: usize);
        fill = "cuMemsetD32_v2"(start: Address, value: c_uint, words: usize);
        is_capturing = "cuStreamIsCapturing"(stream: *mut c_void, status: *mut c_int);
        exchange_mode = "cuThreadExchangeStreamCaptureMode"(mode: *mut c_int);
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
        let (mut device, mut context) = (0, std::ptr::null_mut());
        // SAFETY: both outlive the calls.
        unsafe {
            functions.device(&mut device, ordinal)?;
            functions.retain(&mut context, device)?;
        }
        // SAFETY: the context was retained just now.
        if let Err(failed) = unsafe { functions.push(context) } {
            // SAFETY: retained once, released once.
            let _ = unsafe { functions.release(device) };
            return Err(failed);
        }
        let mut current = Self {
            functions,
            device,
            mode: RELAXED,
        };
        current.exchange_mode();
        Ok(current)
    }

    fn exchange_mode(&mut self) {
        // SAFETY: the number outlives the call.
        let _ = unsafe { self.functions.exchange_mode(&mut self.mode) };
    }

    /// Returns `true` if this process is capturing work of this context into a graph. A convolution would break the
    /// capture.
    ///
    /// The legacy stream is queried: captures on streams that do not wait for it go unnoticed.
    pub fn is_capturing(&self) -> bool {
        let mut status = 0;
        // SAFETY: a context is current, and the number outlives the call.
        match unsafe { (self.functions).is_capturing(LEGACY as *mut c_void, &mut status) } {
            Ok(()) => status != 0,
            Err(failed) => failed.code == Some(CAPTURE_IMPLICIT),
        }
    }

    /// Waits for all work on the GPU, and returns its error if it failed.
    pub fn wait(&self) -> Result<(), CallStatus> {
        // SAFETY: a context is current.
        unsafe { self.functions.synchronize() }
    }

    /// Returns the GPU's memory, if the driver reports it.
    pub fn memory(&self) -> Option<Memory> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: a context is current, both numbers outlive the call.
        unsafe { self.functions.info(&mut free, &mut total) }.ok()?;
        Some(Memory { free, total })
    }

    /// Allocates a poisoned buffer with canaries before and after it. Its size is rounded up to a multiple of four
    /// bytes.
    pub fn buffer(&self, bytes: usize) -> Result<Buffer<'_>, CallStatus> {
        let words = bytes / 4 + usize::from(bytes % 4 != 0);
        let bytes = words.saturating_mul(4).saturating_add(MARGIN + BEHIND);
        let mut start: Address = 0;
        // SAFETY: a context is current, `start` outlives the call.
        unsafe { self.functions.alloc(&mut start, bytes)? };
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
        unsafe { self.functions.fill(at, value, words) }
    }

    fn read(&self, at: Address, into: &mut [u8]) -> Result<(), CallStatus> {
        let (to, bytes) = (into.as_mut_ptr().cast::<c_void>(), into.len());
        // SAFETY: callers give a range of a buffer of theirs that is as long as `into`.
        unsafe { self.functions.to_host(to, at, bytes) }
    }
}

impl Drop for CurrentContext {
    fn drop(&mut self) {
        self.exchange_mode();
        let mut context: Context = std::ptr::null_mut();
        // SAFETY: pushed once and retained once, so popped once and released once.
        unsafe {
            let _ = self.functions.pop(&mut context);
            let _ = self.functions.release(self.device);
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
        let (to, from) = (self.address(), values.as_ptr().cast::<c_void>());
        // SAFETY: not longer than either side.
        unsafe { self.current.functions.to_device(to, from, bytes) }
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
        let _ = unsafe { self.current.functions.free(self.start) };
    }
}
