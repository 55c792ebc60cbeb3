//! Libraries that are incompatible with `libcudnn.so.9`: another major version, a sub-library from a later version, or
//! a dependency of another version.

use super::program::{GPU, check, startup, version};
use crate::support::installation::{Folder, compile, compile_linked, library_path, sound};
use std::path::Path;

/// Only another major version is installed, which is no substitute.
#[test]
fn another_major_is_reported_and_not_opened() {
    let both = Folder::new().with_cudnn("8.9.7").with_cudnn("9.14.0");
    check(&both, &[GPU]).must_be("pass", &[]);
    let old = Folder::new().with_cudnn("8.9.7");
    let ran = check(&old, &[GPU]);
    ran.must_be("fail", &["cudnn-not-loadable"]);
    let finding = &ran.json["findings"][0];
    assert_eq!(
        finding["summary"],
        "cannot load `libcudnn.so.9`; only `libcudnn.so.8` was found"
    );
    assert_eq!(finding["evidence"]["available"], old.at("libcudnn.so.8"));
    assert_eq!(
        finding["help"],
        serde_json::json!([
            "install cuDNN 9, or add the directory of its libcudnn.so.9 to LD_LIBRARY_PATH",
            "use a build of this program for cuDNN 8; linking one name to the other does not help",
        ])
    );
    // A link with the other name does not help either, although it is what people try first.
    let linked = old.with_file_of("8.9.7", "libcudnn.so.8");
    std::os::unix::fs::symlink("libcudnn.so.8", linked.file("libcudnn.so.9")).unwrap();
    let ran = check(&linked, &[GPU]);
    ran.must_be("fail", &["cudnn-version-mismatch"]);
    let path = linked.text();
    let cause = format!(
        "\
loaded cuDNN 8.9.7 has a different major version than 9.14.0, which this program was built with  [cudnn-version-mismatch]
  = help: remove `{path}` from LD_LIBRARY_PATH, or add the directory of cuDNN 9.14 or later 9.x before it
  loaded      {path}/libcudnn.so.9
  own name    libcudnn.so.8
  found via   LD_LIBRARY_PATH, its entry `{path}`
  built with  9.14.0 (compatible: 9.14 or later 9.x)
"
    );
    assert!(ran.text.starts_with(&cause), "{}", ran.text);
    // The result is the same if the file is already open.
    let open = ("TEST_OPEN", linked.at("libcudnn.so.9"));
    for linked_to in [("TEST_LINKED", "1"), ("TEST_FREE", "")] {
        version(&linked, &[open, linked_to]).must_be("fail", &["cudnn-version-mismatch"]);
    }
}

/// A dependency of cuDNN is older than the version it was linked against, or differs from a related
/// library.
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

/// The messages of loaders on other systems and of older loaders, as users reported them.
#[test]
fn messages_of_other_loaders_are_understood() {
    let describe = |words: &str| {
        let path = Path::new("/p/libcudnn_cnn.so.9");
        let finding = cudnn_guard::internals::install::refusal::finding(path, words);
        format!("{}  [{}]", finding.summary, finding.id)
    };
    for (words, wanted) in [
        (
            "/b/libcublas.so.11: symbol cublasLtHSHMatmulAlgoInit version libcublasLt.so.11 not defined in file \
             libcublasLt.so.11 with link time reference",
            "`/b/libcublas.so.11` is incompatible with the libcublasLt.so.11 that the loader finds for it  [cudnn-not-loadable]",
        ),
        (
            "/p/libcudnn_cnn_train.so.8: undefined symbol: _ZN5cudnn3cnn34layerNormFwd, version libcudnn_cnn_infer.so.8",
            "`/p/libcudnn_cnn.so.9` does not match the other sub-libraries of this cuDNN  [parts-mixed]",
        ),
        (
            "/lib64/libm.so.6: version `GLIBC_2.27' not found (required by /p/libcudnn_cnn.so.9)",
            "`/p/libcudnn_cnn.so.9` requires GLIBC_2.27 from `/lib64/libm.so.6`, which does not define it  [cudnn-not-loadable]",
        ),
        (
            "libnvrtc.so.12: cannot open shared object file: No such file or directory",
            "`/p/libcudnn_cnn.so.9` needs libnvrtc.so.12, which the loader cannot find  [cudnn-not-loadable]",
        ),
        (
            "/p/libcublas.so.12: cannot enable executable stack as shared object requires: Invalid argument",
            "`/p/libcublas.so.12` requires an executable stack, which the loader refuses  [cudnn-not-loadable]",
        ),
        (
            "/p/libcudnn_cnn.so.9: undefined symbol: gone",
            "`/p/libcudnn_cnn.so.9` cannot be loaded  [cudnn-not-loadable]",
        ),
    ] {
        assert_eq!(describe(words), wanted);
    }
}

