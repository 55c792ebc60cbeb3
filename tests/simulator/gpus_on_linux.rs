//! The environment of a driver on Linux: devices, containers, the kernel module.

use crate::support::installation::compile;
use crate::{V8_9, V9_14, ask, convolve};
use cudnn_guard::internals::driver::container::{Container, ContainerRuntime};
use cudnn_guard::internals::driver::driver_release;
use cudnn_guard::internals::driver::no_gpu::GpuVisibility;
use cudnn_guard::internals::driver::query::{Driver, DriverProblem, FailedCall};
use cudnn_guard::internals::driver::refused_request::{COMM, MEMFD, RefusedRequest, service};
use std::ffi::{c_int, c_long};

/// A request that this error number refuses to a process without a sandbox.
fn refused(what: &'static str, errno: i32) -> RefusedRequest {
    RefusedRequest {
        what,
        errno,
        ..RefusedRequest::default()
    }
}

/// The reasons why no GPU is visible.
#[test]
fn hidden_and_inaccessible_gpus_are_distinguished() {
    let report = |around: &GpuVisibility| around.finding().to_string();
    let visible = |value: &str| {
        report(&GpuVisibility {
            visible: Some(value.into()),
            ..GpuVisibility::default()
        })
    };
    assert_eq!(
        visible("$0,1"),
        "`$0` in CUDA_VISIBLE_DEVICES matches no GPU, which hides every GPU from this program  [no-gpu]
  = help: unset CUDA_VISIBLE_DEVICES
  variable    CUDA_VISIBLE_DEVICES=$0,1"
    );
    for hiding in ["", " ", "-1", "-1,0", ",0"] {
        assert!(
            visible(hiding)
                .starts_with("CUDA_VISIBLE_DEVICES hides every GPU from this program  [no-gpu]"),
            "{hiding:?}"
        );
    }
    for other in ["7", "0,x", "GPU-8932f937", "MIG-1"] {
        let message = visible(other);
        assert!(
            message.starts_with("NVIDIA's driver reports no GPU  [no-gpu]"),
            "{message}"
        );
        assert!(
            message.contains("  = help: unset CUDA_VISIBLE_DEVICES\n"),
            "{message}"
        );
    }
    assert!(visible("MIG-1,MIG-2").contains(
        "  = help: set CUDA_VISIBLE_DEVICES to one MIG instance: a process can use only one\n"
    ));
    let closed = GpuVisibility {
        refused: Some(refused("/dev/nvidia0", 13)),
        ..GpuVisibility::default()
    };
    assert_eq!(
        report(&closed),
        "this process has no permission to open `/dev/nvidia0`, so NVIDIA's driver reports no GPU  [no-gpu]
  = help: add this user to the group that `ls -l /dev/nvidia0` shows, or give the container permission to use the GPU
  = help: start a container with `--gpus all` (docker) or `--device nvidia.com/gpu=all` (podman), if `nvidia-smi` lists GPUs outside it"
    );
    let container = GpuVisibility {
        container: Some(Container {
            runtime: ContainerRuntime::Podman,
            mark: "/",
            has_device: false,
        }),
        ..GpuVisibility::default()
    };
    assert_eq!(
        report(&container),
        "this container was started without a GPU  [no-gpu]
  = help: start the container with `--device nvidia.com/gpu=all`
  = help: run on a machine that has a GPU, or ask the scheduler for one"
    );
}

