//! NVIDIA's own wheels, if available: `CUDNN_GUARD_REAL` names a directory with one `pip install --target` directory
//! for each.

use crate::config::Config;
use crate::cudnn::{Asker, consistency};
use crate::model::{Cudnn, Environment, Library, Platform};
use crate::runtime::facts::{FindingId, Version, VersionSource};
use crate::runtime::install::SubLibraryFile;
use crate::system::{Host, ProbeCache};
use crate::toolchain::{Needs, Toolchain};
use std::path::PathBuf;

pub fn wheels() -> PathBuf {
    std::env::var_os("CUDNN_GUARD_REAL")
        .expect("CUDNN_GUARD_REAL names the wheels")
        .into()
}

pub fn found(pairs: &[(&str, PathBuf)]) -> Toolchain {
    found_in(pairs, Some(wheels()))
}

pub fn found_for(triple: &str, pairs: &[(&str, PathBuf)]) -> Toolchain {
    found_as(triple, pairs, Some(wheels()))
}

fn found_in(pairs: &[(&str, PathBuf)], root: Option<PathBuf>) -> Toolchain {
    found_as("x86_64-unknown-linux-gnu", pairs, root)
}

fn found_as(triple: &str, pairs: &[(&str, PathBuf)], root: Option<PathBuf>) -> Toolchain {
    let env = Environment::new(
        pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone().into_os_string())),
    );
    let platform = Platform::from_triple(triple);
    let host = Host {
        env,
        platform,
        root,
        answers: ProbeCache::default(),
    };
    Toolchain::find(
        Config::new(),
        host,
        Needs {
            toolkit: true,
            cudnn: true,
        },
    )
}

