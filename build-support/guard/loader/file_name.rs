//! The file names of a cuDNN's libraries.

use crate::runtime::system::by_system;
use std::path::Path;

/// All of them, as a pattern.
pub const ALL: &str = by_system!("libcudnn*", "cudnn*.dll");

/// That of the first library, by which programs open it.
pub fn of_main(major: u32) -> String {
    by_system!(
        format!("libcudnn.so.{}", major),
        format!("cudnn64_{}.dll", major)
    )
}

/// The name under which every cuDNN has a part.
pub fn of_part(name: &str, major: u32) -> String {
    by_system!(
        format!("libcudnn_{}.so.{}", name, major),
        format!("cudnn_{}64_{}.dll", name, major)
    )
}

/// The part that a file name stands for, with its major: `libcudnn_ops.so.9.1.0` is `ops` of 9, and
/// `libcudnn.so.9` is the first library, whose name is empty.
pub fn parse(path: &Path) -> Option<(String, Option<u32>)> {
    let file = path.file_name()?.to_str()?;
    if cfg!(windows) {
        return parse_dll(&file.to_ascii_lowercase());
    }
    let rest = file.strip_prefix("libcudnn")?;
    let (name, tail) = rest.split_once(".so")?;
    let name = match name.strip_prefix('_') {
        Some(name) => name,
        None if name.is_empty() => name,
        None => return None,
    };
    let numbers = match tail.strip_prefix('.') {
        Some(numbers) => numbers,
        None if tail.is_empty() => tail,
        None => return None,
    };
    let major = numbers
        .split('.')
        .next()
        .and_then(|major| major.parse().ok());
    if major.is_none() && !numbers.is_empty() {
        return None;
    }
    Some((name.to_string(), major))
}

/// `cudnn_ops64_9.dll` is `ops` of 9.
fn parse_dll(file: &str) -> Option<(String, Option<u32>)> {
    let rest = file.strip_prefix("cudnn")?.strip_suffix(".dll")?;
    let (name, major) = rest.rsplit_once("64_")?;
    let name = match name.strip_prefix('_') {
        None if !name.is_empty() => return None,
        name => name.unwrap_or_default(),
    };
    Some((name.to_string(), Some(major.parse().ok()?)))
}