/// Each reason for a refused device has its own headline and help.
#[test]
fn a_refusal_is_named_with_the_help_for_its_reason() {
    let report = |refused: RefusedRequest| {
        let visibility = GpuVisibility {
            refused: Some(refused),
            ..GpuVisibility::default()
        };
        visibility.finding().to_string()
    };
    let device = |errno| refused("/dev/nvidiactl", errno);
    let unit = RefusedRequest {
        unit: Some("ollama.service".to_string()),
        ..device(1)
    };
    assert_eq!(
        report(unit),
        "a device cgroup refuses `/dev/nvidiactl` to this process (EPERM), so NVIDIA's driver reports no GPU  [no-gpu]
  = help: add `DeviceAllow=char-nvidia* rw` with `systemctl edit ollama.service`
  = help: allow `/dev/nvidiactl` in the device cgroup of the sandbox
  unit        ollama.service"
    );
    let in_container = RefusedRequest {
        container: Some(ContainerRuntime::Podman),
        ..device(1)
    };
    for (refused, help) in [
        (
            in_container,
            "start the container with `--device nvidia.com/gpu=all`",
        ),
        (
            device(1),
            "allow `/dev/nvidiactl` in the device cgroup of the sandbox",
        ),
        (
            device(13),
            "add this user to the group that `ls -l /dev/nvidiactl` shows",
        ),
        (
            RefusedRequest {
                is_permitted: true,
                ..device(13)
            },
            "allow `/dev/nvidiactl` in the sandbox, such as Landlock, AppArmor or a mount with `nodev`",
        ),
        (
            refused(COMM, 13),
            "let the sandbox write to `/proc/self/task`",
        ),
        (
            refused(MEMFD, 13),
            "allow `memfd_create` in the seccomp profile",
        ),
        (
            refused(MEMFD, 38),
            "allow `memfd_create` in the seccomp profile",
        ),
    ] {
        let text = report(refused);
        let first = text.split("  = help: ").nth(1).unwrap();
        assert!(first.starts_with(help), "{text}");
    }
    assert_eq!(
        service("0::/system.slice/ollama.service\n").as_deref(),
        Some("ollama.service")
    );
    for without in [
        "0::/\n",
        "0::/user.slice/user@1000.service/app.slice/vte.scope\n",
        "",
    ] {
        assert_eq!(service(without), None, "{without}");
    }
}

/// A device that a program on a GPU needs, below a root directory. On a Jetson there is no `/dev/nvidia-uvm`.
#[test]
fn a_missing_device_is_named() {
    let root = std::env::temp_dir().join(format!("guard-missing-device-{}", std::process::id()));
    let report = |files: &[&str]| {
        for file in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let visibility = GpuVisibility {
            visible: None,
            ..GpuVisibility::detect_below(&root)
        };
        std::fs::remove_dir_all(&root).unwrap();
        visibility.finding().to_string()
    };
    let module = "proc/driver/nvidia/version";
    let (control, uvm) = ("dev/nvidiactl", "dev/nvidia-uvm");
    let boot = report(&[control, "dev/nvidia0", module]);
    assert!(
        boot.starts_with(
            "`/dev/nvidia-uvm` is missing, so NVIDIA's driver reports no GPU  [no-gpu]\n  \
             = help: load the module that creates `/dev/nvidia-uvm`: `sudo nvidia-modprobe -u -c 0`\n"
        ),
        "{boot}"
    );
    let private = report(&[module]);
    assert!(
        private.starts_with("`/dev/nvidiactl` is missing, so NVIDIA's driver reports no GPU"),
        "{private}"
    );
    for sound in [
        &[control, uvm, module][..],
        &["dev/nvmap", control],
        &["etc/passwd"],
    ] {
        let text = report(sound);
        assert!(
            text.starts_with("NVIDIA's driver reports no GPU  [no-gpu]"),
            "{text}"
        );
    }
}

