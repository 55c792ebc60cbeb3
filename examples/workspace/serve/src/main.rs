#![forbid(unsafe_code)]

fn main() {
    guard::startup();
    println!("serve with cuDNN {}", guard::cudnn_version());
}
