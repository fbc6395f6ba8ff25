//! The fits of an archive's coins: each as it was known when its UTC day began, made once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::Fit;
use crate::model::Millis;

/// Fits that are kept, the oldest days let go first.
const CAPACITY: usize = 1024;

/// Day, coin, version of the model, and the exchange if it is of one.
pub(crate) type FitKey = (Millis, String, String, Option<String>);

/// Fits by name; none of a coin that had no bars then.
#[derive(Debug, Default)]
pub(crate) struct FitCache(Mutex<BTreeMap<FitKey, Option<Arc<Fit>>>>);

impl FitCache {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<FitKey, Option<Arc<Fit>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what rests on a coin's past from an instant on.
    pub(crate) fn forget(&self, coin: &str, from: Millis) {
        self.lock()
            .retain(|(day, of, ..), _| of != coin || *day <= from);
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    /// The fit of a name; one that is not known yet is `made`, and kept unless that fails.
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
