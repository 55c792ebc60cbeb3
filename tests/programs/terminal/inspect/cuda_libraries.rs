//! CUDA libraries of different versions in one program.

use super::image::{Image, ids};
use crate::support::{Ran, run};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

/// Returns the directory of a wheel's library in the image.
fn wheel(name: &str) -> String {
    format!("venv/lib/python3.12/site-packages/nvidia/{name}/lib")
}

/// Compiles a library whose symbol versions are its own file name, as in NVIDIA's libraries.
fn versioned(image: &Image, path: &str, code: &str, flags: &[&str]) {
    let name = path.rsplit('/').next().unwrap();
    let script = image.at("versions");
    fs::create_dir_all(&image.0).unwrap();
    fs::write(&script, format!("{name} {{ global: *; }};\n")).unwrap();
    let script = format!("-Wl,--version-script={}", script.display());
    let own = ["-Wl,--hash-style=gnu", "-Wl,--no-as-needed", &script];
    image.library(path, code, &[&own[..], flags].concat());
    fs::remove_file(image.at("versions")).unwrap();
}

/// Returns the code of a function that calls another one.
fn calling(name: &str, callee: &str) -> String {
    format!("void {callee}(void);\nvoid {name}(void) {{ {callee}(); }}\n")
}

/// Compiles the nvJitLink of a CUDA version, which also contains the functions of the earlier ones.
fn nvjitlink(image: &Image, dir: &str, (major, minor): (u32, u32)) {
    let mut code = String::new();
    for minor in 0..=minor {
        code += &format!("void __nvJitLinkComplete_{major}_{minor}(void) {{}}\n");
    }
    versioned(image, &format!("{dir}/libnvJitLink.so.{major}"), &code, &[]);
}

/// Creates a program with the cuSPARSE and the nvJitLink of these versions, in wheels.
fn cusparse(name: &str, release: (u32, u32), installed: (u32, u32), flags: &[&str]) -> Image {
    let image = Image::new(name);
    let (major, minor) = release;
    nvjitlink(&image, &wheel("nvjitlink"), release);
    let function = format!("__nvJitLinkComplete_{major}_{minor}");
    let code = calling("cusparseCreate", &function);
    let (path, needed) = (
        format!("{}/libcusparse.so.{major}", wheel("cusparse")),
        format!("IMAGE/{}/libnvJitLink.so.{major}", wheel("nvjitlink")),
    );
    let own = [
        &*needed,
        "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../../nvjitlink/lib",
    ];
    versioned(&image, &path, &code, &[&own[..], flags].concat());
    let rpath = format!("-Wl,-rpath,/{}", wheel("cusparse"));
    image.program(&[], &[&format!("IMAGE/{path}"), &rpath]);
    nvjitlink(&image, &wheel("nvjitlink"), installed);
    image
}

/// Writes the record of a wheel that contains this library.
fn record(image: &Image, wheel: &str, library: &str) {
    let site = image.at("venv/lib/python3.12/site-packages");
    let size = fs::metadata(site.join(library)).unwrap().len();
    let dir = site.join(format!("{wheel}.dist-info"));
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("RECORD"), format!("{library},sha256=x,{size}\n")).unwrap();
}

fn inspect(image: &Image, dirs: &[&str]) -> Ran {
    let dirs = dirs.iter().map(|dir| image.at(dir).display().to_string());
    image.inspect_with(&[], &dirs.collect::<Vec<_>>().join(":"))
}

fn is_silent(image: &Image, dirs: &[&str]) {
    inspect(image, dirs)
        .exits_with(0)
        .does_not_say("cuda-libraries-mixed");
}

/// Returns the findings without the verdict.
fn findings(image: &Image, dirs: &[&str]) -> String {
    let text = image.findings(&inspect(image, dirs));
    text.split("\n\n").next().unwrap().to_string() + "\n"
}