/// A scheduler gives a job one GPU, and refuses it the devices of the others. The test uses a file that not even root can
/// open for writing.
#[test]
fn the_device_of_another_job_is_no_reason() {
    let root = std::env::temp_dir().join(format!("guard-other-gpu-{}", std::process::id()));
    std::fs::create_dir_all(root.join("dev")).unwrap();
    let closed = root.join("dev/nvidia0");
    std::os::unix::fs::symlink("/sys/devices/system/cpu/online", closed).unwrap();
    for device in ["nvidiactl", "nvidia-uvm"] {
        std::fs::write(root.join("dev").join(device), "").unwrap();
    }
    let refused = || GpuVisibility::detect_below(&root).refused;
    assert_eq!(refused().unwrap().what, "/dev/nvidia0");
    std::fs::write(root.join("dev/nvidia3"), "").unwrap();
    assert_eq!(refused(), None);
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn every_problem_has_a_message() {
    let with_version = |version: &str| {
        let mut driver = Driver::default();
        driver.library = "/usr/lib/libcuda.so.535.183.01".to_string();
        driver.version = Some(version.to_string());
        driver
    };
    let driver = || with_version("535.183.01");
    assert_eq!(
        DriverProblem::Stub(driver()).finding().to_string(),
        "`/usr/lib/libcuda.so.535.183.01` is a link-time stub, not NVIDIA's driver, so no GPU is available  [driver-stub]
  = help: remove the `stubs` directory from LD_LIBRARY_PATH and from the rpath: it is only for linking
  = help: install NVIDIA's driver if `nvidia-smi` does not run either"
    );
    let updated = FailedCall {
        driver: with_version("550.120"),
        call: "cuInit",
        code: 803,
        refused: None,
    };
    assert!(
        updated
            .finding()
            .to_string()
            .contains("\n  versions    kernel module 550.120, library 535.183.01")
    );
    let other = DriverProblem::NotADriver {
        driver: driver(),
        function: "cuInit",
    };
    assert_eq!(
        other.finding().to_string(),
        "`/usr/lib/libcuda.so.535.183.01` does not contain `cuInit`, so it is not NVIDIA's driver  [driver-error]
  = help: remove that file from the library path, or reinstall NVIDIA's driver"
    );
}

/// Landlock refuses to open a file that its permissions allow to open.
#[test]
fn a_sandbox_is_no_missing_permission() {
    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
        fn prctl(option: c_int, ...) -> c_int;
    }
    let root = std::env::temp_dir().join(format!("guard-sandbox-{}", std::process::id()));
    std::fs::create_dir_all(root.join("dev")).unwrap();
    for device in ["nvidiactl", "nvidia0", "nvidia-uvm"] {
        std::fs::write(root.join("dev").join(device), "").unwrap();
    }
    assert_eq!(RefusedRequest::detect(&root), None);
    // The rules apply to this thread: no file may be opened for writing.
    let (below, rules) = (root.clone(), 2u64);
    let thread = std::thread::spawn(move || {
        // SAFETY: the calls are as landlock(7) and prctl(2) describe them.
        let is_restricted = unsafe {
            let rules = syscall(444, &raw const rules, 8usize, 0);
            prctl(38, 1usize, 0usize, 0usize, 0usize);
            syscall(446, rules, 0) == 0
        };
        is_restricted.then(|| RefusedRequest::detect(&below))
    });
    // The kernel may not have Landlock.
    if let Some(refused) = thread.join().unwrap() {
        let refused = refused.unwrap();
        let (headline, what) = (refused.headline("cannot start"), refused.what);
        assert!(
            refused.is_permitted && what == "/dev/nvidiactl",
            "{refused:?}"
        );
        assert_eq!(
            headline,
            "a sandbox refuses `/dev/nvidiactl` to this process, although its permissions allow it, so NVIDIA's \
             driver cannot start"
        );
    }
    std::fs::remove_dir_all(root).unwrap();
}

