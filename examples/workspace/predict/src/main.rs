#![forbid(unsafe_code)]

fn main() {
    guard::startup();
    println!("predict with cuDNN {}", guard::cudnn_version());
}
