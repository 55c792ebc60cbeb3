//! Findings of `cudnn-guard doctor` and `inspect` about the driver and GPUs, which the simulator provides here.

use crate::support::builds::library;
use crate::support::circumstances::installed;
use crate::support::{fresh, repository, run, simulated};
use crate::terminal::inspect::image::{Image, ids, linked};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

pub type Variables<'a> = &'a [(&'a str, &'a str)];

/// Returns the finding ids that the command reports if the loader searches these directories.
fn reported_ids(mut arguments: Command, folders: &[PathBuf], variables: Variables) -> Vec<String> {
    let folders = std::env::join_paths(folders).unwrap();
    arguments.env_clear().env("PATH", "/usr/bin:/bin");
    arguments.env("LD_LIBRARY_PATH", folders);
    arguments.envs(variables.iter().copied());
    let ran = run(arguments.arg("--json"));
    let json = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.text()));
    ids(&json).into_iter().map(String::from).collect()
}

/// Creates a directory with everything.
pub fn everything(name: &str) -> PathBuf {
    let root = fresh(&format!("machine-{name}"));
    install(&root);
    root
}

/// Installs CUDA 13.0 with its nvcc and a host compiler, cuDNN 9.14.0 and the libraries that it opens, and a driver with
/// a GPU.
pub fn install(root: &Path) {
    simulated::install((9, 14, 0), &[], root);
    for opened in ["libcublasLt.so.13", "libnvrtc.so.13"] {
        library(&root.join("lib64").join(opened));
    }
    fs::create_dir_all(root.join("bin")).unwrap();
    for program in ["nvcc", "gcc"] {
        let own = repository().join("fixtures/nvcc").join(program);
        symlink(own, root.join("bin").join(program)).unwrap();
    }
    host_compiler(root, "13.2.0 2.36");
}

/// Sets the versions of the host compiler: gcc, and the glibc whose headers it reads.
fn host_compiler(root: &Path, release: &str) {
    fs::write(root.join("bin/gcc.release"), release).unwrap();
}

/// Writes a script from another program: a file that this process holds open while another test forks cannot be
/// executed.
fn script(path: &Path, text: &str) {
    let write = r#"printf '#!/bin/sh\n%s' "$1" >"$0" && chmod 755 "$0""#;
    let mut shell = Command::new("sh");
    run(shell.args(["-c", write]).arg(path).arg(text)).exits_with(0);
}

pub fn driver() -> PathBuf {
    installed((9, 14, 0)).join("driver")
}

fn doctor(root: &Path, variables: Variables) -> Vec<String> {
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    doctor.arg("doctor");
    let text = root.to_str().unwrap();
    let own = [("CUDA_HOME", text), ("CUDNN_PATH", text)];
    let folders = ["driver", "lib64"].map(|folder| root.join(folder));
    reported_ids(doctor, &folders, &[&own, variables].concat())
}

#[test]
fn doctor_reports_what_the_driver_and_the_gpu_do_not_support() {
    let root = everything("driver");
    for (variables, ids) in [
        (&[][..], &[][..]),
        (&[("SIM_CUINIT", "34")], &["driver-stub", "no-gpu"]),
        (&[("SIM_CUINIT", "999")], &["driver-error", "no-gpu"]),
        (&[("SIM_DEVICES", "0")], &["no-gpu"]),
        (&[("SIM_CUDA", "12080")], &["driver-too-old"]),
        (
            &[("SIM_CAPABILITY", "6.1")],
            &["arch-unsupported-by-nvcc", "arch-dropped-by-cudnn"],
        ),
    ] {
        assert_eq!(doctor(&root, variables), ids, "{variables:?}");
    }
}

#[test]
fn doctor_reports_what_nvcc_does_not_support() {
    let root = everything("doctor");
    let nvcc = root.join("bin/nvcc").display().to_string();
    for (variables, ids) in [
        (&[][..], &[][..]),
        (&[("CUDNN_GUARD_ARCHS", "fast")], &["arch-unknown"]),
        (
            &[("CUDNN_GUARD_ARCHS", "20")],
            &["arch-unsupported-by-nvcc"],
        ),
        (
            &[("SIM_CAPABILITY", "13.0")],
            &["gpu-newer-than-nvcc", "gpu-newer-than-cudnn"],
        ),
        (&[("PROFILE", "release")], &["kernels-not-covering-gpu"]),
        (&[("FAKE_NVCC_RELEASE", "12.4")], &["nvcc-header-skew"]),
        (&[("NVCC_CCBIN", &*nvcc)], &["config-invalid"]),
    ] {
        assert_eq!(doctor(&root, variables), ids, "{variables:?}");
    }
    let newer = ("FAKE_NVCC_RELEASE", "13.1");
    fs::write(root.join("include/cuda.h"), "#define CUDA_VERSION 13010\n").unwrap();
    assert_eq!(doctor(&root, &[newer]), ["ptx-newer-than-driver"]);
    assert_eq!(doctor(&root, &[newer, ("SIM_CUDA", "13010")]), [""; 0]);
    fs::remove_file(&nvcc).unwrap();
    let silent = "[ $1 = --version ] && echo 'release 13.1, V13.1.0'\nexit 1\n";
    script(Path::new(&nvcc), silent);
    assert!(doctor(&root, &[]).contains(&"nvcc-failed".to_string()));
}

