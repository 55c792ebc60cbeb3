//! The GPUs, and what keeps them from being tested.
