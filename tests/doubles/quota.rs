//! The rate limits of a venue.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// So much weight within a time, and the status of requests beyond it.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// What shares the allowance.
    pub name: &'static str,
    pub most: u64,
    pub within: Duration,
    pub status: u16,
}

impl Quota {
    pub const fn new(name: &'static str, most: u64, seconds: u64, status: u16) -> Self {
        Self {
            name,
            most,
            within: Duration::from_secs(seconds),
            status,
        }
    }
}

/// What was used of every allowance, in windows that begin with the first use.
#[derive(Debug, Default)]
pub struct Used(HashMap<&'static str, (Instant, u64)>);

impl Used {
    /// Books `weight`; returns the used weight of the window and the seconds until it ends.
    pub fn book(&mut self, quota: &Quota, weight: u64, now: Instant) -> (u64, u64) {
        let (begun, used) = self.0.entry(quota.name).or_insert((now, 0));
        if now.duration_since(*begun) >= quota.within {
            (*begun, *used) = (now, 0);
        }
        *used += weight;
        let left = quota.within.saturating_sub(now.duration_since(*begun));
        (*used, left.as_secs() + 1)
    }
}
