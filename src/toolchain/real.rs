//! NVIDIA's own wheels, where there are some: `CUDNN_GUARD_REAL` names a directory with one `pip install --target`
//! directory in it for each.
#![allow(clippy::disallowed_methods)]

use super::{Needs, Toolchain};
use crate::config::Config;
use crate::host::Host;
use crate::model::candidate::{Cudnn, LinkName};
use crate::model::env::Env;
use crate::model::platform::Platform;
use crate::model::version::Version;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn wheels() -> PathBuf {
    std::env::var_os("CUDNN_GUARD_REAL")
        .expect("CUDNN_GUARD_REAL names the wheels")
        .into()
}

fn found(pairs: &[(&str, PathBuf)]) -> Toolchain {
    found_in(pairs, Some(wheels()))
}

fn found_in(pairs: &[(&str, PathBuf)], root: Option<PathBuf>) -> Toolchain {
    let env = Env::new(
        pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone().into_os_string())),
    );
    let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
    let host = Host {
        env,
        platform,
        root,
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
        .cudnn
        .unwrap_or_else(|| panic!("{wheel}: {:?}", toolchain.findings))
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn each_cudnn_is_read_rightly() {
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
    for (wheel, version, cuda_major, told) in [
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
        assert_eq!(cudnn.link_name, Some(LinkName::Verbatim(soname)), "{wheel}");
        let mut parts: Vec<&str> = cudnn.parts.iter().map(|part| part.name.as_str()).collect();
        parts.sort();
        let mut wanted = if version.major == 8 {
            eight.to_vec()
        } else {
            nine.to_vec()
        };
        if version.minor == 28 {
            wanted.extend(latest);
            wanted.sort();
        }
        assert_eq!(parts, wanted, "{wheel}");
        let by_symbol = cudnn
            .parts
            .iter()
            .filter(|part| part.version == Some(version))
            .count();
        assert!(by_symbol >= told, "{wheel}: {:?}", cudnn.parts);
    }
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn the_libraries_themselves_tell_their_cuda() {
    use crate::host::library::cuda_major;
    for (file, wanted) in [
        (
            "cudnn-cu12-8.9.7/nvidia/cudnn/lib/libcudnn_ops_infer.so.8",
            12,
        ),
        ("cudnn-cu12-9.1.0/nvidia/cudnn/lib/libcudnn_adv.so.9", 12),
        ("cudnn-cu12-9.10/nvidia/cudnn/lib/libcudnn_adv.so.9", 12),
        ("cudnn-cu13-9.14/nvidia/cudnn/lib/libcudnn_adv.so.9", 13),
        ("cudnn-cu13-9.28/nvidia/cudnn/lib/libcudnn_adv.so.9", 13),
    ] {
        assert_eq!(cuda_major(&wheels().join(file)), Some(wanted), "{file}");
    }
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_toolkit_of_wheels_is_whole() {
    let root = wheels().join("cuda-cu13/nvidia/cu13");
    let toolkit = found(&[("CUDA_HOME", root.clone())]).toolkit.unwrap();
    assert_eq!(toolkit.version, Some(Version::new(13, 5, 0)));
    assert_eq!(toolkit.nvcc, Some(root.join("bin/nvcc")));
    assert_eq!(
        (toolkit.include_dirs, toolkit.link_dirs),
        (vec![root.join("include")], vec![root.join("lib")])
    );
}

/// CFG-03, LNK-04, LNK-06: Debian spreads its toolkit over `/usr`, with a script for nvcc, and nothing of it need run.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn debians_toolkit_is_found_in_an_image() {
    let root = wheels().join("debian-cuda");
    let system = |triple: &str| {
        let host = Host {
            env: Env::new([]),
            platform: Platform::from_triple(triple),
            root: Some(root.clone()),
        };
        let needs = Needs {
            toolkit: true,
            cudnn: false,
        };
        Toolchain::find(Config::new(), host, needs)
    };
    let found = system("x86_64-unknown-linux-gnu");
    assert_eq!(found.findings, []);
    let toolkit = found.toolkit.unwrap();
    assert_eq!(toolkit.version, Some(Version::new(11, 8, 0)));
    assert_eq!(toolkit.nvcc, Some(root.join("usr/bin/nvcc")));
    let usr = root.join("usr");
    assert_eq!(toolkit.include_dirs, [usr.join("include")]);
    let libraries = usr.join("lib/x86_64-linux-gnu");
    assert_eq!(toolkit.link_dirs, std::slice::from_ref(&libraries));
    assert_eq!(toolkit.stub_dirs, [libraries.join("stubs")]);
    assert_eq!(found.candidates.len(), 1, "{:?}", found.candidates);
    let named = found_in(&[("CUDA_HOME", usr.clone())], None)
        .toolkit
        .unwrap();
    assert!(named.link_dirs.contains(&libraries), "{named:?}");
    // The directory of links that it keeps for others holds headers alone.
    let by_name = found_in(&[("CUDA_HOME", usr.join("lib/cuda"))], Some(root.clone()));
    assert_eq!(
        by_name
            .findings
            .iter()
            .map(|one| one.id)
            .collect::<Vec<_>>(),
        ["cudnn-not-found", "partial-toolkit"],
        "{:?}",
        by_name.findings
    );
    let other = system("aarch64-unknown-linux-gnu").toolkit.unwrap();
    assert!(other.link_dirs.is_empty(), "{other:?}");
}

/// LNK-03: what is for another processor is read as well as one's own, and is not taken for it.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_cudnn_for_another_processor_is_read() {
    let wheel = wheels().join("cudnn-cu13-9.28-aarch64/nvidia/cudnn");
    let env = || Env::new([("CUDNN_PATH".to_string(), wheel.clone().into_os_string())]);
    let on = |triple: &str| {
        let host = Host {
            env: env(),
            platform: Platform::from_triple(triple),
            root: Some(wheels()),
        };
        let needs = Needs {
            toolkit: false,
            cudnn: true,
        };
        Toolchain::find(Config::new(), host, needs)
    };
    let cudnn = on("aarch64-unknown-linux-gnu").cudnn.unwrap();
    let release = Some(Version::new(9, 28, 0));
    assert_eq!(
        (cudnn.header_version, cudnn.library_version),
        (release, release)
    );
    assert_eq!((cudnn.cuda_major, cudnn.cpu), (Some(13), Some("aarch64")));
    assert_eq!(cudnn.library, Some(wheel.join("lib/libcudnn.so.9")));
    let told = |name: &str| {
        let part = cudnn.parts.iter().find(|part| part.name == name).unwrap();
        (part.version, part.told_by.clone())
    };
    assert_eq!(
        told("graph"),
        (release, Some("symbol cudnn_graph_version".into()))
    );
    let here = on("x86_64-unknown-linux-gnu");
    assert!(here.cudnn.is_none());
    assert_eq!(here.findings[0].id, "wrong-architecture");
}

/// LNK-03: nor are the libraries of this machine's toolkit.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_toolkit_for_this_processor_has_nothing_for_another() {
    let host = Host {
        env: Env::new([(
            "CUDA_HOME".to_string(),
            wheels().join("cuda-cu13/nvidia/cu13").into_os_string(),
        )]),
        platform: Platform::from_triple("aarch64-unknown-linux-gnu"),
        root: Some(wheels()),
    };
    let needs = Needs {
        toolkit: true,
        cudnn: false,
    };
    let found = Toolchain::find(Config::new(), host, needs);
    assert!(found.toolkit.unwrap().link_dirs.is_empty());
    assert_eq!(found.findings[0].id, "partial-toolkit");
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_probe_is_quick() {
    let cuda = wheels().join("cuda-cu13/nvidia/cu13");
    for wheel in ["cudnn-cu12-8.9.7", "cudnn-cu13-9.28"] {
        let cudnn = wheels().join(wheel).join("nvidia/cudnn");
        let pairs = [("CUDA_HOME", cuda.clone()), ("CUDNN_PATH", cudnn)];
        let once = || {
            let start = Instant::now();
            assert!(found(&pairs).cudnn.is_some());
            start.elapsed()
        };
        once();
        // The best of a few: other work on the machine only ever adds.
        let time = (0..5).map(|_| once()).min().unwrap();
        assert!(time < Duration::from_millis(30), "{wheel}: {time:?}");
    }
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn replacing_a_wheel_changes_a_file_that_cargo_watches() {
    let wheel = wheels().join("cudnn-cu13-9.14");
    let read = found(&[("CUDNN_PATH", wheel.join("nvidia/cudnn"))]).read;
    assert!(
        read.contains(&wheel.join("nvidia_cudnn_cu13-9.14.0.64.dist-info/RECORD")),
        "{read:?}"
    );
    assert!(
        read.contains(&Path::new(&wheel).join("nvidia/cudnn/lib/libcudnn_heuristic.so.9")),
        "{read:?}"
    );
    assert!(read.iter().all(|path| path.is_file()), "{read:?}");
}
