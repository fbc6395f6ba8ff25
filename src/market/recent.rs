//! Caches of recent estimates, and of known positions of accounts, prepared for blended maps.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::KnownPositions;
use crate::market::refusal::Refusal;
use crate::model::{HeatmapRange, Millis};

/// Number of cached entries.
const ENTRIES: usize = 8;

/// The newest values, by key.
#[derive(Debug)]
pub(crate) struct Recent<K, V>(Mutex<VecDeque<(K, V)>>);

/// Name and parameters of a query, revision of the observations, and number of changes of the damaged files.
pub(crate) type EstimateKey = (&'static str, Vec<(&'static str, String)>, u64, u64);

/// Recent estimates as of now, which are valid until a row is new.
pub(crate) type EstimateCache = Recent<EstimateKey, Arc<dyn Any + Send + Sync>>;

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, V: Clone> Recent<K, V> {
    fn cached(&self) -> MutexGuard<'_, VecDeque<(K, V)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of `key`, if it is cached.
    pub(crate) fn get(&self, key: &K) -> Option<V> {
        let cached = self.cached();
        let known = cached.iter().find(|(other, _)| other == key);
        known.map(|(_, value)| value.clone())
    }

    /// Caches a value. The oldest one is evicted.
    pub(crate) fn add(&self, key: K, value: V) {
        let mut cached = self.cached();
        cached.truncate(ENTRIES - 1);
        cached.push_front((key, value));
    }
}

/// Number of positions above which an entry is not cached.
const MOST: usize = 1 << 20;

/// The positions that a query needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedPositions {
    /// The coin.
    pub coin: String,
    /// The exchange; all exchanges if absent.
    pub exchange: Option<String>,
    /// The range of a heatmap, which also needs earlier snapshots.
    pub columns: Option<HeatmapRange>,
}

/// A question, its instant, and the revision of the market.
type Key = (WantedPositions, Option<Millis>, u64);

/// The positions of recent queries.
pub(crate) type PositionCache = Recent<Key, Arc<KnownPositions>>;

impl PositionCache {
    /// The cached positions of `key`, or else those that `read` returns.
    pub(crate) fn get_or_read(
        &self,
        key: Key,
        read: impl FnOnce() -> Result<KnownPositions, Refusal>,
    ) -> Result<Arc<KnownPositions>, Refusal> {
        if let Some(known) = self.get(&key) {
            return Ok(known);
        }
        let known = Arc::new(read()?);
        if known.len() <= MOST {
            self.add(key, Arc::clone(&known));
        }
        Ok(known)
    }
}
