//! A lock for one check at a time: a child that is made while another thread is in the loader may inherit its lock, and
//! has to be replaced. All guards over one `cudnn_guard::runtime` share the lock. A standalone guard has its own lock:
//! two children at once do not harm each other, and a GPU in exclusive use results in unknown (`device-busy`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

static TAKEN: AtomicBool = AtomicBool::new(false);

/// A thread's turn, which ends when this is dropped.
pub struct ProcessLock {
    mine: bool,
}

impl ProcessLock {
    /// Waits for the turn for at most `limit`: in a child that the program made itself, the thread with the turn may
    /// not exist.
    pub fn acquire(limit: Duration) -> Self {
        let until = Instant::now() + limit;
        loop {
            let order = (Ordering::Acquire, Ordering::Relaxed);
            let mine = TAKEN
                .compare_exchange(false, true, order.0, order.1)
                .is_ok();
            if mine || Instant::now() >= until {
                return Self { mine };
            }
            pause(Duration::from_millis(2));
        }
    }
}

/// Waits for this time or less. `std::thread::sleep` panics if a filter refuses its system call.
pub fn pause(time: Duration) {
    let mutex = Mutex::new(());
    let held = mutex.lock();
    let _ = held.map(|held| drop(Condvar::new().wait_timeout(held, time)));
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        if self.mine {
            TAKEN.store(false, Ordering::Release);
        }
    }
}
