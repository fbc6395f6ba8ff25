//! The connections of a client in one process.
//!
//! A forked child inherits the pool and its sockets but not the threads that drive it. Using or dropping the inherited
//! pool could deadlock on a lock that such a thread had taken. Each process id has its own pool: a child leaks
//! the inherited state and creates a new one.

use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;

use crate::client::config::Config;
use crate::client::connection::connections::{Connections, OwnRuntime};
use crate::client::connection::minute_limit::MinuteLimit;
use crate::client::connection::retry_quota::RetryQuota;
use crate::net::Limiter;

/// Maximum number of idle runtimes. Each has a connection and a few file descriptors.
const MOST_IDLE: usize = 64;

/// The state of a client between calls, one per process.
#[derive(Debug, Default)]
pub(crate) struct Pool(ArcSwapOption<Share>);

impl Pool {
    /// The state of this process. The first call creates it.
    pub(crate) fn enter(&self, config: &Config) -> Arc<Share> {
        self.enter_as(std::process::id(), config)
    }

    /// Releases the state. Its connections close when the running calls have ended.
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
                live: Some(ProcessState::new(config)),
            });
            let before = self.0.compare_and_swap(&found, Some(Arc::clone(&made)));
            if before.as_ref().map(Arc::as_ptr) == found.as_ref().map(Arc::as_ptr) {
                return made;
            }
            // Another thread created the state first; the loop uses that one.
        }
    }
}

/// One process's state of a [`Pool`].
#[derive(Debug)]
pub(crate) struct Share {
    pid: u32,
    /// `None` only during `drop`.
    live: Option<ProcessState>,
}

impl Share {
    /// The state. `None` only while the share is dropped.
    pub(crate) fn live(&self) -> Option<&ProcessState> {
        self.live.as_ref()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            mem::forget(self.live.take());
        }
    }
}

/// Connections, rate limiter and retry quota.
#[derive(Debug)]
pub(crate) struct ProcessState {
    /// Connections of the caller's runtime.
    pub(crate) connections: Connections,
    /// Connections of a second runtime. Set only by the process that created this state.
    apart: OnceLock<Connections>,
    /// `None` without a rate limit.
    limiter: Option<Limiter>,
    /// The limit of the service, as requests per minute.
    pace: ArcSwapOption<MinuteLimit>,
    pub(crate) quota: RetryQuota,
    /// Idle runtimes, the most recently used one last. Locked only by the process that created this state.
    idle: Mutex<Vec<Arc<OwnRuntime>>>,
}

impl ProcessState {
    fn new(config: &Config) -> Self {
        Self {
            connections: Connections::new(config),
            apart: OnceLock::new(),
            limiter: config.rate().map(Limiter::per_second),
            pace: ArcSwapOption::empty(),
            quota: RetryQuota::default(),
            idle: Mutex::default(),
        }
    }

    /// Keeps to the service's own limit of requests per minute from now on; `None` changes nothing.
    pub(crate) fn pace(&self, per_minute: Option<u32>) {
        let Some(most) = per_minute.filter(|most| *most > 0) else {
            return;
        };
        if self
            .pace
            .load()
            .as_ref()
            .is_none_or(|pace| pace.per_minute != most)
        {
            self.pace.store(Some(Arc::new(MinuteLimit::new(most))));
        }
    }

    /// Waits for the limits of the caller and of the service. Returns the waiting time.
    ///
    /// `weight` says how many requests this one counts as for the service.
    pub(crate) async fn turn(&self, weight: u32) -> Duration {
        let mut waited = Duration::ZERO;
        if let Some(limiter) = &self.limiter {
            waited += limiter.turn(1).await;
        }
        if let Some(pace) = self.pace.load_full() {
            waited += pace.turn(weight).await;
        }
        waited
    }

    /// The connections of a second runtime, created on first use.
    pub(crate) fn apart(&self, config: &Config) -> &Connections {
        self.apart.get_or_init(|| Connections::new(config))
    }

    /// Takes the most recently used idle runtime, or creates one.
    pub(crate) fn take_runtime(&self, config: &Config) -> io::Result<Arc<OwnRuntime>> {
        let idle = self.idle().pop();
        idle.map_or_else(|| OwnRuntime::new(config).map(Arc::new), Ok)
    }

    /// Stores a runtime for the next call. Closes it if [`MOST_IDLE`] are stored already.
    pub(crate) fn put_runtime(&self, runtime: Arc<OwnRuntime>) {
        let mut idle = self.idle();
        if idle.len() < MOST_IDLE {
            idle.push(runtime);
        } else {
            // Closing connections must not block other callers.
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
            let mut live = ProcessState::new(&config());
            live.connections.http = Err(Arc::clone(&mark));
            drop(Share {
                pid,
                live: Some(live),
            });
            assert_eq!(Arc::strong_count(&mark), left);
        }
    }

    #[tokio::test]
    async fn without_a_limit_no_call_waits() {
        assert_eq!(ProcessState::new(&config()).turn(1).await, Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn no_minute_has_more_requests_than_the_service_allows() {
        for weight in [1, 3] {
            let state = ProcessState::new(&config());
            state.pace(Some(40));
            let start = tokio::time::Instant::now();
            let mut sent = Vec::new();
            while start.elapsed() < Duration::from_mins(4) {
                state.turn(weight).await;
                state.pace(Some(40));
                sent.push(tokio::time::Instant::now());
            }
            for first in &sent {
                let within = sent
                    .iter()
                    .filter(|at| **at >= *first && **at < *first + Duration::from_mins(1));
                assert!(u32::try_from(within.count()).unwrap() * weight <= 40);
            }
            assert!(u32::try_from(sent.len()).unwrap() * weight >= 100);
        }
    }
}
