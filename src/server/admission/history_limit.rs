//! Limits historical queries: how many run at once, and how many wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use crate::contract::BadQuery;
use crate::server::admission::limits::Limits;
use crate::server::reject::Rejection;

/// Counts historical queries that run or wait.
#[derive(Debug)]
pub(crate) struct HistoryLimit {
    pub(crate) workers: Arc<Semaphore>,
    /// Maximum number of concurrent queries.
    at_once: usize,
    /// Maximum number of waiting queries.
    queue: usize,
    /// Number of queries that run or wait now.
    under_way: AtomicUsize,
    /// Number of refused queries.
    refused: AtomicU64,
}

/// The right of one query to run or wait, until this is dropped.
#[derive(Debug)]
pub(crate) struct Ticket(Arc<HistoryLimit>);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HistoryLimit {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            workers: Arc::new(Semaphore::new(limits.past)),
            at_once: limits.past,
            queue: limits.past_queue,
            under_way: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
        })
    }

    /// Number of queries that run or wait now.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Maximum number of queries that run or wait.
    pub(crate) fn most(&self) -> usize {
        self.at_once.saturating_add(self.queue)
    }

    /// Number of refused queries.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Refuses the query if this server answers no historical queries. `parameter` is the parameter that makes the
    /// query historical.
    pub(crate) fn check(&self, parameter: &'static str) -> Result<(), Rejection> {
        if self.at_once > 0 {
            return Ok(());
        }
        let message = "this service answers no historical queries (its limit `past` is 0)";
        let allowed = "queries about the present, without as_of, start and end";
        Err(BadQuery::new(parameter, message, allowed).into())
    }

    /// Admits a query to run or wait, or refuses it if too many do.
    pub(crate) fn enter(self: &Arc<Self>) -> Result<Ticket, Rejection> {
        let before = self.under_way.fetch_add(1, Ordering::Relaxed);
        let ticket = Ticket(Arc::clone(self));
        if before < self.most() {
            return Ok(ticket);
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(Rejection::PastBusy {
            waiting: self.queue,
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::server::admission::history_limit::*;

    #[test]
    fn as_many_have_a_place_as_are_answered_and_may_wait() {
        let past = HistoryLimit::new(&Limits {
            past: 1,
            past_queue: 2,
            ..Limits::default()
        });
        let tickets: Vec<Ticket> = (0..3).map(|_| past.enter().unwrap()).collect();
        for _ in 0..5 {
            let refused = past.enter().unwrap_err();
            assert!(matches!(refused, Rejection::PastBusy { waiting: 2 }));
        }
        drop(tickets);
        assert!(past.enter().is_ok());
    }
}
