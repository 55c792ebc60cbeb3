//! The names in NVIDIA's own files, and NVIDIA's stub. CUDNN_GUARD_REAL is the directory of `.ci/wheels.py`.

use super::set;
use cudnn_guard::internals::driver::stub::is_stub;
use cudnn_guard::internals::install::dlopen_dependencies::opened_by;

/// Versions 8.5 and 8.9 open the driver by its plain name from different sub-libraries.
#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn the_names_that_cudnn_8_opens_are_in_its_files() {
    for (wheel, part, cuda, nvrtc) in [
        ("cudnn-cu11-8.5", "cnn_infer", 11, &["libnvrtc.so"][..]),
        (
            "cudnn-cu12-8.9.7",
            "ops_infer",
            12,
            &["libnvrtc.so.12", "libnvrtc.so"],
        ),
    ] {
        let lib = set(wheel).join("nvidia/cudnn/lib");
        let opened = |part: &str| {
            let file = lib.join(format!("libcudnn_{part}.so.8"));
            opened_by(part, &file, cuda, false)
        };
        let driver = |part: &str| opened(part).iter().any(|names| names == &["libcuda.so"]);
        let parts = ["ops_infer", "cnn_infer"].map(|part| (part, driver(part)));
        for (one, opens) in parts {
            assert_eq!(opens, one == part, "{wheel}: {one}");
        }
        assert!(opened(part).iter().any(|names| names == nvrtc), "{wheel}");
    }
}

#[test]
#[ignore = "needs real cuDNN files: CUDNN_GUARD_REAL"]
fn nvidias_stub_is_distinguished_from_the_driver() {
    let lib = "usr/lib/x86_64-linux-gnu";
    assert!(is_stub(
        &set("debian-cuda").join(lib).join("stubs/libcuda.so")
    ));
    let driver = set("debian").join(lib).join("nvidia/current/libcuda.so.1");
    assert!(driver.is_file() && !is_stub(&driver));
}
