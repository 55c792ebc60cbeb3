//! The file names of a cuDNN's libraries.

use std::path::Path;

/// The part that a file name stands for, with its major: `libcudnn_ops.so.9.1.0` is `ops` of 9, and
/// `libcudnn.so.9` is the first library, whose name is empty.
pub fn parse(path: &Path) -> Option<(String, Option<u32>)> {
    let file = path.file_name()?.to_str()?;
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
