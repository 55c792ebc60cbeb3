//! The file names of a cuDNN's libraries.

use crate::runtime::facts::{LibraryName, Version, cudnn_file};
use crate::runtime::system::by_system;
use std::path::Path;

/// The pattern that matches all of them.
pub const ALL: &str = by_system!("libcudnn*", "cudnn*.dll");

/// Returns the name by which programs open cuDNN.
pub fn of_main(major: u32) -> String {
    cudnn_file("", major, cfg!(windows))
}

/// Returns the name of this sub-library in every cuDNN.
pub fn of_part(name: &str, major: u32) -> String {
    cudnn_file(name, major, cfg!(windows))
}

/// Returns the names with more numbers that this cuDNN for Linux tries first for a sub-library.
pub fn precise(name: &str, version: Option<Version>) -> Vec<String> {
    match version {
        Some(version) if version.major >= 9 => vec![
            format!("libcudnn_{name}.so.{version}"),
            format!("libcudnn_{name}.so.{}", version.short()),
        ],
        _ => Vec::new(),
    }
}

/// Returns the sub-library that a file name stands for, with its major: `libcudnn_ops.so.9.1.0` is `ops` of 9. The
/// library that opens the others, `libcudnn.so.9`, has an empty name.
pub fn parse(path: &Path) -> Option<(String, Option<u32>)> {
    let file = LibraryName::of(path).filter(|file| file.is_dll == cfg!(windows))?;
    Some((file.sub_library()?.to_string(), file.major()))
}
