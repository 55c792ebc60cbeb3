//! Handles and descriptors of cuDNN, destroyed when dropped.

use crate::runtime::cudnn::signatures::{Destroy, Opaque};

/// The arguments of a convolution without its data.
pub struct Descriptors<'a> {
    pub handle: &'a OwnedDescriptor,
    /// The input, the filters and the output, or their gradients.
    pub tensors: [OwnedDescriptor; 3],
    pub convolution: OwnedDescriptor,
    /// For a fused convolution: the bias, a number for each output channel, and `Cudnn::relu`.
    pub fused: Option<[OwnedDescriptor; 2]>,
}

impl Descriptors<'_> {
    pub fn pointers(&self) -> [Opaque; 3] {
        self.tensors.each_ref().map(|tensor| tensor.pointer)
    }
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
