//! Writes a guard for the programs.

use cudnn_guard::{Config, Link};

fn main() {
    cudnn_guard::build(|| {
        let gpu = Config::new().cudnn(">=9.10, <10").link(Link::Runtime).probe()?;
        gpu.link();
        gpu.guard().write()
    });
}