/// pytorch/pytorch#134929, infiniflow/ragflow#4466, jax-ml/jax#30050
#[test]
fn an_older_nvjitlink_in_ld_library_path_is_reported() {
    let image = cusparse("nvjitlink", (12, 4), (12, 4), &[]);
    nvjitlink(&image, "opt/cuda-12.1/lib64", (12, 1));
    let old = "opt/cuda-12.1/lib64";
    assert_eq!(
        findings(&image, &[old]),
        "  ! warning: `/opt/cuda-12.1/lib64/libnvJitLink.so.12` does not contain __nvJitLinkComplete_12_4, which \
         `/venv/lib/python3.12/site-packages/nvidia/cusparse/lib/libcusparse.so.12` calls: their CUDA versions differ  \
         [cuda-libraries-mixed]\n      \
         = help: remove `/opt/cuda-12.1/lib64` from LD_LIBRARY_PATH\n      \
         = help: put `/venv/lib/python3.12/site-packages/nvidia/nvjitlink/lib` first in LD_LIBRARY_PATH\n      \
         found via   LD_LIBRARY_PATH, its entry `/opt/cuda-12.1/lib64`\n      \
         compatible  /venv/lib/python3.12/site-packages/nvidia/nvjitlink/lib/libnvJitLink.so.12\n      \
         result      the program starts, and exits with \"symbol lookup error\" when the function is called; a program that opens the \
         caller with RTLD_NOW, like Python, cannot load it\n"
    );
    // Follow each help.
    is_silent(&image, &[]);
    is_silent(&image, &[&wheel("nvjitlink"), old]);
}

/// A build reports it too, for the libraries of the toolkit.
#[test]
fn doctor_reports_an_older_nvjitlink_in_ld_library_path() {
    let image = Image::new("nvjitlink-of-toolkit");
    nvjitlink(&image, "old", (12, 1));
    nvjitlink(&image, "cuda/lib64", (12, 4));
    let code = &calling("cusparseCreate", "__nvJitLinkComplete_12_4");
    let needed = "IMAGE/cuda/lib64/libnvJitLink.so.12";
    versioned(&image, "cuda/lib64/libcusparse.so.12", code, &[needed]);
    let link = image.at("cuda/lib64/libcusparse.so");
    symlink("libcusparse.so.12", link).unwrap();
    image.library("cuda/lib64/libcudart.so", "int x;", &[]);
    fs::create_dir_all(image.at("cuda/include")).unwrap();
    let header = "#define CUDA_VERSION 12040\n";
    fs::write(image.at("cuda/include/cuda.h"), header).unwrap();
    let doctor = |path: &str| {
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        doctor.args(["doctor", "--json"]).env_clear();
        doctor.env("CUDA_HOME", image.at("cuda"));
        run(doctor.env("LD_LIBRARY_PATH", path))
    };
    let old = image.at("old").display().to_string();
    let help = format!("remove `{old}` from LD_LIBRARY_PATH where the program runs");
    doctor(&old).says("cuda-libraries-mixed").says(&help);
    doctor("").does_not_say("cuda-libraries-mixed");
}

/// The older directory also contains a library that the program needs.
#[test]
fn no_help_removes_a_directory_that_the_program_needs() {
    let image = cusparse("nvjitlink-needed", (12, 4), (12, 4), &[]);
    let old = "opt/cuda-12.1/lib64";
    nvjitlink(&image, old, (12, 1));
    image.library("opt/cuda-12.1/lib64/libcudart.so.12", "int x;", &[]);
    let sparse = format!("IMAGE/{}/libcusparse.so.12", wheel("cusparse"));
    let rpath = format!("-Wl,-rpath,/{}", wheel("cusparse"));
    let cudart = "IMAGE/opt/cuda-12.1/lib64/libcudart.so.12";
    image.program(&[], &[&sparse, cudart, &rpath]);
    let text = findings(&image, &[old]);
    assert!(!text.contains("= help: remove"), "{text}");
    assert!(text.contains("= help: put `/venv/"), "{text}");
    is_silent(&image, &[&wheel("nvjitlink"), old]);
}

