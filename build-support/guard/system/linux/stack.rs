//! The stack of the current thread.

use std::ffi::{c_int, c_long, c_void};

unsafe extern "C" {
    fn getpid() -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn pthread_self() -> usize;
    fn pthread_getattr_np(thread: usize, attributes: *mut [u64; 8]) -> c_int;
    fn pthread_attr_getstack(
        attributes: *const [u64; 8],
        lowest: *mut *mut c_void,
        size: *mut usize,
    ) -> c_int;
    fn pthread_attr_destroy(attributes: *mut [u64; 8]) -> c_int;
}

/// Returns the number of bytes that are left of this thread's stack; `None` for the first thread, whose stack grows.
pub fn stack_left() -> Option<usize> {
    // glibc has had a function for this only since 2.30.
    const GETTID: c_long = if cfg!(target_arch = "x86_64") {
        186
    } else {
        178
    };
    // `pthread_attr_t` has 56 bytes on x86_64, and 64 on aarch64.
    let mut attributes = [0_u64; 8];
    let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the functions query the current thread, and the places that they fill are large enough.
    let known = unsafe {
        c_long::from(getpid()) != syscall(GETTID)
            && pthread_getattr_np(pthread_self(), &mut attributes) == 0
            && pthread_attr_getstack(&attributes, &mut lowest, &mut size) == 0
            && pthread_attr_destroy(&mut attributes) == 0
    };
    let here = std::ptr::addr_of!(attributes) as usize;
    here.checked_sub(lowest as usize).filter(|_| known)
}
