//! Handles and descriptors of cuDNN, destroyed when dropped.

use crate::runtime::cudnn::signatures::{Destroy, Opaque};

/// The arguments of a convolution without its data. For a gradient, `x`, `w` and `y` describe the gradients too.
pub struct Descriptors<'a> {
    pub handle: &'a OwnedDescriptor,
    /// The input.
    pub x: OwnedDescriptor,
    /// The filters.
    pub w: OwnedDescriptor,
    /// The output.
    pub y: OwnedDescriptor,
    pub convolution: OwnedDescriptor,
    /// For a fused convolution: the bias, a number for each output channel, and `Cudnn::relu`.
    pub fused: Option<[OwnedDescriptor; 2]>,
}

pub struct OwnedDescriptor {
    pub pointer: Opaque,
    pub(crate) destroy: Destroy,
}

impl Drop for OwnedDescriptor {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        unsafe { (self.destroy)(self.pointer) };
    }
}
