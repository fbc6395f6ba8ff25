//! Counters of requests and answers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::contract::{ENDPOINTS, EXTENSIONS, LLMS, MCP, OPENAPI};
use crate::server::admission::connection_slots::ConnectionSlots;

/// Upper bounds of the latency buckets, in seconds. The bucket after them is unbounded.
pub(crate) const BOUNDS: [f64; 12] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

/// Paths other than the endpoints.
const OTHER_PATHS: [&str; 8] = [
    "/", "/api", OPENAPI, LLMS, MCP, "/health", "/ready", "/metrics",
];

/// The label of all unknown paths.
pub(crate) const OTHER: &str = "other";

/// Counters of all requests and answers since the start.
#[derive(Debug)]
pub(crate) struct Traffic {
    asked: Mutex<RequestCounts>,
    /// Number of refused connections.
    pub(crate) turned_away: AtomicU64,
    seats: Arc<ConnectionSlots>,
    /// A permit for each further event stream that may be opened.
    free_streams: Arc<Semaphore>,
    /// Maximum number of open event streams.
    pub(crate) streams: usize,
}

/// Requests by endpoint.
#[derive(Debug, Default)]
pub(crate) struct RequestCounts {
    /// By path and status.
    pub(crate) answers: BTreeMap<(&'static str, u16), u64>,
    pub(crate) latencies: BTreeMap<&'static str, Latencies>,
}

/// Latency until the first byte of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    /// Number of answers in each latency bucket, not cumulative.
    pub(crate) classes: [u64; BOUNDS.len() + 1],
    pub(crate) sum: Duration,
}

impl Traffic {
    /// Creates counters of zero. `seats` and `free_streams` count the open connections and streams.
    pub(crate) fn of(
        seats: Arc<ConnectionSlots>,
        free_streams: Arc<Semaphore>,
        streams: usize,
    ) -> Self {
        Self {
            asked: Mutex::default(),
            turned_away: AtomicU64::new(0),
            seats,
            free_streams,
            streams,
        }
    }

    /// Number of open connections.
    pub(crate) fn connections(&self) -> usize {
        self.seats.count()
    }

    /// Number of open event streams.
    pub(crate) fn followed(&self) -> usize {
        self.streams
            .saturating_sub(self.free_streams.available_permits())
    }

    pub(crate) fn asked(&self) -> MutexGuard<'_, RequestCounts> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an answer, even if the client has disconnected.
    pub(crate) fn note(&self, path: &str, status: u16, took: Duration) {
        let endpoint = known(path);
        let class = BOUNDS.partition_point(|bound| *bound < took.as_secs_f64());
        let mut asked = self.asked();
        *asked.answers.entry((endpoint, status)).or_default() += 1;
        let latencies = asked.latencies.entry(endpoint).or_default();
        if let Some(count) = latencies.classes.get_mut(class) {
            *count += 1;
        }
        latencies.sum += took;
    }

    /// Counts a refused connection.
    pub(crate) fn turns_away(&self) {
        self.turned_away.fetch_add(1, Relaxed);
    }
}

/// The path as a label. Unknown paths share one label.
fn known(path: &str) -> &'static str {
    ENDPOINTS
        .iter()
        .chain(EXTENSIONS)
        .map(|entry| entry.path)
        .chain(OTHER_PATHS)
        .find(|known| *known == path)
        .unwrap_or(OTHER)
}
