//! Systems that the guard does not know: it answers `platform-unsupported` there and touches nothing.

use std::ffi::c_void;

/// There is none.
#[derive(Clone, Copy, Debug)]
pub struct Library {}

impl Library {
    /// Always an error.
    pub fn open(name: &str) -> Result<Self, String> {
        Err(format!("cannot open {} on this system", name))
    }

    /// Always none.
    pub fn loaded(_name: &str) -> Option<Self> {
        None
    }

    /// Always none.
    pub fn symbol(&self, _name: &str) -> Option<*mut c_void> {
        None
    }
}
