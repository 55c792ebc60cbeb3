//! A lock that allows one check at a time. A child that is created while another thread is in the loader may inherit
//! the loader's lock, and must be replaced. All guards that use one `cudnn_guard::runtime` share the lock. Guards with different
//! versions of it do not: two children at once do not harm each other, and a GPU in exclusive use results in unknown
//! (`device-busy`).

use crate::runtime::child::TimeLeft;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

static LOCK: Mutex<()> = Mutex::new(());

/// Waits at most `limit` for the lock, and holds it until the value is dropped. In a child that the program itself
/// created, the thread that holds the lock may not exist.
pub fn acquire(limit: Duration) -> Option<MutexGuard<'static, ()>> {
    let mut time = TimeLeft::new(limit);
    loop {
        match LOCK.try_lock() {
            Ok(lock) => return Some(lock),
            Err(TryLockError::Poisoned(lock)) => return Some(lock.into_inner()),
            Err(TryLockError::WouldBlock) if time.pause() => {}
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}
