//! The source of the driver's library, if it is missing.

use cudnn_guard::internals::driver::container::{Container, ContainerRuntime, is_without_compute};
use cudnn_guard::internals::driver::driver_missing::MissingDriver;
use cudnn_guard::internals::driver::query::DriverProblem;
use std::fs;
use std::path::PathBuf;

const WORDS: &str = "libcuda.so.1: cannot open shared object file: No such file or directory";

/// Returns the report on a system with these files.
fn on(files: &[&str], words: &str, module: Option<&str>) -> String {
    let name = format!(
        "guard-no-driver-{}-{}",
        std::process::id(),
        files.concat().len()
    );
    let root: PathBuf = std::env::temp_dir().join(name);
    for file in files {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let around = MissingDriver::detect(&root, words.into(), module.map(String::from));
    let _ = fs::remove_dir_all(&root);
    let problem = DriverProblem::Missing(Box::new(around));
    assert_eq!(problem.driver(), None);
    problem.finding().to_string()
}

/// Tests the report on a machine with these files, in a container with this mark.
#[track_caller]
fn in_container(files: &[&str], mark: &str, help: &str) {
    assert_eq!(
        on(files, WORDS, None),
        format!(
            "`libcuda.so.1`, the library of NVIDIA's driver, is missing from this container  [driver-missing]
  = help: {help}
  loader      {WORDS}
  container   {mark}"
        )
    );
}

#[test]
fn each_container_runtime_has_its_own_help() {
    let (docker, podman) = (".dockerenv", "run/.containerenv");
    let (apptainer, pod) = (".singularity.d/env", "var/run/secrets/kubernetes.io/token");
    let device = "dev/nvidiactl";
    let nv = "start the container with `--nv`: `apptainer exec --nv IMAGE PROGRAM`";
    in_container(&[apptainer], "/.singularity.d", nv);
    // Apptainer's containers have the host's devices, and an image from `docker export` has docker's mark.
    in_container(&[apptainer, docker, device], "/.singularity.d", nv);
    in_container(&[apptainer, pod], "/.singularity.d", nv);
    let option = "start the container with `--device nvidia.com/gpu=all`";
    in_container(&[podman], "/run/.containerenv", option);
    in_container(
        &[podman, device],
        "/run/.containerenv",
        &format!("{option}: `/dev/nvidiactl` is not enough"),
    );
    let resource = "request the resource `nvidia.com/gpu` for the pod";
    let mark = "/var/run/secrets/kubernetes.io";
    in_container(&[pod], mark, resource);
    in_container(&[pod, podman, docker], mark, resource);
    let device = on(&[docker, device], WORDS, None);
    assert!(
        device.contains(
            "  = help: start the container with `--gpus all`: `/dev/nvidiactl` is not enough\n  \
             = help: install NVIDIA's container toolkit on the host"
        ),
        "{device}"
    );
}

#[test]
fn podmans_file_names_its_engine() {
    let root = std::env::temp_dir().join(format!("guard-engine-{}", std::process::id()));
    fs::create_dir_all(root.join("run")).unwrap();
    fs::write(root.join(".dockerenv"), "").unwrap();
    let runtime = |text: &str| {
        fs::write(root.join("run/.containerenv"), text).unwrap();
        Container::detect(&root).map(|one| one.runtime)
    };
    let (empty, named) = (
        runtime(""),
        runtime("engine=\"podman-4.9.3\"\nrootless=1\n"),
    );
    // Podman's file is never as large as a megabyte.
    let long = runtime(&format!("{}engine=\"podman-4.9.3\"\n", " ".repeat(1 << 20)));
    assert_eq!(long, Some(ContainerRuntime::Docker));
    fs::remove_dir_all(&root).unwrap();
    // An image that buildah wrote can contain an empty file.
    assert_eq!(empty, Some(ContainerRuntime::Docker));
    assert_eq!(named, Some(ContainerRuntime::Podman));
}

#[test]
fn driver_capabilities_can_exclude_the_library() {
    let without = |runtime| {
        let container = Container {
            runtime,
            mark: "/.dockerenv",
            has_device: true,
        };
        let missing = MissingDriver {
            message: WORDS.to_string(),
            container: Some(container),
            left_out_by: Some("utility".to_string()),
            ..MissingDriver::default()
        };
        missing.finding().to_string()
    };
    assert_eq!(
        without(ContainerRuntime::Docker),
        format!(
            "NVIDIA_DRIVER_CAPABILITIES=`utility` excludes `libcuda.so.1` from this container  [driver-missing]
  = help: start the container with `--gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility`
  loader      {WORDS}
  container   /.dockerenv"
        )
    );
    assert!(without(ContainerRuntime::Kubernetes).contains(
        "\n  = help: set NVIDIA_DRIVER_CAPABILITIES to `compute,utility` in the pod's container\n"
    ));
    for value in ["utility", "graphics,utility", "display, video"] {
        assert!(is_without_compute(value), "{value}");
    }
    for value in ["", " ", "all", "compute", "utility,compute", "utility, all"] {
        assert!(!is_without_compute(value), "{value}");
    }
}

#[test]
fn without_any_driver_both_fixes_are_named() {
    assert_eq!(
        on(&[], WORDS, None),
        format!(
            "`libcuda.so.1`, the library of NVIDIA's driver, cannot be opened, so no GPU can be used  [driver-missing]
  = help: install NVIDIA's driver, or run on a machine that has a GPU
  = help: start a container with NVIDIA's container toolkit (`--gpus all`), which provides the driver's libraries
  loader      {WORDS}"
        )
    );
}

#[test]
fn a_container_and_its_host_are_distinguished() {
    let container = ".dockerenv";
    assert_eq!(
        on(&[container], WORDS, Some("535.183.01")),
        format!(
            "`libcuda.so.1`, the library of NVIDIA's driver, is missing from this container, but its host has the driver  [driver-missing]
  = help: start the container with `--gpus all`
  = help: install NVIDIA's container toolkit on the host if that is refused; images never contain the driver
  loader      {WORDS}
  module      535.183.01 is loaded (/proc/driver/nvidia/version)
  container   /.dockerenv"
        )
    );
    // A file that exists and is refused is not a problem of containers.
    let refused = on(&[container], "libcuda.so.1: invalid ELF header", None);
    assert!(
        refused.starts_with("`libcuda.so.1`, the library of NVIDIA's driver, cannot be opened")
            && !refused.contains("dockerenv"),
        "{refused}"
    );
}

#[test]
fn a_kernel_module_without_libraries_results_in_installation_help() {
    let report = on(&[], WORDS, Some("580.65.06"));
    assert!(
        report.starts_with(
            "NVIDIA's kernel module is loaded, but `libcuda.so.1`, the driver's library, was not found  [driver-missing]\n"
        ) && report.contains("install the libraries of the same driver version"),
        "{report}"
    );
}

#[test]
fn nixos_has_its_own_driver_directory() {
    assert_eq!(
        on(&["run/opengl-driver/lib/libcuda.so.1"], WORDS, Some("580.65.06")),
        format!(
            "`libcuda.so.1`, the library of NVIDIA's driver, is in `/run/opengl-driver/lib`, which this program does not search  [driver-missing]
  = help: add `/run/opengl-driver/lib` to LD_LIBRARY_PATH where the program runs
  = help: build the program with `addDriverRunpath` if it is a Nix package
  loader      {WORDS}
  module      580.65.06 is loaded (/proc/driver/nvidia/version)"
        )
    );
}

#[test]
fn wsl_uses_the_driver_of_windows() {
    assert_eq!(
        on(&["dev/dxg"], WORDS, None),
        format!(
            "WSL provides a GPU, but `libcuda.so.1`, the library of NVIDIA's driver, was not found  [driver-missing]
  = help: install NVIDIA's driver in Windows, not in WSL, and then run `wsl --shutdown` in Windows
  = help: add `/usr/lib/wsl/lib` to LD_LIBRARY_PATH if it contains `libcuda.so.1`
  loader      {WORDS}"
        )
    );
}
