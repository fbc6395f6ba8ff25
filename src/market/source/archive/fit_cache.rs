//! Caches the fits of the coins of an archive, each as of the start of a UTC day.
//!
//! A fit estimates, from past liquidations, which part of the USD of each leverage tier is reported as liquidated.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::Fit;
use crate::model::Millis;

/// Maximum number of cached fits; fits of the oldest days are evicted first.
const CAPACITY: usize = 1024;

/// Day, coin, model version, and the exchange if the fit uses only one exchange.
pub(crate) type FitKey = (Millis, String, String, Option<String>);

/// Fits by key; `None` for a coin that had no bars.
#[derive(Debug, Default)]
pub(crate) struct FitCache(Mutex<BTreeMap<FitKey, Option<Arc<Fit>>>>);

impl FitCache {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<FitKey, Option<Arc<Fit>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the fits of `coin` that depend on data at or after `from`.
    pub(crate) fn forget(&self, coin: &str, from: Millis) {
        self.lock()
            .retain(|(day, of, ..), _| of != coin || *day <= from);
    }

    /// Drops all fits.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// Returns the fit for the key `name`. If it is not cached, `made` computes it, and the result is cached unless it
    /// is an error.
    pub(crate) fn of<E>(
        &self,
        name: FitKey,
        made: impl FnOnce() -> Result<Option<Arc<Fit>>, E>,
    ) -> Result<Option<Arc<Fit>>, E> {
        if let Some(fit) = self.lock().get(&name) {
            return Ok(fit.clone());
        }
        let fit = made()?;
        let mut fits = self.lock();
        fits.insert(name, fit.clone());
        if fits.len() > CAPACITY {
            fits.pop_first();
        }
        Ok(fit)
    }
}
