//! Whether what was made is still what would be made now.

pub mod build_stamp;
pub mod fingerprint;
pub mod header_shadowing;
pub mod stat_cache;
