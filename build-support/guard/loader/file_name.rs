//! The file names of a cuDNN's libraries.

use crate::runtime::facts::library_name::{self, LibraryName};
use crate::runtime::system::by_system;
use std::path::Path;

/// All of them, as a pattern.
pub const ALL: &str = by_system!("libcudnn*", "cudnn*.dll");

/// That of the first library, by which programs open it.
pub fn of_main(major: u32) -> String {
    library_name::file_name("cudnn", major, cfg!(windows))
}

/// The name under which every cuDNN has a part.
pub fn of_part(name: &str, major: u32) -> String {
    library_name::sub_library(name, major, cfg!(windows))
}

/// The part that a file name stands for, with its major: `libcudnn_ops.so.9.1.0` is `ops` of 9, and
/// `libcudnn.so.9` is the first library, whose name is empty.
pub fn parse(path: &Path) -> Option<(String, Option<u32>)> {
    let file = LibraryName::of(path).filter(|file| file.is_dll == cfg!(windows))?;
    Some((file.sub_library()?.to_string(), file.major()))
}
