//! Cache of fits, so that each is computed once per set of observations.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::fit::daily_fits::DailyFits;
use crate::model::Millis;

/// Which late orders a fit includes. Late orders are received after the UTC day of their event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LateOrders {
    /// Late orders received by this instant.
    By(Millis),
    /// No late orders.
    None,
}

/// The cached fits of one set of observations.
#[derive(Debug, Default)]
pub struct DailyFitsCache(Mutex<BTreeMap<DailyFitsKey, CachedFits>>);

/// Key of cached fits: coin, model version, exchange and late orders.
///
/// The exchange is `None` if the fits are not limited to one.
pub type DailyFitsKey = (String, String, Option<String>, LateOrders);

/// The fits of a key. The outer `None` means not computed yet; the inner `None`, that there is no data for a fit.
pub type CachedFits = Arc<Mutex<Option<Option<DailyFits>>>>;

/// Maximum number of cached keys.
const CAPACITY: usize = 64;

impl DailyFitsCache {
    pub fn of(&self, key: DailyFitsKey) -> CachedFits {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.len() >= CAPACITY && !cached.contains_key(&key) {
            cached.pop_first();
        }
        Arc::clone(cached.entry(key).or_default())
    }
}
