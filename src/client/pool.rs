//! The connections of a client, which belong to one process.
//!
//! After a fork the child has a copy of the parent's pool, with its sockets, but not of the threads that drive it:
//! to use it, or even to drop it, may wait for ever on a lock that one of those threads held. So the pool is keyed by
//! process id: a child forgets what it inherited, locks and all, and makes its own.

use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::Config;
use super::coding::Spare;
use super::retry::Quota;
use super::seat::{Slot, TURNS};
use crate::net::{Limiter, NoClient};

/// The most idle slots that are kept: each holds a connection and a few file descriptors.
const MOST_IDLE: usize = 16;

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

/// Connections, the limit of their requests and the quota of their retries.
#[derive(Debug)]
pub(super) struct Kept {
    /// The connections that the caller's runtime drives.
    pub(super) lines: Lines,
    /// Those that a second runtime of the caller's drives. Only ever set by the process that made it.
    apart: OnceLock<Lines>,
    /// Absent where as fast may be asked as anybody likes.
    limiter: Option<Limiter>,
    pub(super) quota: Quota,
    /// Slots that nobody asks on at present, the last used last. Only ever locked by the process that made it.
    idle: Mutex<Vec<Arc<Slot>>>,
}

impl Kept {
    fn new(config: &Config) -> Self {
        Self {
            lines: Lines::new(config),
            apart: OnceLock::new(),
            limiter: config.rate().map(Limiter::per_second),
            quota: Quota::default(),
            idle: Mutex::default(),
        }
    }

    /// Waits for the turn of one more request; returns how long that took.
    pub(super) async fn turn(&self) -> Duration {
        match &self.limiter {
            Some(limiter) => limiter.turn(1).await,
            None => Duration::ZERO,
        }
    }

    /// The connections for a second runtime, made at its first call.
    pub(super) fn apart(&self, config: &Config) -> &Lines {
        self.apart.get_or_init(|| Lines::new(config))
    }

    /// The slot that was used last among the idle ones; a new one where there is none.
    pub(super) fn take_slot(&self, config: &Config) -> io::Result<Arc<Slot>> {
        let idle = self.idle().pop();
        idle.map_or_else(|| Slot::new(config).map(Arc::new), Ok)
    }

    /// Keeps a slot for the next call, unless there are many.
    pub(super) fn put_slot(&self, slot: Arc<Slot>) {
        let mut idle = self.idle();
        if idle.len() < MOST_IDLE {
            idle.push(slot);
        } else {
            // What closes its connections need not be waited for by others.
            drop(idle);
            drop(slot);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Arc<Slot>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Connections, which belong to the runtime on which they were opened.
#[derive(Debug)]
pub(super) struct Lines {
    /// The connections; the reason where there can be none.
    pub(super) http: Result<reqwest::Client, Arc<NoClient>>,
    /// Whether a connection may have gone back to the pool.
    answered: AtomicBool,
    /// Buffers for the next body. Only ever tried, so that nobody waits and no fork finds it locked for ever.
    spare: Mutex<Spare>,
}

impl Lines {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            http: config.http().map_err(Arc::new),
            answered: AtomicBool::new(false),
            spare: Mutex::default(),
        }
    }

    /// The buffers that the last body left; empty ones where another body has them.
    pub(super) fn spare(&self) -> Spare {
        let spare = self.spare.try_lock();
        spare.map_or_else(|_| Spare::default(), |mut spare| mem::take(&mut *spare))
    }

    /// Keeps the buffers for the next body.
    pub(super) fn put_spare(&self, spare: Spare) {
        if let Ok(mut kept) = self.spare.try_lock() {
            *kept = spare;
        }
    }

    /// Lets the pool notice which of its idle connections have been closed meanwhile: between two calls nothing drives
    /// them where the runtime has no threads of its own.
    pub(super) async fn freshen(&self) {
        let left_alone = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        if left_alone && self.may_reuse() {
            for _ in 0..TURNS {
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
        let mark = Arc::new(NoClient::from(rustls::Error::DecryptError));
        for (pid, left) in [(std::process::id(), 1), (std::process::id() + 1, 2)] {
            let mut kept = Kept::new(&config());
            kept.lines.http = Err(Arc::clone(&mark));
            drop(Lodging {
                pid,
                kept: Some(kept),
            });
            assert_eq!(Arc::strong_count(&mark), left);
        }
    }

    #[tokio::test]
    async fn without_a_limit_nobody_waits() {
        assert_eq!(Kept::new(&config()).turn().await, Duration::ZERO);
    }
}
