//! One thread at a time: a child that is made while another thread is within the loader may inherit its lock, which
//! costs another child. All guards over one `cudnn_guard::runtime` take turns. One that stands alone has a lock of its
//! own and does not know the others' turns: two children at once do not harm each other, and one that a GPU in exclusive
//! use refuses has found nothing out (`device-busy`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

static TAKEN: AtomicBool = AtomicBool::new(false);

/// A thread's turn, which ends when it goes away.
pub struct ProcessLock {
    mine: bool,
}

impl ProcessLock {
    /// Waits for it, but not for ever: in a child that the program made itself, whoever has it may not exist.
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

/// Waits so long, or shorter. `std::thread::sleep` panics where a filter refuses its system call.
pub fn pause(time: Duration) {
    let nobodys = Mutex::new(());
    let held = nobodys.lock();
    let _ = held.map(|held| drop(Condvar::new().wait_timeout(held, time)));
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        if self.mine {
            TAKEN.store(false, Ordering::Release);
        }
    }
}