#[test]
fn doctor_reports_an_incompatible_host_compiler() {
    let root = everything("host");
    fs::create_dir_all(root.join("include/crt")).unwrap();
    let limit = "#if __GNUC__ > 14\n#error -- unsupported GNU version!\n#endif\n";
    fs::write(root.join("include/crt/host_config.h"), limit).unwrap();
    let bare = "extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ double rsqrt(double x);\n";
    fs::write(root.join("include/crt/math_functions.h"), bare).unwrap();
    for (release, ids) in [
        ("14.2.0 2.41", &[][..]),
        ("15.1.0 2.41", &["host-compiler-unsupported"]),
        ("14.2.0 2.42", &["host-headers-incompatible"]),
    ] {
        host_compiler(&root, release);
        assert_eq!(doctor(&root, &[]), ids, "{release}");
    }
}

/// The selection of targets cannot open the driver either, which is reported once.
#[test]
fn doctor_reports_a_driver_that_cannot_be_opened() {
    let (root, other) = (everything("unopened"), fresh("machine-no-driver"));
    fs::write(other.join("libcuda.so.1"), "").unwrap();
    let other = other.to_str().unwrap();
    let reported_ids = doctor(&root, &[("LD_LIBRARY_PATH", other)]);
    assert_eq!(reported_ids, ["driver-missing", "no-gpu"]);
}

/// The failure does not stop a build.
#[test]
fn targets_reports_a_driver_that_fails() {
    for (variables, ids) in [
        (&[][..], &[][..]),
        (&[("SIM_CUINIT", "999")], &["driver-error", "no-gpu"]),
    ] {
        let mut targets = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        targets.args(["targets", "auto", "--cuda", "13.0"]);
        assert_eq!(reported_ids(targets, &[driver()], variables), ids);
    }
}

/// Reported before the program is started.
#[test]
fn inspect_reports_what_the_machine_does_not_support() {
    let image = Image::new("machine");
    image.cudnn("opt/lib", 14);
    for library in ["libcublasLt.so.13", "libnvrtc.so.13"] {
        image.library(&format!("opt/lib/{library}"), "int nothing;", &[]);
    }
    for (facts, variables, ids) in [
        ("", &[][..], &[][..]),
        ("", &[("SIM_CUINIT", "34")], &["driver-stub"]),
        ("", &[("SIM_CUINIT", "803")], &["driver-error"]),
        ("", &[("SIM_CUDA", "12080")], &["driver-too-old"]),
        ("", &[("SIM_CAPABILITY", "6.1")], &["arch-dropped-by-cudnn"]),
        ("", &[("SIM_CAPABILITY", "13.0")], &["gpu-newer-than-cudnn"]),
        ("targets sm_90\n", &[], &[]),
        ("targets sm_80\n", &[], &["kernels-not-covering-gpu"]),
        ("targets compute_80\n", &[], &[]),
        (
            "cuda 13.1\ntargets compute_80\n",
            &[],
            &["ptx-newer-than-driver"],
        ),
        ("cudnn-cuda 12\n", &[], &["cuda-flavour-mismatch"]),
        ("absent there was none\n", &[], &["built-without-cuda"]),
    ] {
        // The later of two facts with the same key counts.
        let record = linked("9.14.0") + facts;
        let own = "-Wl,-rpath,IMAGE/opt/lib";
        image.program(&[&record], &["IMAGE/opt/lib/libcudnn.so.9", own]);
        let mut inspect = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        inspect.arg("inspect").arg(image.at("app/app"));
        let folders = [driver(), image.at("opt/lib")];
        assert_eq!(
            reported_ids(inspect, &folders, variables),
            ids,
            "{facts}{variables:?}"
        );
    }
}
