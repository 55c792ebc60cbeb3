//! Tests that build and run whole programs, or read the files of the machine. They are one program, because each test
//! program adds a link step to `cargo test`, and because cargo runs test programs one after the other.
//!
//! Ignored tests need files and tools that `.ci` fetches (NVIDIA's files, Wine, qemu, valgrind), or take minutes.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests touch the machine"
)]

#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod agreement;
mod build;
mod foreign;
#[cfg(unix)]
mod real;
mod repository;
mod runtime;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
mod windows;
