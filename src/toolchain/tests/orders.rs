//! Versions are compared as numbers: 12.10 is newer than 12.1, and 10.0 is newer than 9.0.

use crate::config::Config;
use crate::model::{Environment, Found, Platform, Toolkit};
use crate::runtime::facts::Version;
use crate::system::{Host, ProbeCache};
use crate::toolchain::Toolchain;
use crate::toolkit::shared_file;
use std::fs;
use std::path::PathBuf;

/// Versions, the newest first. As text, 9.0 would be first, and 12.10 would be between 12.1 and 12.0.
const NEWEST_FIRST: [&str; 6] = ["12.10", "12.1", "12.0", "10.0", "9.0", "8.0"];

const LINUX: &str = "x86_64-unknown-linux-gnu";
const WINDOWS: &str = "x86_64-pc-windows-msvc";

/// Searches a file system with this file for each version. `{}` stands for the version.
fn found(triple: &str, file: &str, env: &[(&str, &str)]) -> Vec<String> {
    let letters: String = file.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = format!("cudnn-guard-orders-{}-{letters}", std::process::id());
    let root: PathBuf = std::env::temp_dir().join(name);
    // The versions are in an order that is neither alphabetical nor by age.
    for version in ["9.0", "12.10", "8.0", "12.0", "10.0", "12.1"] {
        let path = root.join(file.replace("{}", version));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = "#define CUDA_VERSION 12010\n#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n#define CUDNN_PATCHLEVEL 0\n";
        fs::write(path, text).unwrap();
    }
    let at_root = |value: &str| value.replace("$ROOT", root.to_str().unwrap());
    let pairs = env
        .iter()
        .map(|(name, value)| (name.to_string(), at_root(value).into()));
    let host = Host {
        env: Environment::new(pairs),
        platform: Platform::from_triple(triple),
        root: Some(root.clone()),
        answers: ProbeCache::default(),
    };
    let config = Config::new().cuda(">=1").cudnn(">=1");
    let needs = config.needs();
    let toolchain = Toolchain::find(config, host, needs);
    fs::remove_dir_all(&root).unwrap();
    let places = toolchain.candidates.iter().map(|one| match &one.found {
        Found::Toolkit(toolkit) => toolkit.root.display().to_string(),
        Found::Cudnn(cudnn) => cudnn
            .header
            .clone()
            .unwrap_or_default()
            .display()
            .to_string(),
    });
    let version = |place: String| {
        let place = place
            .strip_prefix(root.to_str().unwrap())?
            .replace('\\', "/");
        let mut words = place.split(['/', '-', 'v', 'n']).map(String::from);
        words.find(|word| NEWEST_FIRST.contains(&word.as_str()))
    };
    places.filter_map(version).collect()
}

#[test]
fn no_rule_sorts_versions_as_text() {
    for (triple, file, env) in [
        (LINUX, "usr/local/cuda-{}/include/cuda.h", vec![]),
        (
            LINUX,
            "opt/nvidia/hpc_sdk/Linux_x86_64/{}/cuda/12.5/include/cuda.h",
            vec![],
        ),
        (
            LINUX,
            "opt/nvidia/hpc_sdk/Linux_x86_64/25.1/cuda/{}/include/cuda.h",
            vec![],
        ),
        (
            LINUX,
            "venv/lib/python{}/site-packages/nvidia/cudnn/include/cudnn_version.h",
            vec![("VIRTUAL_ENV", "$ROOT/venv")],
        ),
        (
            LINUX,
            "usr/local/lib/python{}/dist-packages/nvidia/cudnn/include/cudnn_version.h",
            vec![],
        ),
        (
            WINDOWS,
            "Program Files/NVIDIA GPU Computing Toolkit/CUDA/v{}/include/cuda.h",
            vec![],
        ),
        (
            WINDOWS,
            "Program Files/NVIDIA/CUDNN/v{}/include/12.9/cudnn_version.h",
            vec![],
        ),
        (
            WINDOWS,
            "toolkits/{}/include/cuda.h",
            vec![
                ("CUDA_PATH_V8_0", "$ROOT/toolkits/8.0"),
                ("CUDA_PATH_V9_0", "$ROOT/toolkits/9.0"),
                ("CUDA_PATH_V10_0", "$ROOT/toolkits/10.0"),
                ("CUDA_PATH_V12_0", "$ROOT/toolkits/12.0"),
                ("CUDA_PATH_V12_1", "$ROOT/toolkits/12.1"),
                ("CUDA_PATH_V12_10", "$ROOT/toolkits/12.10"),
            ],
        ),
        (
            WINDOWS,
            "Program Files/NVIDIA/CUDNN/v9.10/include/{}/cudnn_version.h",
            vec![],
        ),
    ] {
        assert_eq!(found(triple, file, &env), NEWEST_FIRST, "{file}");
    }
}

/// A directory with the libraries of several CUDAs and no link for the linker, as in Debian's runtime packages.
#[test]
fn the_library_of_the_toolkits_own_major_is_linked() {
    let dir = std::env::temp_dir().join(format!("cudnn-guard-majors-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    for release in ["8.0", "9", "10", "12", "12.1.3"] {
        fs::write(dir.join(format!("libcublas.so.{release}")), "").unwrap();
    }
    let linked = |major| {
        let toolkit = Toolkit {
            version: Some(Version::new(major, 0, 0)),
            link_dirs: vec![dir.clone()],
            ..Toolkit::default()
        };
        let file = shared_file(&toolkit, "cublas", &Platform::from_triple(LINUX)).unwrap();
        file.file_name().unwrap().to_str().unwrap().to_string()
    };
    assert_eq!(
        [8, 9, 10, 12].map(linked).join(" "),
        "libcublas.so.8.0 libcublas.so.9 libcublas.so.10 libcublas.so.12"
    );
    assert_eq!(linked(13), "libcublas.so.12", "the newest");
    fs::remove_dir_all(&dir).unwrap();
}
