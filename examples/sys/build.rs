// cargo does not pass on the rpath of conv-sys.
fn main() {
    cudnn_guard::build(|| {
        cudnn_guard::Linked::from_dep("cudnn")?.link();
        Ok(())
    });
}