/// AddressSanitizer protects addresses that CUDA needs, and CUDA then reports that it has no memory.
#[test]
fn a_lack_of_addresses_is_not_a_lack_of_memory() {
    let gap = ("SIM_SHADOW_GAP", "1");
    let help = "= help: run the program with `ASAN_OPTIONS=protect_shadow_gap=0`, which leaves these addresses to CUDA\n";
    ask(&[gap, ("SIM_CUINIT", "2")])
        .must_have("AddressSanitizer takes addresses that CUDA needs: `cuInit` returned CUDA_ERROR_OUT_OF_MEMORY (2)  [driver-error]\n")
        .must_have(help);
    let memory =
        "there is not enough memory for CUDA: `cuInit` returned CUDA_ERROR_OUT_OF_MEMORY (2)";
    ask(&[("SIM_CUINIT", "2")]).must_have(memory);
    // A stand-in for the runtime of ThreadSanitizer.
    let tsan = std::env::temp_dir().join(format!("libtsan.so.{}", std::process::id()));
    compile("int nothing;", &tsan, &[]);
    let preload = ("LD_PRELOAD", tsan.to_str().unwrap());
    ask(&[preload, ("SIM_CUINIT", "2")]).must_have(
        "ThreadSanitizer or MemorySanitizer takes addresses that CUDA needs: `cuInit` returned",
    );
    ask(&[preload, ("SIM_CUINIT", "999")]).must_have("for an unknown reason: `cuInit` returned");
    std::fs::remove_file(tsan).unwrap();
    let headline = "warning: Simulated GPU could not be used for a convolution: AddressSanitizer takes addresses that CUDA needs  [driver-error]\n";
    for (version, fault) in [
        (V9_14, "status:cuDevicePrimaryCtxRetain:2"),
        (V9_14, "status:cuMemAlloc_v2:2"),
        (V9_14, "status:cudnnCreate:1001"),
        (V9_14, "status:cudnnCreate:4004"),
        (V8_9, "status:cudnnCreate:1"),
        (V8_9, "status:cudnnCreate:2"),
    ] {
        convolve(version, &[gap, ("SIM_FAULT", fault)])
            .must_have("unknown None")
            .must_have(headline)
            .must_have(help);
    }
    // Other statuses have other causes, and a full GPU is full.
    convolve(V9_14, &[gap, ("SIM_FAULT", "status:cudnnCreate:1002")])
        .must_have("[cudnn-create-failed]");
    convolve(V9_14, &[gap, ("SIM_MEMORY", "2097151")]).must_have("[device-memory-low]");
    convolve(V9_14, &[gap]).must_have("pass");
}

#[test]
fn the_version_of_the_kernel_module_is_read() {
    let closed = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\nGCC version:  gcc version 12.2.0\n";
    assert_eq!(
        driver_release::parse_release(closed).as_deref(),
        Some("535.183.01")
    );
    let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (root@host)  \n";
    assert_eq!(
        driver_release::parse_release(open).as_deref(),
        Some("580.65.06")
    );
    assert_eq!(driver_release::parse_release("GCC 12\nversion 1.2.3"), None);
    assert_eq!(driver_release::parse_release(""), None);
    // The library's name contains it too, except on a Jetson.
    let named =
        |name: &str| driver_release::release_in_name(&format!("/usr/lib/tegra/libcuda.so.{name}"));
    assert_eq!(named("535.183.01").as_deref(), Some("535.183.01"));
    assert_eq!(named("1.1"), None);
    assert_eq!(named("1"), None);
}

/// A Jetson has other devices, which a container on it may have access to.
#[test]
fn a_jetsons_devices_are_known() {
    let root = std::env::temp_dir().join(format!("guard-jetson-{}", std::process::id()));
    for file in [".dockerenv", "dev/nvmap"] {
        let path = root.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let given = GpuVisibility::detect_below(&root);
    std::fs::remove_file(root.join("dev/nvmap")).unwrap();
    let not_given = GpuVisibility::detect_below(&root);
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!((given.container, given.is_jetson), (None, true));
    assert_eq!(
        (not_given.container.map(|one| one.mark), not_given.is_jetson),
        (Some("/.dockerenv"), false)
    );
    let given = GpuVisibility {
        visible: None,
        ..given
    };
    assert!(given.finding().to_string().ends_with(
        "\n  = help: start a container with `--runtime nvidia`, which a Jetson requires"
    ));
}
