//! NVIDIA's own wheels, where there are some: `CUDNN_GUARD_REAL` names a directory with one `pip install --target`
//! directory in it for each.
#![allow(clippy::disallowed_methods)]

use super::{Needs, Toolchain};
use crate::config::Config;
use crate::host::Host;
use crate::model::candidate::{Candidate, Cudnn, Found, LinkName};
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
    found_for("x86_64-unknown-linux-gnu", pairs)
}

fn found_for(triple: &str, pairs: &[(&str, PathBuf)]) -> Toolchain {
    let env = Env::new(
        pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone().into_os_string())),
    );
    let platform = Platform::from_triple(triple);
    let host = Host {
        env,
        platform,
        root: Some(wheels()),
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

/// CFG-10, LNK-07, LNK-08: the wheels for Windows, read on any system.
#[test]
#[cfg(unix)]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn dlls_are_read_rightly() {
    for (wheel, version, cuda_major, parts, silent) in [
        (
            "cudnn-win-cu12-8.9.7",
            Version::new(8, 9, 7),
            12,
            7,
            &[][..],
        ),
        (
            "cudnn-win-cu13-9.28",
            Version::new(9, 28, 0),
            13,
            10,
            &["engines_tensor_ir", "heuristic"],
        ),
    ] {
        // Without the wheel's own record, so that the files themselves have to tell.
        let alone = std::env::temp_dir().join(format!("cudnn-guard-dlls-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&alone);
        std::fs::create_dir_all(&alone).unwrap();
        for leaf in ["bin", "include", "lib"] {
            let dir = wheels().join(wheel).join("nvidia/cudnn").join(leaf);
            if dir.is_dir() {
                std::os::unix::fs::symlink(dir, alone.join(leaf)).unwrap();
            }
        }
        let pairs = [("CUDNN_PATH", alone.clone())];
        let toolchain = found_for("x86_64-pc-windows-msvc", &pairs);
        let cudnn = match &toolchain.candidates[0].found {
            Found::Cudnn(cudnn) => cudnn,
            Found::Toolkit(_) => panic!("{:?}", toolchain.candidates),
        };
        assert_eq!(cudnn.header_version, Some(version), "{wheel}");
        assert_eq!(cudnn.library_version, Some(version), "{wheel}");
        assert_eq!(cudnn.cuda_major, Some(cuda_major), "{wheel}");
        assert_eq!(cudnn.cpu, Some("x86_64"), "{wheel}");
        assert_eq!(cudnn.parts.len(), parts, "{wheel}: {:?}", cudnn.parts);
        let first = &cudnn.parts[0];
        assert_eq!(
            (&*first.name, first.told_by.as_deref()),
            ("cudnn", Some("version resource"))
        );
        for part in &cudnn.parts {
            let told = (!silent.contains(&part.name.as_str())).then_some(version);
            assert_eq!(part.version, told, "{wheel}: {part:?}");
        }
        let by_symbol = cudnn.parts.iter().filter(|part| {
            let told = part.told_by.as_deref().unwrap_or_default();
            told.starts_with("symbol ")
        });
        assert_eq!(
            by_symbol.count(),
            if version.major == 8 { 4 } else { 3 },
            "{wheel}"
        );
        // That of 8.9 has import libraries, that of 9.28 has none.
        if version.major == 8 {
            assert_eq!(cudnn.link_name, Some(LinkName::Short("cudnn".into())));
            assert!(toolchain.cudnn.is_some());
        } else {
            assert_eq!(cudnn.link_name, None);
            let said = toolchain.findings.iter().map(|one| one.to_string());
            let said: Vec<String> = said.collect();
            assert!(
                said.iter().any(|text| text.contains("no import library")),
                "{said:?}"
            );
        }
        std::fs::remove_dir_all(&alone).unwrap();
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

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn a_probe_is_quick() {
    let cuda = wheels().join("cuda-cu13/nvidia/cu13");
    let (linux, windows) = ("x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc");
    for (wheel, triple) in [
        ("cudnn-cu12-8.9.7", linux),
        ("cudnn-cu13-9.28", linux),
        ("cudnn-win-cu12-8.9.7", windows),
        ("cudnn-win-cu13-9.28", windows),
    ] {
        let cudnn = wheels().join(wheel).join("nvidia/cudnn");
        let pairs = [("CUDA_HOME", cuda.clone()), ("CUDNN_PATH", cudnn)];
        let once = || {
            let start = Instant::now();
            let candidates = found_for(triple, &pairs).candidates;
            let is_cudnn = |one: &Candidate| matches!(one.found, Found::Cudnn(_));
            assert!(candidates.iter().any(is_cudnn));
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
