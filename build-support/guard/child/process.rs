//! Systems on which the guard creates no child.

use crate::runtime::child::{ChildExit, Sink, Task};
use std::time::Duration;

/// `true` if the child begins as a copy of this process, including CUDA.
pub const IS_COPY: bool = true;

/// Always returns an error.
pub fn in_child(
    _deadline: Duration,
    _task: &Task,
    _token: &str,
    _work: &(dyn Fn(Sink<'_>) + Sync),
) -> Result<ChildExit, String> {
    Err("child processes are not supported on this system".to_string())
}
