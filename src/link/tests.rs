//! Directives for the linker.

use super::*;
use crate::config::Config;
use std::fs;

/// The cfg is set for a found toolkit, and for a CUDA that the program opens itself.
#[test]
fn has_cuda_is_set_beside_has_cudnn() {
    let dir = std::env::temp_dir().join(format!("cudnn-guard-cfgs-{}", std::process::id()));
    let (image, cuda) = (dir.join("image"), dir.join("cuda"));
    for (file, text) in [
        ("include/cuda.h", "#define CUDA_VERSION 13000\n"),
        ("bin/nvcc", ""),
    ] {
        let file = cuda.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    fs::create_dir_all(&image).unwrap();
    let cfgs = |config: Config, home: &Path| {
        let config = config.root(&image).target("x86_64-unknown-linux-gnu");
        let toolchain = config
            .envs([("CUDA_HOME", home), ("PATH", Path::new("/nowhere"))])
            .survey();
        let root = toolchain.cuda_root().map(Path::to_path_buf);
        let nvcc = toolchain.nvcc().map(Path::to_path_buf);
        let lines = toolchain.directives();
        let mut cfgs = lines
            .iter()
            .filter_map(|line| line.strip_prefix("cargo::rustc-cfg="));
        (root, nvcc, cfgs.next().map(String::from))
    };
    let none = Path::new("");
    let has_cuda = Some("has_cuda".to_string());
    let nvcc = cuda.join("bin/nvcc");
    let found = cfgs(Config::new(), &cuda);
    let opened = cfgs(Config::new().cuda(">=12").link(Link::Runtime), none);
    let absent = cfgs(Config::new(), none);
    fs::remove_dir_all(&dir).unwrap();
    assert_eq!(found, (Some(cuda), Some(nvcc), has_cuda.clone()));
    assert_eq!(opened, (None, None, has_cuda));
    assert_eq!(absent, (None, None, None));
}

/// cargo applies linker arguments only to the package whose build script prints them.
#[test]
fn a_program_gets_linker_arguments_from_its_dependency() {
    let directives = |key: &str, value: &str| {
        let pair = (format!("DEP_DNN_{key}"), value.into());
        let host = Host::capture(None, None, &[pair]);
        let linked = Linked::read(&host, "dnn").unwrap();
        let lines = linked.directives.iter().map(Directive::to_string);
        lines.skip(4).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        directives("RPATH", "/a:/b"),
        "cargo::rustc-link-arg=-Wl,-rpath,/a cargo::rustc-link-arg=-Wl,-rpath,/b"
    );
    assert_eq!(
        directives("DELAYED", "cudnn64_9.dll"),
        "cargo::rustc-link-arg=/DELAYLOAD:cudnn64_9.dll cargo::rustc-link-arg=/INCLUDE:__pfnDliFailureHook2 cargo::rustc-link-arg=delayimp.lib cargo::rustc-link-arg=/IGNORE:4199"
    );
    assert_eq!(directives("VERSION", "9.1.0"), "");
}

#[test]
fn a_program_gets_the_header_directories_of_its_dependency() {
    let dirs = ["/cuda/include", "/cuda/include/cccl"];
    let pairs = [
        ("DEP_DNN_RPATH", "/a".into()),
        ("DEP_DNN_INCLUDE", "/cudnn/include".into()),
        ("DEP_DNN_CUDA_INCLUDE", std::env::join_paths(dirs).unwrap()),
    ];
    let host = Host::capture(None, None, &pairs.map(|(name, dirs)| (name.into(), dirs)));
    assert_eq!(
        Linked::read(&host, "dnn").unwrap().include_dirs(),
        ["/cudnn/include", "/cuda/include", "/cuda/include/cccl"].map(PathBuf::from)
    );
}

#[test]
fn a_directory_of_the_system_gets_no_rpath() {
    let mut plan = Plan::default();
    for library in [
        "/usr/lib/libcudart.so.13",
        "/lib64/libcudnn.so.9",
        "/usr/lib/x86_64-linux-gnu/libcudnn.so.9",
        "/usr/lib/x86_64-linux-gnu/nvidia/libnvrtc.so.13",
        "/opt/cudnn/lib/libcudnn.so.9",
    ] {
        plan.loads_from(Path::new(library));
    }
    let origin = ["../lib".to_string()];
    plan.rpaths(&Platform::from_triple("x86_64-unknown-linux-gnu"), &origin);
    let lines: Vec<String> = plan.directives.iter().map(Directive::to_string).collect();
    assert_eq!(
        lines,
        [
            "cargo::metadata=rpath=$ORIGIN/../lib:/usr/lib/x86_64-linux-gnu/nvidia:/opt/cudnn/lib",
            "cargo::rustc-link-arg=-Wl,-rpath,$ORIGIN/../lib",
            "cargo::rustc-link-arg=-Wl,-rpath,/usr/lib/x86_64-linux-gnu/nvidia",
            "cargo::rustc-link-arg=-Wl,-rpath,/opt/cudnn/lib",
        ]
    );
}
