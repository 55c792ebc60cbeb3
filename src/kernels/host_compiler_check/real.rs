//! NVIDIA's nvcc with the gcc of this machine.

use crate::host_compiler::{HostCompiler, headers, limits, msvc_preprocessor};
use crate::kernels::tests::package::Package;
use crate::model::{Found, Invocation, Toolkit};
use crate::runtime::facts::Version;
use crate::system::run;
use crate::toolchain::Toolchain;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn wheels() -> PathBuf {
    std::env::var_os("CUDNN_GUARD_REAL")
        .expect("CUDNN_GUARD_REAL names the wheels")
        .into()
}

fn toolchain(package: &Package, nvcc: PathBuf, include: PathBuf, version: Version) -> Toolchain {
    let mut toolchain = package.toolchain();
    toolchain.set(Found::Toolkit(Toolkit {
        nvcc: Some(nvcc),
        root: include.clone(),
        include_dirs: vec![include],
        version: Some(version),
        ..Toolkit::default()
    }));
    toolchain
}

/// CUDA 13.2 and later reject MSVC's traditional preprocessor. In 13.0 only a macro of the kernels conflicts with it.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn cuda_rejects_the_traditional_preprocessor() {
    let compiler = HostCompiler {
        make: limits::Make::Msvc,
        version: Version::new(19, 44, 0),
        glibc: None,
        host_config: None,
    };
    for (wheel, flag, expected) in [
        ("cuda-cu13", "-O3", true),
        ("cuda-cu13-13.0", "-O3", false),
        ("cuda-cu13-13.0", "-DNVCC", true),
        ("cuda-cu13-13.0", "-DKERNELS", false),
    ] {
        let include = wheels().join(wheel).join("nvidia/cu13/include");
        assert!(
            include
                .join("cccl/cuda/std/__cccl/preprocessor.h")
                .is_file()
        );
        let flags = [flag.to_string()];
        let refused = msvc_preprocessor::is_unusable(&compiler, &[include], &flags);
        assert_eq!(refused, expected, "{wheel} {flag}");
    }
}

/// CUDA 11.8 supports gcc 11, and this machine has a newer one.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL and a gcc newer than 11"]
fn debians_cuda_with_a_newer_gcc() {
    let package = Package::new(&[("src/a.cu", "__global__ void k() {}\n")]);
    let usr = wheels().join("debian-cuda/usr");
    let (nvcc, include) = (
        usr.join("lib/nvidia-cuda-toolkit/bin/nvcc"),
        usr.join("include"),
    );
    let mut own = toolchain(
        &package,
        nvcc.clone(),
        include.clone(),
        Version::new(11, 8, 0),
    );
    // A directory without other compilers, so that nvcc finds its default one.
    let path = std::env::var_os("PATH").expect("PATH is set");
    own.host.env = own.host.env.with_pairs(&[
        ("PATH".to_string(), path),
        ("HOST".to_string(), "x86_64-unknown-linux-musl".into()),
    ]);
    let kernels = || {
        let kernels = own.kernels().files(package.pattern());
        kernels.include(&include)
    };
    let error = kernels().library("k", &mut Vec::new()).unwrap_err();
    let error = error.to_string();
    let header = include.join("crt/host_config.h");
    for expected in [
        " is newer than CUDA 11.8 supports (gcc 11 or older)  [host-compiler-unsupported]\n",
        "  set by      default: the first that nvcc finds on PATH\n",
        &format!("  limits      {}\n", header.display()),
    ] {
        assert!(error.contains(expected), "{error}");
    }
    assert!(
        error.starts_with("gcc ") && error.contains("/gcc` is newer"),
        "{error}"
    );
    // The message of nvcc itself.
    let args = ["-c", "src/a.cu", "-o", "out/a.o"].map(|arg| {
        if arg.contains('/') {
            package.path(arg).to_string_lossy().into_owned()
        } else {
            arg.to_string()
        }
    });
    let mut args = args.to_vec();
    args.push(format!("-I{}", include.display()));
    let output = run(
        &Invocation {
            program: nvcc,
            args,
            ..Invocation::default()
        },
        None,
    );
    let output = output.unwrap().stderr;
    assert!(
        output.contains("unsupported GNU version! gcc versions later than 11"),
        "{output}"
    );
}

/// Today's nvcc supports the gcc of this machine, and the query is fast.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_compatible_pair_has_no_findings() {
    let package = Package::new(&[]);
    let root = wheels().join("cuda-cu13/nvidia/cu13");
    let own = toolchain(
        &package,
        root.join("bin/nvcc"),
        root.join("include"),
        Version::new(13, 5, 0),
    );
    let (mut plan, _) = own
        .kernels()
        .file("a.cu")
        .plan(crate::kernels::Product::Object, &[], &mut Vec::new())
        .unwrap();
    let begun = Instant::now();
    std::fs::create_dir_all(package.path("out/cudnn-guard")).unwrap();
    let findings =
        crate::kernels::host_compiler_check::host_compiler(&mut plan, &own, &package.path("out"))
            .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(3), "a moment");
    assert_eq!(findings, []);
    let dir = package.path("out/cudnn-guard");
    let (compiler, program) = crate::kernels::host_compiler_check::query::query(&plan, &dir)
        .unwrap()
        .unwrap();
    assert!(
        program.is_absolute() && program.ends_with("gcc"),
        "{program:?}"
    );
    let header = compiler.host_config.unwrap();
    assert!(
        header.ends_with(Path::new("crt/host_config.h")),
        "{header:?}"
    );
    assert!(compiler.glibc.is_some());
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn the_headers_agree_with_the_table() {
    for (header, version) in [
        ("debian-cuda/usr/include", Version::new(11, 8, 0)),
        ("cuda-cu11/nvidia/cuda_nvcc/include", Version::new(11, 8, 0)),
        ("cuda-cu12/nvidia/cuda_nvcc/include", Version::new(12, 9, 0)),
        ("cuda-cu13/nvidia/cu13/include", Version::new(13, 5, 0)),
    ] {
        let path = wheels().join(header).join("crt/host_config.h");
        let text = std::fs::read_to_string(&path).unwrap();
        let limits = limits::parse_host_config(&text);
        assert_eq!(limits::for_cuda(version), Some(limits), "{header}");
        let text = std::fs::read_to_string(path.with_file_name("math_functions.h")).unwrap();
        let names = headers::contradictions(&text, Version::new(2, 42, 0));
        let known: &[&str] = match version.major {
            13 => &[],
            _ => &["cospi", "sinpi", "rsqrt"],
        };
        assert_eq!(names, known, "{header}");
    }
}
