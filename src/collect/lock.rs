//! Locks a mutex, even if a thread panicked while it had the lock. Every critical section of the collector leaves a
//! valid state, so this is safe.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
