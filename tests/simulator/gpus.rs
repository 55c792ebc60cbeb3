//! The answers of the driver, and its failures.

use crate::support::rows;
use crate::{V9_14, ask, convolve};
use cudnn_guard::internals::system::names::DRIVER;

#[test]
fn the_driver_reports_its_gpus() {
    ask(&[]).must_be(&format!("{DRIVER} for CUDA 13.0, Simulated GPU of 9.0"));
    let two = [
        ("SIM_DEVICES", "2"),
        ("SIM_CAPABILITY", "12.0"),
        ("SIM_CUDA", "12090"),
    ];
    ask(&two).must_be(&format!(
        "{DRIVER} for CUDA 12.9, Simulated GPU of 12.0, Simulated GPU of 12.0"
    ));
}

/// The result of `cuInit`, the finding, and its message. The message without a GPU is about this machine, which may be a
/// container.
const FAILURES: &str = "\
3 | driver-error | CUDA cannot be used in this process: `cuInit` returned CUDA_ERROR_NOT_INITIALIZED (3)
34 | driver-stub | is a link-time stub, not NVIDIA's driver, so no GPU is available
100 | no-gpu | GPU
802 | driver-error | the system is not ready for CUDA yet: `cuInit` returned CUDA_ERROR_SYSTEM_NOT_READY (802)
803 | driver-error | the driver's library and its kernel module have different versions: `cuInit`
804 | driver-error | the forward-compatibility library does not support this GPU: `cuInit`
999 | driver-error | NVIDIA's driver cannot start, for an unknown reason: `cuInit` returned CUDA_ERROR_UNKNOWN (999)
4711 | driver-error | NVIDIA's driver failed: `cuInit` returned CUDA error 4711
";

/// cuDNN returns the same status for all, so the driver is queried first.
#[test]
fn errors_of_the_driver_are_explained() {
    for [code, id, words] in rows(FAILURES) {
        let ended = ask(&[("SIM_CUINIT", code)]);
        ended.must_have(words).must_have(&format!("  [{id}]\n"));
        // The driver's version is reported anyway, as by NVIDIA's driver; the stub reports nothing.
        let cuda = if code == "34" { "none" } else { "13.0" };
        ended.must_have(&format!("known: {DRIVER} for CUDA {cuda}"));
    }
    ask(&[("SIM_FAULT", "status:cuDeviceGetName:101")])
        .must_have("`cuDeviceGetName` returned CUDA_ERROR_INVALID_DEVICE (101)");
}

#[test]
fn the_variable_that_hides_the_gpus_is_named() {
    ask(&[("CUDA_VISIBLE_DEVICES", "")])
        .must_have("CUDA_VISIBLE_DEVICES hides every GPU from this program  [no-gpu]\n")
        .must_have("  variable    CUDA_VISIBLE_DEVICES is set but empty\n")
        .must_have("  = help: unset CUDA_VISIBLE_DEVICES");
    ask(&[("CUDA_VISIBLE_DEVICES", "-1")]).must_have("  variable    CUDA_VISIBLE_DEVICES=-1\n");
    convolve(V9_14, &[("CUDA_VISIBLE_DEVICES", "")])
        .must_have("\"\" unknown None\nwarning: CUDA_VISIBLE_DEVICES hides every GPU");
}
