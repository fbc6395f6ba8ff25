//! Limits the retries of a client.

use std::sync::atomic::{AtomicU32, Ordering};

/// Number of tokens in a new quota, and the maximum of a quota.
pub(crate) const QUOTA: u32 = 500;

/// A token bucket over all calls of a client. It limits retries against a failing service.
#[derive(Debug)]
pub(crate) struct RetryQuota(AtomicU32);

impl Default for RetryQuota {
    fn default() -> Self {
        Self(AtomicU32::new(QUOTA))
    }
}

impl RetryQuota {
    /// Takes `tokens`, if the bucket has as many.
    pub(crate) fn take(&self, tokens: u32) -> bool {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tokens_left| {
                tokens_left.checked_sub(tokens)
            })
            .is_ok()
    }

    /// Returns `tokens` to the bucket.
    pub(crate) fn give(&self, tokens: u32) {
        // `fetch_update` cannot fail, because the closure always returns a value.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tokens_left| {
                Some(tokens_left.saturating_add(tokens).min(QUOTA))
            });
    }
}
