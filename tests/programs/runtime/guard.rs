//! The runtime guard, as it stands in a program, on Linux with glibc.

pub mod child;
pub mod convolution;
pub mod copies;
pub mod driver;
pub mod driver_library;
pub mod eager;
pub mod elf;
pub mod elf_bounds;
pub mod escapes;
#[cfg(target_arch = "x86_64")]
pub mod farm;
pub mod hidden;
pub mod judged;
pub mod misfits;
pub mod misplaced;
pub mod obstacles;
pub mod parts;
pub mod paths;
pub mod process;
pub mod program;
pub mod record;
pub mod reports;
pub mod route;
pub mod tree;
pub mod units;
pub mod wheels;
