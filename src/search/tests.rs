//! Tests of the search order.

pub mod env_variables;

use super::*;
use crate::system::ProbeCache;
use std::ffi::OsString;

fn steps_on(env: Environment, triple: &str, root: Option<&str>) -> Vec<Step> {
    steps(&Host {
        env,
        platform: Platform::from_triple(triple),
        root: root.map(PathBuf::from),
        answers: ProbeCache::default(),
    })
}

fn list(
    pairs: &[(&str, &str)],
    script: &[(&str, &str)],
    triple: &str,
    root: Option<&str>,
) -> String {
    let own = |pairs: &[(&str, &str)]| -> Vec<(String, OsString)> {
        pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.into()))
            .collect()
    };
    let env = Environment::new(own(pairs)).with_pairs(&own(script));
    let lines = steps_on(env, triple, root).into_iter().map(|step| {
        let strict = if step.request.is_some() { "!" } else { "" };
        format!(
            "{:?}{strict} {}: {}",
            step.kind,
            step.via,
            step.description()
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `fetch` and the build use the same data directory.
#[test]
fn fetched_files_are_in_the_users_data_directory() {
    let fetched = |env: &[(&str, &str)], triple| {
        let text = list(env, &[], triple, None);
        let mut lines = text
            .lines()
            .filter(|line| line.contains("fetched by") && line.contains("Cudnn"));
        lines
            .next()
            .map(|line| line.rsplit(": ").next().unwrap_or_default().to_string())
    };
    let home = ("HOME", "/home/me");
    let of_home = Some("/home/me/.local/share/cudnn-guard/nvidia/cudnn".to_string());
    let linux = "x86_64-unknown-linux-gnu";
    assert_eq!(fetched(&[home], linux), of_home);
    assert_eq!(fetched(&[home, ("XDG_DATA_HOME", "data")], linux), of_home);
    // As WSL passes it.
    assert_eq!(
        fetched(&[home, ("LOCALAPPDATA", "/mnt/c/x")], linux),
        of_home
    );
    assert_eq!(
        fetched(&[home, ("XDG_DATA_HOME", "/data")], linux).as_deref(),
        Some("/data/cudnn-guard/nvidia/cudnn")
    );
    // On Windows, the build machine's directory counts, whatever the target.
    let windows = [
        home,
        ("HOST", "x86_64-pc-windows-msvc"),
        ("XDG_DATA_HOME", "/data"),
        ("LOCALAPPDATA", "/local"),
    ];
    assert_eq!(
        fetched(&windows, "x86_64-pc-windows-msvc").as_deref(),
        Some("/local/cudnn-guard/nvidia/cudnn")
    );
}

#[test]
fn build_script_then_requests_then_context() {
    let text = list(
        &[
            ("CUDNN_LIB_DIR", "/l"),
            ("CUDNN_INCLUDE_DIR", "/i"),
            ("CUDNN_PATH", "/dnn"),
            ("CUDA_PATH", "/cuda"),
            ("NVCC", "ccache /opt/bin/nvcc"),
            ("CUDNN_GUARD_HOME", "/guard"),
            ("VIRTUAL_ENV", "/venv"),
            ("CONDA_PREFIX", "/conda"),
            ("CUDA_HOME", ""),
            (
                "CUDNN_ROOT",
                "/hidden by the empty value of the build script",
            ),
        ],
        &[("CUDA_ROOT", "/script"), ("CUDNN_ROOT", "")],
        "aarch64-apple-darwin",
        None,
    );
    assert_eq!(
        text,
        "Toolkit! CUDA_ROOT in build.rs: /script\n\
         Toolkit! CUDA_PATH: /cuda\n\
         Toolkit! NVCC: 1 directory on PATH\n\
         Cudnn! CUDNN_PATH: /dnn\n\
         Cudnn! CUDNN_INCLUDE_DIR and CUDNN_LIB_DIR: /i\n\
         Toolkit! CUDNN_GUARD_HOME: /guard/nvidia/cu*\n\
         Toolkit! CUDNN_GUARD_HOME: /guard/nvidia\n\
         Cudnn! CUDNN_GUARD_HOME: /guard/nvidia/cudnn\n\
         Cudnn CUDA_PATH: /cuda\n\
         Cudnn CUDA_ROOT in build.rs: /script\n\
         Toolkit active virtual environment: /venv/lib/python*/site-packages/nvidia/cu*\n\
         Toolkit active virtual environment: /venv/lib/python*/site-packages/nvidia\n\
         Cudnn active virtual environment: /venv/lib/python*/site-packages/nvidia/cudnn\n\
         Toolkit active conda environment: /conda\n\
         Cudnn active conda environment: /conda\n\
         Toolkit active conda environment: /conda/lib/python*/site-packages/nvidia/cu*\n\
         Toolkit active conda environment: /conda/lib/python*/site-packages/nvidia\n\
         Cudnn active conda environment: /conda/lib/python*/site-packages/nvidia/cudnn"
    );
}

#[test]
fn less_specific_variables_come_after_the_usual_places() {
    let text = list(
        &[
            ("NVHPC_CUDA_HOME", "/hpc/cuda"),
            ("NVHPC_ROOT", "/hpc/24.7"),
            ("TF_CUDA_PATHS", "/tf, /usr,"),
        ],
        &[],
        "x86_64-unknown-linux-gnu",
        None,
    );
    let lines: Vec<&str> = text.lines().collect();
    let place = |line: &str| {
        let found = lines.iter().position(|other| *other == line);
        found.unwrap_or_else(|| panic!("{line} is not in\n{text}"))
    };
    let order = [
        "Toolkit NVIDIA's default directory: /usr/local/cuda",
        "Toolkit system directories: /usr",
        "Toolkit NVHPC_CUDA_HOME: /hpc/cuda",
        "Toolkit NVHPC_ROOT: /hpc/24.7/cuda/*",
        "Toolkit HPC SDK: /opt/nvidia/hpc_sdk/Linux_x86_64/*/cuda/*",
        "Toolkit TF_CUDA_PATHS: /tf",
        "Cudnn TF_CUDA_PATHS: /usr",
    ]
    .map(place);
    assert!(order.is_sorted(), "{order:?} in\n{text}");
    assert!(!text.contains('!'), "no place is explicit: {text}");
}

#[test]
fn a_project_environment_counts_if_no_other_is_active() {
    let project = |pairs: &[(&str, &str)]| -> Vec<String> {
        let text = list(pairs, &[], "x86_64-unknown-linux-gnu", None);
        let lines = text.lines().filter(|line| line.contains("(not active)"));
        lines
            .filter(|line| line.starts_with("Cudnn"))
            .filter_map(|line| Some(line.split_once(": ")?.1.to_string()))
            .collect()
    };
    let member = [("CARGO_MANIFEST_DIR", "/src/app/crates/core")];
    assert_eq!(
        project(&member)[..3],
        [
            "/src/app/crates/core/.venv/lib/python*/site-packages/nvidia/cudnn",
            "/src/app/crates/.venv/lib/python*/site-packages/nvidia/cudnn",
            "/src/app/.venv/lib/python*/site-packages/nvidia/cudnn",
        ]
    );
    let active = [member[0], ("VIRTUAL_ENV", "/venv"), ("CONDA_PREFIX", "/c")];
    assert_eq!(project(&active), [""; 0]);
    // A crate from the registry is not near the project, but is built in the project's `target`.
    let registry = [
        (
            "CARGO_MANIFEST_DIR",
            "/home/me/.cargo/registry/src/index/sys-1.0.0",
        ),
        ("OUT_DIR", "/src/app/target/debug/build/sys-1/out"),
    ];
    let found = project(&registry);
    assert!(
        found.contains(&"/src/app/.pixi/envs/default".to_string()),
        "{found:?}"
    );
    assert!(
        !found.iter().any(|dir| dir.starts_with("/home/me/.venv")),
        "{found:?}"
    );
}

#[test]
fn pkg_config_files_are_searched_in_its_own_directories() {
    let places = |pairs: &[(&str, &str)], target: &str, root: Option<&str>| -> Vec<String> {
        let env = env(pairs).for_target(target);
        let steps = steps_on(env, target, root).into_iter();
        let steps = steps.filter(|step| step.kind == Kind::Cudnn);
        let places = steps.filter_map(|step| match step.place {
            Place::PkgConfig(dirs) => {
                let dirs = dirs.into_iter().map(|dir| dir.display().to_string());
                Some(dirs.collect::<Vec<_>>().join(" "))
            }
            _ => None,
        });
        places.collect()
    };
    let linux = "x86_64-unknown-linux-gnu";
    let usual = "/usr/local/lib/x86_64-linux-gnu/pkgconfig /usr/local/lib64/pkgconfig /usr/local/lib/pkgconfig \
        /usr/local/share/pkgconfig /usr/lib/x86_64-linux-gnu/pkgconfig /usr/lib64/pkgconfig /usr/lib/pkgconfig \
        /usr/share/pkgconfig";
    let path = ("PKG_CONFIG_PATH", "/a:relative:/b");
    let instead = ("PKG_CONFIG_LIBDIR", "/c");
    assert_eq!(places(&[path], linux, None), [format!("/a /b {usual}")]);
    assert_eq!(places(&[path, instead], linux, None), ["/a /b /c"]);
    assert_eq!(places(&[path], linux, Some("/image")), [""; 0]);
    let arm = "aarch64-unknown-linux-gnu";
    let its_own = [
        ("HOST", linux),
        instead,
        ("PKG_CONFIG_LIBDIR_aarch64_unknown_linux_gnu", "/arm"),
    ];
    assert_eq!(places(&its_own, arm, None), ["/arm"]);
    assert_eq!(places(&[], "x86_64-pc-windows-msvc", None), [""; 0]);
}

#[test]
fn conda_build_is_recognized_by_its_variable() {
    let toolkits = |pairs: &[(&str, &str)]| -> String {
        let text = list(pairs, &[], "x86_64-unknown-linux-gnu", None);
        let lines = text.lines().filter(|line| line.contains("conda"));
        lines.take(2).collect::<Vec<_>>().join("\n")
    };
    let prefixes = [
        ("PREFIX", "/host"),
        ("BUILD_PREFIX", "/tools"),
        ("CONDA_PREFIX", "/tools"),
    ];
    let conda = [("CONDA_BUILD", "1"), prefixes[0], prefixes[1], prefixes[2]];
    assert_eq!(
        toolkits(&conda),
        "Toolkit conda-build's PREFIX: /host\nCudnn conda-build's PREFIX: /host"
    );
    let usual = "Toolkit active conda environment: /tools\nCudnn active conda environment: /tools";
    assert_eq!(toolkits(&prefixes), usual);
    assert_eq!(
        toolkits(&[("CONDA_BUILD", "0"), prefixes[0], prefixes[2]]),
        usual
    );
    for (pairs, watched) in [(&conda[..], true), (&prefixes[..], false)] {
        assert_eq!(is_watched(Variable::CondaHostPrefix, &env(pairs)), watched);
        assert!(is_watched(Variable::CondaBuild, &env(pairs)));
    }
}

fn env(pairs: &[(&str, &str)]) -> Environment {
    Environment::new(
        pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.into())),
    )
}

#[test]
fn windows_with_a_root_and_with_its_own_variables() {
    let windows = "x86_64-pc-windows-msvc";
    let places = |base: &str, drive: &str| {
        format!(
            "Toolkit NVIDIA's versioned directories: {base}/NVIDIA GPU Computing Toolkit/CUDA/v*\n\
             Cudnn NVIDIA's versioned directories: {base}/NVIDIA GPU Computing Toolkit/CUDA/v*\n\
             Cudnn NVIDIA's cuDNN installer: {base}/NVIDIA/CUDNN/v*\n\
             Cudnn NVIDIA's cuDNN installer: {base}/NVIDIA/CUDNN/v*\n\
             Cudnn NVIDIA's versioned directories: {base}/NVIDIA GPU Computing Toolkit/cudnn*\n\
             Toolkit an old default directory: {drive}/CUDA\n\
             Cudnn an old default directory: {drive}/CUDA"
        )
    };
    let variables = [
        ("ProgramW6432", "/C/Files"),
        ("ProgramFiles", "/C/Files (x86)"),
        ("SystemDrive", "/C"),
        ("SystemRoot", "/C/Windows"),
        ("CUDA_PATH_V9_0", "/nine"),
        ("CUDA_PATH_V10_1", "/ten"),
        ("CUDA_PATH_VERSION", "/no release"),
    ];
    let named = "Toolkit CUDA_PATH_V10_1: /ten\n\
                 Cudnn CUDA_PATH_V10_1: /ten\n\
                 Toolkit CUDA_PATH_V9_0: /nine\n\
                 Cudnn CUDA_PATH_V9_0: /nine";
    // An image has its own directories. Paths in variables are used unchanged.
    assert_eq!(
        list(&variables, &[], windows, Some("/image")),
        format!("{named}\n{}", places("/image/Program Files", "/image"))
    );
    assert_eq!(
        list(&variables, &[], windows, None).replace("/C\\/", "/C/"),
        format!(
            "{named}\n{}\nCudnn Windows' system directory: /C/Windows/System32",
            places("/C/Files", "/C")
        )
    );
    // A cross build for Windows has no such drive to search.
    assert_eq!(list(&[], &[], windows, None), "");
}

#[test]
fn the_paths_of_the_c_compiler_are_places() {
    let found = |pairs: &[(&str, &str)]| {
        let text = list(pairs, &[], "x86_64-unknown-linux-gnu", None);
        let own = |line: &&str| {
            let via = line.split(": ").next().unwrap_or_default();
            via.contains("PATH")
        };
        let lines: Vec<String> = text.lines().filter(own).map(String::from).collect();
        lines.join("\n")
    };
    // Each directory once, without the system's and without stubs, then the separately named ones.
    assert_eq!(
        found(&[
            ("CPATH", "/sw/dnn/include:/usr/include:relative"),
            ("LIBRARY_PATH", "/sw/dnn/lib:/sw/cuda/lib64/stubs"),
        ]),
        "Toolkit CPATH and LIBRARY_PATH: /sw/dnn\n\
         Cudnn CPATH and LIBRARY_PATH: /sw/dnn\n\
         Cudnn CPATH and LIBRARY_PATH: /sw/dnn/include"
    );
    assert_eq!(
        found(&[("CMAKE_PREFIX_PATH", "/usr:/spack/cudnn")]),
        "Toolkit CMAKE_PREFIX_PATH: /spack/cudnn\nCudnn CMAKE_PREFIX_PATH: /spack/cudnn"
    );
    assert_eq!(
        found(&[(
            "PATH",
            "/usr/bin:/opt/venv/bin:/opt/venv/bin:/sbin:/opt/tools"
        )]),
        "Toolkit nvcc on PATH: 5 directories on PATH\n\
         Cudnn environment on PATH: /opt/venv\n\
         Toolkit environment on PATH: /opt/venv/lib/python*/site-packages/nvidia/cu*\n\
         Toolkit environment on PATH: /opt/venv/lib/python*/site-packages/nvidia\n\
         Cudnn environment on PATH: /opt/venv/lib/python*/site-packages/nvidia/cudnn"
    );
}