/// The loader searches the program's RPATH before LD_LIBRARY_PATH.
#[test]
fn an_older_nvjitlink_in_the_rpath_of_the_program_is_reported() {
    let image = cusparse("rpath", (12, 4), (12, 4), &[]);
    nvjitlink(&image, "opt/old", (12, 1));
    let nvjitlink = format!("IMAGE/{}/libnvJitLink.so.12", wheel("nvjitlink"));
    let sparse = format!("IMAGE/{}/libcusparse.so.12", wheel("cusparse"));
    let rpath = format!(
        "-Wl,--disable-new-dtags,-rpath,/opt/old:/{}",
        wheel("cusparse")
    );
    image.program(&[], &[&nvjitlink, &sparse, &rpath]);
    let text = findings(&image, &[&wheel("nvjitlink")]);
    let help = "= help: install a libnvJitLink.so.12 from CUDA 12.4 or later in `/opt/old`\n";
    assert!(text.contains(help), "{text}");
    assert!(!text.contains("first in LD_LIBRARY_PATH"), "{text}");
}

/// NVIDIA/cuvs#1794
#[test]
fn an_older_wheel_of_nvjitlink_is_reported() {
    let image = cusparse("wheels", (12, 9), (12, 4), &[]);
    let library = "nvidia/nvjitlink/lib/libnvJitLink.so.12";
    let help = |image: &Image| {
        let text = findings(image, &[]);
        let help = text.split("= help: ").nth(1).unwrap();
        help.split("\n      ").next().unwrap().to_string()
    };
    assert_eq!(
        help(&image),
        "install a libnvJitLink.so.12 from CUDA 12.9 or later in \
         `/venv/lib/python3.12/site-packages/nvidia/cusparse/lib/../../nvjitlink/lib`, or add its directory to LD_LIBRARY_PATH"
    );
    record(&image, "nvidia_nvjitlink_cu12-12.4.127", library);
    assert_eq!(
        help(&image),
        "run `pip install 'nvidia-nvjitlink-cu12>=12.9,<13.0'`"
    );
    fs::write(image.at("venv/pyvenv.cfg"), "home = /usr/bin\nuv = 0.9.1\n").unwrap();
    assert_eq!(
        help(&image),
        "run `uv pip install 'nvidia-nvjitlink-cu12>=12.9,<13.0'`"
    );
    // Two wheels claim the file, so no command is known to help.
    record(&image, "nvidia_nvjitlink-12.4.127", library);
    assert!(help(&image).starts_with("install a libnvJitLink.so.12"));
    nvjitlink(&image, &wheel("nvjitlink"), (12, 9));
    is_silent(&image, &[]);
}

/// The version is not part of the names of cuBLAS's functions, and one wheel contains both libraries.
#[test]
fn an_older_cublaslt_and_an_older_cublas_are_reported() {
    let image = Image::new("cublas");
    let (cublas, cusolver) = (wheel("cublas"), wheel("cusolver"));
    let needed = ["libcublas.so.12", "libcublasLt.so.12"];
    let [blas, lt] = needed.map(|name| format!("{cublas}/{name}"));
    let [needs_blas, needs_lt] = [&blas, &lt].map(|path| format!("IMAGE/{path}"));
    let runpath = |path: &str| format!("-Wl,--enable-new-dtags,-rpath,$ORIGIN{path}");
    let init = "void cublasLtInit(void) {}\n";
    let mode = "cublasSetEnvironmentMode";
    let of_lt = "cublasLtSetEnvironmentMode";
    versioned(&image, &lt, &format!("{init}void {of_lt}(void) {{}}"), &[]);
    let flags = [&*needs_lt, &runpath("")];
    versioned(&image, &blas, &calling(mode, of_lt), &flags);
    let solver = format!("{cusolver}/libcusolver.so.11");
    let own = [&*needs_blas, &needs_lt, &runpath("/../../cublas/lib")];
    versioned(&image, &solver, &calling("cusolverDnCreate", mode), &own);
    let rpath = format!("-Wl,-rpath,/{cusolver}");
    image.program(&[], &[&format!("IMAGE/{solver}"), &rpath]);
    is_silent(&image, &[]);
    let finds = |dirs: &[&str], wanted: &str| {
        let text = findings(&image, dirs);
        assert!(text.contains(wanted), "{text}");
    };
    // cuBLAS with an older cuBLASLt.
    versioned(&image, "opt/old/libcublasLt.so.12", init, &[]);
    let old = &["opt/old"];
    finds(
        old,
        "`/opt/old/libcublasLt.so.12` does not contain cublasLtSetEnvironmentMode, which `/venv/",
    );
    finds(old, "= help: remove `/opt/old` from LD_LIBRARY_PATH\n");
    is_silent(&image, &[&cublas, "opt/old"]);
    // cuSOLVER with an older cuBLAS, in wheels.
    let older = calling("cublasCreate", "cublasLtInit");
    versioned(&image, &blas, &older, &flags);
    let file = "nvidia/cublas/lib/libcublas.so.12";
    record(&image, "nvidia_cublas_cu12-12.4.5.8", file);
    finds(
        &[],
        "= help: install a libcublas.so.12 of the CUDA version of libcusolver.so.11 in `/venv/",
    );
    let file = "nvidia/cusolver/lib/libcusolver.so.11";
    record(&image, "nvidia_cusolver_cu12-11.7.5.82", file);
    finds(
        &[],
        "= help: run `pip install --upgrade nvidia-cublas-cu12 nvidia-cusolver-cu12`\n",
    );
}

