//! Libraries that cuDNN needs, in a version that it cannot use.

use super::program::startup;
use crate::support::installation::{compile, compile_linked, sound};
use std::path::Path;

/// A dependency of cuDNN is older than the version it was linked against, or differs from a related library.
#[test]
fn a_library_that_is_incompatible_with_a_sub_library_is_named() {
    let version = |at: &Path, text: &str| std::fs::write(at, text).unwrap();
    let script = |at: &Path| format!("-Wl,--version-script,{}", at.display());

    for (kind, help) in [
        (
            "GLIBC",
            "run the program on a newer system or in a newer container, or install an older cuDNN",
        ),
        (
            "OTHER",
            "install the version of `HERE/libold.so.6` that it was built with",
        ),
    ] {
        let cudnn = sound();
        let (old, map) = (cudnn.file("libold.so.6"), cudnn.file("map"));
        let both = format!("{kind}_2.2 {{ global: f; }}; {kind}_2.99 {{ global: g; }};");
        version(&map, &both);
        compile("void f(void) {} void g(void) {}", &old, &[&script(&map)]);
        let part = cudnn.file("libcudnn_cnn.so.9");
        compile_linked("void g(void); void h(void) { g(); }", &part, &old);
        version(&map, &format!("{kind}_2.2 {{ global: f; }};"));
        compile("void f(void) {}", &old, &[&script(&map)]);
        let path = cudnn.text();
        startup(&cudnn, &[]).must_stop(&format!(
            "\
`{path}/libcudnn_cnn.so.9` requires {kind}_2.99 from `{path}/libold.so.6`, which does not define it  [cudnn-not-loadable]
  = help: {}
  loader      {path}/libold.so.6: version `{kind}_2.99' not found (required by {path}/libcudnn_cnn.so.9)
",
            help.replace("HERE", path)
        ));
    }

    let cudnn = sound();
    let (lt, map) = (cudnn.file("libcublasLt.so.13"), cudnn.file("map"));
    version(&map, "libcublasLt.so.13 { global: *; };");
    compile("void f(void) {} void g(void) {}", &lt, &[&script(&map)]);
    let blas = cudnn.file("libcublas.so.13");
    compile(
        "void g(void); void h(void) { g(); }",
        &blas,
        &["-Wl,--no-as-needed,-z,now", lt.to_str().unwrap()],
    );
    let part = cudnn.file("libcudnn_ops.so.9");
    let release = "const unsigned char cudnn_ops_infer_version[4] = { 0, 14, 9, 0 }; void h(void); void i(void) { h(); }";
    compile_linked(release, &part, &blas);
    compile("void f(void) {}", &lt, &[&script(&map)]);
    let path = cudnn.text();
    startup(&cudnn, &[]).must_stop(&format!(
        "\
`{path}/libcublas.so.13` is incompatible with the libcublasLt.so.13 that the loader finds for it  [cudnn-not-loadable]
  = help: remove directories with another libcublasLt.so.13 from LD_LIBRARY_PATH, or install both libraries of the same CUDA version
  loader      {path}/libcublas.so.13: undefined symbol: g, version libcublasLt.so.13
"
    ));
}

/// The messages of loaders on other systems and of older loaders, as users reported them, and the findings.
const MESSAGES: &str = "\
/b/libcublas.so.11: symbol cublasLtHSHMatmulAlgoInit version libcublasLt.so.11 not defined in file libcublasLt.so.11 with link time reference
= `/b/libcublas.so.11` is incompatible with the libcublasLt.so.11 that the loader finds for it  [cudnn-not-loadable]
/p/libcudnn_cnn_train.so.8: undefined symbol: _ZN5cudnn3cnn34layerNormFwd, version libcudnn_cnn_infer.so.8
= `/p/libcudnn_cnn.so.9` does not match the other sub-libraries of this cuDNN  [parts-mixed]
/lib64/libm.so.6: version `GLIBC_2.27' not found (required by /p/libcudnn_cnn.so.9)
= `/p/libcudnn_cnn.so.9` requires GLIBC_2.27 from `/lib64/libm.so.6`, which does not define it  [cudnn-not-loadable]
libnvrtc.so.12: cannot open shared object file: No such file or directory
= `/p/libcudnn_cnn.so.9` needs libnvrtc.so.12, which the loader cannot find  [cudnn-not-loadable]
/p/libcublas.so.12: cannot enable executable stack as shared object requires: Invalid argument
= `/p/libcublas.so.12` requires an executable stack, which the loader refuses  [cudnn-not-loadable]
/p/libcudnn_cnn.so.9: undefined symbol: gone
= `/p/libcudnn_cnn.so.9` cannot be loaded  [cudnn-not-loadable]
";

#[test]
fn messages_of_other_loaders_are_understood() {
    let describe = |words: &str| {
        let path = Path::new("/p/libcudnn_cnn.so.9");
        let finding = cudnn_guard::internals::install::refusal::finding(path, words);
        format!("{}  [{}]", finding.summary, finding.id)
    };
    for pair in MESSAGES.lines().collect::<Vec<_>>().chunks(2) {
        assert_eq!(format!("= {}", describe(pair[0])), pair[1]);
    }
}
