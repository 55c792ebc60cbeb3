// The guard checks cuDNN. A crate that uses only CUDA needs no guard: leave out `.cudnn(..)`, and end with `Ok(())`.
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
