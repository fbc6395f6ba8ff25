//! Cached fits of the coins of an archive, each as of the start of a UTC day.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::Fit;
use crate::model::Millis;

/// Bound of the cached fits; the oldest days are evicted first.
const CAPACITY: usize = 1024;

/// Day, coin, model version, and exchange if the fit is of one.
pub(crate) type FitKey = (Millis, String, String, Option<String>);

/// Fits by key; `None` for a coin without bars.
#[derive(Debug, Default)]
pub(crate) struct FitCache(Mutex<BTreeMap<FitKey, Option<Arc<Fit>>>>);

impl FitCache {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<FitKey, Option<Arc<Fit>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops fits that depend on the past of a coin from an instant on.
    pub(crate) fn forget(&self, coin: &str, from: Millis) {
        self.lock()
            .retain(|(day, of, ..), _| of != coin || *day <= from);
    }

    /// Drops everything.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// The cached fit of a key; if there is none, `made` computes it, and it is cached unless that fails.
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
