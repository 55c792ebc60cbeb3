//! Handles and descriptors of cuDNN, destroyed when they go away.

use crate::runtime::cudnn::signatures::{Destroy, Opaque};

/// All that a convolution takes, but for its data. For a gradient, `x`, `w` and `y` describe the gradients too.
pub struct Descriptors<'a> {
    /// From `Cudnn::handle`.
    pub handle: &'a OwnedDescriptor,
    /// The tensor that goes in.
    pub x: OwnedDescriptor,
    /// The filters.
    pub w: OwnedDescriptor,
    /// The tensor that comes out.
    pub y: OwnedDescriptor,
    /// The convolution.
    pub convolution: OwnedDescriptor,
    /// For a fused one: a number for each channel that comes out, and what `Cudnn::relu` gives.
    pub fused: Option<[OwnedDescriptor; 2]>,
}

/// A handle or descriptor, destroyed when it goes away.
pub struct OwnedDescriptor {
    pub(crate) what: Opaque,
    pub(crate) destroy: Destroy,
}

impl Drop for OwnedDescriptor {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        unsafe { (self.destroy)(self.what) };
    }
}
