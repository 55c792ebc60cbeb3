//! The functions of a statically linked cuDNN.

use std::ffi::c_void;

/// The names and addresses of functions. The loader does not know them by name, so the program contains this table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkedIn {
    names: &'static [&'static str],
    addresses: &'static [usize],
}

impl LinkedIn {
    /// Creates a table of functions.
    ///
    /// # Safety
    ///
    /// Each address must be the address of the cuDNN function with the name at the same index.
    pub const unsafe fn new(names: &'static [&'static str], addresses: &'static [usize]) -> Self {
        Self { names, addresses }
    }

    /// Returns the address of a function.
    pub fn function(&self, name: &str) -> Option<*mut c_void> {
        let at = self.names.iter().position(|known| *known == name)?;
        self.addresses
            .get(at)
            .map(|address| *address as *mut c_void)
    }
}
