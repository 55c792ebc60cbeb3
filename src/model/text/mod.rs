//! Parsers that several modules use: names of libraries and targets, versions in headers.

#[cfg(test)]
mod library_name;
pub mod pattern;
pub mod target_name;
pub mod version_header;

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
pub fn newest_first(mut paths: Vec<(Vec<u32>, PathBuf)>) -> Vec<PathBuf> {
    paths.sort_unstable();
    paths.dedup();
    paths.into_iter().rev().map(|(_, path)| path).collect()
}

/// Parses the numbers of a version such as `12.4`. Returns `None` if a part is not a number.
pub fn parse_numbers(text: &str, separator: char) -> Option<Vec<u32>> {
    let numbers = text.split(separator);
    numbers.map(|number| number.parse().ok()).collect()
}
