//! Compilations that end without an error message.

use crate::kernels::tests::package::{Package, warned};

#[test]
fn a_compilation_that_dies_is_run_again() {
    let once =
        "// nvcc runs [ -f died ] || { : >died; kill -9 $$; }\n".replace("died", "$top/died");
    let package = Package::new(&[("src/a.cu", ""), ("src/b.cu", &once)]);
    let (result, lines) = package.compile();
    result.unwrap();
    let calls = package.calls();
    let of = |source: &str| calls.iter().filter(|call| call.contains(source)).count();
    assert_eq!([of("src/a.cu"), of("src/b.cu")], [1, 2], "{calls:?}");
    assert_eq!(
        warned(&lines)[0],
        "nvcc was killed while compiling `./src/b.cu`; the second attempt succeeded  [nvcc-failed]"
    );
    // A compilation with an error message is not run again.
    let package = Package::new(&[("src/a.cu", "mistake"), ("src/b.cu", "")]);
    let error = package.compile().0.unwrap_err();
    assert!(error.starts_with("nvcc failed to compile"), "{error}");
    assert_eq!(package.calls().len(), 2);
    // The retry may find an error.
    package.write("src/a.cu", &format!("{once}mistake"));
    package.calls();
    let error = package.compile().0.unwrap_err();
    assert!(error.starts_with("nvcc failed to compile"), "{error}");
}

#[test]
fn a_compilation_that_dies_twice_is_an_error() {
    let mut package = Package::new(&[("src/a.cu", "// nvcc runs kill -9 $$\n")]);
    package.archs = "80";
    let error = package.compile().0.unwrap_err();
    assert_eq!(package.calls().len(), 2);
    let start = "nvcc was killed while compiling `./src/a.cu`, even when it ran alone  [nvcc-failed]\n  \
                 = help: give this machine or container more memory, or split `./src/a.cu` into smaller files\n  first       signal 9, 1 compilation at a time, ";
    assert!(error.starts_with(start), "{error}");
    package.write("src/a.cu", "// nvcc runs exit 1\n");
    let error = package.compile().0.unwrap_err();
    let start = "nvcc failed without any output while compiling `./src/a.cu`, even when it ran alone  [nvcc-failed]\n  \
                 = help: run the command in a terminal to see how nvcc fails\n  first       no output, 1 compilation at a time, ";
    assert!(error.starts_with(start), "{error}");
    package.write("src/a.cu", "// nvcc runs kill -11 $$\n");
    let error = package.compile().0.unwrap_err();
    let start = "nvcc crashed while compiling `./src/a.cu`, even when it ran alone  [nvcc-failed]\n  \
                 = help: install another version of the CUDA toolkit\n  first       signal 11, ";
    assert!(error.starts_with(start), "{error}");
    // A script in front of nvcc that runs a compiler cache.
    let script = "#!/bin/sh\n# ccache\nexit 1\n";
    std::fs::remove_file(package.path("cuda/bin/nvcc")).unwrap();
    package.write("script", script);
    let copied = std::process::Command::new("install")
        .args([
            "-m755".into(),
            package.path("script"),
            package.path("cuda/bin/nvcc"),
        ])
        .status();
    assert!(copied.unwrap().success());
    let error = package.compile().0.unwrap_err();
    let start = "nvcc failed without any output while compiling `./src/a.cu`, even when it ran alone  [nvcc-failed]\n  \
                 = help: set NVCC to the full path of nvcc itself: `./cuda/bin/nvcc` is a compiler cache\n";
    assert!(error.starts_with(start), "{error}");
}
