//! The file that the loader uses as the driver, and the file that it should have used.

use super::program::{GPU, Ran, check, startup};
use crate::support::installation::{Folder, compile, compile_linked, library_path, sound};
use cudnn_guard::internals::binary::Image;
use cudnn_guard::internals::driver::driver_library::unsearched;
use cudnn_guard::internals::driver::driver_missing::MissingDriver;
use cudnn_guard::internals::driver::no_gpu::GpuVisibility;
use cudnn_guard::internals::driver::query::{Driver, DriverProblem};
use cudnn_guard::internals::loader::search_path::SearchPath;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Compiles a driver with this file name and the usual link to it. Every call returns `answer`, and the driver reports
/// support for CUDA 13.
fn driver(file: &str, answer: u32) -> Folder {
    let folder = Folder::new();
    let code = format!(
        "#define ANSWER(name) int name(void) {{ return {answer}; }}
         ANSWER(cuInit) ANSWER(cuDeviceGetCount) ANSWER(cuDeviceGet) ANSWER(cuDeviceGetName)
         ANSWER(cuDeviceGetAttribute)
         int cuDriverGetVersion(int *version) {{ *version = 13000; return {}; }}",
        if answer == 34 { 34 } else { 0 }
    );
    compile(&code, &folder.file(file), &["-Wl,-soname,libcuda.so.1"]);
    symlink(file, folder.file("libcuda.so.1")).unwrap();
    folder
}

/// Returns the expected message for a driver without GPUs, which depends on whether this machine is a container.
fn without_gpu() -> String {
    let finding = GpuVisibility::detect().finding();
    format!(
        "{}  [no-gpu]\n  = help: {}",
        finding.summary, finding.help[0]
    )
}

const REAL: (&str, &str) = ("TEST_GPU", "real");

/// Runs a program with a working cuDNN in the first of these directories and the driver that the loader finds.
#[track_caller]
fn start(folders: &[&Folder]) -> Ran {
    startup(
        folders[0],
        &[REAL, ("LD_LIBRARY_PATH", library_path(folders))],
    )
}

/// Like [`start`], with a cuDNN before these directories.
#[track_caller]
fn beside_cudnn(drivers: &[&Folder]) -> Ran {
    start(&[&[&sound()], drivers].concat())
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
    let path = foreign.text();
    beside_cudnn(&[&foreign]).must_be_unknown(&format!(
            "\
`{path}/libcuda.so.1` is for {other}, but this program is for {own}, so no GPU can be used  [driver-missing]
  = help: install NVIDIA's driver for {own}, or use a build of this program for {other}
  found via   LD_LIBRARY_PATH, its entry `{path}`
  loader      libcuda.so.1: cannot open shared object file: No such file or directory
"
    ));
}

/// An image that was created from a container with a GPU contains such a link.
#[test]
fn a_broken_link_to_a_driver_is_reported() {
    let left = driver("libcuda.so.535.183.01", 0).without("libcuda.so.535.183.01");
    let cudnn = sound();
    let path = left.text();
    start(&[&cudnn, &left]).must_begin(&format!(
        "cudnn-guard: unknown: `{path}/libcuda.so.1` is a broken link to `{path}/libcuda.so.535.183.01`, so no GPU can be used  [driver-missing]\n"
    ));
    std::fs::remove_file(left.file("libcuda.so.1")).unwrap();
    std::fs::write(left.file("libcuda.so.1"), "").unwrap();
    start(&[&cudnn, &left]).must_begin(&format!(
        "cudnn-guard: unknown: `{path}/libcuda.so.1` is empty, so no GPU can be used  [driver-missing]\n"
    ));
}

/// For example after a full disk. Opening the file would kill the child with SIGBUS. If the loader finds a complete
/// file first, nothing is wrong.
#[test]
fn a_truncated_driver_is_reported() {
    let name = "libcuda.so.535.183.01";
    let (whole, cut) = (driver(name, 100), driver(name, 100).cut(name, 4096));
    let path = cut.text();
    let defect = Image::open(&cut.file(name)).err().unwrap();
    beside_cudnn(&[&cut, &whole]).must_be_unknown(&format!(
        "\
`{path}/libcuda.so.1` {defect}, so no GPU can be used  [driver-missing]
  = help: reinstall NVIDIA's driver
  found via   LD_LIBRARY_PATH, its entry `{path}`
"
    ));
    start(&[&sound(), &whole, &cut])
        .must_begin(&format!("cudnn-guard: unknown: {}\n", without_gpu()));
}

/// If a sub-library needs the driver, the sub-library is not at fault.
#[test]
fn an_empty_driver_is_not_a_fault_of_the_linked_sub_library() {
    let cudnn = sound();
    let real = driver("libcuda.so.535.183.01", 100);
    let name = "libcudnn_engines_runtime_compiled.so.9";
    let link = real.file("libcuda.so.1");
    compile_linked("int nothing;", &cudnn.file(name), &link);
    std::fs::remove_file(&link).unwrap();
    std::fs::write(&link, "").unwrap();
    let both = ("LD_LIBRARY_PATH", library_path(&[&cudnn, &real]));
    check(&cudnn, &[REAL, both]).must_be("unknown", &["driver-missing"]);
}

