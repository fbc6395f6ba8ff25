//! What a server has been asked and how it has answered, as counts that only grow.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::api::{ENDPOINTS, EXTENSIONS, OPENAPI};
use crate::server::admission::connection_slots::Seats;

/// The upper bounds of the classes of latency, in seconds; one more class has none.
pub(crate) const BOUNDS: [f64; 12] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

/// What is asked beside the endpoints.
const ASIDE: [&str; 6] = ["/", "/api", OPENAPI, "/health", "/ready", "/metrics"];

/// Every path that is none of the server's.
pub(crate) const OTHER: &str = "other";

/// What has been asked and answered.
#[derive(Debug)]
pub(crate) struct Traffic {
    asked: Mutex<Asked>,
    /// Connections that were told that there is no room.
    pub(crate) turned_away: AtomicU64,
    seats: Arc<Seats>,
    /// Free places of those who follow a stream.
    places: Arc<Semaphore>,
    /// All of them.
    pub(crate) streams: usize,
}

/// Requests by endpoint.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// By status, too.
    pub(crate) answers: BTreeMap<(&'static str, u16), u64>,
    pub(crate) latencies: BTreeMap<&'static str, Latencies>,
}

/// How long answers took until their first byte.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies {
    /// Answers by class, not summed up.
    pub(crate) classes: [u64; BOUNDS.len() + 1],
    pub(crate) sum: Duration,
}

impl Traffic {
    /// Nothing yet, over these connections.
    pub(crate) fn of(seats: Arc<Seats>, places: Arc<Semaphore>, streams: usize) -> Self {
        Self {
            asked: Mutex::default(),
            turned_away: AtomicU64::new(0),
            seats,
            places,
            streams,
        }
    }

    /// Connections that are served now.
    pub(crate) fn connections(&self) -> usize {
        self.seats.count()
    }

    /// Streams that are followed now.
    pub(crate) fn followed(&self) -> usize {
        self.streams.saturating_sub(self.places.available_permits())
    }

    pub(crate) fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an answer. Whoever goes away before it comes is counted as well: what was asked is answered all the same.
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

    /// Counts a connection that was turned away.
    pub(crate) fn turns_away(&self) {
        self.turned_away.fetch_add(1, Relaxed);
    }
}

/// The path as it is counted: whoever asks for what is not there adds no name.
fn known(path: &str) -> &'static str {
    ENDPOINTS
        .iter()
        .chain(EXTENSIONS)
        .map(|entry| entry.path)
        .chain(ASIDE)
        .find(|known| *known == path)
        .unwrap_or(OTHER)
}
