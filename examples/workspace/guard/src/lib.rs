//! Links cuDNN and checks it, for all programs of the workspace.

include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));

unsafe extern "C" {
    fn cudnnGetVersion() -> usize;
}

pub fn cudnn_version() -> usize {
    // SAFETY: the function has no arguments and can be called at any time.
    unsafe { cudnnGetVersion() }
}
