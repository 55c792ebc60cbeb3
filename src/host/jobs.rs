//! Work in parallel, as far as cargo lets us.

use jobserver::Client;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a thread that waits for a token looks whether there is anything left to do.
const TICK: Duration = Duration::from_millis(10);

/// Does the work for every item and gives the results in the order of the items. One thread is always ours; for
/// each further one cargo (or make above it) must hand out a token, so that a machine is not asked to run more at a
/// time than `cargo build -j` allows.
pub fn in_parallel<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let further = items.len().min(threads).saturating_sub(1);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let queue = Mutex::new(items.into_iter().zip(&results));
    let worker = || {
        loop {
            // The lock is gone before the work begins.
            let next = locked(&queue).next();
            let Some((item, result)) = next else { break };
            let made = work(item);
            *locked(result) = Some(made);
        }
    };
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let helper = client(threads).filter(|_| further > 0).and_then(|client| {
        let tokens = Arc::clone(&tokens);
        let given = move |token: std::io::Result<_>| locked(&tokens).extend(token);
        client.into_helper_thread(given).ok()
    });
    std::thread::scope(|scope| {
        for _ in 0..further {
            let Some(helper) = &helper else { break };
            helper.request_token();
            scope.spawn(|| {
                while locked(&queue).len() > 0 {
                    // It is given back when the work is done.
                    let token = locked(&tokens).pop();
                    match token {
                        Some(_token) => worker(),
                        None => std::thread::sleep(TICK),
                    }
                }
            });
        }
        worker();
    });
    let made = results.into_iter();
    made.filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn client(threads: usize) -> Option<Client> {
    // SAFETY: the file descriptors that CARGO_MAKEFLAGS names must be what it says. Cargo sets the variable for a
    // build script and opens them; nothing of ours opens or closes files by number.
    let inherited = unsafe { Client::from_env() };
    inherited.or_else(|| Client::new(threads.saturating_sub(1)).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_and_does_everything_once() {
        let done = Mutex::new(0);
        let results = in_parallel((0..20).collect(), |item| {
            *done.lock().unwrap() += 1;
            std::thread::sleep(std::time::Duration::from_millis(20 - item));
            item * item
        });
        assert_eq!(results, (0..20).map(|item| item * item).collect::<Vec<_>>());
        assert_eq!(*done.lock().unwrap(), 20);
        assert!(in_parallel(Vec::<u8>::new(), |item| item).is_empty());
    }
}
