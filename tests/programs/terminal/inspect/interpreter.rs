//! The loader that a program requires.

use super::image::{Image, one_line};
use crate::support::run;
use std::env::consts::ARCH;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Writes an empty file into the image.
fn touch(image: &Image, path: &str) {
    let file = image.at(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, "").unwrap();
}

#[test]
fn a_program_for_glibc_on_a_system_with_musl_is_reported() {
    let image = Image::new("musl");
    let interpreter = "/lib64/ld-linux.so";
    let flag = format!("-Wl,--dynamic-linker={interpreter}");
    image.program(&[], &[&flag, "-pie"]);
    // A root without a loader may be an incomplete system.
    let silent = || {
        let ran = image.flat(&[]);
        ran.does_not_say("C library").does_not_say("does not exist")
    };
    silent();
    let musl = format!("lib/ld-musl-{ARCH}.so.1");
    touch(&image, &musl);
    let ran = image.inspect(&[]).exits_with(1);
    let output = image.findings(&ran);
    let wanted = format!(
        "  ✗ error: `/app/app` is built for glibc, but the C library of this system is musl  [library-not-found]\n      \
         = help: run the program in an image with glibc, such as Debian or Ubuntu: CUDA and cuDNN also require glibc\n      \
         loader      {interpreter} does not exist\n      \
         musl        /{musl}\n"
    );
    assert!(output.starts_with(&wanted), "{output}");
    // A compatibility layer, such as Alpine's `gcompat`, provides a loader of this name.
    touch(&image, interpreter.trim_start_matches('/'));
    silent();
}

#[test]
fn a_missing_loader_is_reported() {
    let image = Image::new("loader");
    let interpreter = image.at("store/ld-linux.so");
    let flag = format!("-Wl,--dynamic-linker={}", interpreter.display());
    image.program(&[], &[&flag, "-pie"]);
    let program = image.at("app/app");
    let inspect = || one_line(run(&mut image.here()));
    // The system also rejects the program, without the name of the loader.
    let error = Command::new(&program).status().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    let wanted = format!(
        "✗ error: `{}` requires the loader `{}`, which does not exist [library-not-found] = help: build the program on this \
         system, or run it in the environment where it was built",
        program.display(),
        interpreter.display()
    );
    inspect().exits_with(1).says(&wanted);
    fs::create_dir_all(interpreter.parent().unwrap()).unwrap();
    let own = if Path::new("/lib64/ld-linux-x86-64.so.2").exists() {
        "/lib64/ld-linux-x86-64.so.2"
    } else {
        "/lib/ld-linux-aarch64.so.1"
    };
    std::os::unix::fs::symlink(own, &interpreter).unwrap();
    inspect().does_not_say("does not exist");
}

/// Nix's and Guix's loaders, unlike those of the system and of Homebrew.
#[test]
fn a_loader_that_is_not_the_systems_searches_only_its_own_directory() {
    let image = Image::new("own-loader");
    let interpreter = "/store/glibc/lib/ld-linux.so";
    let flag = format!("-Wl,--dynamic-linker={interpreter}");
    image.cudnn("usr/lib64", 14);
    image.library("store/glibc/lib/libown.so.1", "int own;", &[]);
    let own = "IMAGE/store/glibc/lib/libown.so.1";
    let cudnn = "IMAGE/usr/lib64/libcudnn.so.9";
    image.program(&[], &[own, cudnn, &flag, "-pie"]);
    let loader = |cache: &str| {
        let text = format!("\0{cache}/etc/ld.so.cache\0");
        fs::write(image.at(&interpreter[1..]), text).unwrap();
        image.inspect(&[])
    };
    let ran = loader("/store/glibc").exits_with(1);
    let output = image.findings(&ran);
    let headline = "✗ error: `/app/app` needs libcudnn.so.9, which the loader cannot find  [cudnn-not-loadable]\n";
    assert!(output.contains(headline), "{output}");
    let searched = "\n      searched    /store/glibc/etc/ld.so.cache\n                  /store/glibc/lib\n      also found  9.14.0 /usr/lib64/libcudnn.so.9\n";
    assert!(output.contains(searched), "{output}");
    assert!(
        ran.stdout
            .contains("– libraries 1 found, missing: libcudnn.so.9"),
        "{}",
        ran.stdout
    );
    loader("").does_not_say("needs libcudnn.so.9");
}
