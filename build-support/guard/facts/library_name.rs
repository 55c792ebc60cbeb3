//! The file names of shared libraries.

use crate::runtime::facts::codec::parsed;
use crate::runtime::facts::{Version, is_number};
use std::path::Path;

/// The parts of a file name such as `libcudnn_graph.so.9.14.0` or `cudnn_graph64_9.dll`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryName {
    /// `cudnn_graph`
    pub name: String,
    /// 9, 14, 0; empty after a bare `.so`.
    pub numbers: Vec<u32>,
    pub is_dll: bool,
}

impl LibraryName {
    /// Parses a file name; for DLLs, only NVIDIA's. Loaders search for no other forms.
    pub fn read(file: &str) -> Option<Self> {
        let is_dll = !file.starts_with("lib");
        let lower = file.to_ascii_lowercase();
        let (name, numbers) = match file.strip_prefix("lib") {
            Some(rest) => rest.split_once(".so")?,
            None => lower.strip_suffix(".dll")?.rsplit_once("64_")?,
        };
        if name.is_empty() || is_dll && !name.starts_with("cu") {
            return None;
        }
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if !name.bytes().all(is_allowed) {
            return None;
        }
        let numbers = match numbers.strip_prefix('.') {
            _ if is_dll => vec![number(numbers)?],
            None if numbers.is_empty() => Vec::new(),
            list => {
                let mut numbers = Vec::new();
                for digits in list?.split('.') {
                    numbers.push(number(digits)?);
                }
                numbers
            }
        };
        Some(Self {
            name: name.to_string(),
            numbers,
            is_dll,
        })
    }

    pub fn of(path: &Path) -> Option<Self> {
        Self::read(path.file_name()?.to_str()?)
    }

    /// Returns the name of a sub-library of cuDNN: `graph` for `libcudnn_graph.so.9`, and an empty name for
    /// `libcudnn.so.9`, which opens the others.
    pub fn sub_library(&self) -> Option<&str> {
        let rest = self.name.strip_prefix("cudnn")?;
        match rest.strip_prefix('_') {
            None if !rest.is_empty() => None,
            name => Some(name.unwrap_or_default()),
        }
    }

    /// Returns the number of the ABI.
    pub fn major(&self) -> Option<u32> {
        self.numbers.first().copied()
    }

    /// Returns 9.14.0 for `libcudnn_graph.so.9.14.0`.
    pub fn release(&self) -> Option<Version> {
        match self.numbers[..] {
            [major, minor, patch] => Some(Version::new(major, minor, patch)),
            _ => None,
        }
    }
}

/// Returns the file name of a sub-library of cuDNN, or of the library that programs open, whose name is empty.
pub fn cudnn_file(sub_library: &str, major: u32, is_dll: bool) -> String {
    let gap = if sub_library.is_empty() { "" } else { "_" };
    match is_dll {
        true => format!("cudnn{gap}{sub_library}64_{major}.dll"),
        false => format!("libcudnn{gap}{sub_library}.so.{major}"),
    }
}

fn number(digits: &str) -> Option<u32> {
    Some(digits).filter(|it| is_number(it)).and_then(parsed)
}
