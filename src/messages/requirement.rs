//! Requirements of the build script that are not met.
