//! The runtime guard, as it stands in a program, on Linux with glibc.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    reason = "tests make and break files and run programs"
)]

#[allow(dead_code, reason = "a program uses the guard through three functions")]
#[path = "guard/imp.rs"]
mod imp;

#[path = "guard/child.rs"]
mod child;
#[path = "guard/copies.rs"]
mod copies;
#[path = "guard/eager.rs"]
mod eager;
#[path = "guard/hidden.rs"]
mod hidden;
#[path = "guard/judged.rs"]
mod judged;
#[path = "guard/misfits.rs"]
mod misfits;
#[path = "guard/parts.rs"]
mod parts;
#[path = "guard/paths.rs"]
mod paths;
#[path = "guard/process.rs"]
mod process;
#[path = "guard/program.rs"]
mod program;
#[path = "guard/reports.rs"]
mod reports;
#[path = "guard/tree.rs"]
mod tree;
#[path = "guard/units.rs"]
mod units;
#[path = "guard/wheels.rs"]
mod wheels;
