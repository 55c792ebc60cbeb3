//! The table of broken installations: their files, the required text on the first screen, and the effect of the help.

use super::machine::Machine;
use crate::support::builds::{cudnn, library, toolkit, wheel, write};
use crate::support::simulated;
use std::fs;
use std::path::Path;

/// A broken installation.
pub struct Stack {
    pub name: &'static str,
    pub made: fn() -> Machine,
    /// The id of the finding that is the cause.
    pub cause: &'static str,
    /// The faulty file or variable, and its fault.
    pub fault: &'static str,
    /// The help on the first screen.
    pub help: &'static str,
    /// Follows the help. If the help is to install something, this creates the files that would be installed.
    pub done: Option<fn(&mut Machine)>,
}

const RELEASE: (u32, u32, u32) = (9, 14, 0);

fn wheel_again(machine: &mut Machine) {
    fs::remove_dir_all(machine.at("venv")).unwrap();
    wheel(&machine.at("venv"), 13, RELEASE);
}

fn file(path: &Path, bytes: &[u8]) {
    write(path, "");
    fs::write(path, bytes).unwrap();
}

fn cut_off(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    file(path, &bytes[..bytes.len() * 5 / 8]);
}

/// Creates what `cudnn-guard fetch` installs, where a build searches.
fn fetched(machine: &mut Machine) {
    let data = machine.at("me/.local/share/cudnn-guard");
    toolkit(&data.join("nvidia/cu13"), 13000, false);
    write(&data.join("nvidia/cu13/bin/nvcc"), "");
    cudnn(&data.join("nvidia/cudnn"), RELEASE, false);
    write(
        &data.join("nvidia_cudnn_cu13-9.14.0.64.dist-info/RECORD"),
        "",
    );
}

pub const STACKS: &[Stack] = &[
    Stack {
        name: "nothing-installed",
        made: || Machine::image(false),
        cause: "cuda-not-found",
        fault: "no CUDA toolkit was found",
        help: "run `cudnn-guard fetch` to install CUDA and cuDNN",
        done: Some(fetched),
    },
    Stack {
        name: "wheel-for-another-cuda",
        made: || {
            let mut machine = Machine::image(true);
            wheel(&machine.at("venv"), 12, RELEASE);
            machine.set_to("VIRTUAL_ENV", &["venv"]);
            machine
        },
        cause: "cuda-flavour-mismatch",
        fault: "nvidia/cudnn` was built for CUDA 12, but the toolkit at",
        help: "`pip uninstall -y nvidia-cudnn-cu12 && pip install 'nvidia-cudnn-cu13'`",
        done: Some(wheel_again),
    },
    Stack {
        name: "nvcc-missing",
        made: || {
            let machine = Machine::with_gpu();
            let [nvcc, kept] = ["nvcc", "kept"].map(|name| machine.at("cuda/bin").join(name));
            fs::rename(nvcc, kept).unwrap();
            machine
        },
        cause: "partial-toolkit",
        fault: "the CUDA 13.0 toolkit at `/home/me/broken/cuda` does not include nvcc",
        help: "install `cuda-nvcc-13-0`",
        done: Some(|machine| {
            let [nvcc, kept] = ["nvcc", "kept"].map(|name| machine.at("cuda/bin").join(name));
            fs::rename(kept, nvcc).unwrap();
        }),
    },
    Stack {
        name: "driver-cut-off",
        made: || {
            let machine = Machine::with_gpu();
            let driver = machine.at("cuda/driver/libcuda.so.1");
            fs::remove_file(&driver).unwrap();
            // Not the simulator's driver, whose size depends on the C compiler.
            library(&driver);
            cut_off(&driver);
            machine
        },
        cause: "driver-missing",
        fault: "`/home/me/broken/cuda/driver/libcuda.so.1` is truncated",
        help: "reinstall NVIDIA's driver",
        done: Some(|machine| {
            simulated::install(RELEASE, &[], &machine.at("again"));
            machine.set_to("LD_LIBRARY_PATH", &["again/driver", "cuda/lib64"]);
        }),
    },
    Stack {
        name: "driver-too-old",
        made: || {
            let mut machine = Machine::with_gpu();
            machine.set("SIM_CUDA", "12080");
            machine
        },
        cause: "driver-too-old",
        fault: "the NVIDIA driver supports CUDA 12.8, but cuDNN requires CUDA 13",
        help: "upgrade the NVIDIA driver to 580.65.06 or later",
        done: Some(|machine| machine.unset("SIM_CUDA")),
    },
    Stack {
        name: "gpu-too-old",
        made: || {
            let mut machine = Machine::with_gpu();
            machine.set("SIM_CAPABILITY", "6.1");
            machine
        },
        cause: "arch-dropped-by-cudnn",
        fault: "no longer supports Simulated GPU (compute capability 6.1)",
        help: "for CUDA 12",
        done: None,
    },
];
