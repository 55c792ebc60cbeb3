//! Who has to bring the driver's library, where there is none.

use cudnn_guard::runtime::driver::driver_missing::MissingDriver;
use cudnn_guard::runtime::driver::query::DriverProblem;
use std::fs;
use std::path::PathBuf;

const WORDS: &str = "libcuda.so.1: cannot open shared object file: No such file or directory";

/// What is said on a system with these files.
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

/// LOD-05
#[test]
fn without_a_sign_of_a_driver_both_ways_to_one_are_named() {
    assert_eq!(
        on(&[], WORDS, None),
        format!(
            "`libcuda.so.1`, the library of NVIDIA's driver, cannot be opened, so no GPU can be used  [driver-missing]
  = help: install NVIDIA's driver, or run on a machine that has a GPU
  = help: start a container with NVIDIA's container toolkit (`--gpus all`), which brings the driver's libraries in
  loader      {WORDS}"
        )
    );
}

/// LOD-05
#[test]
fn a_container_and_its_host_are_told_apart() {
    let container = ".dockerenv";
    assert_eq!(
        on(&[container], WORDS, Some("535.183.01")),
        format!(
            "this container has no `libcuda.so.1`, the library of NVIDIA's driver, and its host has the driver  [driver-missing]
  = help: start the container with `--gpus all` (docker) or `--device nvidia.com/gpu=all` (podman)
  = help: install NVIDIA's container toolkit on the host, if that is refused; an image never brings the driver
  loader      {WORDS}
  module      535.183.01 is loaded (/proc/driver/nvidia/version)
  container   /.dockerenv"
        )
    );
    let podman = on(&["run/.containerenv"], WORDS, None);
    assert!(
        podman
            .starts_with("this container has no `libcuda.so.1`, the library of NVIDIA's driver  ["),
        "{podman}"
    );
    // What is there and refused is no matter of containers.
    let refused = on(&[container], "libcuda.so.1: invalid ELF header", None);
    assert!(
        refused.starts_with("`libcuda.so.1`, the library of NVIDIA's driver, cannot be opened")
            && !refused.contains("dockerenv"),
        "{refused}"
    );
}

#[test]
fn a_module_without_its_libraries_is_told_what_to_install() {
    let told = on(&[], WORDS, Some("580.65.06"));
    assert!(
        told.starts_with(
            "NVIDIA's kernel module is loaded, and `libcuda.so.1`, the driver's library, is not found  [driver-missing]\n"
        ) && told.contains("install the libraries of that very release"),
        "{told}"
    );
}

/// LOD-28
#[test]
fn nixos_keeps_the_driver_in_a_directory_of_its_own() {
    assert_eq!(
        on(&["run/opengl-driver/lib/libcuda.so.1"], WORDS, Some("580.65.06")),
        format!(
            "`libcuda.so.1`, the library of NVIDIA's driver, is in `/run/opengl-driver/lib`, where this program does not look  [driver-missing]
  = help: put `/run/opengl-driver/lib` into LD_LIBRARY_PATH where the program runs
  = help: or build it with `addDriverRunpath`, if it is a package of Nix
  loader      {WORDS}
  module      580.65.06 is loaded (/proc/driver/nvidia/version)"
        )
    );
}

#[test]
fn wsl_takes_the_driver_of_windows() {
    assert_eq!(
        on(&["dev/dxg"], WORDS, None),
        format!(
            "WSL shows a GPU, and `libcuda.so.1`, the library of NVIDIA's driver, is not found  [driver-missing]
  = help: install NVIDIA's driver in Windows, and none inside WSL; then run `wsl --shutdown` in Windows
  = help: put `/usr/lib/wsl/lib` into LD_LIBRARY_PATH, if `libcuda.so.1` is in there
  loader      {WORDS}"
        )
    );
}