#[test]
fn compatible_libraries_are_not_reported() {
    // A newer library contains the functions of the older ones.
    let image = cusparse("together", (12, 4), (12, 9), &[]);
    is_silent(&image, &[]);
    nvjitlink(&image, "opt/newer", (12, 5));
    is_silent(&image, &["opt/newer"]);
    // The older library comes later on the search path, or is not on it.
    nvjitlink(&image, "opt/old", (12, 1));
    is_silent(&image, &["opt/newer", "opt/old"]);
    // A library of the same name without symbols may load another library.
    image.library("opt/empty/libnvJitLink.so.12", "", &[]);
    is_silent(&image, &["opt/empty"]);
    // Another library defines the function.
    versioned(
        &image,
        "opt/both/libother.so",
        "void __nvJitLinkComplete_12_4(void) {}",
        &[],
    );
    let sparse = format!("IMAGE/{}/libcusparse.so.12", wheel("cusparse"));
    let rpath = format!("-Wl,-rpath,/{}", wheel("cusparse"));
    image.program(&[], &[&sparse, "IMAGE/opt/both/libother.so", &rpath]);
    is_silent(&image, &["opt/both", "opt/old"]);
    // Neither library is NVIDIA's.
    let image = Image::new("not-nvidias");
    versioned(
        &image,
        "opt/lib/libother.so.1",
        "void one(void) {}\nvoid two(void) {}",
        &[],
    );
    versioned(
        &image,
        "opt/lib/libcurl.so.4",
        "void two(void);\nvoid curl(void) { two(); }",
        &["IMAGE/opt/lib/libother.so.1", "-Wl,-rpath,$ORIGIN"],
    );
    image.program(&[], &["IMAGE/opt/lib/libcurl.so.4", "-Wl,-rpath,/opt/lib"]);
    versioned(&image, "opt/lib/libother.so.1", "void one(void) {}", &[]);
    is_silent(&image, &[]);
}

/// The caller is a framework's library, or a program without a SONAME, which gets a finding of its own.
#[test]
fn a_caller_that_is_not_nvidias_is_reported() {
    let image = Image::new("torch");
    let blas = "opt/lib/libcublas.so.12";
    let needed = ["IMAGE/opt/lib/libcublas.so.12", "-Wl,-rpath,$ORIGIN"];
    let code = "void cublasSetEnvironmentMode(void);\n";
    versioned(&image, blas, "void cublasSetEnvironmentMode(void) {}", &[]);
    let torch = format!("{code}void torch(void) {{ cublasSetEnvironmentMode(); }}");
    versioned(&image, "opt/lib/libtorch_cuda.so", &torch, &needed);
    let start = format!("{code}void _start(void) {{ cublasSetEnvironmentMode(); }}");
    // Like Python, the program exports its functions.
    let exports = "-Wl,--export-dynamic,--hash-style=gnu";
    image.compile(
        "app/direct",
        &start,
        &[needed[0], exports, "-Wl,-rpath,/opt/lib"],
    );
    image.program(
        &[],
        &["IMAGE/opt/lib/libtorch_cuda.so", "-Wl,-rpath,/opt/lib"],
    );
    is_silent(&image, &[]);
    versioned(&image, blas, "void cublasCreate_v2(void) {}", &[]);
    assert_eq!(ids(&image.json()), ["cuda-libraries-mixed"]);
    fs::rename(image.at("app/direct"), image.at("app/app")).unwrap();
    assert_eq!(ids(&image.json()), ["library-not-found"]);
}

