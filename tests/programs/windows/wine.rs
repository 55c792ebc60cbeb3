//! Builds and the `cudnn-guard` command on Windows, under Wine, with NVIDIA's own files for Windows. `.ci/foreign`
//! installs the requirements.

pub mod visual_studio;
pub mod windows;

use crate::real::set;
use crate::support::{Ran, consumers, place, repository, scratch, write_if_new};
use std::fs;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use windows::{Windows, built};

const VISUAL_STUDIO: &str = r"C:\VS\VC\Tools\MSVC\14.44.35207";
const TOOLKIT: &str = r"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v13.0";

/// A driver with the functions that a build calls.
const DRIVER: &str = "\
#include <string.h>
#define CALL __declspec(dllexport) int __stdcall
CALL cuInit(unsigned flags) { return (int)flags; }
CALL cuDriverGetVersion(int *version) { *version = 13020; return 0; }
CALL cuDeviceGetCount(int *count) { *count = 1; return 0; }
CALL cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
CALL cuDeviceGetName(char *name, int size, int device) { strncpy(name, \"A GPU of Windows\", size); return device; }
CALL cuDeviceGetAttribute(int *value, int what, int device) { *value = what == 75 ? 8 : 6; return device; }
";

/// Returns the Windows that all tests of this file share, one at a time.
fn windows() -> MutexGuard<'static, Windows> {
    static ONE: LazyLock<Mutex<Windows>> = LazyLock::new(|| Mutex::new(install()));
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a Windows with the files of NVIDIA's installers.
fn install() -> Windows {
    let windows = Windows::boot("wine");
    let _ = fs::remove_file(windows.system("nvcuda.dll"));
    let files = windows.drive().join("Program Files");
    let (nvidia, tools) = (
        files.join("NVIDIA/CUDNN/v9.28"),
        windows.drive().join("Tools"),
    );
    let (nine, eight) = (real("cudnn-win-cu13-9.28"), real("cudnn-win-cu12-8.9.7"));
    let toolkit = files.join("NVIDIA GPU Computing Toolkit/CUDA/v13.0");
    place(&real("cuda-win-cu13").join("cu13"), &toolkit);
    // The nvcc wheel does not include the compiler for device code, unlike the installer.
    fs::create_dir_all(toolkit.join("nvvm/bin")).unwrap();
    write_if_new(&toolkit.join("nvvm/bin/cicc.exe"), "");
    place(&nine.join("cudnn/bin"), &nvidia.join("bin/13.0/x64"));
    place(&nine.join("cudnn/include"), &nvidia.join("include/13.0"));
    fs::create_dir_all(nvidia.join("lib/13.0/x64")).unwrap();
    // The wheel does not include an import library, unlike the installer.
    write_if_new(&nvidia.join("lib/13.0/x64/cudnn.lib"), "");
    place(&eight.join("cudnn"), &tools.join("cuDNN"));
    visual_studio::install(&windows);
    windows
}

fn real(name: &str) -> PathBuf {
    set(name).join("nvidia")
}

fn doctor(windows: &Windows, env: &[(&str, &str)]) -> Ran {
    let program = ["--features", "cli", "--bin", "cudnn-guard"];
    let program = built(repository(), &program, "cudnn-guard");
    let ran = windows.start(program, &["doctor"], env);
    // Neither linkers nor nvcc accept such a path.
    ran.does_not_say(r"\\?\")
}

/// NVIDIA's installers, nvcc.exe itself, and the variables that users set.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn doctor_finds_the_installations_on_windows() {
    let windows = &*windows();
    let found = |via: &str| {
        format!(
            "  ✓ toolkit   CUDA 13.0 at {TOOLKIT}\n              \
             found via {via}\n  \
             ✓ nvcc      {TOOLKIT}\\bin\\nvcc.exe\n  \
             ✓ host code cl 19.44 at {VISUAL_STUDIO}\\bin\\HostX64\\x64\\cl.exe\n  \
             ✓ cuDNN     9.28.0 for CUDA 13 at C:\\Program Files\\NVIDIA\\CUDNN\\v9.28\n              \
             found via NVIDIA's cuDNN installer\n  \
             ✓ header    9.28.0 in C:\\Program Files\\NVIDIA\\CUDNN\\v9.28\\include\\13.0\\cudnn_version.h\n  \
             ✓ library   9.28.0 in C:\\Program Files\\NVIDIA\\CUDNN\\v9.28\\bin\\13.0\\x64\\cudnn64_9.dll\n  \
             ? sub-libs  cudnn 9.28.0, graph 9.28.0, ops 9.28.0, cnn 9.28.0,"
        )
    };
    doctor(windows, &[])
        .exits_with(0)
        .says(&found("NVIDIA's versioned directories"))
        .says("✓ targets   sm_75 sm_80 sm_90 sm_100 sm_120 compute_120\n")
        .says("  ! warning: `nvcuda.dll`, the library of NVIDIA's driver, cannot be opened, so\n    no GPU can be used")
        .does_not_say("libcuda");
    doctor(
        windows,
        &[("WINEPATH", &format!("\"{TOOLKIT}\\bin\";C:\\windows"))],
    )
    .exits_with(0)
    .says(&found("nvcc on PATH"));
    doctor(
        windows,
        &[("CUDACXX", &format!("{TOOLKIT}\\bin\\nvcc.exe"))],
    )
    .exits_with(0)
    .says(&found("CUDACXX"));
    doctor(windows, &[("CUDA_PATH_V13_0", &format!("{TOOLKIT}\\"))])
        .exits_with(0)
        .says("found via CUDA_PATH_V13_0\n");
    doctor(windows, &[("CUDA_PATH", &format!("\"{TOOLKIT}\""))])
        .exits_with(1)
        .says("[variable-unusable]")
        .says_in_words(
            "= help: remove the quotation marks from CUDA_PATH: they are part of its value",
        );
    // Names of files and variables are not case-sensitive on Windows.
    doctor(windows, &[("cudnn_Path", r"c:\tools\CUDNN")])
        .says(
            "✗ cuDNN     8.9.7 for CUDA 12 at c:\\tools\\CUDNN  (error)\n              found via CUDNN_PATH\n",
        )
        .says("✓ library   8.9.7 in c:\\tools\\CUDNN\\bin\\cudnn64_8.dll\n");
}

/// The Windows driver.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn the_windows_driver_is_queried_for_gpus() {
    let windows = &*windows();
    windows.dll("nvcuda", DRIVER);
    let ran = doctor(windows, &[]);
    fs::remove_file(windows.system("nvcuda.dll")).unwrap();
    ran.exits_with(0)
        .says("✓ driver    supports CUDA 13.2, C:\\windows\\system32\\nvcuda.dll\n")
        .says("✓ GPUs      A GPU of Windows, compute capability 8.6\n")
        .says("✓ targets   sm_86 compute_86\n");
}

/// NVIDIA's nvcc.exe with a `cl.exe` that is not on PATH. nvcc gets the variables for it without running a
/// script.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn nvcc_gets_the_installed_visual_studio() {
    let windows = &*windows();
    let log = windows.drive().join("cl.log");
    let _ = fs::remove_file(&log);
    doctor(windows, &[("INCLUDE", r"C:\own")]).exits_with(0);
    let variables = fs::read_to_string(&log).unwrap();
    let kits = r"C:\Kits\10\lib\10.0.22621.0";
    let lib = format!(
        "LIB={VISUAL_STUDIO}\\lib\\x64;{kits}\\ucrt\\x64;{kits}\\um\\x64;\nINCLUDE={VISUAL_STUDIO}\\include;"
    );
    assert!(variables.starts_with(&lib), "{variables}");
    let last = variables.lines().last().unwrap();
    assert!(last.ends_with(r";C:\own"), "{variables}");
    assert!(!variables.contains("vcvars64"), "{variables}");
    let vswhere = visual_studio::vswhere(windows);
    fs::rename(&vswhere, vswhere.with_extension("away")).unwrap();
    let ran = doctor(windows, &[]);
    fs::rename(vswhere.with_extension("away"), &vswhere).unwrap();
    let help = "install Visual Studio's C++ tools, which nvcc requires on Windows: `winget ";
    ran.exits_with(0)
        .says_in_words("cannot start its host compiler [host-compiler-unsupported]")
        .says_in_words(&format!("= help: {help}"));
}

