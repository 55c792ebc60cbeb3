//! The file that the loader uses as the driver, and the file that it should have used.

use super::program::startup;
use crate::support::installation::{Folder, compile, library_path, sound};
use cudnn_guard::internals::driver::driver_library::unsearched;
use cudnn_guard::internals::driver::driver_missing::MissingDriver;
use cudnn_guard::internals::driver::query::{Driver, DriverProblem};
use cudnn_guard::internals::loader::search_path::SearchPath;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Compiles a driver with this file name and the usual link to it. Every call returns `answer`, and the driver reports
/// support for CUDA 13.
pub fn add_driver(dir: &Path, file: &str, answer: u32) {
    std::fs::create_dir_all(dir).unwrap();
    let code = format!(
        "#define ANSWER(name) int name(void) {{ return {answer}; }}
         ANSWER(cuInit) ANSWER(cuDeviceGetCount) ANSWER(cuDeviceGet) ANSWER(cuDeviceGetName)
         ANSWER(cuDeviceGetAttribute)
         int cuDriverGetVersion(int *version) {{ *version = 13000; return {}; }}",
        if answer == 34 { 34 } else { 0 }
    );
    compile(&code, &dir.join(file), &["-Wl,-soname,libcuda.so.1"]);
    symlink(file, dir.join("libcuda.so.1")).unwrap();
}

fn driver(file: &str, answer: u32) -> Folder {
    let folder = Folder::new();
    add_driver(&folder.0, file, answer);
    folder
}

/// For such a file the loader reports that it does not exist.
#[test]
fn a_driver_library_for_another_cpu_is_reported() {
    let (byte, other, own) = if cfg!(target_arch = "x86_64") {
        (183, "aarch64", "x86_64")
    } else {
        (62, "x86_64", "aarch64")
    };
    let foreign = driver("libcuda.so.535.183.01", 0).with_byte("libcuda.so.535.183.01", 18, byte);
    let (cudnn, path) = (sound(), foreign.text());
    let both = ("LD_LIBRARY_PATH", library_path(&[&cudnn, &foreign]));
    startup(&cudnn, &[("TEST_GPU", "real"), both]).must_be_unknown(&format!(
            "\
`{path}/libcuda.so.1` is for {other}, but this program is for {own}, so no GPU can be used  [driver-missing]
  = help: install NVIDIA's driver for {own}, or use a build of this program for {other}
  found via   LD_LIBRARY_PATH, its entry `{path}`
  loader      libcuda.so.1: cannot open shared object file: No such file or directory
"
    ));
}

/// After a suspend, or in a container without the device, CUDA cannot start and does not report why.
#[test]
fn a_missing_kernel_module_for_cuda_is_reported() {
    let machine = Folder::new();
    let dev = machine.file("dev");
    std::fs::create_dir_all(&dev).unwrap();
    let mut driver = Driver::default();
    driver.library = "libcuda.so.1".to_string();
    let below = |code, root: &Path| {
        let failed = DriverProblem::failed(driver.clone(), "cuInit", code, root);
        failed.finding().to_string()
    };
    let report = |code| below(code, &machine.0);
    let anywhere = below(999, Path::new("/nowhere"));
    assert_eq!(report(999), anywhere);
    std::fs::write(dev.join("nvidiactl"), "").unwrap();
    let missing = report(999);
    assert!(
        missing.contains(
            "= help: load the module that creates `/dev/nvidia-uvm`: `sudo nvidia-modprobe -u -c 0`\n"
        ) && missing.contains("missing     /dev/nvidia-uvm"),
        "{missing}"
    );
    assert!(!report(2).contains("nvidia-uvm"));
    let apptainer = machine.file(".singularity.d");
    std::fs::create_dir(&apptainer).unwrap();
    assert_eq!(
        report(999),
        missing,
        "Apptainer's containers have the host's devices"
    );
    std::fs::remove_dir(&apptainer).unwrap();
    let run = machine.file("run");
    std::fs::create_dir(&run).unwrap();
    for (mark, help) in [
        (
            run.join(".containerenv"),
            "start the container with `--device nvidia.com/gpu=all`",
        ),
        (
            machine.file(".dockerenv"),
            "start the container with `--gpus all`",
        ),
    ] {
        std::fs::write(mark, "").unwrap();
        let text = report(999);
        let help = format!("\n  = help: {help}, which adds `/dev/nvidia-uvm`\n");
        assert!(
            text.contains(&help) && text.matches("= help").count() == 1,
            "{text}"
        );
    }
    std::fs::write(dev.join("nvidia-uvm"), "").unwrap();
    assert_eq!(report(999), anywhere);
}

