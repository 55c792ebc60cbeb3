//! Tests of requested places.

use super::*;

fn trees(pairs: &[(&str, &str)]) -> Vec<Tree> {
    let env = env(pairs).with_current_dir("/package".into());
    let requested = steps_on(env, "x86_64-unknown-linux-gnu", None)
        .into_iter()
        .filter(|step| step.request.is_some());
    let trees = requested.filter_map(|step| match step.place {
        Place::Tree(tree) => Some(tree),
        Place::Nvcc(_) | Place::Copy(..) | Place::PkgConfig(..) => None,
    });
    trees.collect()
}

#[test]
fn a_relative_place_starts_from_the_package() {
    let trees = trees(&[("CUDA_HOME", "vendor/cuda"), ("CUDNN_PATH", "/opt/dnn/")]);
    assert_eq!(trees[0].base, Path::new("/package/vendor/cuda"));
    assert_eq!(trees[1].base, Path::new("/opt/dnn"));
}

#[test]
fn the_other_directory_beside_named_headers_or_libraries() {
    for (named, header, library) in [
        ("/opt/dnn/lib64", "/opt/dnn/include", ""),
        ("/opt/dnn/include/", "", "/opt/dnn/lib"),
        ("/usr/lib/x86_64-linux-gnu", "/usr/include", ""),
        (
            "/usr/lib/x86_64-linux-gnu",
            "/usr/include/x86_64-linux-gnu",
            "",
        ),
    ] {
        let tree = &trees(&[("CUDNN_PATH", named)])[0];
        assert!(tree.include.iter().any(|dir| dir == Path::new(header)));
        assert!(tree.lib.iter().any(|dir| dir == Path::new(library)));
    }
    let tree = &trees(&[("CUDNN_PATH", "/opt/dnn")])[0];
    assert!(tree.include.iter().all(|dir| dir.is_relative()), "{tree:?}");
}

#[test]
fn nvcc_is_searched_on_the_path_of_the_build_machine() {
    let files = |host: &str, target: &str, path: &str| {
        let env = env(&[("HOST", host), ("PATH", path), ("NVCC", "ccache nvcc")]);
        let steps = steps_on(env, target, None);
        match &steps[0].place {
            Place::Nvcc(files) => files.clone(),
            Place::Tree(_) | Place::Copy(..) | Place::PkgConfig(..) => panic!("{steps:?}"),
        }
    };
    let linux = "x86_64-unknown-linux-gnu";
    let windows = "x86_64-pc-windows-msvc";
    assert_eq!(
        files(linux, windows, "/a:/b"),
        ["/a/ccache nvcc", "/b/ccache nvcc", "/a/nvcc", "/b/nvcc"].map(PathBuf::from)
    );
    assert_eq!(
        files(windows, windows, "/a;\"/b c\"")[2..],
        ["/a/nvcc.exe", "/b c/nvcc.exe"].map(PathBuf::from)
    );
}
