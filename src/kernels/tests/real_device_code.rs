//! Device code in separate files, compiled by NVIDIA's nvcc as in `real`.

use super::*;
use crate::kernels::tests::package::Package;
use crate::kernels::tests::real::{KERNEL, run, succeeds, toolchain};
use crate::model::{Found, Toolkit};
use crate::runtime::facts::FindingId;

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn ptx_is_written_for_the_lowest_target() {
    let package = Package::new(&[
        ("src/scale.cu", KERNEL),
        ("src/scale.h", "#define FACTOR 2.0f\n"),
    ]);
    let toolchain = toolchain(&package);
    let kernels = || toolchain.kernels().file(package.path("src/scale.cu"));
    let paths = kernels().ptx().unwrap();
    let text = std::fs::read_to_string(&paths[0]).unwrap();
    assert!(text.contains("\n.target sm_80\n"), "{text}");
    let written = || std::fs::metadata(&paths[0]).unwrap().modified().unwrap();
    let first = written();
    kernels().ptx().unwrap();
    assert_eq!(written(), first, "nothing changed");
    package.write("src/scale.h", "#define FACTOR 3.00f\n");
    kernels().ptx().unwrap();
    assert_ne!(written(), first);
}

/// Returns the targets in a device code file: a fatbin, or an ELF file for a GPU.
fn targets_in(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap();
    let mut read = |at: u64, size: u64| {
        let at = usize::try_from(at).ok()?;
        bytes
            .get(at..at + usize::try_from(size).ok()?)
            .map(<[u8]>::to_vec)
    };
    let targets =
        crate::cudnn::device_code::fatbin::targets(bytes.len() as u64, &mut read).unwrap();
    targets.iter().map(ToString::to_string).collect()
}

/// Returns the GPU of a cubin as the driver reads it. A cubin is an ELF file for machine 190 whose flags contain the
/// GPU: since CUDA 13 in the second byte, before in the first.
fn gpu_of(path: &Path, cuda: u32) -> u8 {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!((&bytes[..4], bytes[18]), (&b"\x7fELF"[..], 190));
    bytes[if cuda >= 13 { 49 } else { 48 }]
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_fatbin_contains_all_targets_and_a_cubin_one() {
    let mut package = Package::new(&[
        ("src/scale.cu", KERNEL),
        ("src/scale.h", "#define FACTOR 2.0f\n"),
    ]);
    package.archs = "80 8.9(8.0) 90a compute_90a 100f 120 compute_120";
    let toolchain = toolchain(&package);
    let kernels = || toolchain.kernels().file(package.path("src/scale.cu"));
    let fatbin = kernels().fatbin().unwrap();
    let all = [
        "sm_80",
        "sm_89",
        "sm_90a",
        "compute_90a",
        "sm_100f",
        "sm_120",
        "compute_120",
    ];
    assert_eq!(targets_in(&fatbin[0]), all);
    let cubins = kernels().cubin().unwrap();
    let names = cubins
        .iter()
        .map(|path| package.shown(path.to_str().unwrap()));
    let machine = all.iter().filter(|target| target.starts_with("sm_"));
    let expected = machine.map(|target| format!("./out/scale.{target}.cubin"));
    assert_eq!(names.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    let gpus: Vec<u8> = cubins.iter().map(|path| gpu_of(path, 13)).collect();
    assert_eq!(gpus, [80, 89, 90, 100, 120]);

    let written = || {
        let each = fatbin.iter().chain(&cubins);
        let each = each.map(|path| std::fs::metadata(path).unwrap().modified().unwrap());
        each.collect::<Vec<_>>()
    };
    let make = || {
        kernels().fatbin().unwrap();
        kernels().cubin().unwrap();
    };
    let first = written();
    make();
    assert_eq!(written(), first, "nothing changed");
    package.write("src/scale.h", "#define FACTOR 3.00f\n");
    make();
    let second = written();
    assert!(first.iter().zip(&second).all(|(one, two)| one != two));
}

/// Returns a toolchain with Debian's nvcc of CUDA 11.8, and its header directory. nvcc expects its programs where the
/// package installs them.
pub fn debians(package: &Package) -> (Toolchain, PathBuf) {
    let wheels = std::env::var_os("CUDNN_GUARD_REAL").expect("it names the wheels");
    let usr = Path::new(&wheels).join("debian-cuda/usr");
    let nvcc = package.path("cuda/bin/debian");
    // Written by another process, since a file that this one has open cannot be run.
    let script = format!(
        "mkdir tools && ln -s '{usr}/lib/nvidia-cuda-toolkit/bin/cicc' tools && printf '%s\\n' '#!/bin/sh' \
         'PATH=\"{tools}:{usr}/bin:$PATH\" exec \"{usr}/lib/nvidia-cuda-toolkit/bin/nvcc\" \"$@\"' >'{nvcc}' && \
         chmod +x '{nvcc}'",
        usr = usr.display(),
        tools = package.path("tools").display(),
        nvcc = nvcc.display(),
    );
    let script = format!("cd '{}' && {script}", package.dir.display());
    succeeds(&run("/bin/sh", vec!["-c".to_string(), script]));
    let mut own = toolchain(package);
    own.set(Found::Toolkit(Toolkit {
        nvcc: Some(nvcc),
        root: usr.clone(),
        ..Toolkit::default()
    }));
    // CUDA 11.8 supports gcc 11.
    let allow = FindingId::HostCompilerUnsupported.as_str();
    let allow = ("CUDNN_GUARD_ALLOW".to_string(), allow.into());
    own.host.env = own.host.env.with_pairs(&[allow]);
    own.allowed = own.config.allowed(&own.host.env);
    (own, usr.join("include"))
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn an_older_nvcc_compiles_them_too() {
    let mut package = Package::new(&[("src/k.cu", "__global__ void k() {}\n")]);
    package.archs = "80 90 compute_80";
    let (own, include) = debians(&package);
    let kernels = || own.kernels().files(package.pattern()).include(&include);
    let fatbin = kernels().fatbin().unwrap();
    assert_eq!(targets_in(&fatbin[0]), ["sm_80", "compute_80", "sm_90"]);
    let cubins = kernels().cubin().unwrap();
    let gpus: Vec<u8> = cubins.iter().map(|path| gpu_of(path, 11)).collect();
    assert_eq!(gpus, [80, 90]);
    let ptx = std::fs::read_to_string(&kernels().ptx().unwrap()[0]).unwrap();
    assert!(ptx.contains("\n.target sm_80\n"), "{ptx}");
}
