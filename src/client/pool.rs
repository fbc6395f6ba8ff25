//! The connections of a client, which belong to one process.
//!
//! After a fork the child has a copy of the parent's pool, with its sockets, but not of the threads that drive it:
//! to use it, or even to drop it, may wait for ever on a lock that one of those threads held. So the pool is keyed by
//! process id. A child forgets what it inherited and makes its own; nothing here takes a lock.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;

use super::Config;
use super::pace::Pace;
use super::retry::Quota;

/// After how much idle time a pooled connection may have been closed without our knowing.
const IDLE: Duration = Duration::from_secs(1);

/// What a client keeps between calls, in this process.
#[derive(Debug, Default)]
pub(super) struct Pool(ArcSwapOption<Lodging>);

impl Pool {
    /// What this process keeps, made at its first call.
    pub(super) fn enter(&self, config: &Config) -> Arc<Lodging> {
        self.enter_as(std::process::id(), config)
    }

    /// Lets go of the connections; calls under way keep theirs until they end.
    pub(super) fn leave(&self) {
        self.0.store(None);
    }

    fn enter_as(&self, pid: u32, config: &Config) -> Arc<Lodging> {
        loop {
            let found = self.0.load_full();
            if let Some(lodging) = found.as_ref().filter(|lodging| lodging.pid == pid) {
                return Arc::clone(lodging);
            }
            let made = Arc::new(Lodging {
                pid,
                kept: Some(Kept::new(config)),
            });
            let before = self.0.compare_and_swap(&found, Some(Arc::clone(&made)));
            if before.as_ref().map(Arc::as_ptr) == found.as_ref().map(Arc::as_ptr) {
                return made;
            }
            // Another thread was quicker: its lodging is as good.
        }
    }
}

/// One process's share of a [`Pool`].
#[derive(Debug)]
pub(super) struct Lodging {
    pid: u32,
    /// Taken only by `drop`.
    kept: Option<Kept>,
}

impl Lodging {
    /// What is kept; always there while the lodging lives.
    pub(super) fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }
}

impl Drop for Lodging {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            mem::forget(self.kept.take());
        }
    }
}

/// Connections, pace and quota.
#[derive(Debug)]
pub(super) struct Kept {
    /// The connections; the reason where there can be none.
    pub(super) http: Result<reqwest::Client, Arc<reqwest::Error>>,
    pub(super) pace: Pace,
    pub(super) quota: Quota,
    born: Instant,
    /// When a connection was last used, in milliseconds since `born`.
    used: AtomicU64,
    /// Whether a connection may have gone back to the pool.
    answered: AtomicBool,
}

impl Kept {
    fn new(config: &Config) -> Self {
        Self {
            http: config.http().map_err(Arc::new),
            pace: Pace::new(config.rate()),
            quota: Quota::default(),
            born: Instant::now(),
            used: AtomicU64::new(0),
            answered: AtomicBool::new(false),
        }
    }

    /// Lets the pool notice which of its idle connections have been closed meanwhile.
    pub(super) async fn freshen(&self) {
        let idle = self.now().saturating_sub(self.used.load(Ordering::Relaxed));
        if u128::from(idle) >= IDLE.as_millis() && self.may_reuse() {
            // A runtime of one thread looks at its sockets only between tasks.
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Whether a request may go out on a connection that has served another before.
    pub(super) fn may_reuse(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Remembers that a whole answer has been read.
    pub(super) fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
        self.used.store(self.now(), Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::thread;

    use super::*;

    fn config() -> Config {
        Config::new("http://127.0.0.1:1").unwrap()
    }

    #[test]
    fn a_process_keeps_its_lodging_and_a_child_gets_its_own() {
        let (pool, config) = (Pool::default(), config());
        let parent = pool.enter(&config);
        assert!(Arc::ptr_eq(&parent, &pool.enter(&config)));
        let child = pool.enter_as(parent.pid + 1, &config);
        assert!(!Arc::ptr_eq(&parent, &child));
        assert!(Arc::ptr_eq(&child, &pool.enter_as(parent.pid + 1, &config)));
    }

    #[test]
    fn threads_that_enter_at_once_share_one_lodging() {
        let (pool, config) = (Pool::default(), config());
        let lodgings: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| pool.enter(&config)))
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let first = lodgings.first().unwrap();
        assert!(lodgings.iter().all(|lodging| Arc::ptr_eq(first, lodging)));
    }

    #[test]
    fn what_another_process_made_is_forgotten_not_dropped() {
        let mark = Arc::new(reqwest_error());
        for (pid, left) in [(std::process::id(), 1), (std::process::id() + 1, 2)] {
            let mut kept = Kept::new(&config());
            kept.http = Err(Arc::clone(&mark));
            drop(Lodging {
                pid,
                kept: Some(kept),
            });
            assert_eq!(Arc::strong_count(&mark), left);
        }
    }

    fn reqwest_error() -> reqwest::Error {
        reqwest::Proxy::all("http://").unwrap_err()
    }
}
