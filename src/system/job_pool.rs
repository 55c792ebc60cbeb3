//! Work in parallel, as far as cargo lets us.

use crate::system::job_server::{JobServer, Token};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often a thread that waits for a token looks whether there is one, and anything left to do.
const TICK: Duration = Duration::from_millis(10);

/// How long to wait for tokens that make an item faster. Another build has those that do not come at once.
const PATIENCE: Duration = Duration::from_millis(30);

/// Does the work for every item and gives each result with the place of its item, the one that was done first in front.
/// One thread is always ours; for each further one cargo (or make above it) must hand out a token, so that a machine is
/// not asked to run more at a time than `cargo build -j` allows.
///
/// `breadth` is how many threads the work for an item can use by itself. It is told how many it may: more than one where
/// there are more tokens than items.
pub fn in_parallel<T: Send, R: Send>(
    items: Vec<T>,
    breadth: impl Fn(&T) -> usize + Sync,
    work: impl Fn(T, usize) -> R + Sync,
) -> Vec<(usize, R)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let flags = std::env::var_os("CARGO_MAKEFLAGS");
    let server = JobServer::inherited(flags.as_deref(), threads - 1);
    spread(items, threads, &server, PATIENCE, breadth, work)
}

fn spread<T: Send, R: Send>(
    items: Vec<T>,
    threads: usize,
    server: &JobServer,
    patience: Duration,
    breadth: impl Fn(&T) -> usize + Sync,
    work: impl Fn(T, usize) -> R + Sync,
) -> Vec<(usize, R)> {
    // As many for each, whichever is first.
    let share = threads / items.len().max(1);
    let breadth = |item: &T| breadth(item).min(share).max(1);
    let further = items.len().min(threads).saturating_sub(1);
    let pool = Pool {
        waiting: Mutex::new(items.into_iter().enumerate().collect()),
        done: Mutex::new(Vec::new()),
        server,
        patience,
    };
    std::thread::scope(|scope| {
        for _ in 0..further {
            scope.spawn(|| pool.work_with_token(&breadth, &work));
        }
        pool.work(&breadth, &work);
    });
    pool.done
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
}

/// The items, and who hands out tokens for them.
struct Pool<'a, T, R> {
    /// Items that no thread has begun, each with its place.
    waiting: Mutex<VecDeque<(usize, T)>>,
    /// Results, each with its item's place.
    done: Mutex<Vec<(usize, R)>>,
    server: &'a JobServer,
    /// How long to wait for tokens that make an item faster.
    patience: Duration,
}

impl<T, R> Pool<'_, T, R> {
    /// Works once there is a token for this thread, as long as an item waits.
    fn work_with_token(&self, breadth: &impl Fn(&T) -> usize, work: &impl Fn(T, usize) -> R) {
        while self.waiting() > 0 {
            // It is given back when the work is done.
            match self.server.try_acquire() {
                Some(_token) => self.work(breadth, work),
                None => std::thread::sleep(TICK),
            }
        }
    }

    /// Takes one item after the other.
    fn work(&self, breadth: &impl Fn(&T) -> usize, work: &impl Fn(T, usize) -> R) {
        loop {
            // The lock is released before the work begins.
            let next = locked(&self.waiting).pop_front();
            let Some((place, item)) = next else { return };
            let tokens = self.tokens_for(breadth(&item) - 1);
            let result = work(item, 1 + tokens.len());
            drop(tokens);
            locked(&self.done).push((place, result));
        }
    }

    /// Up to so many tokens. Those that items need which nobody has begun are left.
    fn tokens_for(&self, wanted: usize) -> Vec<Token<'_>> {
        let begun = Instant::now();
        let mut tokens = Vec::new();
        while wanted > 0 && tokens.len() < wanted + self.waiting() {
            match self.server.try_acquire() {
                Some(token) => tokens.push(token),
                None if begun.elapsed() < self.patience => std::thread::sleep(TICK),
                None => break,
            }
        }
        tokens.truncate(wanted.min(tokens.len().saturating_sub(self.waiting())));
        tokens
    }

    fn waiting(&self) -> usize {
        locked(&self.waiting).len()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn does_everything_once_and_says_what_came_of_which() {
        let done = Mutex::new(0);
        let mut results = in_parallel(
            (0..20).collect(),
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
        assert!(in_parallel(Vec::<u8>::new(), |_| 9, |item, _| item).is_empty());
    }

    /// How many threads each of the items is given, which are all at work at the same time.
    fn given(breadths: &[usize], threads: usize, tokens: usize) -> Vec<usize> {
        let enough = threads <= tokens + 1;
        let patience = Duration::from_secs(if enough { 30 } else { 0 });
        let server = JobServer::inherited(None, tokens);
        let begun = std::sync::Barrier::new(breadths.len().min(tokens + 1));
        let given = spread(
            breadths.to_vec(),
            threads,
            &server,
            patience,
            |breadth| *breadth,
            |_, threads| {
                begun.wait();
                threads
            },
        );
        // All of them are given back.
        let left: Vec<_> = std::iter::from_fn(|| server.try_acquire()).collect();
        assert_eq!(left.len(), tokens);
        given.into_iter().map(|(_, threads)| threads).collect()
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