/// Creates a program with an NVRTC of this version in `opt/cuda/lib64`.
fn nvrtc(name: &str, release: &str, own: &str, program: &str) -> Image {
    let image = Image::new(name);
    let code = format!(
        "const char *name(void) {{ return \"libnvrtc-builtins.so.{release}\"; }}\n\
         const char *error(void) {{ return \"failed to open libnvrtc-builtins.so.{release}.\"; }}\n"
    );
    let library = "opt/cuda/lib64/libnvrtc.so.12";
    image.library(library, &code, &[own]);
    image.program(&[], &["IMAGE/opt/cuda/lib64/libnvrtc.so.12", program]);
    image
}

fn builtins(image: &Image, dir: &str, release: &str) {
    image.library(
        &format!("{dir}/libnvrtc-builtins.so.{release}"),
        "int x;",
        &[],
    );
}

const OF_NVRTC: &str = "-Wl,--enable-new-dtags,-rpath,$ORIGIN";
const OF_PROGRAM: &str = "-Wl,--enable-new-dtags,-rpath,/opt/cuda/lib64";

/// pytorch/TensorRT#3893
#[test]
fn builtins_of_another_version_are_reported() {
    let image = nvrtc("builtins", "12.4", OF_NVRTC, OF_PROGRAM);
    let dir = "opt/cuda/lib64";
    builtins(&image, dir, "12.9");
    assert_eq!(
        findings(&image, &[]),
        "  ! warning: `/opt/cuda/lib64/libnvrtc.so.12` opens libnvrtc-builtins.so.12.4, which the loader cannot find: \
         libnvrtc-builtins.so.12.9 beside it is from another CUDA version  [cuda-libraries-mixed]\n      \
         = help: install libnvrtc of CUDA 12.4 with its builtins library\n      \
         searched    the RUNPATH of libnvrtc.so.12, its entry `/opt/cuda/lib64`\n                  \
         /etc/ld.so.cache\n      \
         result      NVRTC fails to open libnvrtc-builtins.so.12.4 when it compiles code\n"
    );
    builtins(&image, dir, "12.4");
    inspect(&image, &[]).does_not_say("libnvrtc-builtins");
}

/// `$ORIGIN` is the directory of the link, which does not contain the builtins.
#[test]
fn a_link_to_nvrtc_without_builtins_beside_it_is_reported() {
    let image = nvrtc("builtins-link", "12.4", OF_NVRTC, "-Wl,-rpath,/app/lib");
    builtins(&image, "opt/cuda/lib64", "12.4");
    fs::create_dir_all(image.at("app/lib")).unwrap();
    symlink(
        "/opt/cuda/lib64/libnvrtc.so.12",
        image.at("app/lib/libnvrtc.so.12"),
    )
    .unwrap();
    image
        .flat(&[])
        .says("[library-not-found] = help: add `/opt/cuda/lib64` to LD_LIBRARY_PATH searched");
    inspect(&image, &["opt/cuda/lib64"]).does_not_say("libnvrtc-builtins");
}

/// A library such as a stand-in that does not contain the name does not open the builtins.
#[test]
fn an_nvrtc_without_the_name_of_its_builtins_is_not_reported() {
    let image = nvrtc("builtins-none", "%d.%d", OF_NVRTC, OF_PROGRAM);
    inspect(&image, &[]).does_not_say("libnvrtc-builtins");
}
