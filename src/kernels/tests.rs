//! Kernels, compiled by a fake nvcc that records its arguments.

pub mod depfile_tests;
pub mod linking;
pub mod options;
pub mod package;
pub mod real;
pub mod real_device_code;
pub mod retry;
pub mod reuse;
pub mod stale;
pub mod wrapper;

use super::*;
use crate::kernels::tests::package::{Package, cache_off};
use crate::model::{Candidate, Cudnn, Found, FoundVia, Toolkit};
use crate::runtime::facts::{FindingId, Version};
use crate::targets::select::Selection;
use std::cell::OnceCell;
use std::path::Path;
use std::time::{Duration, SystemTime};

#[test]
fn a_library_from_two_files_with_the_same_name() {
    let package = Package::new(&[
        ("src/a/gelu.cu", "#include \"gelu.h\"\n"),
        ("src/a/gelu.h", ""),
        ("src/b/gelu.cu", "careless"),
    ]);
    let (result, lines) = package.compile();
    result.unwrap();
    let calls = package.calls();
    let hashes =
        ["src/a/gelu.cu", "src/b/gelu.cu"].map(|path| format!("{:016x}", package.hash(path)));
    let call = |source: &str, hash: &str| {
        let object = format!("./out/cudnn-guard/libk/gelu-{hash}");
        format!(
            "-c {source} -o {object}.o -MD -MF {object}.d -gencode=arch=compute_80,code=sm_80 \
             -gencode=arch=compute_90,code=sm_90 -O3 -Xcompiler -fPIC -DN=4 -DM"
        )
    };
    assert_eq!(
        calls,
        [
            call("./src/a/gelu.cu", &hashes[0]),
            call("./src/b/gelu.cu", &hashes[1])
        ]
    );
    let nvcc = package.path("cuda/bin/nvcc").canonicalize().unwrap();
    assert_eq!(
        lines,
        [
            "cargo::rerun-if-changed=./src",
            "cargo::rerun-if-changed=./src/a/gelu.cu",
            "cargo::rerun-if-changed=./src/b/gelu.cu",
            "cargo::rerun-if-env-changed=CPATH",
            "cargo::rerun-if-env-changed=CPLUS_INCLUDE_PATH",
            &format!("cargo::rerun-if-changed={}", nvcc.display()),
            "cargo::rerun-if-changed=./cuda/bin/nvcc",
            "cargo::warning=./src/b/gelu.cu(1): warning #177-D: variable was declared but never referenced",
            "cargo::rerun-if-changed=./src/a/gelu.h",
            "cargo::rerun-if-changed=./cuda/include/cuda.h",
            "cargo::rustc-link-search=native=./out",
            "cargo::rustc-link-lib=static=k",
            "cargo::rustc-link-lib=static:-bundle=k_cudart",
            "cargo::rustc-link-lib=dylib=stdc++",
            "cargo::rustc-link-lib=dylib=rt",
            "cargo::rustc-link-lib=dylib=dl",
            "cargo::rustc-link-lib=dylib=pthread",
        ]
    );
    let archive = std::fs::read(package.path("out/libk.a")).unwrap();
    let archive = String::from_utf8_lossy(&archive);
    assert!(
        hashes
            .iter()
            .all(|hash| archive.contains(&format!("gelu-{hash}.o"))),
        "both are in it"
    );
    assert_eq!(
        std::fs::read_link(package.path("out/libk_cudart.a")).unwrap(),
        package.path("cuda/lib64/libcudart_static.a")
    );
}

#[test]
fn object_names_do_not_depend_on_the_packages_directory() {
    let (one, two) = (Package::new(&[]), Package::new(&[]));
    assert_eq!(one.hash("src/a.cu"), two.hash("src/a.cu"));
    assert_ne!(one.hash("src/a.cu"), one.hash("src/b.cu"));
    assert_eq!(one.hash("src/a.cu"), job::hash(None, Path::new("src/a.cu")));
}

