//! The time that is left until a deadline.

use crate::runtime::system::platform;
use std::time::{Duration, Instant};

/// The time of a pause.
const TICK: Duration = Duration::from_millis(1);
/// A limit on what counts as passed between two looks at the clock: a program that was stopped has not waited.
const LONGEST: Duration = Duration::from_secs(1);

/// The time that is left until a deadline, as far as this process has waited for it. The clock may be faked (libfaketime),
/// so that it stands still or jumps.
pub struct TimeLeft {
    pub left: Duration,
    last: Instant,
}

impl TimeLeft {
    pub fn new(left: Duration) -> Self {
        let last = Instant::now();
        Self { left, last }
    }

    /// Subtracts the time since the last call, which is at least `waited`.
    pub fn pass(&mut self, waited: Duration) {
        let last = std::mem::replace(&mut self.last, Instant::now());
        let passed = self.last.saturating_duration_since(last);
        self.left = self.left.saturating_sub(passed.min(LONGEST).max(waited));
    }

    /// Sleeps for a millisecond. Returns `false` instead if no time is left.
    pub fn pause(&mut self) -> bool {
        if self.left.is_zero() {
            return false;
        }
        let has_waited = platform::pause(TICK);
        self.pass(if has_waited { TICK } else { Duration::ZERO });
        true
    }
}
