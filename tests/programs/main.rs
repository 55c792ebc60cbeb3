//! What builds and runs whole programs, or looks at files as they are on a machine. One program, since each of them costs
//! everybody's `cargo test` a link, and its last test a core.
//!
//! The ignored ones need what `.ci` fetches: NVIDIA's files, Wine, qemu, valgrind, or minutes.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests touch the machine"
)]

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