#[test]
fn only_changed_files_are_compiled_again() {
    let mut package = Package::new(&[
        ("src/a.cu", "#include \"common.h\"\n"),
        ("src/b.cu", "b\n"),
        ("src/common.h", "1\n"),
    ]);
    package.env.push(cache_off());
    let both = ["./src/a.cu", "./src/b.cu"];
    package.compiles(&both);
    package.compiles(&[]);
    package.write("src/b.cu", "other\n");
    package.compiles(&["./src/b.cu"]);
    package.write("src/common.h", "22\n");
    package.compiles(&["./src/a.cu"]);
    package.compiles(&[]);
    // Another header of the same size and with an older date.
    std::fs::write(package.path("src/common.h"), "33\n").unwrap();
    let file = std::fs::File::options()
        .append(true)
        .open(package.path("src/common.h"))
        .unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(9999))
        .unwrap();
    package.compiles(&["./src/a.cu"]);
    package.archs = "80";
    package.compiles(&both);
    package.compiles(&[]);
    std::fs::remove_file(package.path("src/common.h")).unwrap();
    package.write("src/a.cu", "alone\n");
    package.compiles(&["./src/a.cu"]);
    std::fs::remove_dir_all(package.path("out")).unwrap();
    std::fs::create_dir(package.path("out")).unwrap();
    package.compiles(&both);
    // A different nvcc at the same path.
    std::fs::remove_file(package.path("cuda/bin/nvcc")).unwrap();
    let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nvcc/nvcc");
    let copied = std::process::Command::new("cp")
        .arg(other)
        .arg(package.path("cuda/bin/nvcc"))
        .status();
    assert!(copied.unwrap().success());
    package.compiles(&both);
}

#[test]
fn the_number_of_threads_does_not_cause_a_rebuild() {
    let package = Package::new(&[("src/a.cu", "")]);
    let mut toolchain = package.toolchain();
    toolchain.set_cuda(Version::new(13, 0, 0));
    let kernels = toolchain.kernels();
    let sources = vec![package.path("src/a.cu")];
    let of = |product: Product| {
        let (plan, targets) = kernels.plan(product, &sources, &mut Vec::new()).unwrap();
        let jobs = kernels.jobs(product, "x", &sources, &targets);
        (jobs.unwrap(), Setup::new(plan, &toolchain))
    };
    let (jobs, setup) = of(Product::Fatbin);
    assert_eq!(breadth(&setup.plan, jobs[0].targets.len()), 2);
    for threads in [1, 3] {
        jobs[0].make(&setup, threads).unwrap().unwrap();
        let message = package.calls()[0].contains(" --threads 3 ");
        assert_eq!(message, threads == 3);
        let artifact = jobs[0].artifact(&setup);
        assert!(artifact.fresh(&StatCache::default()).is_some());
    }
    let (jobs, setup) = of(Product::Cubin);
    assert!(
        jobs.iter()
            .all(|job| breadth(&setup.plan, job.targets.len()) == 1)
    );
}

#[test]
fn a_file_that_may_have_changed_during_compilation_is_compiled_again() {
    let package = Package::new(&[("src/a.cu", "")]);
    let file = std::fs::File::options()
        .append(true)
        .open(package.path("src/a.cu"))
        .unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(5))
        .unwrap();
    package.compiles(&["./src/a.cu"]);
    package.compiles(&["./src/a.cu"]);
}

#[test]
fn every_file_that_fails_is_named_with_nvccs_own_words() {
    let package = Package::new(&[
        ("src/a.cu", "mistake"),
        ("src/b.cu", ""),
        ("src/c d.cu", "mistake"),
    ]);
    let (result, lines) = package.compile();
    let hashes = ["src/a.cu", "src/c d.cu"].map(|path| format!("{:016x}", package.hash(path)));
    let text = |source: &str, quoted: &str, stem: &str, quote: &str| {
        format!(
            "nvcc failed to compile `{source}`  [nvcc-failed]\n  \
             nvcc says   {source}(1): error: identifier \"mistake\" is undefined\n              \
             \\u{{1b}}[31m1 error detected\\u{{1b}}[0m\n  \
             command     ./cuda/bin/nvcc -c {quoted} -o {quote}./out/cudnn-guard/libk/{stem}.o{quote} -MD -MF \
             {quote}./out/cudnn-guard/libk/{stem}.d{quote} -gencode=arch=compute_80,code=sm_80 \
             -gencode=arch=compute_90,code=sm_90 -O3 -Xcompiler -fPIC -DN=4 -DM\n  \
             see         cudnn-guard explain nvcc-failed"
        )
    };
    assert_eq!(
        result.unwrap_err(),
        format!(
            "{}\n\n{}",
            text("./src/a.cu", "./src/a.cu", &format!("a-{}", hashes[0]), ""),
            text(
                "./src/c d.cu",
                "'./src/c d.cu'",
                &format!("c d-{}", hashes[1]),
                "'"
            ),
        )
    );
    // If the build script continues, it must run again when the kernel is corrected.
    assert!(
        lines.contains(&"cargo::rerun-if-changed=./src/a.cu".to_string()),
        "{lines:?}"
    );
    package.calls();
    package.write("src/a.cu", "");
    package.write("src/c d.cu", "");
    package.compiles(&["./src/a.cu", "./src/c"]);
}

