#![forbid(unsafe_code)]

fn main() {
    guard::startup();
    println!("train with cuDNN {}", guard::cudnn_version());
}
