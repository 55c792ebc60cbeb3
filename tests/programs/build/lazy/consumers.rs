//! A program that calls cuDNN in three ways: itself, through cudarc with `dynamic-linking`, and through a `-sys` crate that
//! passes `-lcudnn` to the linker.

use crate::support::builds::write;
use crate::support::{cargo, program, project, run};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

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
    fn cudnnSubquadraticOpsVersionCheck() -> i32;
}

fn main() {
    if std::env::args().any(|word| word == "call-new") {
        println!("{}", unsafe { cudnnSubquadraticOpsVersionCheck() });
    } else if std::env::args().any(|word| word == "call") {
        let own = unsafe { cudnnGetVersion() };
        let cudarc = cudarc::cudnn::result::get_version();
        println!("{own} {cudarc} {}", cudnn_below::version());
    } else if gpu::available() && gpu::check().is_ok() {
        println!("computing on the GPU");
    } else {
        println!("computing on the CPU");
    }
}
"#;
const BELOW: &str = "unsafe extern \"C\" {\n    fn cudnnGetVersion() -> usize;\n}\n\n\
                     pub fn version() -> usize {\n    unsafe { cudnnGetVersion() }\n}\n";

/// Creates the project.
pub fn all_kinds(name: &str) -> PathBuf {
    let dir = project(name, BUILD, MAIN);
    let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
    let added = "[dependencies]\ncudnn_below = { path = \"cudnn_below\" }\n\
                 cudarc = { version = \"0.19\", default-features = false, \
                 features = [\"std\", \"driver\", \"cudnn\", \"dynamic-linking\", \"cuda-12020\"] }\n";
    let manifest = manifest.replace("[dependencies]\n", added);
    write(&dir.join("Cargo.toml"), &manifest);
    let below = dir.join("cudnn_below");
    fs::create_dir_all(below.join("src")).unwrap();
    let manifest = "[package]\nname = \"cudnn_below\"\nversion = \"0.1.0\"\nedition = \"2024\"\nlinks = \"cudnn_below\"\n";
    write(&below.join("Cargo.toml"), manifest);
    let script = "fn main() {\n    println!(\"cargo::rustc-link-lib=dylib=cudnn\");\n}\n";
    write(&below.join("build.rs"), script);
    write(&below.join("src/lib.rs"), BELOW);
    dir
}

/// Returns the functions that cudarc, a dependency of the project, declares in a module.
pub fn declared(project: &Path, module: &str) -> BTreeSet<String> {
    let arguments = ["metadata", "--format-version=1"];
    let metadata = run(&mut cargo(project, &arguments)).exits_with(0).stdout;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let cudarc = packages.find(|package| package["name"] == "cudarc");
    let manifest = Path::new(cudarc.unwrap()["manifest_path"].as_str().unwrap());
    let bindings = manifest.with_file_name(format!("src/{module}/sys/mod.rs"));
    let bindings = fs::read_to_string(bindings).unwrap();
    let names = bindings.split("fn cu").skip(1);
    let names = names.filter_map(|rest| Some(format!("cu{}", rest.split_once('(')?.0)));
    let is_name = |name: &String| {
        name.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    // cudarc's own function, which returns the library.
    names
        .filter(is_name)
        .filter(|name| name != "culib")
        .collect()
}

/// Adds a stub of the driver's library to the files of a wheel with CUDA.
pub fn with_stub(wheel: &Path, into: &Path, compiler: &str) {
    symlink(wheel.join("include"), into.join("include")).unwrap();
    let lib = into.join("lib64");
    fs::create_dir_all(lib.join("stubs")).unwrap();
    for file in fs::read_dir(wheel.join("lib")).unwrap() {
        let file = file.unwrap().path();
        symlink(&file, lib.join(file.file_name().unwrap())).unwrap();
    }
    let source = into.join("stub.c");
    write(&source, "int cuInit(unsigned flags) { return 34; }\n");
    let mut command = program(compiler);
    command.args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o"]);
    run(command.arg(lib.join("stubs/libcuda.so")).arg(&source)).exits_with(0);
}
