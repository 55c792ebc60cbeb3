//! The files that NVIDIA's nvcc reads, which must all be listed: `CUDNN_GUARD_REAL` names a directory with the wheels
//! of CUDA 13 in `cuda-cu13` and `cuda-cu13-13.0`, and Debian's CUDA in `debian-cuda`.

use crate::kernels::tests::package::Package;
use crate::kernels::tests::{real, real_device_code};
use crate::runtime::facts::Version;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const KERNEL: &str = "\
#include \"all.h\"
#ifdef __CUDA_ARCH__
#include \"device.h\"
#else
#include \"host.h\"
#endif
__global__ void k(float *x) { *x = 1; }
";

/// A header that the device code of some GPUs includes.
const DEVICE: &str = "\
#if __CUDA_ARCH__ >= 900
#include \"deep/new one.h\"
#else
#include \"deep/old.h\"
#endif
";

fn package(out: &'static str) -> Package {
    let mut package = Package::new(&[
        ("src/k.cu", KERNEL),
        ("src/all.h", ""),
        ("src/device.h", DEVICE),
        ("src/host.h", ""),
        ("src/deep/new one.h", ""),
        ("src/deep/old.h", ""),
    ]);
    package.archs = "80 90";
    package.out = out;
    std::fs::create_dir_all(package.path(out)).unwrap();
    package
}

/// Returns the package's own files in the stamps of `out`: `ptx/k: all.h k.cu`.
fn listed(package: &Package) -> Vec<String> {
    let mut found = Vec::new();
    let stamps_dir = package.path(package.out).join("cudnn-guard");
    for kind in ["cubin", "fatbin", "libk", "ptx"] {
        for file in std::fs::read_dir(stamps_dir.join(kind)).unwrap() {
            let file = file.unwrap().path();
            if file.extension() != Some("stamp".as_ref()) {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let own = text.lines().filter_map(|line| {
                let path = line.strip_prefix("file ")?.splitn(4, ' ').nth(3)?;
                let path = Path::new(path).strip_prefix(package.path("src"));
                Some(path.ok()?.display().to_string())
            });
            let own: BTreeSet<String> = own.collect();
            let own: Vec<String> = own.into_iter().collect();
            let stem = file.file_stem().unwrap().to_string_lossy();
            let stem = stem.split('-').next().unwrap();
            found.push(format!("{kind}/{stem}: {}", own.join(", ")));
        }
    }
    found.sort();
    found
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn every_header_is_listed_by_either_program() {
    let wheels = std::env::var_os("CUDNN_GUARD_REAL").expect("it names the wheels");
    let wheels = PathBuf::from(wheels);
    // nvcc also lists the headers of the host code, gcc only those of the compiled code. nvcc makes the list if paths
    // contain spaces.
    for (out, host) in [("out", ""), ("o ut", "host.h, ")] {
        for (set, major, minor) in [
            ("cuda-cu13", 13, 5),
            ("cuda-cu13-13.0", 13, 0),
            ("debian-cuda", 11, 8),
        ] {
            let package = package(out);
            let (mut toolchain, include) = match set {
                "debian-cuda" => real_device_code::debians(&package),
                _ => (
                    real::toolchain_in(&package, wheels.join(set).join("nvidia/cu13")),
                    package.path("src"),
                ),
            };
            // This version supports `--threads`.
            toolchain.set_cuda(Version::new(major, minor, 0));
            let kernels = || {
                let kernels = toolchain.kernels().files(package.pattern());
                kernels.include(&include)
            };
            kernels().cubin().unwrap();
            kernels().fatbin().unwrap();
            kernels().ptx().unwrap();
            kernels().library("k", &mut Vec::new()).unwrap();
            let both = "all.h, deep/new one.h, deep/old.h, device.h, host.h, k.cu";
            assert_eq!(
                listed(&package),
                [
                    format!("cubin/k.sm_80: all.h, deep/old.h, device.h, {host}k.cu"),
                    format!("cubin/k.sm_90: all.h, deep/new one.h, device.h, {host}k.cu"),
                    format!("fatbin/k: {both}"),
                    format!("libk/k: {both}"),
                    format!("ptx/k: all.h, deep/old.h, device.h, {host}k.cu"),
                ],
                "{set}"
            );
        }
    }
}
