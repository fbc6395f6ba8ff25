//! What one client can cost the others, and how large a request may be.

use std::io;
use std::time::{Duration, Instant};

use axum::http::Request;
use tokio::sync::Semaphore;

use super::reject::Rejection;

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
    /// Connections among them that may follow a stream, which takes one for as long as its reader likes.
    pub streams: usize,
    /// Longest query string, in bytes.
    pub query: usize,
    /// Longest sum of header names and values, in bytes.
    pub headers: usize,
    /// Longest wait for the whole head of a connection's next request, silence before it included.
    pub idle: Duration,
    /// Longest time in which a client that is being answered reads nothing.
    pub stall: Duration,
    /// Longest wait for answers in flight once the server has been told to stop.
    pub grace: Duration,
}

impl Default for Limits {
    /// 512 connections (a process may often hold no more than 1,024 files), 256 streams among them, queries of 8 KiB, headers of 16 KiB, 30 s
    /// idle, 30 s stalled, 5 s grace.
    fn default() -> Self {
        Self {
            connections: 512,
            streams: 256,
            query: 8 * 1024,
            headers: 16 * 1024,
            idle: Duration::from_secs(30),
            stall: Duration::from_secs(30),
            grace: Duration::from_secs(5),
        }
    }
}

impl Limits {
    /// Refuses what the semaphore or the clock would overflow at.
    pub(super) fn validate(&self) -> io::Result<()> {
        for (name, number) in [("connections", self.connections), ("streams", self.streams)] {
            if number > Semaphore::MAX_PERMITS {
                let message = format!(
                    "{name}: {number} are too many; allowed: at most {}",
                    Semaphore::MAX_PERMITS
                );
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
        }
        if Instant::now().checked_add(self.idle).is_none() {
            let message = format!("idle: {:?} lies beyond the end of the clock", self.idle);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(())
    }

    /// Refuses a request whose head is too large.
    pub(super) fn check<B>(&self, request: &Request<B>) -> Result<(), Rejection> {
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
    pub(super) fn head(&self) -> usize {
        const ROOM: usize = 64 * 1024;
        self.query.saturating_add(self.headers).saturating_add(ROOM)
    }
}
