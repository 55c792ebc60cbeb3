//! More than one reachable cuDNN, in complete runs.

use super::program::{GPU, check, startup, version};
use crate::support::installation::{Folder, compile, library_path, sound};

#[test]
fn the_cudnn_in_the_process_is_checked() {
    let old = Folder::new().with_cudnn("9.10.2");
    let new = sound();
    let open = old.at("libcudnn.so.9");
    let ran = check(&new, &[GPU, ("TEST_OPEN", open)]);
    assert_eq!(ran.json["loaded"]["path"], open);
    let via = "something in this process that opened it by its path";
    assert_eq!(ran.json["loaded"]["found_via"], via);
    ran.must_be("fail", &["cudnn-version-mismatch"]);
    // cuDNN 8 and 9 may be loaded side by side.
    let eight = Folder::new().with_cudnn("8.9.7");
    let open = eight.at("libcudnn.so.8");
    check(&new, &[GPU, ("TEST_OPEN", open)]).must_be("pass", &[]);
}

#[test]
fn a_second_copy_is_a_warning() {
    let (one, two) = (sound(), sound());
    let both = [one.file("libcudnn.so.9"), two.file("libcudnn.so.9")]
        .map(|file| file.to_str().unwrap().to_string());
    let ran = check(&one, &[GPU, ("TEST_OPEN", &both.join(":"))]);
    ran.must_be("pass", &["duplicate-cudnn"]);
    assert_eq!(*ran.evidence("also"), both[1]);
    assert_eq!(
        ran.json["findings"][0]["summary"],
        format!(
            "more than one cuDNN is loaded in this process; checking `{}`",
            both[0]
        )
    );
}

/// A sub-library loaded from another directory counts, even if the convolution computed correct numbers.
#[test]
fn a_foreign_sub_library_of_another_version_fails() {
    let cudnn = sound();
    let opens = |folder: &Folder| {
        let part = folder.file("libcudnn_cnn.so.9");
        let task = format!("opens:{}", part.display());
        (check(&cudnn, &[GPU, ("TEST_CONVOLUTION", &task)]), part)
    };
    // The version is part of the file name, as in NVIDIA's archives.
    let old = Folder::new().with_cudnn("9.10.2");
    let part = old.file("libcudnn_cnn.so.9");
    let release = old.file("libcudnn_cnn.so.9.10.2");
    std::fs::rename(&part, &release).unwrap();
    std::os::unix::fs::symlink(&release, &part).unwrap();
    let (ran, part) = opens(&old.without("libcudnn.so.9"));
    ran.must_be("fail", &["parts-mixed"]);
    assert_eq!(ran.evidence("also"), part.to_str().unwrap());
    // A sub-library of the same version does no harm, and only the child has loaded it.
    let same = sound().without("libcudnn.so.9");
    let (ran, part) = opens(&same);
    ran.must_be("pass", &[]);
    let all = [cudnn.file("libcudnn_cnn.so.9"), part.clone()];
    let open = std::env::join_paths(all).unwrap();
    let ran = check(&cudnn, &[GPU, ("TEST_OPEN", open.to_str().unwrap())]);
    ran.must_be("pass", &["duplicate-cudnn"]);
    assert_eq!(ran.evidence("also"), part.to_str().unwrap());
}

/// The files change after the child has tested them and before the program uses them.
#[test]
fn a_sub_library_that_is_overwritten_during_the_check_fails() {
    let new = Folder::new().with_cudnn("9.14.1");
    for (with, verdict, ids) in [
        (&new, "fail", &["parts-mixed"][..]),
        (&sound(), "pass", &[]),
    ] {
        let cudnn = sound();
        let file = cudnn.file("libcudnn_ops.so.9");
        let other = with.at("libcudnn_ops.so.9");
        let task = format!("overwrites:{}:{}", file.display(), other);
        let ran = check(&cudnn, &[GPU, ("TEST_CONVOLUTION", &task)]);
        ran.must_be(verdict, ids);
        if verdict == "fail" {
            let finding = &ran.json["findings"][0];
            assert_eq!(finding["summary"], "cuDNN's files changed during the check");
            assert_eq!(finding["evidence"]["loaded"], file.to_str().unwrap());
        }
    }
}

