//! Work in parallel, as far as cargo lets us.

use jobserver::Client;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a thread that waits for a token looks whether there is anything left to do.
const TICK: Duration = Duration::from_millis(10);

/// How long to wait for tokens that make an item faster. One that does not come at once somebody else has.
const PATIENCE: Duration = Duration::from_millis(30);

/// Does the work for every item and gives the results in the order of the items. One thread is always ours; for
/// each further one cargo (or make above it) must hand out a token, so that a machine is not asked to run more at a
/// time than `cargo build -j` allows.
///
/// `breadth` is how many threads the work for an item can use by itself. It is told how many it may: more than one where
/// there are more tokens than items.
pub fn in_parallel<T: Send, R: Send>(
    items: Vec<T>,
    breadth: impl Fn(&T) -> usize + Sync,
    work: impl Fn(T, usize) -> R + Sync,
) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    spread(items, threads, client(threads), PATIENCE, breadth, work)
}

fn spread<T: Send, R: Send>(
    items: Vec<T>,
    threads: usize,
    client: Option<Client>,
    patience: Duration,
    breadth: impl Fn(&T) -> usize + Sync,
    work: impl Fn(T, usize) -> R + Sync,
) -> Vec<R> {
    // As many for each, whichever is first.
    let share = threads / items.len().max(1);
    let breadth = |item: &T| breadth(item).min(share).max(1);
    let useful: usize = items.iter().map(breadth).sum();
    let asked = useful.min(threads).saturating_sub(1);
    let further = items.len().min(threads).saturating_sub(1);
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let queue = Mutex::new(items.into_iter().zip(&results));
    // None when all have begun: what then comes goes back.
    let tokens = Arc::new(Mutex::new(Some(Vec::new())));
    let helper = client.filter(|_| asked > 0).and_then(|client| {
        let tokens = Arc::clone(&tokens);
        let given = move |token: std::io::Result<_>| {
            if let Some(tokens) = &mut *locked(&tokens) {
                tokens.extend(token);
            }
        };
        client.into_helper_thread(given).ok()
    });
    let there = || locked(&tokens).as_ref().map_or(0, Vec::len);
    // How many may still take some.
    let choosing = AtomicUsize::new(0);
    let chosen = || {
        if choosing.fetch_sub(1, Ordering::SeqCst) == 1 && locked(&queue).len() == 0 {
            *locked(&tokens) = None;
        }
    };
    let worker = || {
        loop {
            choosing.fetch_add(1, Ordering::SeqCst);
            // The lock is gone before the work begins.
            let next = locked(&queue).next();
            let Some((item, result)) = next else {
                chosen();
                break;
            };
            let more = breadth(&item) - 1;
            let begun = Instant::now();
            let enough = || there() >= more + locked(&queue).len();
            while more > 0 && helper.is_some() && !enough() && begun.elapsed() < patience {
                std::thread::sleep(TICK);
            }
            let left = locked(&queue).len();
            let mut spare = Vec::new();
            if let Some(tokens) = &mut *locked(&tokens) {
                // Who waits to begin goes first.
                let more = more.min(tokens.len().saturating_sub(left));
                spare = tokens.split_off(tokens.len() - more);
            }
            chosen();
            let made = work(item, 1 + spare.len());
            drop(spare);
            *locked(result) = Some(made);
        }
    };
    std::thread::scope(|scope| {
        if let Some(helper) = &helper {
            (0..asked).for_each(|_| helper.request_token());
        }
        for _ in 0..further {
            if helper.is_none() {
                break;
            }
            scope.spawn(|| {
                while locked(&queue).len() > 0 {
                    // It is given back when the work is done.
                    let token = locked(&tokens).as_mut().and_then(Vec::pop);
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
        let results = in_parallel(
            (0..20).collect(),
            |_| 1,
            |item, threads| {
                *done.lock().unwrap() += 1;
                std::thread::sleep(std::time::Duration::from_millis(20 - item));
                assert_eq!(threads, 1);
                item * item
            },
        );
        assert_eq!(results, (0..20).map(|item| item * item).collect::<Vec<_>>());
        assert_eq!(*done.lock().unwrap(), 20);
        assert!(in_parallel(Vec::<u8>::new(), |_| 9, |item, _| item).is_empty());
    }

    /// How many threads each of the items is given, which are all at work at the same time.
    fn given(breadths: &[usize], threads: usize, tokens: usize) -> Vec<usize> {
        let enough = threads <= tokens + 1;
        let patience = Duration::from_secs(if enough { 30 } else { 0 });
        let client = Client::new(tokens).unwrap();
        let begun = std::sync::Barrier::new(breadths.len().min(tokens + 1));
        let given = spread(
            breadths.to_vec(),
            threads,
            Some(client.clone()),
            patience,
            |breadth| *breadth,
            |_, threads| {
                begun.wait();
                threads
            },
        );
        // All of them are given back.
        for _ in 0..tokens {
            client.acquire_raw().unwrap();
        }
        given
    }

    #[test]
    fn one_item_may_use_what_others_do_not() {
        assert_eq!(given(&[6], 4, 3), [4]);
        assert_eq!(given(&[3], 16, 15), [3]);
        assert_eq!(given(&[1], 16, 15), [1]);
        // Another build has the tokens.
        assert_eq!(given(&[6], 16, 0), [1]);
        assert!(given(&[6], 16, 2)[0] <= 3);
        assert_eq!(given(&[6, 6], 8, 7), [4, 4]);
        // As many files as threads: one each.
        assert_eq!(given(&[6, 6, 6], 3, 2), [1, 1, 1]);
    }
}