#[test]
fn without_nvcc_the_searched_places_are_named() {
    let package = Package::new(&[("src/a.cu", "")]);
    let mut toolchain = package.toolchain();
    let wheel = PathBuf::from("/venv/lib/python3.11/site-packages/nvidia/cuda_runtime");
    let candidate = |root: &Path, via| Candidate {
        found: Found::Toolkit(Toolkit {
            root: root.to_path_buf(),
            ..Toolkit::default()
        }),
        via,
        rejected: None,
        request: None,
    };
    toolchain.candidates = vec![candidate(&wheel, FoundVia::VirtualEnvironment)];
    let error = package.compile_with(&toolchain).0.unwrap_err();
    let root = wheel.display();
    assert_eq!(
        error,
        format!(
            "cannot compile `./src/a.cu`: the CUDA toolkit at `{root}` does not include nvcc  [nvcc-not-found]\n  \
             = help: install the wheels of CUDA 13, since those of CUDA 11 and 12 do not include nvcc: `pip install \
             nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl`\n  \
             = help: set CUDA_HOME to a CUDA toolkit that contains `bin/nvcc`, or put its nvcc on PATH\n  \
             = help: run `cudnn-guard fetch` to install one without root (to get it, run `cargo install --path . --features cli` in a clone of \
             cudnn-guard)\n  \
             searched    {root} (active virtual environment): no nvcc\n  \
             see         cudnn-guard explain nvcc-not-found"
        )
    );
    toolchain.candidates.clear();
    toolchain.toolkit_fault = Some(FindingId::CudaNotFound.error("no CUDA"));
    let error = package.compile_with(&toolchain).0.unwrap_err();
    assert_eq!(
        error,
        "no CUDA  [cuda-not-found]\n  \
         see         cudnn-guard explain cuda-not-found"
    );
}

#[test]
fn findings_about_targets_are_warnings() {
    let package = Package::new(&[("src/a.cu", "")]);
    let toolchain = package.toolchain();
    let chosen = toolchain.selection().map(|chosen| Selection {
        findings: vec![
            FindingId::NoGpu.note("not requested"),
            FindingId::GpuNewerThanNvcc
                .warning("too\x07 new")
                .help("wait"),
        ],
        ..chosen
    });
    let toolchain = Toolchain {
        selection: OnceCell::from(chosen),
        guard: std::cell::RefCell::default(),
        ..toolchain
    };
    let lines = package.compile_with(&toolchain).1;
    let warned: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("cargo::warning="))
        .collect();
    assert_eq!(
        warned,
        [
            "cargo::warning=too\\u{7} new  [gpu-newer-than-nvcc]",
            "cargo::warning=  = help: wait"
        ]
    );
}

#[test]
fn targets_are_compared_with_cudnns() {
    let package = Package::new(&[("src/a.cu", "")]);
    let mut toolchain = package.toolchain();
    toolchain.set(Found::Cudnn(Cudnn {
        library_version: Some(Version::new(8, 5, 0)),
        cuda_major: Some(11),
        ..Cudnn::default()
    }));
    let lines = package.compile_with(&toolchain).1;
    let warned = lines.iter().filter(|line| line.contains("GPUs of"));
    assert_eq!(
        warned.collect::<Vec<_>>(),
        [
            "cargo::warning=cuDNN 8.5.0 for CUDA 11 contains only PTX, which the driver must compile, for GPUs of compute \
             capability 9.0, which kernels are compiled for  [gpu-newer-than-cudnn]"
        ]
    );
}

