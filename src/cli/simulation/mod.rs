//! What `cudnn-guard demo` and the tests make ready: a simulated cuDNN and driver, and small crates that use one.

pub mod consumer;
pub mod simulator;
pub mod sources;
