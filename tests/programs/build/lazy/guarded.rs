//! A guarded program with `Link::Lazy`, with the simulated cuDNN and driver.

use super::built;
use crate::support::simulated::simulated;
use crate::support::{Ran, cargo, fresh, project, run, scratch};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const BUILD: &str = r#"fn main() {
    cudnn_guard::build(|| {
        let config = cudnn_guard::Config::new().cudnn(">=9.1, <10").libs(["cuda"]);
        let gpu = config.link(cudnn_guard::Link::Lazy).probe()?;
        gpu.link();
        gpu.guard().write()
    });
}
"#;
const MAIN: &str = r#"mod gpu {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

unsafe extern "C" {
    fn cudnnGetVersion() -> usize;
    fn cuDriverGetVersion(version: *mut i32) -> i32;
}

/// Returns the cuDNN files in this process.
fn loaded() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    let mut paths: Vec<String> = paths.filter(|path| path.contains("libcudnn.so")).map(String::from).collect();
    paths.dedup();
    paths
}

fn main() {
    assert_eq!(loaded(), [""; 0]);
    let is_checked = gpu::available() && gpu::check().is_ok();
    if !is_checked {
        println!("CPU");
        return;
    }
    let report = gpu::check_version().unwrap();
    let checked = report.library_path().unwrap().canonicalize().unwrap();
    let mut driver = 0;
    let version = unsafe {
        cuDriverGetVersion(&mut driver);
        cudnnGetVersion()
    };
    assert_eq!(loaded(), [checked.to_str().unwrap()]);
    println!("GPU {version} {driver}");
}
"#;

/// Returns the program and the directory with the simulated libraries.
fn program() -> &'static (PathBuf, PathBuf) {
    static PROGRAM: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let simulator = simulated((9, 14, 0));
        // The toolkit contains a stub, as NVIDIA's installer does.
        let cuda = fresh("lazy-guarded-toolkit");
        symlink(simulator.join("include"), cuda.join("include")).unwrap();
        std::fs::create_dir_all(cuda.join("lib64/stubs")).unwrap();
        let stub = cuda.join("lib64/stubs/libcuda.so");
        symlink(simulator.join("driver/libcuda.so.1"), stub).unwrap();
        let cudart = simulator.join("lib64/libcudart.so.13");
        symlink(cudart, cuda.join("lib64/libcudart.so")).unwrap();
        let dir = project("lazy-guarded", BUILD, MAIN);
        let mut command = cargo(&dir, &["build"]);
        command.env("CUDA_HOME", &cuda).env("CUDA_PATH", &cuda);
        command.env("CUDNN_PATH", &simulator);
        run(&mut command).exits_with(0);
        (built("lazy-guarded"), simulator)
    })
}

fn start(libraries: &[&Path]) -> Ran {
    let mut command = Command::new(&program().0);
    command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap());
    run(&mut command)
}

/// The program calls the cuDNN that the guard checked.
#[test]
fn a_program_calls_the_cudnn_that_was_checked() {
    let (program, simulator) = program();
    let ran = start(&[&simulator.join("driver")]).exits_with(0);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("GPU 91400 13000\n", "")
    );
    let needed = run(Command::new("readelf").arg("-d").arg(program)).exits_with(0);
    for name in ["libcudnn", "libcuda."] {
        assert!(
            !needed
                .stdout
                .lines()
                .any(|line| line.contains("NEEDED") && line.contains(name))
        );
    }
    // The loader must not find the stub instead of the driver.
    assert!(!needed.stdout.contains("/stubs"), "{}", needed.stdout);
}

/// Without a driver, the program continues and opens nothing of CUDA.
#[test]
fn a_program_without_a_driver_computes_on_the_cpu() {
    let ran = start(&[]).exits_with(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("CPU\n", ""));
}

