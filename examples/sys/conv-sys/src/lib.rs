/// Checks the cuDNN that is loaded.
pub mod gpu {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

unsafe extern "C" {
    pub fn cudnnGetVersion() -> usize;
}
