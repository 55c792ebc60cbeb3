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
const LIB: &str = "venv/lib/python3.12/site-packages/nvidia/cudnn/lib";

/// Creates a virtual environment with a cuDNN for this CUDA major.
fn venv(machine: &mut Machine, cuda: u32) {
    wheel(&machine.at("venv"), cuda, RELEASE);
    machine.set_to("VIRTUAL_ENV", &["venv"]);
}

/// Creates CUDA 13.0 and such an environment.
fn with_venv(cuda: u32) -> Machine {
    let mut machine = Machine::image(true);
    venv(&mut machine, cuda);
    machine
}

/// Creates CUDA 13.0 and a cuDNN extracted to opt/cudnn, to which CUDNN_PATH points.
fn unpacked() -> Machine {
    let mut machine = Machine::image(true);
    cudnn(&machine.at("opt/cudnn"), RELEASE, true);
    machine.set_to("CUDNN_PATH", &["opt/cudnn"]);
    machine
}

/// Extracts the archive of cuDNN again into the empty directory.
fn unpacked_again(machine: &mut Machine) {
    fs::remove_dir_all(machine.at("opt/cudnn")).unwrap();
    cudnn(&machine.at("opt/cudnn"), RELEASE, true);
}

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

/// Creates an installed Debian package.
fn debian_package(machine: &Machine, name: &str, files: &str) {
    let status = machine.at("var/lib/dpkg/status");
    let others = fs::read_to_string(&status).unwrap_or_default();
    let state = "Status: install ok installed\nArchitecture: amd64\nVersion: 9.14.0.64-1\n";
    write(&status, &format!("{others}Package: {name}\n{state}\n"));
    write(
        &machine.at(&format!("var/lib/dpkg/info/{name}.list")),
        files,
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
        name: "toolkit-alone",
        made: || Machine::image(true),
        cause: "cudnn-not-found",
        fault: "no cuDNN was found",
        help: "run `cudnn-guard fetch` to install CUDA and cuDNN",
        done: Some(fetched),
    },
    Stack {
        name: "cudnn-alone",
        made: || {
            let mut machine = Machine::image(false);
            venv(&mut machine, 13);
            machine
        },
        cause: "cuda-not-found",
        fault: "no CUDA toolkit was found",
        help: "run `cudnn-guard fetch` to install CUDA and cuDNN",
        done: Some(fetched),
    },
    Stack {
        name: "wheel-for-another-cuda",
        made: || with_venv(12),
        cause: "cuda-flavour-mismatch",
        fault: "nvidia/cudnn` was built for CUDA 12, but the toolkit at",
        help: "`pip uninstall -y nvidia-cudnn-cu12 && pip install 'nvidia-cudnn-cu13'`",
        done: Some(wheel_again),
    },
    Stack {
        name: "older-cudnn-first",
        made: || {
            let mut machine = with_venv(13);
            cudnn(&machine.at("opt/old"), (9, 1, 0), true);
            machine.set_to("LD_LIBRARY_PATH", &["opt/old/lib"]);
            machine
        },
        cause: "library-path-hijack",
        fault: "LD_LIBRARY_PATH makes the program load cuDNN 9.1.0 from",
        help: "remove `/home/me/broken/opt/old/lib` from LD_LIBRARY_PATH",
        done: Some(|machine| machine.unset("LD_LIBRARY_PATH")),
    },
    Stack {
        name: "header-of-another-release",
        made: || {
            let machine = unpacked();
            cudnn(&machine.at("opt/old"), (9, 10, 2), false);
            let version = "include/cudnn_version.h";
            let [old, new] = ["opt/old", "opt/cudnn"].map(|dir| machine.at(dir).join(version));
            fs::rename(old, new).unwrap();
            machine
        },
        cause: "header-library-skew",
        fault: "header /home/me/broken/opt/cudnn/include/cudnn_version.h",
        help: "install headers and libraries of the same cuDNN version in `/home/me/broken/opt/cudnn`",
        done: Some(unpacked_again),
    },
    Stack {
        name: "runtime-package-alone",
        made: || {
            let machine = Machine::image(true);
            cudnn(&machine.at("dnn"), RELEASE, true);
            fs::create_dir_all(machine.at("usr/lib")).unwrap();
            let libraries = machine.at("usr/lib/x86_64-linux-gnu");
            fs::rename(machine.at("dnn/lib"), libraries).unwrap();
            let own = "/usr/lib/x86_64-linux-gnu/libcudnn.so.9.14.0\n";
            debian_package(&machine, "libcudnn9-cuda-13", own);
            machine
        },
        cause: "cudnn-headers-missing",
        fault: "cuDNN 9.14.0 at `/home/me/broken/usr` has libraries but no headers",
        help: "`sudo apt install libcudnn9-dev-cuda-13`",
        done: Some(|machine| {
            for header in ["cudnn.h", "cudnn_version.h"] {
                let from = machine.at("dnn/include").join(header);
                fs::rename(from, machine.at("usr/include").join(header)).unwrap();
            }
            let own = "/usr/include/cudnn.h\n";
            debian_package(machine, "libcudnn9-dev-cuda-13", own);
        }),
    },
    Stack {
        name: "parts-of-another-release",
        made: || {
            let machine = unpacked();
            cudnn(&machine.at("opt/old"), (9, 10, 2), true);
            let [old, new] = ["opt/old/lib", "opt/cudnn/lib"].map(|dir| machine.at(dir));
            fs::remove_file(new.join("libcudnn_ops.so.9.14.0")).unwrap();
            for name in ["libcudnn_ops.so.9.10.2", "libcudnn_ops.so.9"] {
                fs::rename(old.join(name), new.join(name)).unwrap();
            }
            machine
        },
        cause: "parts-mixed",
        fault: "is version 9.10.2, but the rest of cuDNN is 9.14.0",
        help: "remove all `libcudnn*` files from `/home/me/broken/opt/cudnn/lib` and reinstall cuDNN",
        done: Some(unpacked_again),
    },
    Stack {
        name: "part-missing",
        made: || {
            let machine = with_venv(13);
            let part = "libcudnn_engines_precompiled.so.9";
            fs::remove_file(machine.at(LIB).join(part)).unwrap();
            machine
        },
        cause: "parts-missing",
        fault: "is missing `libcudnn_engines_precompiled.so.9`",
        help: "`pip install --force-reinstall --no-deps nvidia-cudnn-cu13==9.14.0.7`",
        done: Some(wheel_again),
    },
    Stack {
        name: "library-cut-off",
        made: || {
            let machine = with_venv(13);
            cut_off(&machine.at(LIB).join("libcudnn_ops.so.9"));
            machine
        },
        cause: "library-damaged",
        fault: "libcudnn_ops.so.9` is truncated",
        help: "`pip install --force-reinstall --no-deps nvidia-cudnn-cu13==9.14.0.7`",
        done: Some(wheel_again),
    },
    Stack {
        name: "git-lfs-pointer",
        made: || {
            let machine = unpacked();
            let text = "version https://git-lfs.github.com/spec/v1\n\
                        oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 125664\n";
            write(&machine.at("opt/cudnn/lib/libcudnn.so.9.14.0"), text);
            machine
        },
        cause: "library-damaged",
        fault: "is not an ELF library but a Git LFS pointer",
        help: "run `git lfs pull`",
        done: Some(unpacked_again),
    },
    Stack {
        name: "another-processor",
        made: || {
            let machine = unpacked();
            for entry in fs::read_dir(machine.at("opt/cudnn/lib")).unwrap() {
                let path = entry.unwrap().path();
                let mut bytes = fs::read(&path).unwrap();
                bytes[18] = 183;
                fs::write(&path, bytes).unwrap();
            }
            machine
        },
        cause: "wrong-architecture",
        fault: "cuDNN 9.14.0 at `/home/me/broken/opt/cudnn` is for",
        help: "set CUDNN_PATH to a directory that contains cuDNN for",
        done: Some(|machine| {
            cudnn(&machine.at("opt/other"), RELEASE, true);
            machine.set_to("CUDNN_PATH", &["opt/other"]);
        }),
    },
    Stack {
        name: "cuda-home-leads-nowhere",
        made: || {
            let mut machine = with_venv(13);
            machine.set_to("CUDA_HOME", &["usr/local/cuda-12.4"]);
            machine
        },
        cause: "variable-unusable",
        fault: "CUDA_HOME is set to `/home/me/broken/usr/local/cuda-12.4`, which does not exist",
        help: "set CUDA_HOME to `/home/me/broken/usr/local/cuda-13.0`",
        done: Some(|machine| machine.set_to("CUDA_HOME", &["usr/local/cuda-13.0"])),
    },
    Stack {
        name: "cudnn-path-without-cudnn",
        made: || {
            let mut machine = Machine::image(true);
            machine.set_to("CUDNN_PATH", &["usr/local/cuda-13.0"]);
            cudnn(&machine.at("opt/cudnn"), RELEASE, true);
            machine
        },
        cause: "variable-unusable",
        fault: "CUDNN_PATH is set to `/home/me/broken/usr/local/cuda-13.0`, which does not contain cuDNN",
        help: "set CUDNN_PATH to `/home/me/broken/opt/cudnn`",
        done: Some(|machine| machine.set_to("CUDNN_PATH", &["opt/cudnn"])),
    },
    Stack {
        name: "cudnn-path-closed",
        made: || {
            let mut machine = Machine::image(true);
            cudnn(&machine.at("opt/mine/cudnn"), RELEASE, true);
            machine.set_to("CUDNN_PATH", &["opt/mine/cudnn"]);
            machine.allow("opt/mine", 0o000);
            machine
        },
        cause: "variable-unusable",
        fault: "CUDNN_PATH is set to `/home/me/broken/opt/mine/cudnn`, but `/home/me/broken/opt/mine/cudnn` cannot be reached: no permission to enter `/home/me/broken/opt/mine`",
        help: "`sudo chmod a+x /home/me/broken/opt/mine`",
        done: Some(|machine| machine.allow("opt/mine", 0o111)),
    },
    Stack {
        name: "nvcc-of-another-release",
        made: || {
            let mut machine = Machine::with_gpu();
            machine.set("FAKE_NVCC_RELEASE", "12.4");
            machine
        },
        cause: "nvcc-header-skew",
        fault: "nvcc 12.4 would compile with the headers of CUDA 13.0",
        help: "install nvcc 13.0 or",
        done: Some(|machine| machine.unset("FAKE_NVCC_RELEASE")),
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
        name: "host-compiler-too-new",
        made: || {
            let machine = Machine::with_gpu();
            let limit = "#if __GNUC__ > 15\n#error -- unsupported GNU version!\n#endif\n";
            write(&machine.at("cuda/include/crt/host_config.h"), limit);
            write(&machine.at("cuda/bin/gcc.release"), "16.1.0 2.41");
            machine
        },
        cause: "host-compiler-unsupported",
        fault: "gcc 16.1.0 at `/home/me/broken/cuda/bin/gcc` is newer than CUDA 13.0 supports",
        help: "install `g++-15` (Debian, Ubuntu)",
        done: Some(|machine| {
            fs::copy(machine.at("cuda/bin/gcc"), machine.at("bin/g++-15")).unwrap();
            write(&machine.at("bin/g++-15.release"), "15.1.0 2.41");
            machine.set_to("NVCC_CCBIN", &["bin/g++-15"]);
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
        name: "driver-stub-first",
        made: || {
            let mut machine = Machine::with_gpu();
            machine.set("SIM_CUINIT", "34");
            machine
        },
        cause: "driver-stub",
        fault: "`/home/me/broken/cuda/driver/libcuda.so.1` is a link-time stub, not NVIDIA's driver",
        help: "remove `/home/me/broken/cuda/driver` from LD_LIBRARY_PATH",
        done: None,
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
    Stack {
        name: "gpu-too-new",
        made: || {
            let mut machine = Machine::with_gpu();
            machine.set("SIM_CAPABILITY", "13.0");
            machine
        },
        cause: "gpu-newer-than-cudnn",
        fault: "for Simulated GPU (compute capability 13.0)",
        help: "install a newer cuDNN",
        done: None,
    },
];
