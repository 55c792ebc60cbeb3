//! Parallel work within the limit of cargo's job server.

use crate::system::job_server::{JobServer, Token};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The interval at which a waiting thread checks for a token and for remaining work.
const TICK: Duration = Duration::from_millis(10);

/// The time to wait for tokens that make an item faster. If tokens are not available by then, another build uses them.
const PATIENCE: Duration = Duration::from_millis(30);

/// Returns the number of CPUs that this process may use.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Calls `work` for every item. Returns each result with the index of its item, in the order of completion.
///
/// The first thread is always allowed. Every other thread requires a token from cargo (or from make above it), so that no
/// more threads run than `cargo build -j` allows.
///
/// `threads` is the limit of this machine. `breadth` returns how many threads the work for an item can use. The second
/// argument of `work` is the number of threads that it may use, which is more than one if there are more tokens than
/// items.
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    breadth: impl Fn(&T) -> usize + Sync,
    work: impl Fn(&T, usize) -> R + Sync,
) -> Vec<(usize, R)> {
    let flags = std::env::var_os("CARGO_MAKEFLAGS");
    let pool = Pool {
        items,
        started: AtomicUsize::new(0),
        done: Mutex::new(Vec::new()),
        server: &JobServer::inherited(flags.as_deref(), threads - 1),
        patience: PATIENCE,
        share: threads / items.len().max(1),
        breadth: &breadth,
        work: &work,
    };
    pool.run(threads)
}

struct Pool<'a, T, R> {
    items: &'a [T],
    /// The number of started items. It exceeds the number of items once threads find no more of them.
    started: AtomicUsize,
    /// Results, each with its item's index.
    done: Mutex<Vec<(usize, R)>>,
    server: &'a JobServer,
    patience: Duration,
    /// The number of threads for each item. All items get equal shares, in whatever order they start.
    share: usize,
    breadth: &'a (dyn Fn(&T) -> usize + Sync),
    work: &'a (dyn Fn(&T, usize) -> R + Sync),
}

impl<T: Sync, R: Send> Pool<'_, T, R> {
    fn run(self, threads: usize) -> Vec<(usize, R)> {
        std::thread::scope(|scope| {
            for _ in 1..self.items.len().min(threads) {
                scope.spawn(|| self.work_with_token());
            }
            self.work();
        });
        let done = self.done.into_inner();
        done.unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a token, then works until no item is waiting.
    fn work_with_token(&self) {
        while self.waiting() > 0 {
            // Dropping the token returns it.
            match self.server.try_acquire() {
                Some(_token) => self.work(),
                None => std::thread::sleep(TICK),
            }
        }
    }

    fn work(&self) {
        loop {
            let place = self.started.fetch_add(1, Ordering::SeqCst);
            let Some(item) = self.items.get(place) else {
                return;
            };
            let breadth = (self.breadth)(item).min(self.share).max(1);
            let tokens = self.tokens_for(breadth - 1);
            let result = (self.work)(item, 1 + tokens.len());
            drop(tokens);
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((place, result));
        }
    }

    /// Acquires up to `requested` tokens, without those that waiting items need.
    fn tokens_for(&self, requested: usize) -> Vec<Token<'_>> {
        let begun = Instant::now();
        let mut tokens = Vec::new();
        while requested > 0 && tokens.len() < requested + self.waiting() {
            match self.server.try_acquire() {
                Some(token) => tokens.push(token),
                None if begun.elapsed() < self.patience => std::thread::sleep(TICK),
                None => break,
            }
        }
        tokens.truncate(requested.min(tokens.len().saturating_sub(self.waiting())));
        tokens
    }

    /// Returns the number of items that no thread has started.
    fn waiting(&self) -> usize {
        let started = self.started.load(Ordering::SeqCst);
        self.items.len().saturating_sub(started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_once_on_every_item_and_returns_its_index() {
        let done = Mutex::new(0);
        let mut results = in_parallel(
            &(0..20).collect::<Vec<u64>>(),
            cpus(),
            |_| 1,
            |item, threads| {
                *done.lock().unwrap() += 1;
                std::thread::sleep(std::time::Duration::from_millis(20 - item));
                assert_eq!(threads, 1);
                item * item
            },
        );
        results.sort();
        let all = (0..20).map(|item| (item, (item * item) as u64));
        assert_eq!(results, all.collect::<Vec<_>>());
        assert_eq!(*done.lock().unwrap(), 20);
        assert!(in_parallel(&[0; 0], 4, |_| 9, |item, _| *item).is_empty());
    }

    /// Returns the number of threads for each item if all run at the same time.
    fn given(breadths: &[usize], threads: usize, tokens: usize) -> Vec<usize> {
        let enough = threads <= tokens + 1;
        let patience = Duration::from_secs(if enough { 30 } else { 0 });
        let server = JobServer::inherited(None, tokens);
        let begun = std::sync::Barrier::new(breadths.len().min(tokens + 1));
        let pool = Pool {
            items: breadths,
            started: AtomicUsize::new(0),
            done: Mutex::new(Vec::new()),
            server: &server,
            patience,
            share: threads / breadths.len(),
            breadth: &|breadth| *breadth,
            work: &|_, threads| {
                begun.wait();
                threads
            },
        };
        let given = pool.run(threads);
        // All tokens are returned.
        let left: Vec<_> = std::iter::from_fn(|| server.try_acquire()).collect();
        assert_eq!(left.len(), tokens);
        given.into_iter().map(|(_, threads)| threads).collect()
    }

    #[test]
    fn one_item_may_use_the_tokens_that_others_do_not_need() {
        assert_eq!(given(&[6], 4, 3), [4]);
        assert_eq!(given(&[3], 16, 15), [3]);
        assert_eq!(given(&[1], 16, 15), [1]);
        // Another build has taken the tokens.
        assert_eq!(given(&[6], 16, 0), [1]);
        assert!(given(&[6], 16, 2)[0] <= 3);
        assert_eq!(given(&[6, 6], 8, 7), [4, 4]);
        // As many files as threads: one each.
        assert_eq!(given(&[6, 6, 6], 3, 2), [1, 1, 1]);
    }
}
