//! Parsers that several modules use: names of libraries, versions in headers.

#[cfg(test)]
mod library_name;
pub mod pattern;
pub mod version_header;

use crate::model::target_list::add;
use crate::runtime::facts::Version;
use std::fmt::Display;
use std::path::PathBuf;

pub fn joined<T: Display>(values: impl IntoIterator<Item = T>, between: &str) -> String {
    // A loop, since this function is compiled for every iterator type.
    let mut texts = Vec::new();
    for value in values {
        texts.push(value.to_string());
    }
    texts.join(between)
}

/// Sorts paths by the version in each, newest first, without duplicates.
pub fn newest_first(paths: Vec<(Vec<u32>, PathBuf)>) -> Vec<PathBuf> {
    let mut sorted = Vec::new();
    for path in paths {
        add(&mut sorted, path);
    }
    let mut newest = Vec::new();
    while let Some((_, path)) = sorted.pop() {
        newest.push(path);
    }
    newest
}

/// Parses the numbers of a version such as `12.4`. Returns `None` if a part is not a number.
pub fn parse_numbers(text: &str, separator: char) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for number in text.split(separator) {
        numbers.push(number.parse().ok()?);
    }
    Some(numbers)
}

/// Parses the first two numbers of a version such as `12.4.131`: CUDA's version consists of two.
pub fn short_version(text: &str) -> Option<Version> {
    match parse_numbers(text, '.')?[..] {
        [major, minor, ..] => Some(Version::new(major, minor, 0)),
        _ => None,
    }
}