#[test]
fn pinning_keeps_the_library_path_from_swapping_sub_libraries() {
    // `libcudnn.so.9` has a RUNPATH, and LD_LIBRARY_PATH takes precedence over it for everything that it opens.
    let own = sound();
    let open = own.file("libcudnn.so.9");
    let foreign = Folder::new().with_cudnn("9.10.2");
    let open = ("TEST_OPEN", open.to_str().unwrap());
    let ran = check(&foreign, &[GPU, open]);
    ran.must_be("pass", &["parts-mixed"]);
    let finding = &ran.json["findings"][0];
    assert_eq!(finding["severity"], "warning");
    assert_eq!(
        finding["summary"],
        format!(
            "without this guard, cuDNN 9.14.0 at `{}` loads `libcudnn_graph.so.9`, `libcudnn_ops.so.9` and \
             `libcudnn_adv.so.9` (version 9.10.2) from `{}`",
            own.text(),
            foreign.text()
        )
    );
    assert_eq!(ran.part(0), own.at("libcudnn_graph.so.9"));
    // If nothing is pinned, the files that would be loaded are checked.
    let ran = version(&foreign, &[GPU, open]);
    ran.must_be("fail", &["parts-mixed"]);
    let sub_libraries = ran.evidence("sub-libs").as_str().unwrap();
    let shim = format!(
        "9.14.0  {}/libcudnn.so.9, version from the sub-library next to it\n",
        own.text()
    );
    assert!(sub_libraries.starts_with(&shim), "{sub_libraries}");
}

#[test]
fn a_sub_library_that_is_loaded_by_its_full_name_is_found() {
    // `libcudnn.so.9` tries the full file names first, which match no pinned file.
    let cudnn = sound();
    let code = "void *dlopen(const char *, int);
        unsigned long cudnnGetVersion(void) { dlopen(\"libcudnn_graph.so.9.14.0\", 1); return 91002; }";
    compile(code, &cudnn.file("libcudnn.so.9"), &[]);
    let other = Folder::new().with_cudnn("9.10.2");
    let foreign = Folder::new();
    let slipped = foreign.file("libcudnn_graph.so.9.14.0");
    std::fs::copy(other.file("libcudnn_graph.so.9"), &slipped).unwrap();
    let other = foreign.text();
    let (path, both) = (cudnn.text(), library_path(&[&cudnn, &foreign]));
    startup(&cudnn, &[GPU, ("LD_LIBRARY_PATH", both)]).must_stop(&format!(
            "\
cuDNN 9.14.0 at `{path}` loads `libcudnn_graph.so.9.14.0` (version 9.10.2) from `{other}`  [parts-mixed]
  = help: remove `{other}` from LD_LIBRARY_PATH
  loaded      {path}/libcudnn.so.9
  found via   LD_LIBRARY_PATH, its entry `{path}`
  origin      LD_LIBRARY_PATH, its entry `{other}`
  sub-libs    9.14.0  {path}/libcudnn.so.9, version from the sub-library next to it
              9.10.2  {}
",
            slipped.display()
    ));
}

/// A virtual environment's cuDNN beside the system's, whose sub-libraries have the full names that are tried first.
#[test]
fn sub_libraries_of_the_same_version_are_no_second_cudnn() {
    let cudnn = sound();
    let code = "void *dlopen(const char *, int);
        unsigned long cudnnGetVersion(void) { dlopen(\"libcudnn_graph.so.9.14.0\", 1); return 91400; }";
    let flags = ["-Wl,--enable-new-dtags,-rpath,$ORIGIN"];
    compile(code, &cudnn.file("libcudnn.so.9"), &flags);
    let system = Folder::new();
    let full = system.file("libcudnn_graph.so.9.14.0");
    std::fs::copy(sound().file("libcudnn_graph.so.9"), &full).unwrap();
    let open = ("TEST_OPEN", cudnn.at("libcudnn.so.9"));
    for variables in [&[open][..], &[open, GPU]] {
        let ran = check(&system, variables);
        let ids = ran.json["findings"].to_string();
        assert!(!ids.contains("duplicate-cudnn"), "{}", ran.text);
        // The file that cuDNN opens is checked.
        assert_eq!(ran.part(0), full.to_str().unwrap(), "{}", ran.text);
    }
    // cuDNN tries the next name if the loader refuses a file.
    std::fs::write(full, "").unwrap();
    let ran = check(&system, &[GPU, open]);
    ran.must_be("pass", &[]);
    assert_eq!(ran.part(0), cudnn.at("libcudnn_graph.so.9"));
}

/// A file next to `libcudnn.so.9` that is opened under another name belongs to the same cuDNN, not to a second one.
#[test]
fn a_sub_library_of_another_version_beside_the_main_library_fails() {
    let cudnn = sound();
    let code = "void *dlopen(const char *, int);
        unsigned long cudnnGetVersion(void) { dlopen(\"libcudnn_graph.so.9.10.2\", 1); return 91400; }";
    compile(code, &cudnn.file("libcudnn.so.9"), &[]);
    let old = Folder::new().with_cudnn("9.10.2");
    let slipped = cudnn.file("libcudnn_graph.so.9.10.2");
    std::fs::copy(old.file("libcudnn_graph.so.9"), &slipped).unwrap();
    let ran = check(&cudnn, &[GPU]);
    ran.must_be("fail", &["parts-mixed"]);
    assert_eq!(ran.evidence("also"), slipped.to_str().unwrap());
}
