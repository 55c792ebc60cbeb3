//! The functions of a cuDNN that is linked into the program itself: this one has none.

use std::ffi::c_void;

/// Always none.
pub fn function(_name: &str) -> Option<*mut c_void> {
    None
}
