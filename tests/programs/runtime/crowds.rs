//! Directories with many files, and long search paths. The work is bounded, or in proportion to their number.

use crate::support::circumstances::{circumstances, command, copy, installed};
use crate::support::{fresh, program, run};
use cudnn_guard::internals::loader::search_path::SearchPath;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

const TOOL: &str = env!("CARGO_BIN_EXE_cudnn-guard");

fn length(json: &str, pointer: &str) -> usize {
    let json: Value = serde_json::from_str(json).unwrap();
    json.pointer(pointer).unwrap().as_array().unwrap().len()
}

#[test]
fn a_cudnn_with_many_other_libraries_beside_it() {
    let tree = copy("crowd", &installed((9, 14, 0)));
    let lib = tree.join("lib64");
    for at in 0..500 {
        let name = format!("libcudnn_x{at:03}.so.9");
        fs::hard_link(lib.join("libcudnn_graph.so.9"), lib.join(name)).unwrap();
    }
    // A cuDNN has at most eight known ones, and 64 others are read.
    let is_bounded = |parts| assert!((64..80).contains(&parts), "{parts}");
    let ran = run(&mut command(
        &["version"],
        &[lib.clone(), tree.join("driver")],
    ));
    is_bounded(length(&ran.stdout, "/loaded/parts"));
    let mut inspect = program(TOOL);
    inspect.args(["inspect", "--json"]).arg(circumstances());
    let ran = run(inspect.env("LD_LIBRARY_PATH", &lib));
    is_bounded(length(&ran.stdout, "/cudnn/parts"));
    let mut doctor = program(TOOL);
    let ran = run(doctor.args(["doctor", "--json"]).env("CUDNN_PATH", &tree));
    is_bounded(length(&ran.stdout, "/cudnn/parts"));
}

#[test]
fn many_toolkits_beside_each_other() {
    let root = fresh("crowd-toolkits");
    for at in 0..1000 {
        let include = format!("usr/local/cuda-{}.{}/include", 12 + at / 10, at % 10);
        let include = root.join(include);
        fs::create_dir_all(&include).unwrap();
        let version = (12 + at / 10) * 1000 + at % 10 * 10;
        let text = format!("#define CUDA_VERSION {version}\n");
        fs::write(include.join("cuda.h"), text).unwrap();
    }
    let ran = run(program(TOOL)
        .args(["doctor", "--json", "--root"])
        .arg(&root));
    assert_eq!(length(&ran.stdout, "/candidates"), 256);
    assert!(ran.stdout.contains("111.9"), "the newest is among them");
    fs::remove_dir_all(root).unwrap();
}

/// Returns the CPU time of this thread, which other programs hardly change.
fn cpu_time() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// Four times as many directories take four times as long; with a search in a list, sixteen times as long.
#[test]
fn a_long_library_path_is_read_in_proportion_to_its_length() {
    let time = |count: usize| {
        let name = |at| PathBuf::from(format!("/opt/libraries/{at}"));
        let dirs: Vec<PathBuf> = (0..count).map(name).collect();
        let list = std::env::join_paths(&dirs).unwrap();
        let once = |_| {
            let begun = cpu_time();
            let path = SearchPath::new(&dirs, None, Some(list.clone()), None);
            assert_eq!(path.directories.len(), count);
            cpu_time() - begun
        };
        (0..5).map(once).min().unwrap()
    };
    let (few, many) = (time(2_000), time(8_000));
    assert!(
        many < few * 9 + Duration::from_millis(20),
        "{few:?} {many:?}"
    );
}
