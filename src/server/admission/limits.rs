//! Limits for one client, and maximum sizes of a request.

use std::io;
use std::time::{Duration, Instant};

use axum::http::Request;
use tokio::sync::Semaphore;

use crate::server::reject::Rejection;

/// Limits of a server.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use liqdata::server::Limits;
///
/// let limits = Limits { connections: 64, idle: Duration::from_secs(5), ..Limits::default() };
/// assert_eq!(limits.grace, Duration::from_secs(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of connections. A further connection is refused and asked to retry after one second.
    pub connections: usize,
    /// Maximum number of connections of one peer, and of requests under way of one client behind a trusted proxy. If a
    /// peer opens one more, its connection that has been idle longest is closed.
    pub per_peer: usize,
    /// Maximum number of open event streams. A stream ends only when its reader disconnects or the server stops.
    pub streams: usize,
    /// Maximum number of open event streams of one client. `None` means a quarter of `streams`.
    pub streams_per_peer: Option<usize>,
    /// Maximum number of historical queries (with `as_of` or a time range) computed concurrently. 0 turns them off.
    pub past: usize,
    /// Maximum number of waiting historical queries. Further ones are refused.
    pub past_queue: usize,
    /// Size of the cache for historical queries, in bytes.
    pub past_memory: usize,
    /// Memory for all answers, in bytes: cached ones (a little more than half), and those that clients are reading. If
    /// it is used up, no further answer is computed.
    pub answer_memory: usize,
    /// Maximum length of the query string, in bytes.
    pub query: usize,
    /// Maximum total length of header names and values, in bytes.
    pub headers: usize,
    /// Maximum wait for the complete head of the next request, idle time included.
    pub idle: Duration,
    /// Maximum time from the first to the last byte of a head, and for the TLS handshake.
    pub head: Duration,
    /// Maximum time from a complete head to the first byte of its answer.
    pub request: Duration,
    /// Maximum time in which a client reads nothing of its answer.
    pub stall: Duration,
    /// Maximum wait for answers under way at shutdown.
    pub grace: Duration,
}

impl Default for Limits {
    /// 512 connections (many systems allow a process only 1,024 open files), 256 for each peer, 256 streams, a quarter
    /// of them for each peer, one historical query at a time and 32 waiting, 128 MiB of historical cache, 256 MiB of
    /// answers, queries of 8 KiB, headers of 16 KiB, 30 s idle, 10 s for a head, 60 s for an answer, 30 s stalled, 5 s
    /// grace.
    fn default() -> Self {
        Self {
            connections: 512,
            per_peer: 256,
            streams: 256,
            streams_per_peer: None,
            past: 1,
            past_queue: 32,
            past_memory: 128 << 20,
            answer_memory: 256 << 20,
            query: 8 * 1024,
            headers: 16 * 1024,
            idle: Duration::from_secs(30),
            head: Duration::from_secs(10),
            request: Duration::from_mins(1),
            stall: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// Refuses values that a semaphore or the clock cannot represent.
    pub(crate) fn validate(&self) -> io::Result<()> {
        for (name, number) in [
            ("connections", self.connections),
            ("per_peer", self.per_peer),
            ("streams", self.streams),
            ("past", self.past),
            ("past_queue", self.past_queue),
        ] {
            if number > Semaphore::MAX_PERMITS {
                let message = format!(
                    "{name}: {number} are too many; allowed: at most {}",
                    Semaphore::MAX_PERMITS
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        for (name, length) in [
            ("idle", self.idle),
            ("head", self.head),
            ("request", self.request),
            ("stall", self.stall),
            ("grace", self.grace),
        ] {
            if Instant::now().checked_add(length).is_none() {
                let message = format!("{name}: {length:?} is longer than the clock can represent");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        Ok(())
    }

    /// Refuses a request with a query string or headers beyond the limits.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), Rejection> {
        let length = request.uri().query().map_or(0, str::len);
        if length > self.query {
            return Err(Rejection::QueryTooLong {
                length,
                allowed: self.query,
            });
        }
        let length = request
            .headers()
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        if length > self.headers {
            return Err(Rejection::HeadersTooLong {
                length,
                allowed: self.headers,
            });
        }
        Ok(())
    }

    /// Maximum number of open event streams of one client. By default a client never holds more than a quarter of the connections.
    pub(crate) fn stream_share(&self) -> usize {
        let quarter = self.streams.min(self.connections) / 4;
        self.streams_per_peer.unwrap_or(quarter).max(1)
    }

    /// Maximum size of a request head in the parser, in bytes.
    ///
    /// The size exceeds the limits of [`Limits::check`], so that the server can answer an oversized head with a
    /// refusal.
    pub(crate) fn head_bytes(&self) -> usize {
        const ROOM: usize = 64 * 1024;
        self.query.saturating_add(self.headers).saturating_add(ROOM)
    }
}