/// <https://github.com/THU-MIG/yolov10/issues/395>: cudnn-guard opens WSL's driver by its path, which programs do not.
#[test]
fn a_driver_that_is_found_only_by_its_path_is_reported() {
    let machine = Folder::new();
    let nothing = SearchPath::new(&[], None, None, None);
    if nothing.program_file("libcuda.so.1").is_some() {
        // The loader's cache contains the driver of this machine.
        return;
    }
    // Without WSL's directory, `startup` never has to read the search path.
    assert_eq!(unsearched(&machine.0, || unreachable!()), None);
    let wsl = machine.file("usr/lib/wsl/lib");
    std::fs::create_dir_all(&wsl).unwrap();
    std::fs::copy(
        driver("libcuda.so.580.65.06", 0).file("libcuda.so.1"),
        wsl.join("libcuda.so.1"),
    )
    .unwrap();
    assert_eq!(
        unsearched(&machine.0, || nothing.clone())
            .unwrap()
            .finding()
            .to_string(),
        "`libcuda.so.1`, the library of NVIDIA's driver, is in `/usr/lib/wsl/lib`, which this program does not search  [driver-missing]\n  \
         = help: add `/usr/lib/wsl/lib` to LD_LIBRARY_PATH where the program runs\n  \
         = help: make the loader search it: `echo /usr/lib/wsl/lib | sudo tee /etc/ld.so.conf.d/ld.wsl.conf && sudo ldconfig`\n  \
         loader      libcuda.so.1: cannot open shared object file: No such file or directory"
    );
    // Follow the help.
    let searched = SearchPath::new(&[wsl], None, None, None);
    assert_eq!(unsearched(&machine.0, || searched.clone()), None);
    // A driver in another directory is found.
    let other = driver("libcuda.so.580.65.06", 0);
    let searched = SearchPath::new(std::slice::from_ref(&other.0), None, None, None);
    assert_eq!(unsearched(&machine.0, || searched.clone()), None);
}

/// hyprstream/hyprstream#443: the loader of an AppImage does not search the directories of the system.
#[test]
fn a_driver_that_only_the_system_loader_finds_is_reported() {
    let machine = Folder::new();
    let dir = machine.file("usr/lib64");
    std::fs::create_dir_all(&dir).unwrap();
    let words =
        |name: &str| format!("{name}: cannot open shared object file: No such file or directory");
    let missing = |name: &str| MissingDriver::detect(&machine.0, words(name), None);
    std::fs::write(dir.join("libcuda.so.1"), "").unwrap();
    assert_eq!(missing("libcuda.so.1").unsearched, None);
    let real = driver("libcuda.so.580.65.06", 0);
    std::fs::copy(real.file("libcuda.so.1"), dir.join("libcuda.so.1")).unwrap();
    // A library that the driver needs.
    assert_eq!(missing("libnvidia-x.so.1").unsearched, None);
    let found = missing("libcuda.so.1");
    let finding_if = |is_appimage| {
        let missing = MissingDriver {
            is_appimage,
            ..found.clone()
        };
        missing.finding()
    };
    let summary = |whose: &str| {
        format!(
            "`libcuda.so.1`, the library of NVIDIA's driver, is in `/usr/lib64`, which this {whose} does not search"
        )
    };
    assert_eq!(finding_if(true).summary, summary("AppImage"));
    let finding = finding_if(false);
    assert_eq!(finding.summary, summary("program"));
    assert_eq!(
        finding.help,
        [
            "start the program with LD_LIBRARY_PATH=~/.nvidia, a directory with only the driver: `mkdir -p ~/.nvidia && ln \
          -sf /usr/lib64/libcuda.so* /usr/lib64/libnvidia-* ~/.nvidia`"
        ]
    );
    // Follow the help.
    std::fs::write(dir.join("libnvidia-ptxjitcompiler.so.1"), "").unwrap();
    let command = finding.help[0].split('`').nth(1).unwrap();
    let command = command.replace("/usr/lib64", dir.to_str().unwrap());
    let mut shell = std::process::Command::new("sh");
    let status = shell
        .args(["-c", &command])
        .env("HOME", &machine.0)
        .status();
    assert!(status.unwrap().success());
    let searched = SearchPath::new(&[machine.file(".nvidia")], None, None, None);
    assert!(searched.program_file("libcuda.so.1").is_some());
}
