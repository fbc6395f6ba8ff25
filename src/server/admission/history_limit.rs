//! The lane of questions about the past: each has to be read anew, so only so many are, and only so many wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use crate::api::BadQuery;
use crate::server::admission::limits::Limits;
use crate::server::reject::Rejection;

/// How many questions about the past are answered at once, and how many wait.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) workers: Arc<Semaphore>,
    /// How many are answered at once.
    at_once: usize,
    /// How many wait beside them, at most.
    queue: usize,
    /// How many are answered or wait.
    under_way: AtomicUsize,
    /// How many found no place.
    refused: AtomicU64,
}

/// A place in the lane, until it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket(Arc<Past>);

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Past {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            workers: Arc::new(Semaphore::new(limits.past)),
            at_once: limits.past,
            queue: limits.past_queue,
            under_way: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
        })
    }

    /// How many are answered or wait.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// How many may be answered or wait.
    pub(crate) fn most(&self) -> usize {
        self.at_once.saturating_add(self.queue)
    }

    /// How many found no place.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Refuses where no such question is answered at all; `parameter` is what makes it one.
    pub(crate) fn check(&self, parameter: &'static str) -> Result<(), Rejection> {
        if self.at_once > 0 {
            return Ok(());
        }
        let message = "this service answers no questions about the past (its limit `past` is 0)";
        let allowed = "no as_of, and nothing of a stretch of time: what is known now";
        Err(BadQuery::new(parameter, message, allowed).into())
    }

    /// A place in the lane, where one is left.
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
        let past = Past::new(&Limits {
            past: 1,
            past_queue: 2,
            ..Limits::default()
        });
        let places: Vec<Ticket> = (0..3).map(|_| past.enter().unwrap()).collect();
        for _ in 0..5 {
            let refused = past.enter().unwrap_err();
            assert!(matches!(refused, Rejection::PastBusy { waiting: 2 }));
        }
        drop(places);
        assert!(past.enter().is_ok());
    }
}
