//! Fixtures for `cudnn-guard demo` and the tests: a simulated cuDNN and driver, and small crates that use them.

pub mod consumer;
pub mod simulator;
pub mod sources;
