//! The connections of a client, which belong to one process.
//!
//! After a fork the child has a copy of the parent's pool, with its sockets, but not of the threads that drive it:
//! to use it, or even to drop it, may wait for ever on a lock that one of those threads held. So the pool is keyed by
//! process id: a child forgets what it inherited, locks and all, and makes its own.

use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;

use crate::client::call::retries::Quota;
use crate::client::config::Config;
use crate::client::connection::connections::{Connections, OwnRuntime};
use crate::net::Limiter;

/// The most idle runtimes that are kept: each holds a connection and a few file descriptors.
const MOST_IDLE: usize = 16;

/// What a client keeps between calls, in this process.
#[derive(Debug, Default)]
pub(crate) struct Pool(ArcSwapOption<Share>);

impl Pool {
    /// What this process keeps, made at its first call.
    pub(crate) fn enter(&self, config: &Config) -> Arc<Share> {
        self.enter_as(std::process::id(), config)
    }

    /// Lets go of the connections; calls under way keep theirs until they end.
    pub(crate) fn leave(&self) {
        self.0.store(None);
    }

    fn enter_as(&self, pid: u32, config: &Config) -> Arc<Share> {
        loop {
            let found = self.0.load_full();
            if let Some(share) = found.as_ref().filter(|share| share.pid == pid) {
                return Arc::clone(share);
            }
            let made = Arc::new(Share {
                pid,
                kept: Some(Kept::new(config)),
            });
            let before = self.0.compare_and_swap(&found, Some(Arc::clone(&made)));
            if before.as_ref().map(Arc::as_ptr) == found.as_ref().map(Arc::as_ptr) {
                return made;
            }
            // Another thread was quicker: its share is as good.
        }
    }
}

/// One process's share of a [`Pool`].
#[derive(Debug)]
pub(crate) struct Share {
    pid: u32,
    /// Taken only by `drop`.
    kept: Option<Kept>,
}

impl Share {
    /// What is kept; always there while the share lives.
    pub(crate) fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            mem::forget(self.kept.take());
        }
    }
}

/// Connections, the limit of their requests and the quota of their retries.
#[derive(Debug)]
pub(crate) struct Kept {
    /// The connections that the caller's runtime drives.
    pub(crate) connections: Connections,
    /// Those that a second runtime of the caller's drives. Only ever set by the process that made it.
    apart: OnceLock<Connections>,
    /// Absent where as fast may be asked as anybody likes.
    limiter: Option<Limiter>,
    pub(crate) quota: Quota,
    /// Runtimes that nobody asks on at present, the last used last. Only ever locked by the process that made it.
    idle: Mutex<Vec<Arc<OwnRuntime>>>,
}

impl Kept {
    fn new(config: &Config) -> Self {
        Self {
            connections: Connections::new(config),
            apart: OnceLock::new(),
            limiter: config.rate().map(Limiter::per_second),
            quota: Quota::default(),
            idle: Mutex::default(),
        }
    }

    /// Waits for the turn of one more request; returns how long that took.
    pub(crate) async fn turn(&self) -> Duration {
        match &self.limiter {
            Some(limiter) => limiter.turn(1).await,
            None => Duration::ZERO,
        }
    }

    /// The connections for a second runtime, made at its first call.
    pub(crate) fn apart(&self, config: &Config) -> &Connections {
        self.apart.get_or_init(|| Connections::new(config))
    }

    /// The runtime that was used last among the idle ones; a new one where there is none.
    pub(crate) fn take_runtime(&self, config: &Config) -> io::Result<Arc<OwnRuntime>> {
        let idle = self.idle().pop();
        idle.map_or_else(|| OwnRuntime::new(config).map(Arc::new), Ok)
    }

    /// Keeps a runtime for the next call, unless there are many.
    pub(crate) fn put_runtime(&self, runtime: Arc<OwnRuntime>) {
        let mut idle = self.idle();
        if idle.len() < MOST_IDLE {
            idle.push(runtime);
        } else {
            // What closes its connections need not be waited for by others.
            drop(idle);
            drop(runtime);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Arc<OwnRuntime>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::thread;

    use crate::client::connection::pool::*;
    use crate::net::NoClient;

    fn config() -> Config {
        Config::new("http://127.0.0.1:1").unwrap()
    }

    #[test]
    fn a_process_keeps_its_share_and_a_child_gets_its_own() {
        let (pool, config) = (Pool::default(), config());
        let parent = pool.enter(&config);
        assert!(Arc::ptr_eq(&parent, &pool.enter(&config)));
        let child = pool.enter_as(parent.pid + 1, &config);
        assert!(!Arc::ptr_eq(&parent, &child));
        assert!(Arc::ptr_eq(&child, &pool.enter_as(parent.pid + 1, &config)));
    }

    #[test]
    fn threads_that_enter_at_once_share_one_share() {
        let (pool, config) = (Pool::default(), config());
        let shares: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| pool.enter(&config)))
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let first = shares.first().unwrap();
        assert!(shares.iter().all(|share| Arc::ptr_eq(first, share)));
    }

    #[test]
    fn what_another_process_made_is_forgotten_not_dropped() {
        let mark = Arc::new(NoClient::from(rustls::Error::DecryptError));
        for (pid, left) in [(std::process::id(), 1), (std::process::id() + 1, 2)] {
            let mut kept = Kept::new(&config());
            kept.connections.http = Err(Arc::clone(&mark));
            drop(Share {
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
