//! Work in parallel, as far as cargo lets us.

use jobserver::Client;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};

/// Does the work for every item and gives the results in the order of the items. One thread is always ours; for
/// each further one cargo (or make above it) must hand out a token, so that a machine is not asked to run more at a
/// time than `cargo build -j` allows.
pub fn in_parallel<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let wanted = items.len().saturating_sub(1);
    let queue = Mutex::new(items.into_iter().enumerate());
    let results = Mutex::new(Vec::new());
    let worker = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, item)) = next else { break };
            let result = work(item);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.push((index, result));
        }
    };
    std::thread::scope(|scope| {
        let (give, given) = channel();
        let helper = (wanted > 0).then(client).flatten().and_then(|client| {
            client
                .into_helper_thread(move |token| drop(give.send(token)))
                .ok()
        });
        if let Some(helper) = &helper {
            (0..wanted).for_each(|_| helper.request_token());
        }
        let worker = &worker;
        scope.spawn(move || {
            for token in given.into_iter().flatten() {
                scope.spawn(move || {
                    worker();
                    drop(token);
                });
            }
        });
        worker();
        // No more tokens are asked for, and the channel ends.
        drop(helper);
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn client() -> Option<Client> {
    // SAFETY: the file descriptors that CARGO_MAKEFLAGS names must be what it says. Cargo sets the variable for a
    // build script and opens them; nothing of ours opens or closes files by number.
    let inherited = unsafe { Client::from_env() };
    let own = || {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Client::new(threads.saturating_sub(1)).ok()
    };
    inherited.or_else(own)
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