fn cudnn_of(wheel: &str) -> Cudnn {
    let toolchain = found(&[("CUDNN_PATH", wheels().join(wheel).join("nvidia/cudnn"))]);
    toolchain
        .cudnn()
        .cloned()
        .unwrap_or_else(|| panic!("{wheel}: {:?}", toolchain.findings))
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn each_cudnn_is_read_correctly() {
    let eight = [
        "adv_infer",
        "adv_train",
        "cnn_infer",
        "cnn_train",
        "cudnn",
        "ops_infer",
        "ops_train",
    ];
    let nine = [
        "adv",
        "cnn",
        "cudnn",
        "engines_precompiled",
        "engines_runtime_compiled",
        "graph",
        "heuristic",
        "ops",
    ];
    let latest = ["engines_tensor_ir", "ext"];
    for (wheel, version, cuda_major, by_symbol) in [
        ("cudnn-cu11-8.5", Version::new(8, 5, 0), 11, 4),
        ("cudnn-cu12-8.9.7", Version::new(8, 9, 7), 12, 4),
        ("cudnn-cu12-9.1.0", Version::new(9, 1, 0), 12, 3),
        ("cudnn-cu12-9.10", Version::new(9, 10, 2), 12, 3),
        ("cudnn-cu13-9.14", Version::new(9, 14, 0), 13, 3),
        ("cudnn-cu13-9.28", Version::new(9, 28, 0), 13, 3),
    ] {
        let cudnn = cudnn_of(wheel);
        assert_eq!(cudnn.header_version, Some(version), "{wheel}");
        assert_eq!(cudnn.library_version, Some(version), "{wheel}");
        assert_eq!(cudnn.cuda_major, Some(cuda_major), "{wheel}");
        let soname = format!("libcudnn.so.{}", version.major);
        assert_eq!(
            cudnn.link_library,
            Some(Library::Verbatim(soname)),
            "{wheel}"
        );
        let files = cudnn.installed.files();
        let mut parts: Vec<&str> = files.iter().map(|part| part.name.as_str()).collect();
        parts.sort();
        let mut expected = if version.major == 8 {
            eight.to_vec()
        } else {
            nine.to_vec()
        };
        if version.minor == 28 {
            expected.extend(latest);
            expected.sort();
        }
        assert_eq!(parts, expected, "{wheel}");
        let by = |how: &str| {
            let has_source = |part: &&&SubLibraryFile| {
                let by = part.told_by.map(VersionSource::in_full);
                by.unwrap_or_default().starts_with(how)
            };
            files.iter().filter(has_source).count()
        };
        assert!(by("symbol") >= by_symbol, "{wheel}: {:?}", files);
        // Each build of `ext` belongs to several versions.
        let ext = files.iter().filter(|part| part.name == "ext").count();
        let by_file = by("symbol") + by("build-id");
        assert_eq!(by_file + ext, files.len(), "{wheel}");
        for part in &files {
            assert_eq!(part.version, Some(version), "{wheel}: {part:?}");
        }
        assert_eq!(
            consistency::findings(&cudnn, &Asker::default()),
            [],
            "{wheel}"
        );
        // Since 9.22, the main library first searches its own directory.
        let own_first = version > Version::new(9, 22, 0);
        assert_eq!(cudnn.files.own_first, own_first, "{wheel}");
    }
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn the_libraries_contain_their_cuda_version() {
    use crate::runtime::binary::elf::Elf;
    for (file, expected) in [
        (
            "cudnn-cu12-8.9.7/nvidia/cudnn/lib/libcudnn_ops_infer.so.8",
            12,
        ),
        ("cudnn-cu12-9.1.0/nvidia/cudnn/lib/libcudnn_adv.so.9", 12),
        ("cudnn-cu12-9.10/nvidia/cudnn/lib/libcudnn_adv.so.9", 12),
        ("cudnn-cu13-9.14/nvidia/cudnn/lib/libcudnn_adv.so.9", 13),
        ("cudnn-cu13-9.28/nvidia/cudnn/lib/libcudnn_adv.so.9", 13),
    ] {
        let library = Elf::read(&wheels().join(file)).unwrap();
        assert_eq!(library.cuda_major(), Some(expected), "{file}");
    }
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_toolkit_of_wheels_is_complete() {
    let root = wheels().join("cuda-cu13/nvidia/cu13");
    let toolkit = found(&[("CUDA_HOME", root.clone())])
        .toolkit()
        .cloned()
        .unwrap();
    assert_eq!(toolkit.version, Some(Version::new(13, 5, 0)));
    assert_eq!(toolkit.nvcc, Some(root.join("bin/nvcc")));
    assert_eq!(
        (toolkit.include_dirs, toolkit.link_dirs),
        (vec![root.join("include")], vec![root.join("lib")])
    );
}

/// Debian spreads its toolkit over `/usr`, with a script for nvcc. None of it has to be run.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn debians_toolkit_is_found_in_an_image() {
    let root = wheels().join("debian-cuda");
    let system = |triple: &str| {
        let host = Host {
            env: Environment::new([]),
            platform: Platform::from_triple(triple),
            root: Some(root.clone()),
            answers: ProbeCache::default(),
        };
        let needs = Needs {
            toolkit: true,
            cudnn: false,
        };
        Toolchain::find(Config::new(), host, needs)
    };
    let found = system("x86_64-unknown-linux-gnu");
    assert_eq!(found.findings, []);
    let toolkit = found.toolkit().cloned().unwrap();
    assert_eq!(toolkit.version, Some(Version::new(11, 8, 0)));
    assert_eq!(toolkit.nvcc, Some(root.join("usr/bin/nvcc")));
    let usr = root.join("usr");
    assert_eq!(toolkit.include_dirs, [usr.join("include")]);
    let libraries = usr.join("lib/x86_64-linux-gnu");
    assert_eq!(toolkit.link_dirs, std::slice::from_ref(&libraries));
    assert_eq!(toolkit.stub_dirs, [libraries.join("stubs")]);
    assert_eq!(found.candidates.len(), 1, "{:?}", found.candidates);
    let named = found_in(&[("CUDA_HOME", usr.clone())], None)
        .toolkit()
        .cloned()
        .unwrap();
    assert!(named.link_dirs.contains(&libraries), "{named:?}");
    // The directory of links for other programs has only headers.
    let by_name = found_in(&[("CUDA_HOME", usr.join("lib/cuda"))], Some(root.clone()));
    assert_eq!(
        by_name
            .findings
            .iter()
            .map(|one| one.id)
            .collect::<Vec<_>>(),
        [FindingId::CudnnNotFound, FindingId::PartialToolkit],
        "{:?}",
        by_name.findings
    );
    let other = system("aarch64-unknown-linux-gnu")
        .toolkit()
        .cloned()
        .unwrap();
    assert!(other.link_dirs.is_empty(), "{other:?}");
}
