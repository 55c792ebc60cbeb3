//! NVIDIA's driver.
