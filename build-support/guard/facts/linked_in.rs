//! The functions of a cuDNN that is linked into the program itself.

use std::ffi::c_void;

/// Names and addresses. No loader finds them by name, so that the program brings the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkedIn {
    names: &'static [&'static str],
    addresses: &'static [usize],
}

impl LinkedIn {
    /// A table of functions.
    ///
    /// # Safety
    ///
    /// Each address is that of the function of cuDNN whose name stands in the same place.
    pub const unsafe fn new(names: &'static [&'static str], addresses: &'static [usize]) -> Self {
        Self { names, addresses }
    }

    /// The address of a function.
    pub fn function(&self, name: &str) -> Option<*mut c_void> {
        let at = self.names.iter().position(|known| *known == name)?;
        self.addresses
            .get(at)
            .map(|address| *address as *mut c_void)
    }
}
