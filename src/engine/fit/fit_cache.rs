//! Fits that have been made of some observations, kept for the next who asks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::fit::daily_fits::Learning;
use crate::model::Millis;

/// Which of the orders a fit knows that were received after the UTC day of their event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::engine) enum Late {
    /// All.
    All,
    /// Those received by an instant.
    By(Millis),
    /// None: what is told of each of many instants must not rest on what was received after it.
    None,
}

/// Fits that have been made of some observations, kept for the next who asks.
#[derive(Debug, Default)]
pub(in crate::engine) struct Fits(Mutex<BTreeMap<Key, Kept>>);

/// The coin, the model's version, the exchange if it is of one, and what is known that was received late.
pub(crate) type Key = (String, String, Option<String>, Late);

/// The fits of a coin and a model; none where nothing is known that was realised.
pub(crate) type Kept = Arc<Mutex<Option<Option<Learning>>>>;

/// Coins and models whose fits are kept.
const KEPT: usize = 64;

impl Fits {
    pub(crate) fn of(&self, key: Key) -> Kept {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT && !kept.contains_key(&key) {
            kept.pop_first();
        }
        Arc::clone(kept.entry(key).or_default())
    }
}
