//! Systems on which the guard makes no child.

use crate::runtime::child::exit_status::Ended;
use crate::runtime::child::pipe_sink::Tell;
use std::time::Duration;

/// Always an error: there is no child.
pub fn in_child(_deadline: Duration, _work: &mut dyn FnMut(&Tell<'_>)) -> Result<Ended, String> {
    Err("no child can be made on this system".to_string())
}
