//! NVIDIA's own wheels, mixed, truncated and changed.

use crate::runtime::facts::FindingId;
use crate::toolchain::tests::real::{found, wheels};
use std::path::{Path, PathBuf};

/// Creates a directory of links to the files of one wheel, some of them replaced by files of another.
fn mixed(name: &str, wheel: &str, foreign: &[&str], other: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("cudnn-guard-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(dir.join("lib")).unwrap();
    let of = |wheel: &str| wheels().join(wheel).join("nvidia/cudnn");
    std::os::unix::fs::symlink(of(wheel).join("include"), dir.join("include")).unwrap();
    for file in std::fs::read_dir(of(wheel).join("lib")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let part = name.strip_prefix("libcudnn").unwrap_or_default();
        let from = if foreign
            .iter()
            .any(|one| part.starts_with(&format!("{one}.so")))
        {
            of(other)
        } else {
            of(wheel)
        };
        std::os::unix::fs::symlink(from.join("lib").join(&name), dir.join("lib").join(&name))
            .unwrap();
    }
    dir
}

/// Returns the findings about the cuDNN in this directory, which is replaced by `$T`.
fn messages_about(dir: &Path) -> String {
    let findings = found(&[("CUDNN_PATH", dir.to_path_buf())]).findings;
    let findings = findings
        .iter()
        .filter(|finding| finding.id != FindingId::CudaNotFound);
    let lines: Vec<String> = findings
        .map(|finding| format!("{}: {finding}\n", finding.severity))
        .collect();
    std::fs::remove_dir_all(dir).unwrap();
    lines.concat().replace(dir.to_str().unwrap(), "$T")
}

#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn sub_libraries_of_another_version_are_recognized_by_build_id() {
    // The loader and cuDNN itself do not detect this.
    let foreign = ["_cnn", "_heuristic", "_engines_precompiled"];
    let dir = mixed("near", "cudnn-cu13-9.14", &foreign, "cudnn-cu12-9.10");
    assert_eq!(
        messages_about(&dir),
        "error: `libcudnn_cnn.so.9`, `libcudnn_heuristic.so.9` and `libcudnn_engines_precompiled.so.9` in `$T/lib` are version 9.10.2, but the rest of cuDNN is 9.14.0  [parts-mixed]\n  \
         = help: remove all `libcudnn*` files from `$T/lib` and reinstall cuDNN\n  \
         sub-libs    9.14.0  $T/lib/libcudnn.so.9, version from its build-id\n              \
         9.14.0  $T/lib/libcudnn_graph.so.9\n              \
         9.14.0  $T/lib/libcudnn_ops.so.9\n              \
         9.10.2  $T/lib/libcudnn_cnn.so.9, version from its build-id\n              \
         9.10.2  $T/lib/libcudnn_heuristic.so.9, version from its build-id\n              \
         9.10.2  $T/lib/libcudnn_engines_precompiled.so.9, version from its build-id\n              \
         9.14.0  $T/lib/libcudnn_engines_runtime_compiled.so.9, version from its build-id\n              \
         9.14.0  $T/lib/libcudnn_adv.so.9\n"
    );
    let dir = mixed("shim", "cudnn-cu12-9.10", &[""], "cudnn-cu13-9.28");
    let messages = messages_about(&dir);
    assert!(
        messages.contains("9.28.0  $T/lib/libcudnn.so.9, version from its build-id\n"),
        "{messages}"
    );
    let dir = mixed("adv", "cudnn-cu13-9.14", &["_adv"], "cudnn-cu13-9.28");
    let messages = messages_about(&dir);
    assert!(
        messages.starts_with("warning: `libcudnn_adv.so.9` in `$T/lib` is version 9.28.0, but the rest of cuDNN is 9.14.0; no convolution uses these files"),
        "{messages}"
    );
}

/// The existing files are from the wheel that was installed last.
#[test]
#[ignore = "needs CUDNN_GUARD_REAL"]
fn the_wheel_that_overwrote_the_other_is_named_first() {
    let (twelve, thirteen) = (
        ("cudnn-cu12-9.10", "nvidia_cudnn_cu12-9.10.2.21"),
        ("cudnn-cu13-9.14", "nvidia_cudnn_cu13-9.14.0.64"),
    );
    let warning = "nvidia-cudnn-cu13 9.14.0.64 and nvidia-cudnn-cu12 9.10.2.21 have overwritten each other's files";
    for (last, is_thirteen) in [(thirteen, true), (twelve, false)] {
        let dir = mixed("overwritten", last.0, &[], "");
        let site = dir.with_extension("site");
        let _ = std::fs::remove_dir_all(&site);
        std::fs::create_dir_all(site.join("nvidia")).unwrap();
        let cudnn = site.join("nvidia/cudnn");
        std::fs::rename(&dir, &cudnn).unwrap();
        for (set, wheel) in [twelve, thirteen] {
            let info = format!("{wheel}.dist-info");
            std::fs::create_dir(site.join(&info)).unwrap();
            let record = wheels().join(set).join(&info).join("RECORD");
            std::fs::copy(record, site.join(&info).join("RECORD")).unwrap();
        }
        let messages = messages_about(&cudnn);
        assert_eq!(messages.contains(warning), is_thirteen, "{messages}");
        assert!(messages.contains("[duplicate-cudnn]"), "{messages}");
        assert!(!messages.contains("error: "), "{messages}");
        std::fs::remove_dir_all(&site).unwrap();
    }
}
