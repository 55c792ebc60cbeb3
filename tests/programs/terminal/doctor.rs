//! The output of `cudnn-guard doctor`.

#[cfg(target_os = "linux")]
mod crates;
#[cfg(target_os = "linux")]
mod cross;

use super::{file, folder, text};
use std::fs;
use std::path::Path;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use std::path::PathBuf;
use std::process::Command;

/// Creates a toolkit and a cuDNN as extracted from NVIDIA's archives to /usr/local. The libraries contain no version.
fn usr_local(root: &Path) {
    file(
        root,
        "usr/local/cuda/include/cuda.h",
        "#define CUDA_VERSION 13000\n",
    );
    file(root, "usr/local/cuda/bin/nvcc", "");
    file(
        root,
        "usr/local/cuda/include/cudnn_version.h",
        "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 14\n#define CUDNN_PATCHLEVEL 0\n",
    );
    file(
        root,
        "usr/local/cuda/include/cudnn.h",
        "#include \"cudnn_version.h\"\n",
    );
    let needed = "_graph _ops _cnn _heuristic _engines_precompiled _engines_runtime_compiled";
    for part in [""].into_iter().chain(needed.split(' ')) {
        library(root, &format!("usr/local/cuda/lib64/libcudnn{part}.so.9"));
    }
}

/// Writes the smallest valid library, without contents.
pub fn library(root: &Path, path: &str) {
    file(root, path, "");
    let mut bytes = [0; 64];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    bytes[16] = 3;
    bytes[18] = if cfg!(target_arch = "aarch64") {
        183
    } else {
        62
    };
    fs::write(root.join(path), bytes).expect("a library");
}

/// Creates a simulated installation of cuDNN 9.14 with CUDA 13.0.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn simulated(name: &str) -> PathBuf {
    let root = folder(name);
    crate::support::simulated::install((9, 14, 0), &[], &root);
    root
}

/// Writes a package as unpacked by cargo, with these files, into a registry from which cargo can resolve it.
pub fn unpacked(root: &Path, package: &str, files: &[(&str, &str)]) {
    let registry = "cargo/registry/src/index-1";
    let config = format!(
        "[source.crates-io]\nreplace-with = \"made-up\"\n[source.made-up]\ndirectory = \"{registry}\"\n"
    );
    file(root, ".cargo/config.toml", &config);
    let of_all = [
        (".cargo-checksum.json", "{\"files\":{}}"),
        ("src/lib.rs", ""),
    ];
    for (path, text) in of_all.iter().chain(files) {
        file(root, &format!("{registry}/{package}/{path}"), text);
    }
}

/// Writes a crate with these features that requires cudarc 0.16.6, and these files of cudarc.
pub fn crate_with_cudarc(root: &Path, features: &str, dependency: &str, sources: &[(&str, &str)]) {
    unpacked(root, "cudarc-0.16.6", sources);
    let manifest = format!(
        "[package]\nname = \"app\"\nversion = \"0.1.0\"\n[features]\n{features}\n[dependencies]\n\
         cudarc = {{ version = \"0.16\", {dependency} }}\n[workspace]\n"
    );
    file(root, "Cargo.toml", &manifest);
    file(root, "src/lib.rs", "");
    let lock = "version = 3\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"cudarc\",\n]\n\n\
         [[package]]\nname = \"cudarc\"\nversion = \"0.16.6\"\n\
         source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    file(root, "Cargo.lock", lock);
}

/// Returns doctor in a directory of such a crate, with the cargo of this build.
pub fn doctor_with_cargo(root: &Path, dir: &str, args: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").expect("run by cargo");
    let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
    command.arg("doctor").args(args).current_dir(root.join(dir));
    command.env_clear().env("CARGO_HOME", root.join("cargo"));
    command.env("PATH", Path::new(&cargo).parent().expect("a directory"));
    command
}

