//! Decisions: plain data in, plain data out, tested with literals.
pub mod directive;
pub mod select;
