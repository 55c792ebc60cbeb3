//! Small crates, built by cargo as users build them, with the simulator: no CUDA, GPU or network.

pub mod build;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub mod extension;

use crate::support::{
    Ran, built, cargo, consumers, fresh, program, project, repository, run, scratch, simulated,
    target, write_if_new,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Creates a simulated installation of this cuDNN with CUDA 13.0, for this test only.
fn installed(name: &str, cudnn: (u32, u32, u32), without: &[&str]) -> PathBuf {
    let into = fresh(name);
    simulated::install(cudnn, without, &into);
    into
}

fn on(command: &mut Command, installation: &Path) -> Ran {
    run(command
        .env("CUDA_HOME", installation)
        .env("CUDNN_PATH", installation))
}

fn libraries(dirs: &[PathBuf]) -> String {
    let dirs: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    dirs.join(":")
}

/// Starts a built consumer with these directories in LD_LIBRARY_PATH.
fn start(name: &str, dirs: &[PathBuf]) -> Ran {
    run(program(built(name)).env("LD_LIBRARY_PATH", libraries(dirs)))
}

fn make(name: &str, installation: &Path) {
    on(
        &mut cargo(consumers(), &["build", "-p", name]),
        installation,
    )
    .exits_with(0);
}

pub const NEEDS_BOTH: &str = "fn main() { cudnn_guard::build(|| {\n    \
    let gpu = cudnn_guard::Config::new().cuda(\">=11\").cudnn(\">=9.1\").probe()?;\n    \
    gpu.link();\n    gpu.guard().write()\n}); }\n";

const GUARDED: &str = "mod cudnn_guard { include!(concat!(env!(\"OUT_DIR\"), \"/cudnn_guard.rs\")); }\n\
    fn main() { cudnn_guard::startup(); }\n";

#[test]
fn a_program_that_opens_cudnn_builds_without_it_and_passes_with_a_valid_one() {
    run(&mut cargo(consumers(), &["build", "-p", "application"])).exits_with(0);
    let sound = installed("application-9.14", (9, 14, 0), &[]);
    start("application", &[sound.join("lib64"), sound.join("driver")])
        .exits_with(0)
        .says("9.14.0")
        .says("Simulated GPU")
        .says("largest error");
}

#[test]
#[ignore = "compiles the runtime once more, as a part of a static program"]
fn a_program_with_a_static_c_library_is_not_checked() {
    let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let arguments = ["build", "-p", "application", "--target", &triple];
    let mut build = cargo(consumers(), &arguments);
    run(build.env("RUSTFLAGS", "-Ctarget-feature=+crt-static")).exits_with(0);
    let sound = installed("crt-static-9.14", (9, 14, 0), &[]);
    let built = target().join(&triple).join("debug/application");
    let dirs = libraries(&[sound.join("lib64"), sound.join("driver")]);
    let ran = run(program(built).env("LD_LIBRARY_PATH", dirs)).exits_with(0);
    assert_eq!(
        ran.stderr,
        "cudnn-guard: unknown: cuDNN cannot be checked in a program with a statically linked C library (crt-static)  \
         [platform-unsupported]\n  \
         = help: build the program without `-C target-feature=+crt-static`: CUDA and cuDNN require a dynamic C library\n"
    );
}

#[test]
fn without_a_driver_the_program_continues_and_reports_unknown() {
    run(&mut cargo(consumers(), &["build", "-p", "application"])).exits_with(0);
    let sound = installed("no-driver-9.14", (9, 14, 0), &[]);
    start("application", &[sound.join("lib64")])
        .exits_with(0)
        .says("driver-missing");
}

/// The loader runs before the guard. A program that opens cuDNN itself gets better messages.
#[test]
fn a_linked_program_without_its_library_or_a_function_fails_to_load() {
    let home = installed("before-main-9.14", (9, 14, 0), &[]);
    let main = format!(
        "{GUARDED}#[allow(dead_code)] unsafe extern \"C\" {{ fn cudnnGetVersion() -> usize; }}\n\
         #[used] static ASKED: unsafe extern \"C\" fn() -> usize = cudnnGetVersion;\n"
    );
    let dir = project("before-main", NEEDS_BOTH, &main);
    on(&mut cargo(&dir, &["build"]), &home).exits_with(0);
    start("before-main", &[home.join("driver")]).exits_with(0);

    let other = fresh("before-main-function").join("libcudnn.so.9");
    let code = other.with_extension("c");
    fs::write(&code, "int nothing;\n").unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wl,-soname,libcudnn.so.9", "-o"]);
    run(compiler.arg(&other).arg(&code)).exits_with(0);
    let ran = start("before-main", &[other.parent().unwrap().into()]).exits_with(127);
    let text = ran.text();
    assert!(text.contains("undefined symbol: cudnn"), "{text}");
    // The whole output comes from the loader, which begins each line with the program.
    let program = built("before-main").display().to_string();
    let is_loader = |line: &str| line.is_empty() || line.starts_with(&program);
    assert!(text.lines().all(is_loader), "{text}");

    // From here on, the installation no longer exists.
    fs::rename(home.join("lib64/libcudnn.so.9"), home.join("lib64/kept")).unwrap();
    let ran = start("before-main", &[]).exits_with(127);
    assert_eq!(
        ran.text(),
        format!(
            "{program}: error while loading shared libraries: libcudnn.so.9: cannot open shared object file: No such file or directory\n"
        )
    );

    run(&mut cargo(consumers(), &["build", "-p", "application"])).exits_with(0);
    start("application", &[home.join("lib64"), home.join("driver")])
        .exits_with(78)
        .says("or `libcudnn.so.8`  [cudnn-not-loadable]");
    start("application", &[home.join("lib64")])
        .exits_with(0)
        .says("[cudnn-not-loadable]");
}

#[test]
fn wrong_numbers_a_crash_and_a_hang_are_distinguished() {
    let sound = installed("faults-9.14", (9, 14, 0), &[]);
    run(&mut cargo(consumers(), &["build", "-p", "application"])).exits_with(0);
    let faulty = |fault: &str, arguments: &[&str]| {
        run(program(built("application"))
            .args(arguments)
            .env(
                "LD_LIBRARY_PATH",
                libraries(&[sound.join("lib64"), sound.join("driver")]),
            )
            .env("SIM_FAULT", fault)
            .env("CUDNN_GUARD_DEADLINE", "2"))
    };
    faulty("wrong", &[])
        .exits_with(78)
        .says("[convolution-wrong]");
    faulty("nan", &[])
        .exits_with(78)
        .says("[convolution-wrong]");
    faulty("abort:cudnnConvolutionForward", &[])
        .exits_with(78)
        .says("[cudnn-aborted]");
    faulty("hang:cudnnConvolutionForward", &[])
        .exits_with(0)
        .says("[convolution-timeout]");
    faulty("none", &["thorough"])
        .exits_with(0)
        .says("cuDNN: pass")
        .says("bf16 convolution backward filter on Simulated GPU: pass, 3 times, largest error 0.0e0, ")
        .says("tf32 convolution forward on Simulated GPU: pass, 3 times, largest error 2.7e-3, rounded to TF32, ");
}

#[test]
fn a_program_that_depends_on_a_sys_crate_gets_its_rpath() {
    let sound = installed("above-9.14", (9, 14, 0), &[]);
    make("above", &sound);
    start("above", &[sound.join("driver")])
        .exits_with(0)
        .says("cudnnGetVersion() = 91400");
}

/// Uses the GPU only after the guard has passed.
const FALLBACK: &str = r#"mod cudnn_guard {
    include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs"));
}

