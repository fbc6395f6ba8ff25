//! A small cache of recent values.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The newest `N` values, by key.
#[derive(Debug)]
pub(crate) struct Recent<K, V, const N: usize>(Mutex<VecDeque<(K, V)>>);

/// Name and parameters of a query, revision of the observations, and number of changes of the damaged files.
pub(crate) type EstimateKey = (&'static str, Vec<(&'static str, String)>, u64, u64);

/// Recent estimates as of now, which are valid until a row is new.
pub(crate) type EstimateCache = Recent<EstimateKey, Arc<dyn Any + Send + Sync>, 32>;

impl<K, V, const N: usize> Default for Recent<K, V, N> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: PartialEq, V: Clone, const N: usize> Recent<K, V, N> {
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
        cached.truncate(N - 1);
        cached.push_front((key, value));
    }
}
