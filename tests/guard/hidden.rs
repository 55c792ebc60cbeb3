//! What parts open by name: named only where cuDNN failed, since it may do without.

use crate::program::{Ran, run};
use crate::tree::{Folder, compile};

const GPU: (&str, &str) = ("TEST_GPU", "90");
const REFUSED: (&str, &str) = ("TEST_CONVOLUTION", "refused");

fn with(cudnn: &Folder, name: &str) {
    compile("int here;", &cudnn.file(name), &[]);
}

/// The headlines of all but the first finding.
fn suspects(ran: &Ran) -> Vec<String> {
    let findings = ran.json["findings"].as_array().unwrap();
    let headlines = findings
        .iter()
        .skip(1)
        .map(|it| it["summary"].as_str().unwrap().to_string());
    headlines.collect()
}

/// LOD-03, LOD-20, LOD-23: only the driver is here, or the libraries of another CUDA.
#[test]
fn what_a_part_opens_and_does_not_find_is_named_when_cudnn_fails() {
    let cudnn = Folder::new().with_cudnn("9.14.0");
    let path = cudnn.text();
    run("check", &cudnn.0, &[GPU]).must_be("pass", &[]);
    let ids = [
        "convolution-failed",
        "cudnn-not-loadable",
        "cudnn-not-loadable",
    ];
    let ran = run("check", &cudnn.0, &[GPU, REFUSED]);
    ran.must_be("fail", &ids);
    let told = |part: &str, name: &str| {
        format!(
            "`{path}/libcudnn_{part}.so.9` opens {name} when it comes to use it, and the loader does not find that"
        )
    };
    assert_eq!(
        suspects(&ran),
        [
            told("graph", "libnvrtc.so.13"),
            told("engines_precompiled", "libcublasLt.so.13")
        ]
    );
    assert_eq!(
        ran.json["findings"][2]["help"][0],
        "install libcublasLt.so.13, or put its directory into LD_LIBRARY_PATH"
    );
    // Those of another CUDA do not serve.
    with(&cudnn, "libcublasLt.so.12");
    run("check", &cudnn.0, &[GPU, REFUSED]).must_be("fail", &ids);
    // A crash is a failure too.
    let ran = run("check", &cudnn.0, &[GPU, ("TEST_CONVOLUTION", "abort")]);
    ran.must_be(
        "fail",
        &["cudnn-aborted", "cudnn-not-loadable", "cudnn-not-loadable"],
    );
    with(&cudnn, "libcublasLt.so.13");
    with(&cudnn, "libnvrtc.so.13");
    with(&cudnn, "libnvrtc-builtins.so.13.0");
    run("check", &cudnn.0, &[GPU, REFUSED]).must_be("fail", &["convolution-failed"]);
}

/// LOD-21
#[test]
fn nvrtc_without_its_builtins_is_named() {
    let cudnn = Folder::new().with_cudnn("9.14.0");
    with(&cudnn, "libcublasLt.so.13");
    with(&cudnn, "libnvrtc.so.13");
    with(&cudnn, "libnvrtc-builtins.so.12.8");
    assert_eq!(
        suspects(&run("check", &cudnn.0, &[GPU, REFUSED])),
        [format!(
            "`{}/libnvrtc.so.13` has no libnvrtc-builtins of CUDA 13 beside it, which it opens when it compiles",
            cudnn.text()
        )]
    );
}

/// LOD-22
#[test]
fn cublas_and_a_cublaslt_from_elsewhere_are_named() {
    let cudnn = Folder::new().with_cudnn("8.9.7");
    let other = Folder::new();
    with(&cudnn, "libcublas.so.13");
    with(&other, "libcublasLt.so.13");
    with(&other, "libnvrtc.so.13");
    with(&other, "libnvrtc-builtins.so.13.0");
    let both = format!("{}:{}", cudnn.text(), other.text());
    let old = ("TEST_BUILT", "8.9.7");
    let ran = run(
        "check",
        &cudnn.0,
        &[GPU, REFUSED, old, ("LD_LIBRARY_PATH", &both)],
    );
    assert_eq!(
        suspects(&ran),
        ["libcublas and its libcublasLt come from two installations"]
    );
    assert_eq!(
        ran.json["findings"][1]["evidence"]["libcublasLt"],
        other.file("libcublasLt.so.13").to_str().unwrap()
    );
}