fn main() {
    match cudnn_guard::check() {
        Ok(report) => println!("on the GPU, with {:?}", report.library_path()),
        Err(failure) => println!("on the CPU: {}\n{failure}", failure.verdict()),
    }
}
"#;

#[test]
fn a_program_with_a_cpu_path_builds_and_runs_on_a_machine_without_cuda() {
    let nothing = fresh("nothing-installed");
    let dir = project(
        "optional",
        &format!(
            "fn main() {{ cudnn_guard::build(|| {{\n    let gpu = cudnn_guard::Config::new().cudnn(\">=9\").root({nothing:?}).optional(true).probe()?;\n    gpu.link();\n    gpu.guard().write()\n}}); }}\n"
        ),
        FALLBACK,
    );
    run(&mut cargo(&dir, &["run"]))
        .exits_with(0)
        .says(
            "warning: optional@0.1.0: built without CUDA: no cuDNN was found; CUDA is not linked, no kernel is \
             compiled, and the guard reports this  [built-without-cuda]\n",
        )
        .says("on the CPU: unknown")
        .says("[built-without-cuda]");
}

/// The build script needs another name for cudnn-guard than the program, whose runtime has another source.
const ELSEWHERE: &str = r#"fn main() {
    writer::build(|| {
        let gpu = writer::Config::new().cudnn(">=9").link(writer::Link::Runtime).probe()?;
        gpu.guard().write()
    });
}
"#;
/// The manifest and the root of a crate that contains only the runtime.
const RUNTIME_MANIFEST: &str = r#"[package]
name = "cudnn-guard"
version = "0.0.0"
edition = "2024"

