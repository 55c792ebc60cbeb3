//! What several rooms read off text: names of libraries and targets, versions in headers.

pub mod library_name;
pub mod pattern;
pub mod target_name;
pub mod version_header;
