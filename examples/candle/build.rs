fn main() {
    #[cfg(feature = "cuda")]
    cudnn_guard::build(|| {
        let libs = ["cublas", "cublasLt", "cuda", "cudart", "curand", "nvrtc"];
        let config = cudnn_guard::Config::new().cudnn(">=9.1, <10").libs(libs);
        // The program also starts on a machine without CUDA.
        let gpu = config.link(cudnn_guard::Link::Lazy).probe()?;
        gpu.link();
        gpu.guard().write()
    });
}
