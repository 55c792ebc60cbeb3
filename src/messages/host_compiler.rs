//! The host compiler and its headers.
