//! Programs that use CUDA but no cuDNN.

use super::program::{GPU, Ran, check, startup, version};
use crate::support::installation::{Folder, sound};

const NO_CUDNN: (&str, &str) = ("TEST_NO_CUDNN", "1");
const KERNELS: (&str, &str) = ("TEST_TARGETS", "sm_80 sm_90");

fn start(variables: &[(&str, &str)]) -> Ran {
    startup(
        &Folder::new(),
        &[&[NO_CUDNN, ("TEST_TABLES", "1")], variables].concat(),
    )
}

#[test]
fn a_sound_machine_is_silent_whatever_cudnn_is_there() {
    let damaged = sound().cut("libcudnn_ops.so.9", 100);
    for cudnn in [Folder::new(), damaged] {
        startup(&cudnn, &[NO_CUDNN, GPU, KERNELS]).must_be_silent();
        let checked = check(&cudnn, &[NO_CUDNN, GPU, KERNELS]);
        checked.must_be("pass", &[]);
        assert_eq!(
            checked.text,
            "CUDA: pass\n  built with  CUDA 13.0\n  driver      /drv/libcuda.so.1 580.1, supports CUDA 13.0\n  \
             device      Test\\tGPU, compute capability 9.0"
        );
    }
}

#[test]
fn the_driver_and_the_kernels_are_checked() {
    start(&[GPU, ("TEST_CUDA", "12090")]).must_stop(
        "the NVIDIA driver supports CUDA 12.9, but this program requires CUDA 13  [driver-too-old]\n  \
         = help: upgrade the NVIDIA driver to 580.65.06 or later, which supports CUDA 13\n  \
         = help: use a program that was built for CUDA 12\n",
    );
    start(&[("TEST_GPU", "75"), KERNELS]).must_stop(
        "no kernel of this program runs on Test\\tGPU (compute capability 7.5)  [kernels-not-covering-gpu]\n",
    );
    let newer = [
        GPU,
        ("TEST_TARGETS", "compute_80"),
        ("TEST_TOOLKIT", "13.1"),
    ];
    start(&newer).must_stop(
        "the NVIDIA driver supports PTX up to CUDA 13.0, but the only code that could run on Test\\tGPU (compute \
         capability 9.0) is PTX of CUDA 13.1  [ptx-newer-than-driver]\n",
    );
    start(&[KERNELS]).must_be_unknown(
        "`libcuda.so.1`, the library of NVIDIA's driver, cannot be opened, so no GPU can be used  [driver-missing]\n  \
         = help: install NVIDIA's driver, or run on a machine that has a GPU\n  \
         loader      libcuda.so.1:; no\n",
    );
    start(&[KERNELS, ("TEST_GPU", "none")]).must_be_unknown(
        "NVIDIA's driver reports no GPU  [no-gpu]\n  \
         = help: run on a machine that has a GPU, or ask the scheduler for one\n  \
         library     /drv/libcuda.so.1\n  \
         driver      580.1, supports CUDA 13.0\n",
    );
    start(&[GPU, KERNELS, ("CUDNN_GUARD_DEVICES", "1")]).must_be_unknown(
        "CUDNN_GUARD_DEVICES requests GPU 1, but only GPU 0 is visible  [variable-unusable]\n  \
         = help: set CUDNN_GUARD_DEVICES to 0 or all\n",
    );
    start(&[KERNELS, ("CUDNN_GUARD_REQUIRE_GPU", "1")])
        .must_stop("`libcuda.so.1`, the library of NVIDIA's driver,");
}

#[test]
fn there_is_no_version_to_check() {
    version(&sound(), &[NO_CUDNN]).must_be("unknown", &["config-invalid"]);
}