/// cudarc's build script fails with "Unsupported cuda toolkit version" unless another CUDA version is chosen.
#[test]
fn doctor_warns_of_a_cudarc_that_does_not_support_the_toolkit() {
    let root = folder("doctor-old-cudarc");
    let sources = [
        (
            "Cargo.toml",
            "[package]\nname = \"cudarc\"\nversion = \"0.16.6\"\n[features]\ncuda-12090 = []\n\
             cuda-version-from-build-system = []\n",
        ),
        (
            "build.rs",
            "// CUDARC_CUDA_VERSION\npanic!(\"Unsupported cuda toolkit version: `{v}`\");\n",
        ),
    ];
    usr_local(&root);
    let at = root.to_str().expect("UTF-8").to_string();
    let doctor_in = |dir: &str| {
        let mut doctor = doctor_with_cargo(&root, dir, &["--root", &at]);
        text(&doctor.output().expect("cudnn-guard runs"))
    };
    let headline =
        "cudarc 0.16.6 has no bindings for CUDA 13.0, the version of the\n    installed toolkit";
    let dependency = "features = [\"cuda-version-from-build-system\"]";
    let optional = &*format!("optional = true, {dependency}");
    let chosen = &*format!(
        "{dependency} }}\n[target.'cfg(all())'.dependencies]\n\
         cudarc = {{ version = \"0.16\", features = [\"cuda-12090\"]"
    );
    let of_crate = "gpu = [\"cudarc/cuda-version-from-build-system\"]";
    // The lock file does not match the manifest.
    let fails = &*format!("{dependency} }}\ncc = {{ version = \"1\"");
    for (features, dependency, found) in [
        ("", dependency, Some("needed by   app 0.1.0\n")),
        (
            "cuda = [\"dep:cudarc\"]",
            optional,
            Some("a build with `--features=cuda`\n"),
        ),
        (
            "gpu = [\"dep:cudarc\"]",
            optional,
            Some("a build with `--all-features`\n"),
        ),
        (of_crate, "features = []", None),
        ("", chosen, None),
        ("", fails, None),
    ] {
        crate_with_cudarc(&root, features, dependency, &sources);
        let shown = doctor_in("");
        assert_eq!(shown.contains(headline), found.is_some(), "{shown}");
        assert!(shown.contains(found.unwrap_or_default()), "{shown}");
    }
    // The lock file of a workspace is above its packages.
    crate_with_cudarc(&root, "", dependency, &sources);
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("written");
    let manifest = manifest.replace("[workspace]", "");
    file(&root, "member/Cargo.toml", &manifest);
    file(&root, "member/src/lib.rs", "");
    let workspace = "[workspace]\nmembers = [\"member\"]\nresolver = \"2\"\n";
    file(&root, "Cargo.toml", workspace);
    for dir in ["", "member"] {
        assert!(doctor_in(dir).contains(headline), "{dir}");
    }
    assert!(!doctor_in("member/src").contains("Cargo.lock"));
}

/// The Python on PATH is of an environment that is not active.
#[cfg(target_os = "linux")]
#[test]
fn doctor_warns_of_wheels_that_overwrite_each_other() {
    let root = folder("doctor-wheels");
    let site = "venv/lib/python3.12/site-packages";
    let path = "nvidia/nvshmem/lib/libnvshmem_host.so.3";
    file(&root, "venv/bin/python3", "");
    file(&root, &format!("{site}/{path}"), "12");
    for (wheel, size) in [("cu12-3.3.20", 2), ("cu13-3.4.5", 3)] {
        let record = format!("{site}/nvidia_nvshmem_{wheel}.dist-info/RECORD");
        file(&root, &record, &format!("{path},sha256={size},{size}\n"));
    }
    let shown = |bin: &str| {
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        doctor.arg("doctor").current_dir(&root).env_clear();
        doctor.env("PATH", root.join(bin));
        let shown = text(&doctor.output().expect("cudnn-guard runs"));
        shown.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let file = root.join(site).join(path);
    let headline = format!(
        "! warning: nvidia-nvshmem-cu12 3.3.20 and nvidia-nvshmem-cu13 3.4.5 overwrite each other's `{}` [wheels-overlap] ",
        file.display()
    );
    let (in_venv, elsewhere) = (shown("venv/bin"), shown("bin"));
    assert!(in_venv.contains(&headline), "{in_venv}");
    assert!(in_venv.contains("now from nvidia-nvshmem-cu12 3.3.20 "));
    assert!(!elsewhere.contains("[wheels-overlap]"), "{elsewhere}");
}

/// The query of the driver gets it by its usual name, but cudarc opens `libcuda.so` first and gets the stub.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn doctor_warns_of_a_stub_that_cudarc_opens_instead_of_the_driver() {
    let manifest = |features: &str| {
        format!("[package]\nname = \"cudarc\"\nversion = \"0.16.6\"\n[features]\n{features}\n")
    };
    let manifest = manifest("driver = []\ndynamic-linking = []");
    let sources = [
        ("Cargo.toml", &*manifest),
        ("build.rs", "fn main() {}\n"),
        ("src/driver/sys/mod.rs", "let lib_names = [\"cuda\"];\n"),
    ];
    let root = simulated("doctor-stub");
    fs::create_dir(root.join("stubs")).expect("a directory");
    let code = "int cuInit(unsigned flags) { return 34; }";
    fs::write(root.join("stub.c"), code).expect("a source");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-nostdlib", "-O1", "-o"]);
    cc.arg(root.join("stubs/libcuda.so"))
        .arg(root.join("stub.c"));
    assert!(cc.status().expect("cc runs").success());
    let dirs = ["driver", "stubs"].map(|dir| root.join(dir));
    let dirs = std::env::join_paths(dirs).expect("a list");
    let dirs = Path::new(&dirs);
    let env = [("CUDNN_PATH", &*root), ("LD_LIBRARY_PATH", dirs)];
    let doctor = |features: &str| {
        let features = format!("features = [{features}]");
        crate_with_cudarc(&root, "", &features, &sources);
        let mut doctor = doctor_with_cargo(&root, "", &["--link", "runtime"]);
        text(&doctor.envs(env).output().expect("cudnn-guard runs"))
    };
    let shown = doctor("\"driver\"");
    assert!(shown.contains("  [driver-stub]\n"), "{shown}");
    assert!(
        shown.contains("\n  ! driver    supports CUDA 13.0, "),
        "{shown}"
    );
    let shown = doctor("\"driver\", \"dynamic-linking\"");
    assert!(
        shown.contains("\n  ✓ driver    supports CUDA 13.0, "),
        "{shown}"
    );
}
