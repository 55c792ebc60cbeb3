//! A wrapper such as sccache.

use crate::kernels::tests::package::{Package, warned};

#[test]
fn nvcc_runs_through_a_working_wrapper() {
    let mut package = Package::new(&[("src/a.cu", ""), ("src/b.cu", ""), ("src/c.cu", "")]);
    let wrapper = package.path("sccache");
    let log = package.path("wrapped");
    let write = |line: &str| {
        package.write(
            "sccache",
            &format!("#!/bin/sh\necho \"$2\" >>{}\n{line}\n", log.display()),
        );
        let done = std::process::Command::new("chmod")
            .arg("+x")
            .arg(&wrapper)
            .status();
        assert!(done.unwrap().success());
    };
    let wrapped = || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let _ = std::fs::remove_file(&log);
        text.lines().count()
    };
    write("exec \"$@\"");
    let name = wrapper.display().to_string();
    package.env = vec![("RUSTC_WRAPPER", name.clone())];
    let (result, lines) = package.compile();
    result.unwrap();
    assert_eq!((wrapped(), package.calls().len()), (3, 3));
    assert_eq!(warned(&lines), [""; 0]);
    // The result does not depend on the wrapper.
    package.env.clear();
    assert_eq!((package.compile().0, package.calls()), (Ok(()), vec![]));
    // Other wrappers of rustc do not support nvcc.
    package.out = "other";
    std::fs::create_dir(package.path("other")).unwrap();
    package.env = vec![("RUSTC_WRAPPER", "/usr/bin/cachepot".to_string())];
    package.compile().0.unwrap();
    assert_eq!((wrapped(), package.calls().len()), (0, 3));
}

#[test]
fn a_failing_wrapper_is_reported_once() {
    let mut package = Package::new(&[("src/a.cu", ""), ("src/b.cu", ""), ("src/c.cu", "")]);
    package.env = vec![("CUDNN_GUARD_NVCC_WRAPPER", "/no/sccache".to_string())];
    let (result, lines) = package.compile();
    result.unwrap();
    assert_eq!(package.calls().len(), 3);
    let printed = warned(&lines);
    assert!(
        printed[0].starts_with("`/no/sccache` failed, but nvcc alone compiled `./src/")
            && printed[0].ends_with(
                ".cu`, so these kernels are compiled without the wrapper  [nvcc-failed]"
            ),
        "{printed:?}"
    );
    assert_eq!(
        printed[1],
        "  = help: install a version of `/no/sccache` that works with this nvcc"
    );
    let headlines = printed.iter().filter(|line| line.contains("[nvcc-failed]"));
    assert_eq!(headlines.count(), 1, "{printed:?}");
    // An empty output is not quoted.
    package.env[0].1 = "/bin/false".to_string();
    package.write("src/a.cu", "other");
    let (_, lines) = package.compile();
    let printed = warned(&lines);
    assert!(
        printed.len() == 2 && printed[1].contains("  = help: "),
        "{printed:?}"
    );
    // An error in the source is reported by nvcc.
    package.write("src/a.cu", "mistake");
    let error = package.compile().0.unwrap_err();
    assert!(
        error.starts_with("nvcc failed to compile `./src/a.cu`  [nvcc-failed]"),
        "{error}"
    );
}
