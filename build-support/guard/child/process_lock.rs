//! A lock that allows one check at a time. A child that is created while another thread is in the loader may inherit
//! the loader's lock, and must be replaced. All guards that use one `cudnn_guard::runtime` share the lock. Guards with different
//! versions of it do not: two children at once do not harm each other, and a GPU in exclusive use results in unknown
//! (`device-busy`).

use crate::runtime::child::time_left::TimeLeft;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static IS_LOCKED: AtomicBool = AtomicBool::new(false);

/// The lock, held by this thread until the value is dropped.
pub struct ProcessLock {
    is_owner: bool,
}

impl ProcessLock {
    /// Waits at most `limit` for the lock. In a child that the program itself created, the thread that holds the lock
    /// may not exist.
    pub fn acquire(limit: Duration) -> Self {
        let mut time = TimeLeft::new(limit);
        loop {
            let order = (Ordering::Acquire, Ordering::Relaxed);
            let is_owner = IS_LOCKED
                .compare_exchange(false, true, order.0, order.1)
                .is_ok();
            if is_owner || !time.pause() {
                return Self { is_owner };
            }
        }
    }
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        if self.is_owner {
            IS_LOCKED.store(false, Ordering::Release);
        }
    }
}
