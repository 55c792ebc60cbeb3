//! The runtime guard on a system that it does not know: it answers, and touches nothing.
#![allow(
    clippy::disallowed_methods,
    reason = "the guard reads the environment it runs in"
)]

#[allow(dead_code, reason = "a program uses the guard through three functions")]
#[path = "guard/imp_elsewhere.rs"]
mod imp;

use imp::check;
use imp::facts::{Built, Loader, Policy};
use imp::tables::Tables;
use imp::version::Version;

const BUILT: Built = Built {
    cudnn: Some(Version::new(9, 14, 0)),
    cudnn_cuda_major: Some(13),
    cuda: Some(Version::new(13, 0, 0)),
    requirement: None,
    policy: Policy::Compatible,
    loader: Loader::Dlopen,
    cudarc: None,
    targets: &[],
    convolution: true,
    require_gpu: false,
    needs: &[],
    findings: &[],
    tables: Tables::NONE,
    absent: None,
};

#[test]
fn an_unknown_system_is_unknown() {
    let libc = if cfg!(target_env = "musl") {
        " with musl"
    } else {
        ""
    };
    let (system, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let text = format!("cuDNN is not checked on {arch} {system}{libc}  [platform-unsupported]");
    for result in [check::check(&BUILT), check::check_version(&BUILT)] {
        let failure = result.unwrap_err();
        assert_eq!(failure.verdict(), imp::finding::Verdict::Unknown);
        assert_eq!(failure.headline(), text);
    }
    imp::startup::startup(&BUILT);
}
