//! `cudnn-guard inspect` on programs and libraries compiled here, in images made for the tests.

#[allow(dead_code)]
mod made {
    include!("../../../src/system/library_file/made_dll.rs");
}
#[cfg(target_arch = "x86_64")]
mod cases;
pub mod escapes;
pub mod frameworks;
pub mod image;
pub mod programs;
pub mod windows;

use crate::support::{repository, run};
use std::path::Path;
use std::process::Command;

#[test]
fn a_file_that_is_not_a_program_is_an_error_of_the_caller() {
    let (text, docs) = (repository().join("README.md"), repository().join("docs"));
    for (file, message) in [
        (&*text, "is not an ELF or PE program  [io-error]"),
        (&docs, "cudnn-guard: no program there contains a guard\n"),
        (
            Path::new("/dev/null"),
            "`/dev/null` is a pipe or a device, not a file  [io-error]",
        ),
        (
            Path::new("/nowhere/app"),
            "`/nowhere/app` cannot be read: No such file or directory (os error 2)  [io-error]\n  \
             = help: pass the path of a compiled program that you can read\n",
        ),
    ] {
        run(Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
            .arg("inspect")
            .arg(file))
        .exits_with(2)
        .says(message);
    }
}

/// cuDNN exists only for 64-bit, little-endian CPUs.
#[test]
fn a_32_bit_program_is_for_another_cpu() {
    let mut header = [0; 64];
    header[..7].copy_from_slice(b"\x7fELF\x01\x01\x01");
    let program = std::env::temp_dir().join(format!("cudnn-guard-narrow-{}", std::process::id()));
    std::fs::write(&program, header).unwrap();
    let message = format!(
        "has a different word size or byte order than {}  [wrong-architecture]\n  \
         = help: build the program for a 64-bit, little-endian CPU: cuDNN exists for no other\n",
        std::env::consts::ARCH
    );
    run(Command::new(env!("CARGO_BIN_EXE_cudnn-guard"))
        .arg("inspect")
        .arg(&program))
    .exits_with(2)
    .says(&message);
    std::fs::remove_file(program).unwrap();
}
