// A crate that uses CUDA without cuDNN leaves out `.cudnn(..)`. Its guard checks the driver, the GPU and the kernels.
fn main() {
    cudnn_guard::build(|| {
        let gpu = cudnn_guard::Config::new()
            .cuda(">=12.0")
            .cudnn(">=9.1, <10")
            .probe()?;
        gpu.link();
        gpu.kernels().files("src/kernels/*.cu").compile("kernels")?;
        gpu.guard().write()
    });
}
