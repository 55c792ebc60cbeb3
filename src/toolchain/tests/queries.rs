//! A probe asks the file system each question once, and its questions grow with the number of installations.

use crate::config::Config;
use crate::model::{Environment, Platform};
use crate::runtime::system::path_cache::asked;
use crate::system::{Host, ProbeCache};
use crate::toolchain::Toolchain;
use std::collections::BTreeSet;
use std::fs;

/// Probes a system with this many toolkits that contain a cuDNN. Returns the numbers of questions and of paths.
fn questions(count: usize) -> (usize, usize) {
    let name = format!("cudnn-guard-queries-{}-{count}", std::process::id());
    let root = std::env::temp_dir().join(name);
    for minor in 0..count {
        let toolkit = root.join(format!("usr/local/cuda-12.{minor}"));
        for (file, text) in [
            (
                "include/cuda.h",
                format!("#define CUDA_VERSION {}\n", 12_000 + minor * 10),
            ),
            (
                "include/cudnn_version.h",
                format!(
                    "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL 0\n"
                ),
            ),
            ("bin/nvcc", String::new()),
            ("lib64/libcudart.so", String::new()),
            ("lib64/libcudnn.so.9", String::new()),
            ("lib64/libcudnn_graph.so.9", String::new()),
        ] {
            let path = toolkit.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    let host = Host {
        env: Environment::new([]),
        platform: Platform::from_triple("x86_64-unknown-linux-gnu"),
        root: Some(root.clone()),
        answers: ProbeCache::default(),
    };
    let config = Config::new().cuda(">=12").cudnn(">=9");
    let needs = config.needs();
    asked::take();
    let toolchain = Toolchain::find(config, host, needs);
    let asked = asked::take();
    fs::remove_dir_all(&root).unwrap();
    assert!(toolchain.candidates.len() >= count, "all are found");
    let all: BTreeSet<_> = asked.iter().collect();
    assert_eq!(all.len(), asked.len(), "no question is repeated");
    let paths: BTreeSet<_> = asked.iter().map(|(_, path)| path).collect();
    (asked.len(), paths.len())
}

#[test]
fn a_probe_asks_about_each_path_once_and_grows_with_the_number_of_installations() {
    let [few, more, most] = [10, 20, 40].map(|count| {
        let (asked, paths) = questions(count);
        assert!(asked * 10 <= paths * 13, "{asked} questions, {paths} paths");
        asked
    });
    // Two and a half times as many for twice as many more; a list that is read for each installation asks four times.
    assert!(
        (most - more) * 2 <= (more - few) * 5,
        "{few}, {more}, {most} questions"
    );
}
