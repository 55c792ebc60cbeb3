//! Systems on which the guard makes no child.

use crate::runtime::child::exit_status::ChildExit;
use crate::runtime::child::pipe_sink::PipeSink;
use std::time::Duration;

/// Always an error: there is no child.
pub fn in_child(
    _deadline: Duration,
    _work: &mut dyn FnMut(&PipeSink<'_>),
) -> Result<ChildExit, String> {
    Err("no child can be made on this system".to_string())
}