/// With lazy binding, the loader looks functions up on the first call and kills the process if one is
/// missing.
#[test]
fn a_function_missing_at_its_first_call_is_reported() {
    let cudnn = sound();
    let code = "unsigned long gone(void); unsigned long cudnnGetVersion(void) { return gone(); }";
    compile(code, &cudnn.file("libcudnn.so.9"), &["-Wl,-z,lazy"]);
    let path = cudnn.text();
    startup(&cudnn, &[GPU]).must_stop(&format!(
        "\
the loader stopped the test process while calling cudnnGetVersion: a function is missing  [cudnn-aborted]
  = help: reinstall cuDNN and the CUDA libraries that it is linked against, each in one version
  loader      {path}/libcudnn.so.9: undefined symbol: gone
"
    ));
}

/// Since 9.21, no convolution runs without this sub-library. cuDNN 9.20 tries to open it but works without it.
#[test]
fn the_later_sub_library_is_required_only_by_versions_that_include_it() {
    let file = "libcudnn_engines_tensor_ir.so.9";
    for release in ["9.21.0", "9.28.0"] {
        let new = Folder::new().with_cudnn(release);
        check(&new, &[GPU]).must_be("pass", &[]);
        let new = new.without(file);
        let ran = check(&new, &[GPU]);
        ran.must_be("fail", &["parts-missing"]);
        assert_eq!(
            ran.json["findings"][0]["summary"],
            format!(
                "cuDNN {release} at `{}` is missing `{file}`, which convolutions need",
                new.text()
            )
        );
    }
    // A sub-library of another version does not help.
    let old = Folder::new().with_cudnn("9.20.0");
    check(&old, &[GPU]).must_be("pass", &[]);
    let other = Folder::new();
    let elsewhere = library_path(&[&old, &other]);
    let way = ("LD_LIBRARY_PATH", elsewhere);
    let full = other.file(&format!("{file}.23.2"));
    compile("int nothing;", &full, &[]);
    std::os::unix::fs::symlink(&full, other.file(file)).unwrap();
    let ran = check(&old, &[GPU, way]);
    ran.must_be("pass", &["parts-mixed"]);
    let (here, there) = (old.text(), other.text());
    let warning = format!(
        "
warning: cuDNN 9.20.0 at `{here}` does not include `{file}` and loads version 9.23.2 from elsewhere  [parts-mixed]
  = help: install cuDNN 9.21 or later, which includes this file
  = help: remove `{there}` from LD_LIBRARY_PATH
  loaded      {here}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{here}`
  other file  {there}/{file}, version from its file name
  origin      LD_LIBRARY_PATH, its entry `{there}`"
    );
    assert!(ran.text.ends_with(&warning), "{}", ran.text);
    // It was loaded: another 9.20 would load it too.
    let loaded = ("TEST_OPEN", other.at(file));
    let ran = check(&old, &[GPU, way, loaded]);
    ran.must_be("fail", &["parts-mixed", "parts-mixed"]);
    assert_eq!(
        ran.json["findings"][0]["help"],
        serde_json::json!([format!("remove `{there}` from LD_LIBRARY_PATH")])
    );
    // 9.14 does not open it.
    let older = sound();
    let way = format!("{}:{there}", older.text());
    check(&older, &[GPU, ("LD_LIBRARY_PATH", &way)]).must_be("pass", &[]);
}

/// The version of the main library decides which sub-libraries it has, even if the others are later.
#[test]
fn an_older_main_library_does_not_miss_a_later_sub_library() {
    let old = Folder::new().with_cudnn("9.20.0");
    let mixed = Folder::new().with_cudnn("9.28.0");
    let mixed = mixed.without("libcudnn_engines_tensor_ir.so.9");
    let (link, full) = (mixed.file("libcudnn.so.9"), "libcudnn.so.9.20.0");
    std::fs::remove_file(&link).unwrap();
    std::fs::copy(old.file("libcudnn.so.9"), mixed.file(full)).unwrap();
    std::os::unix::fs::symlink(full, link).unwrap();
    check(&mixed, &[GPU]).must_be("fail", &["parts-mixed"]);
}

/// The loader does not find the dependency of a sub-library without RPATH. The guard opens both by their paths,
/// the dependency first, and the program finds them open.
#[test]
fn sub_libraries_that_do_not_find_each_other_are_opened_in_order() {
    let cudnn = Folder::new().with_cudnn("8.9.7");
    let ops = cudnn.file("libcudnn_ops_infer.so.8");
    let release = "const unsigned char cudnn_cnn_infer_version[4] = { 7, 9, 8, 0 };";
    let part = cudnn.file("libcudnn_cnn_infer.so.8");
    compile_linked(release, &part, &ops);
    let nowhere = Folder::new();
    let open = ("TEST_OPEN", cudnn.at("libcudnn.so.8"));
    let built = ("TEST_BUILT", "8.9.7");
    check(&nowhere, &[GPU, open, built]).must_be("pass", &[]);
    // The dependency no longer exists.
    std::fs::remove_file(ops).unwrap();
    check(&nowhere, &[GPU, open, built]).must_be("fail", &["parts-missing"]);
}

/// GPUs for which the driver compiles PTX work. Only a GPU for which cuDNN has no code is skipped.
#[test]
fn a_gpu_that_the_driver_compiles_for_is_tested() {
    let cudnn = Folder::new().with_cudnn("9.10.2");
    let tried = |gpus: &str| {
        let built = [("TEST_BUILT", "9.10.2"), ("TEST_TABLES", "1")];
        check(&cudnn, &[&built[..], &[("TEST_GPU", gpus)]].concat())
    };
    let ran = tried("90,80");
    ran.must_be("pass", &["gpu-newer-than-cudnn"]);
    assert_eq!(ran.json["convolution"][0]["device"], "Test\tGPU");
    let ran = tried("35,80");
    ran.must_be("pass", &["arch-dropped-by-cudnn"]);
    assert_eq!(ran.json["convolution"][0]["device"], "Test\tGPU, GPU 1");
    // A pass on the first GPU proves nothing for the second one, which computes nothing.
    let built = [("TEST_BUILT", "9.10.2"), ("TEST_TABLES", "1")];
    let all = [("TEST_GPU", "80,35"), ("CUDNN_GUARD_DEVICES", "all")];
    let severity = |task| {
        let task = ("TEST_CONVOLUTION", task);
        let ran = check(&cudnn, &[&built[..], &all, &[task]].concat());
        let findings = ran.json["findings"].as_array().unwrap().clone();
        let dropped = findings
            .iter()
            .find(|one| one["id"] == "arch-dropped-by-cudnn");
        dropped.unwrap()["severity"].clone()
    };
    assert_eq!(severity(""), "warning");
    assert_eq!(severity("second-busy"), "error");
}
