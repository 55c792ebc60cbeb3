//! The stack of the current thread.

use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn pthread_self() -> usize;
    fn pthread_getattr_np(thread: usize, attributes: *mut [u64; 8]) -> c_int;
    fn pthread_attr_getstack(
        attributes: *const [u64; 8],
        lowest: *mut *mut c_void,
        size: *mut usize,
    ) -> c_int;
    fn pthread_attr_destroy(attributes: *mut [u64; 8]) -> c_int;
}

/// Returns the number of bytes that are left of this thread's stack; `None` if that is unknown. The stack of the first
/// thread grows to its limit. A stack that the program has made itself counts as full.
pub fn stack_left() -> Option<usize> {
    if cfg!(miri) {
        return None; // it does not know these functions
    }
    // `pthread_attr_t` has 56 bytes on x86_64, and 64 on aarch64.
    let mut attributes = [0_u64; 8];
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the functions query the current thread, and the places that they fill are large enough.
    let known = unsafe {
        pthread_getattr_np(pthread_self(), &mut attributes) == 0
            && pthread_attr_getstack(&attributes, &mut lowest, &mut size) == 0
            && pthread_attr_destroy(&mut attributes) == 0
    };
    let here = std::ptr::addr_of!(attributes) as usize;
    let left = here.checked_sub(lowest as usize);
    known.then(|| left.filter(|left| *left < size).unwrap_or(0))
}
