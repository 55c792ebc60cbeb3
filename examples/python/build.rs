// The extension uses the cuDNN of NVIDIA's wheel, which pip installs beside it.
fn main() {
    cudnn_guard::build(|| {
        let config = cudnn_guard::Config::new().cudnn(">=9.1, <10");
        let gpu = config
            .rpath(false)
            .rpath_origin("../nvidia/cudnn/lib")
            .probe()?;
        gpu.link();
        gpu.guard().write()
    });
}
