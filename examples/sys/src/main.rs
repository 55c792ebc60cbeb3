fn main() {
    conv_sys::gpu::startup();
    // SAFETY: the function has no arguments and can be called at any time.
    println!("cuDNN {}", unsafe { conv_sys::cudnnGetVersion() });
}
