mod gpu {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

unsafe extern "C" {
    fn cudnnGetVersion() -> usize;
}

fn main() {
    gpu::startup();
    // SAFETY: the function has no arguments and can be called at any time.
    println!("cuDNN {}", unsafe { cudnnGetVersion() });
}