#[test]
fn a_stub_in_front_of_the_driver_is_reported() {
    let (stub, real) = (
        driver("libcuda.so", 34),
        driver("libcuda.so.580.65.06", 100),
    );
    let (stubs, path) = (stub.text(), real.text());
    let headline = format!(
        "`{stubs}/libcuda.so` is a link-time stub, not NVIDIA's driver, so no GPU is available  [driver-stub]"
    );
    let found = format!("  found via   LD_LIBRARY_PATH, its entry `{stubs}`");
    beside_cudnn(&[&stub, &real]).must_be_unknown(&format!(
        "\
{headline}
  = help: remove `{stubs}` from LD_LIBRARY_PATH
{found}
  available   {path}/libcuda.so.1, version 580.65.06
"
    ));
    beside_cudnn(&[&stub]).must_be_unknown(&format!(
            "\
{headline}
  = help: install NVIDIA's driver, and remove `{stubs}` from LD_LIBRARY_PATH: a stub is only for linking
{found}
"
    ));
    // Follow the help.
    beside_cudnn(&[&real]).must_be_unknown(&format!(
        "\
{}
  library     {path}/libcuda.so.580.65.06
  driver      580.65.06, supports CUDA 13.0
",
        without_gpu()
    ));
}

/// Error 803, because the first driver library does not match the kernel module.
#[test]
fn two_drivers_of_different_versions() {
    let real = driver("libcuda.so.580.65.06", 100);
    for (answer, words) in [
        (
            803,
            "the driver's library and its kernel module have different versions: `cuInit` returned CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)",
        ),
        (
            804,
            "the forward-compatibility library does not support this GPU: `cuInit` returned CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE (804)",
        ),
    ] {
        let first = driver("libcuda.so.590.10.01", answer);
        let compat = first.text();
        beside_cudnn(&[&first, &real]).must_be_unknown(&format!(
            "\
{words}  [driver-error]
  = help: remove `{compat}` from LD_LIBRARY_PATH
  found via   LD_LIBRARY_PATH, its entry `{compat}`
  available   {}/libcuda.so.1, version 580.65.06
",
            real.text()
        ));
    }
    // Two copies of the same driver are not a conflict.
    let first = driver("libcuda.so.580.65.06", 803);
    let path = first.text();
    beside_cudnn(&[&first, &real]).must_be_unknown(&format!(
            "\
the driver's library and its kernel module have different versions: `cuInit` returned CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)  [driver-error]
  = help: reboot to load the new kernel module; in a container, use the driver libraries of the host
  found via   LD_LIBRARY_PATH, its entry `{path}`
  library     {path}/libcuda.so.580.65.06
"
    ));
}

/// A cuda-compat package that is older than the host's kernel module, in a container without the host's library.
#[test]
fn only_a_compat_directory() {
    let cudnn = sound();
    let library = driver("libcuda.so.535.104.05", 803);
    let dirs = |name: &str| {
        let dir = library.file(name);
        std::fs::create_dir(&dir).unwrap();
        for file in ["libcuda.so.535.104.05", "libcuda.so.1"] {
            std::fs::rename(library.file(file), dir.join(file)).unwrap();
        }
        let path = format!("{}:{}", cudnn.text(), dir.display());
        let ran = startup(&cudnn, &[REAL, ("LD_LIBRARY_PATH", &*path)]).stderr;
        for file in ["libcuda.so.535.104.05", "libcuda.so.1"] {
            std::fs::rename(dir.join(file), library.file(file)).unwrap();
        }
        ran
    };
    let remove = format!(
        "\n  = help: remove `{}/compat` from LD_LIBRARY_PATH\n",
        library.text()
    );
    let stderr = dirs("compat");
    assert!(
        stderr.contains(&remove) && !stderr.contains("reboot"),
        "{stderr}"
    );
    let stderr = dirs("other");
    assert!(stderr.contains("\n  = help: reboot"), "{stderr}");
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

/// cudarc opens `libcuda.so`. Driver packages may not include that name, but the toolkit's `stubs` directory does.
#[test]
fn a_stub_that_only_cudarc_loads_is_reported() {
    let cudnn = sound();
    let (stub, real) = (
        driver("libcuda.so", 34).without("libcuda.so.1"),
        driver("libcuda.so.580.65.06", 100),
    );
    let check = |dirs: &[&Folder]| {
        let path = library_path(&[&[&cudnn], dirs].concat());
        let cudarc = ("TEST_CUDARC", "0.19.2");
        startup(&cudnn, &[GPU, cudarc, ("LD_LIBRARY_PATH", path)])
    };
    symlink("libcudnn.so.9", cudnn.file("libcudnn.so")).unwrap();
    let (stubs, path) = (stub.text(), real.text());
    let found = |help: &str| {
        format!(
            "\
cudnn-guard: unknown: this program opens libcuda.so and gets the toolkit's stub `{stubs}/libcuda.so`, not NVIDIA's \
driver, so it cannot use a GPU  [driver-stub]
  = help: remove `{stubs}` from LD_LIBRARY_PATH{help}
  found via   LD_LIBRARY_PATH, its entry `{stubs}`
  available   {path}/libcuda.so.1
"
        )
    };
    let link = format!(
        "; cuDNN 8, and cudarc before 0.13, also need a link: `ln -s {path}/libcuda.so.1 {path}/libcuda.so`"
    );
    check(&[&real, &stub]).must_say(&found(&link));
    // Follow the help.
    check(&[&real]).must_say("");
    symlink("libcuda.so.1", real.file("libcuda.so")).unwrap();
    check(&[&real]).must_say("");
    // Here the driver's own name comes first.
    check(&[&real, &stub]).must_say("");
    check(&[&stub, &real]).must_say(&found(""));
    // A program that opens only libcuda.so.1.
    let path = library_path(&[&cudnn, &real, &stub]);
    startup(&cudnn, &[GPU, ("LD_LIBRARY_PATH", path)]).must_say("");
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