#[test]
fn a_c_compilation_finds_the_headers() {
    let package = Package::new(&[]);
    let triple = "x86_64-unknown-linux-gnu";
    let mut build = cc::Build::new();
    build.cargo_metadata(false).opt_level(0).target(triple);
    package.toolchain().apply_to(build.host(triple));
    let command = build.get_compiler().to_command();
    let args: Vec<String> = command
        .get_args()
        .map(|arg| package.shown(&arg.to_string_lossy()))
        .collect();
    let place = args.iter().position(|arg| arg == "-I").unwrap();
    assert_eq!(args[place + 1], "./cuda/include");
}

#[test]
fn a_misspelled_path_or_pattern_names_a_similar_one_that_exists() {
    let package = Package::new(&[("src/kernels/add.cu", ""), ("src/main.rs", "")]);
    let toolchain = package.toolchain();
    for (pattern, meant) in [
        ("src/kernel/*.cu", Some("./src/kernels/*.cu")),
        ("src/kernels/*.cuu", Some("./src/kernels/*.cu")),
        ("src/kernels/ad.cuh", None),
        ("src/kernels/adds.cu", Some("./src/kernels/add.cu")),
        ("src/kernel/add.cu", Some("./src/kernels/add.cu")),
        ("src/kernel/*.cpp", None),
        ("source/*.cu", None),
        ("src/*.cu", None),
    ] {
        let kernels = toolchain.kernels().files(package.path(pattern));
        let error = kernels.library("k", &mut Vec::new()).unwrap_err();
        let help: Vec<String> = error.findings()[0]
            .help
            .iter()
            .map(|it| package.shown(it))
            .collect();
        let expected = meant.map(|meant| format!("write `{meant}` if that is what you mean"));
        let suggested = help.iter().find(|help| help.starts_with("write "));
        assert_eq!(suggested, expected.as_ref(), "{pattern}");
        assert!(
            help.last().unwrap().starts_with("correct the pa"),
            "{help:?}"
        );
    }
}

#[test]
fn mistakes_in_build_rs_are_reported() {
    let package = Package::new(&[("src/a.cu", "")]);
    let toolchain = package.toolchain();
    let message = |kernels: Kernels, name: &str| {
        let error = kernels.library(name, &mut Vec::new()).unwrap_err();
        package.shown(&error.findings()[0].summary)
    };
    let pattern = package.path("src/*.cuda").to_string_lossy().into_owned();
    assert_eq!(
        message(toolchain.kernels().files(pattern), "k"),
        "`./src/*.cuda` matches no file"
    );
    assert_eq!(
        message(toolchain.kernels().file(package.path("src/b.cu")), "k"),
        "kernel source `./src/b.cu` does not exist"
    );
    let directory = toolchain.kernels().file(package.path("src"));
    let error = directory.library("k", &mut Vec::new()).unwrap_err();
    assert_eq!(
        package.shown(&error.findings()[0].to_string()),
        "kernel source `./src` is a directory  [config-invalid]\n  \
         = help: select the files in it: `.files(\"./src/*.cu\")`"
    );
    assert_eq!(
        message(toolchain.kernels(), "k"),
        "build.rs compiles kernels but does not specify any files"
    );
    assert_eq!(
        message(toolchain.kernels().file("a.cu"), "a\ncargo::x"),
        "\"a\\ncargo::x\" is not a valid library name"
    );
    let with_target = toolchain.kernels().file(package.path("src/a.cu"));
    assert_eq!(
        message(with_target.flag("-arch=sm_80"), "k"),
        "the flag `-arch=sm_80` selects GPU targets, which have to be set with `.archs(..)`"
    );
}

#[test]
fn a_shared_runtime_is_linked_if_the_static_one_is_missing() {
    let package = Package::new(&[("src/a.cu", "")]);
    std::fs::remove_file(package.path("cuda/lib64/libcudart_static.a")).unwrap();
    package.write("cuda/lib64/libcudart.so.13.0.48", "");
    package.write("cuda/lib64/libcudart.so.13", "");
    let has = |line: &str| package.compile().1.contains(&line.to_string());
    assert!(has("cargo::rustc-link-search=native=./cuda/lib64"));
    assert!(has("cargo::rustc-link-lib=dylib:+verbatim=libcudart.so.13"));
    package.write("cuda/lib64/libcudart.so", "");
    assert!(has("cargo::rustc-link-lib=dylib=cudart"));
}