[lib]
path = "lib.rs"

[features]
runtime = []
"#;
const RUNTIME_ROOT: &str = r#"#[path = "guard/mod.rs"]
pub mod runtime;
pub mod internals {
    pub use crate::runtime::internals::*;
    pub use crate::runtime::*;
}
"#;
const ASKED_ELSEWHERE: &str = r#"mod guard { include!(concat!(env!("OUT_DIR"), "/cudnn_guard.rs")); }
fn main() {
    for failure in [guard::check_version().err().unwrap(), guard::check().err().unwrap()] {
        assert_eq!(failure.verdict(), guard::Verdict::Unknown);
        println!("{}", failure.headline());
    }
    guard::startup();
}
"#;

/// Creates a crate with a copy of the runtime. Its condition for Linux is replaced by one that no system meets.
fn unsupported_runtime() -> PathBuf {
    let dir = scratch("guard-elsewhere-runtime");
    write_if_new(&dir.join("Cargo.toml"), RUNTIME_MANIFEST);
    write_if_new(&dir.join("lib.rs"), RUNTIME_ROOT);
    let mut changed = 0;
    let mut folders = vec![PathBuf::from("guard")];
    while let Some(folder) = folders.pop() {
        fs::create_dir_all(dir.join(&folder)).unwrap();
        for entry in fs::read_dir(repository().join("build-support").join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.path().is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(entry.path()).unwrap();
            let replaced = text.replace("target_os = \"linux\"", "target_os = \"none\"");
            changed += usize::from(replaced != text);
            write_if_new(&dir.join(path), &replaced);
        }
    }
    assert!(changed > 0);
    dir
}

/// The check returns a result and does nothing else.
#[test]
fn an_unsupported_system_is_unknown() {
    let dir = project("guard-elsewhere", ELSEWHERE, ASKED_ELSEWHERE);
    let manifest = format!(
        "[package]\nname = \"guard-elsewhere\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ncudnn-guard = {{ path = {:?}, features = [\"runtime\"] }}\n\n\
         [build-dependencies]\nwriter = {{ path = {:?}, package = \"cudnn-guard\" }}\n\n[workspace]\n",
        unsupported_runtime(),
        repository()
    );
    fs::write(dir.join("Cargo.toml"), manifest).unwrap();
    run(&mut cargo(&dir, &["build"])).exits_with(0);
    let ran = run(&mut program(built("guard-elsewhere"))).exits_with(0);
    let libc = if cfg!(target_env = "musl") {
        " with musl"
    } else {
        ""
    };
    let (system, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let line = format!("cuDNN is not checked on {arch} {system}{libc}  [platform-unsupported]\n");
    assert_eq!(ran.stdout, line.repeat(2));
    assert_eq!(ran.stderr, format!("cudnn-guard: unknown: {line}"));
}
