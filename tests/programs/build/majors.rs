//! CUDA 14 and cuDNN 10, which do not exist: with a row for each, the crate supports them.

use crate::support::builds::{SCRIPT, check, cudnn, library, toolkit, write};
use crate::support::{fresh, place, repository, run};
use std::fs;
use std::path::Path;

/// This crate with two more majors.
fn crate_with_new_majors(dir: &Path) {
    for folder in ["src", "build-support", "docs", "tests"] {
        place(&repository().join(folder), &dir.join(folder));
    }
    for file in ["Cargo.toml", "README.md"] {
        fs::copy(repository().join(file), dir.join(file)).unwrap();
    }
    let path = dir.join("build-support/guard/facts/majors.rs");
    let text = fs::read_to_string(&path).unwrap();
    let new = text
        .replace("&[9, 8]", "&[10, 9, 8]")
        .replace("&[13, 12, 11]", "&[14, 13, 12, 11]");
    assert_eq!(new.len(), text.len() + 8);
    // The file may be a link to the one in the repository.
    fs::remove_file(&path).unwrap();
    fs::write(&path, new).unwrap();
}

#[test]
fn a_new_major_is_one_row() {
    let dir = fresh("majors");
    let (guard, asks) = (dir.join("cudnn-guard"), dir.join("asks"));
    crate_with_new_majors(&guard);
    let manifest = format!(
        "[package]\nname = \"asks\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [build-dependencies]\ncudnn-guard = {{ path = {guard:?} }}\n\n[workspace]\n"
    );
    write(&asks.join("Cargo.toml"), &manifest);
    write(&asks.join("build.rs"), SCRIPT);
    write(&asks.join("src/main.rs"), "fn main() {}\n");
    fs::copy(repository().join("Cargo.lock"), asks.join("Cargo.lock")).unwrap();
    let (image, cuda, dnn) = (dir.join("image"), dir.join("cuda"), dir.join("dnn"));
    toolkit(&cuda, 14000, false);
    cudnn(&dnn, (10, 1, 0), true);
    library(&dnn.join("lib/libcudnn_engines_tensor_ir.so.10"));
    fs::create_dir(&image).unwrap();
    let there = [
        ("IMAGE", &*image),
        ("CUDA_HOME", &*cuda),
        ("CUDNN_PATH", &*dnn),
    ];
    let ask = "cuda=>=14;cudnn=>=10";
    run(&mut check(&asks, ask, &there))
        .exits_with(0)
        .does_not_say("warning: asks");
    // Its libraries are those of the newest major until a row changes that.
    for end in ["", ".10", ".10.1.0"] {
        fs::remove_file(dnn.join(format!("lib/libcudnn_ops.so{end}"))).unwrap();
    }
    run(&mut check(&asks, ask, &there))
        .exits_with(0)
        .says("is missing `libcudnn_ops.so.10`, which convolutions need  [parts-missing]");
    run(&mut check(&asks, ask, &there[..1]))
        .exits_with(101)
        .says("the directory that contains include/cudnn.h and lib/libcudnn.so.10");
}
