//! Tests of requested places.

use super::*;

fn trees(pairs: &[(&str, &str)]) -> Vec<Tree> {
    let env = env(pairs).with_current_dir("/package".into());
    let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
    let requested = steps(&env, &platform, None)
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

/// A CUDA_HOME in a virtual environment also selects the environment's cuDNN.
#[test]
fn the_wheel_of_cudnn_beside_a_requested_toolkit() {
    let site = "/venv/lib/python3.12/site-packages";
    let dirs = |home: &str| -> Vec<PathBuf> {
        let env = env(&[("CUDA_HOME", home)]);
        let platform = Platform::from_triple("x86_64-unknown-linux-gnu");
        let steps = steps(&env, &platform, None).into_iter();
        let inside = steps.filter(|step| step.kind == Kind::Cudnn && !step.fixed);
        let trees = inside.filter_map(|step| match step.place {
            Place::Tree(tree) => Some(tree.base.join(tree.pattern)),
            _ => None,
        });
        trees.collect()
    };
    let found = dirs(&format!("{site}/nvidia/cu13"));
    let wheel = Path::new(site).join("nvidia/cudnn");
    assert_eq!(
        found.iter().position(|dir| *dir == wheel),
        Some(1),
        "{found:?}"
    );
    let found = dirs("/opt/cuda");
    assert!(
        !found.iter().any(|dir| dir.ends_with("nvidia/cudnn")),
        "{found:?}"
    );
}

#[test]
fn nvcc_is_searched_on_the_path_of_the_build_machine() {
    let files = |host: &str, target: &str, path: &str| {
        let env = env(&[("HOST", host), ("PATH", path), ("NVCC", "ccache nvcc")]);
        let steps = steps(&env, &Platform::from_triple(target), None);
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

#[test]
fn a_variable_for_the_target_wins() {
    let steps = |host: &str, pairs: &[(&str, &str)], script: &[(&str, &str)]| -> Vec<String> {
        let own = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect()
        };
        let mut all = own(pairs);
        all.push(("HOST".into(), host.into()));
        let all = all.into_iter().map(|(name, value)| (name, value.into()));
        let target = "aarch64-unknown-linux-gnu";
        let env = Environment::new(all)
            .with_pairs(&own(script))
            .for_target(target);
        let steps = steps(&env, &Platform::from_triple(target), None).into_iter();
        let itself = |place: &Place| matches!(place, Place::Tree(tree) if tree.pattern.is_empty());
        let requested = steps.filter(|step| step.request.is_some() && itself(&step.place));
        requested
            .map(|step| format!("{}: {}", step.via, step.description()))
            .collect()
    };
    let pairs = [
        ("CUDNN_PATH_aarch64-unknown-linux-gnu", "/hyphens"),
        ("CUDNN_PATH_aarch64_unknown_linux_gnu", "/underscores"),
        ("CUDNN_PATH_x86_64_unknown_linux_gnu", "/another"),
        ("TARGET_CUDNN_PATH", "/target"),
        ("HOST_CUDNN_PATH", "/host"),
        ("CUDNN_PATH", "/plain"),
    ];
    let (cross, native) = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu");
    let hyphens = "CUDNN_PATH_aarch64-unknown-linux-gnu: /hyphens";
    let underscores = "CUDNN_PATH_aarch64_unknown_linux_gnu: /underscores";
    assert_eq!(steps(cross, &pairs, &[]), [hyphens]);
    assert_eq!(steps(cross, &pairs[1..], &[]), [underscores]);
    assert_eq!(
        steps(cross, &pairs[2..], &[]),
        ["TARGET_CUDNN_PATH: /target"]
    );
    assert_eq!(steps(native, &pairs[2..], &[]), ["HOST_CUDNN_PATH: /host"]);
    assert_eq!(steps(cross, &pairs[4..], &[]), ["CUDNN_PATH: /plain"]);
    // The build script's value takes precedence, and an empty one hides the user's.
    let script = [("CUDNN_PATH", "/script")];
    assert_eq!(
        steps(cross, &pairs, &script),
        ["CUDNN_PATH in build.rs: /script"]
    );
    assert!(steps(cross, &pairs, &[("CUDNN_PATH", "")]).is_empty());
}
