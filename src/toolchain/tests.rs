//! What the whole search finds: cases, orders, and real files where there are some.

mod cases;
mod orders;
#[cfg(all(test, unix))]
pub mod real;
#[cfg(all(test, unix))]
pub mod real_device_code;
#[cfg(all(test, unix))]
pub mod real_mixed;
#[cfg(all(test, unix))]
pub mod real_windows;
