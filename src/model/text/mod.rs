//! What several rooms read off text: names of libraries and targets, versions in headers.

pub mod library_name;
pub mod pattern;
pub mod target_name;
pub mod version_header;

use std::fmt::Display;

/// All of them in one text, with this between them.
pub fn joined<T: Display>(values: impl IntoIterator<Item = T>, between: &str) -> String {
    let texts: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    texts.join(between)
}
