// cargo does not pass on the rpath of the crate `guard`.
fn main() {
    cudnn_guard::build(|| {
        cudnn_guard::Linked::from_dep("cudnn")?.link();
        Ok(())
    });
}
