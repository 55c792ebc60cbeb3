//! A library that the loader refuses.
