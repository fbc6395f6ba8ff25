//! What one client can cost the others, and how large a request may be.

use std::io;
use std::time::{Duration, Instant};

use axum::http::Request;
use tokio::sync::Semaphore;

use crate::server::reject::Rejection;

/// What one client can cost the others.
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
    /// Connections served at once; one more is told to come back in a second.
    pub connections: usize,
    /// Connections among them that one peer may hold, and requests that one client behind a trusted proxy may have under
    /// way. A peer that opens one more loses the one that it has left idle longest.
    pub per_peer: usize,
    /// Connections among them that may follow a stream, which takes one for as long as its reader likes.
    pub streams: usize,
    /// Questions about the past (with `as_of`) that are answered at once, each by workers and readers of their own; none
    /// is answered where this is 0.
    pub past: usize,
    /// Questions about the past that wait beside them; one more is told to come back.
    pub past_queue: usize,
    /// What is kept of the past for the next question about it, in bytes.
    pub past_memory: usize,
    /// What answers take together in memory, in bytes: those that are kept, a little more than half of it, and those that
    /// are being read. Beyond it no further answer is made.
    pub answer_memory: usize,
    /// Longest query string, in bytes.
    pub query: usize,
    /// Longest sum of header names and values, in bytes.
    pub headers: usize,
    /// Longest wait for the whole head of a connection's next request, silence before it included.
    pub idle: Duration,
    /// Longest time from the first byte of a head to its last, and for agreeing on TLS.
    pub head: Duration,
    /// Longest time from a whole head to the first byte of its answer.
    pub request: Duration,
    /// Longest time in which a client that is being answered reads nothing.
    pub stall: Duration,
    /// Longest wait for answers in flight once the server has been told to stop.
    pub grace: Duration,
}

impl Default for Limits {
    /// 512 connections (a process may often hold no more than 1,024 files), 256 of one peer, 256 streams, one question
    /// about the past at once, 32 that wait, 128 MiB kept of it, 256 MiB of answers, queries of 8 KiB, headers of 16 KiB,
    /// 30 s idle, 10 s for a head, 60 s for an answer, 30 s stalled, 5 s grace.
    fn default() -> Self {
        Self {
            connections: 512,
            per_peer: 256,
            streams: 256,
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
    /// Refuses what the semaphore or the clock would overflow at.
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
                let message = format!("{name}: {length:?} lies beyond the end of the clock");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        Ok(())
    }

    /// Refuses a request whose head is too large.
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

    /// The largest head the parser buffers: everything [`Limits::check`] lets pass, and room to refuse more politely.
    pub(crate) fn head_bytes(&self) -> usize {
        const ROOM: usize = 64 * 1024;
        self.query.saturating_add(self.headers).saturating_add(ROOM)
    }
}