/// A build script as cargo runs it on Windows.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_build_script_prints_windows_paths() {
    let windows = &*windows();
    let dir = scratch("wine-script");
    fs::create_dir_all(dir.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"script\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ncudnn-guard = {{ path = {:?} }}\n\n[workspace]\n",
        repository()
    );
    write_if_new(&dir.join("Cargo.toml"), &manifest);
    let script = fs::read_to_string(consumers().join("linked/build.rs")).unwrap();
    write_if_new(&dir.join("src/main.rs"), &script);
    if !dir.join("Cargo.lock").exists() {
        fs::copy(repository().join("Cargo.lock"), dir.join("Cargo.lock")).unwrap();
    }
    let script = built(&dir, &[], "script");
    let out = windows.drive().join("out");
    fs::create_dir_all(&out).unwrap();
    let ran = windows
        .start(
            script,
            &[],
            &[
                ("WINEPATH", &format!("{TOOLKIT}\\bin")),
                ("OUT_DIR", r"C:\out"),
                ("TARGET", "x86_64-pc-windows-msvc"),
                ("HOST", "x86_64-pc-windows-msvc"),
            ],
        )
        .exits_with(0)
        .does_not_say(r"\\?\");
    let lines: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| !line.starts_with("cargo::rerun-if"))
        .collect();
    let cudnn = r"C:\Program Files\NVIDIA\CUDNN\v9.28";
    assert_eq!(
        lines,
        [
            "cargo::rustc-check-cfg=cfg(has_cuda)".to_string(),
            "cargo::rustc-check-cfg=cfg(has_cudnn)".into(),
            "cargo::rustc-check-cfg=cfg(cudnn_major, values(any()))".into(),
            "cargo::rustc-check-cfg=cfg(cuda_major, values(any()))".into(),
            format!("cargo::rustc-link-search=native={cudnn}\\lib\\13.0\\x64"),
            "cargo::rustc-link-lib=dylib=cudnn".into(),
            format!("cargo::rustc-link-search=native={TOOLKIT}\\lib\\x64"),
            "cargo::rustc-link-lib=dylib=cudart".into(),
            "cargo::rustc-cfg=has_cuda".into(),
            "cargo::rustc-cfg=has_cudnn".into(),
            "cargo::rustc-cfg=cudnn_major=\"9\"".into(),
            "cargo::metadata=version=9.28.0".into(),
            "cargo::rustc-cfg=cuda_major=\"13\"".into(),
            "cargo::metadata=cuda_version=13.0".into(),
            format!("cargo::metadata=cuda_include={TOOLKIT}\\include"),
            format!("cargo::metadata=include={cudnn}\\include\\13.0"),
            format!("cargo::metadata=libdir={cudnn}\\lib\\13.0\\x64"),
            "cargo::rustc-link-arg=/DELAYLOAD:cudnn64_9.dll".into(),
            "cargo::rustc-link-arg=/INCLUDE:__pfnDliFailureHook2".into(),
            "cargo::rustc-link-arg=delayimp.lib".into(),
            "cargo::rustc-link-arg=/IGNORE:4199".into(),
            "cargo::metadata=delayed=cudnn64_9.dll".into(),
        ]
    );
    let watched = |path: &str| format!("cargo::rerun-if-changed={path}\n");
    for path in [
        format!("{TOOLKIT}\\include\\cuda.h"),
        format!("{cudnn}\\bin\\13.0\\x64\\cudnn64_9.dll"),
    ] {
        let line = watched(&path);
        assert_eq!(ran.stdout.matches(&line).count(), 1, "{line}");
    }
    assert!(out.join("cudnn_guard.rs").is_file());
}

/// A guarded program is built for Windows and starts there. No cuDNN is on its search path, and the guard reports where
/// the installer has put one.
#[test]
#[ignore = "needs Wine and real NVIDIA files: .ci/foreign, CUDNN_GUARD_REAL"]
fn a_program_for_windows_starts() {
    let windows = &*windows();
    let application = built(consumers(), &["-p", "application"], "application");
    let dir = r"C:\Program Files\NVIDIA\CUDNN\v9.28\bin\13.0\x64";
    let finding = format!(
        "; `{dir}\\cudnn64_9.dll` exists, but Windows does not search there  [cudnn-not-loadable]\n  \
         = help: add `{dir}` to PATH where the program runs\n"
    );
    let ran = windows.start(&application, &[], &[]).exits_with(0);
    assert!(ran.stderr.contains(&finding), "{}", ran.stderr);
    let ran = windows.start(&application, &[], &[("WINEPATH", dir)]);
    ran.exits_with(0)
        .does_not_say("[cudnn-not-loadable]")
        .says("9.28.0");
}
