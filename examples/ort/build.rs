// onnxruntime opens its CUDA provider and cuDNN at run time, so this builds on a machine without CUDA.
fn main() {
    cudnn_guard::build(|| {
        let config = cudnn_guard::Config::new().cudnn(">=9.1, <10");
        let gpu = config.link(cudnn_guard::Link::Runtime).probe()?;
        gpu.guard().loader(cudnn_guard::Loader::Dlopen).write()
    });
}