/// cudarc with `dynamic-linking` passes `-lcuda` and `-lcudnn` to the linker.
#[test]
#[ignore = "needs cudarc, which cargo downloads only for the feature cudarc"]
fn cudarc_with_dynamic_linking_is_lazy_too() {
    let (_, simulator) = program();
    let cuda = scratch("lazy-guarded-toolkit");
    let main = "mod gpu {\n    include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\"));\n}\n\
                fn main() {\n    if gpu::available() && gpu::check().is_ok() {\n        \
                assert!(cudarc::driver::result::init().is_ok());\n        \
                println!(\"GPU {}\", cudarc::cudnn::result::get_version());\n    \
                } else {\n        println!(\"CPU\");\n    }\n}\n";
    let dir = project("lazy-cudarc", BUILD, main);
    let manifest = std::fs::read_to_string(dir.join("Cargo.toml")).unwrap();
    let cudarc = "[dependencies]\ncudarc = { version = \"0.19\", default-features = false, \
                  features = [\"std\", \"driver\", \"cudnn\", \"dynamic-linking\", \"cuda-13000\"] }\n";
    let manifest = manifest.replace("[dependencies]\n", cudarc);
    std::fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    let mut command = cargo(&dir, &["build"]);
    command.env("CUDA_HOME", &cuda).env("CUDA_PATH", &cuda);
    command.env("CUDNN_PATH", simulator);
    run(&mut command).exits_with(0);
    let start = |dirs: &[&Path]| {
        let mut command = Command::new(built("lazy-cudarc"));
        command.env("LD_LIBRARY_PATH", std::env::join_paths(dirs).unwrap());
        run(&mut command).exits_with(0).stdout
    };
    assert_eq!(start(&[]), "CPU\n");
    assert_eq!(start(&[&simulator.join("driver")]), "GPU 91400\n");
}

/// A function that an older cuDNN does not contain is named together with the version that introduced it.
#[test]
fn the_version_that_introduced_a_function_is_named() {
    let (built_with, older) = (simulated((8, 9, 7)), simulated((8, 5, 0)));
    let script = BUILD
        .replace(">=9.1, <10", ">=8.5, <9")
        .replace(".libs([\"cuda\"])", "");
    let main = "use cudnn_guard as _;\nunsafe extern \"C\" {\n    fn cudnnGetMaxDeviceVersion() -> usize;\n}\n\
                fn main() { println!(\"{}\", unsafe { cudnnGetMaxDeviceVersion() }); }\n";
    let dir = project("lazy-introduced", &script, main);
    let mut command = cargo(&dir, &["build"]);
    for variable in ["CUDA_HOME", "CUDA_PATH", "CUDNN_PATH"] {
        command.env(variable, &built_with);
    }
    run(&mut command).exits_with(0);
    let start = |libraries: &Path| {
        let mut command = Command::new(built("lazy-introduced"));
        run(command.env("LD_LIBRARY_PATH", libraries.join("lib64")))
    };
    start(&built_with).exits_with(0);
    let file = older.join("lib64/libcudnn.so.8");
    assert_eq!(
        start(&older).exits_with(78).stderr,
        format!(
            "cudnn-guard: this program calls `cudnnGetMaxDeviceVersion`, introduced in cuDNN 8.6.0, but `{}` does not contain it  \
             [cudnn-not-loadable]\n  = help: install cuDNN 8.9.7 or later\n  loaded      cuDNN 8.5.0\n  built with  cuDNN 8.9.7\n",
            file.display()
        )
    );
}

#[test]
fn a_driver_without_the_function_is_too_old() {
    let simulator = simulated((9, 14, 0));
    let cuda = fresh("lazy-driver-toolkit");
    symlink(simulator.join("include"), cuda.join("include")).unwrap();
    std::fs::create_dir_all(cuda.join("lib64/stubs")).unwrap();
    let source = cuda.join("stub.c");
    std::fs::write(&source, "int cuOfALaterDriver(void) { return 0; }\n").unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o"]);
    compiler.arg(cuda.join("lib64/stubs/libcuda.so"));
    run(compiler.arg(&source)).exits_with(0);
    let cudart = simulator.join("lib64/libcudart.so.13");
    symlink(cudart, cuda.join("lib64/libcudart.so")).unwrap();
    let main = "use cudnn_guard as _;\nunsafe extern \"C\" {\n    fn cuOfALaterDriver() -> i32;\n}\n\
                fn main() { println!(\"{}\", unsafe { cuOfALaterDriver() }); }\n";
    let dir = project("lazy-driver", BUILD, main);
    let mut command = cargo(&dir, &["build"]);
    command.env("CUDA_HOME", &cuda).env("CUDA_PATH", &cuda);
    run(command.env("CUDNN_PATH", &simulator)).exits_with(0);
    let driver = simulator.join("driver");
    let mut command = Command::new(built("lazy-driver"));
    let ran = run(command.env("LD_LIBRARY_PATH", &driver)).exits_with(78);
    assert_eq!(
        ran.stderr,
        format!(
            "cudnn-guard: this program calls `cuOfALaterDriver`, but `{}` does not contain it  [driver-too-old]\n  \
             = help: upgrade the NVIDIA driver\n",
            driver.join("libcuda.so.1").display()
        )
    );
}
