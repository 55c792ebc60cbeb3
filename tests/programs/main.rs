//! What builds and runs whole programs, or looks at files as they are on a machine. One program, since each of them costs
//! everybody's `cargo test` a link, and its last test a core.
//!
//! The ignored ones need what `.ci` fetches: NVIDIA's files, Wine, qemu, valgrind, or minutes.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests touch the machine"
)]

#[cfg(unix)]
mod builds;
mod catalogue;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod child;
#[cfg(unix)]
mod consumers;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod crashes;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod cross;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod denied;
#[cfg(unix)]
mod doctor;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod documents;
#[cfg(unix)]
mod fault_matrix;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod forms;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod guard;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod inspect;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod kills;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod links;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod loader;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod machine;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod majors;
#[cfg(target_os = "linux")]
mod matrix;
#[cfg(target_os = "linux")]
mod memcheck;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod newcomer;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod paths;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod qemu;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod quiet;
#[cfg(unix)]
mod real;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod real_wine;
#[cfg(unix)]
mod reruns;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod soak;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
#[cfg(unix)]
mod unsafe_code;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod vendored;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod wine;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod wine_guard;
