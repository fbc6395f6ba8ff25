//! A cache of the fits made of some observations.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::fit::daily_fits::DailyFits;
use crate::model::Millis;

/// The late orders that a fit includes: orders received after the UTC day of their event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LateOrders {
    /// All of them.
    All,
    /// Late orders received by this instant.
    By(Millis),
    /// No late orders, for series of instants that must not use later data.
    None,
}

/// A cache of the fits made of some observations.
#[derive(Debug, Default)]
pub(crate) struct DailyFitsCache(Mutex<BTreeMap<DailyFitsKey, CachedFits>>);

/// Key of a cached fit: coin, model version, exchange (if the fit is limited to one), and the late orders that it
/// includes.
pub(crate) type DailyFitsKey = (String, String, Option<String>, LateOrders);

/// The fits of a key; the inner `None` means that no liquidations are known.
pub(crate) type CachedFits = Arc<Mutex<Option<Option<DailyFits>>>>;

/// Maximum number of cached keys.
const CAPACITY: usize = 64;

impl DailyFitsCache {
    pub(crate) fn of(&self, key: DailyFitsKey) -> CachedFits {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.len() >= CAPACITY && !cached.contains_key(&key) {
            cached.pop_first();
        }
        Arc::clone(cached.entry(key).or_default())
    }
}
