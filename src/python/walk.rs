//! A walk over the order feed of a service, batch by batch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use super::bridge::{Bridge, wakeup};
use super::call::{Call, Outcome};
use super::question::Answer;
use crate::client;
use crate::model::OrderColumns;

/// A walk over the order feed of a service, batch by batch.
#[pyclass(frozen, module = "liqdata._core")]
pub(super) struct Walk {
    walk: Arc<tokio::sync::Mutex<client::Walk>>,
    landed: Arc<Landed>,
}

impl Walk {
    pub(super) fn new(walk: client::Walk) -> Self {
        Self {
            walk: Arc::new(tokio::sync::Mutex::new(walk)),
            landed: Arc::default(),
        }
    }
}

/// Rows that have come and not been taken.
///
/// Those of a call whose caller went away while it was under way are found here by the next.
#[derive(Debug, Default)]
pub(super) struct Landed(Mutex<Option<OrderColumns>>);

impl Landed {
    fn lock(&self) -> MutexGuard<'_, Option<OrderColumns>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what is there; no rows where another caller was quicker.
    pub(super) fn take(&self) -> OrderColumns {
        self.lock().take().unwrap_or_default()
    }
}

#[pymethods]
impl Walk {
    /// Begins the next batch of rows; its answer is `None` at the end.
    #[pyo3(signature = (bridge=None, token=0))]
    fn begin_next(&self, bridge: Option<&Bound<'_, Bridge>>, token: u64) -> PyResult<Call> {
        let (walk, landed) = (Arc::clone(&self.walk), Arc::clone(&self.landed));
        let work = async move {
            let mut walk = walk.lock().await;
            if landed.lock().is_none() {
                match walk.next().await {
                    Ok(Some(rows)) => *landed.lock() = Some(rows),
                    Ok(None) => return Outcome::One(None),
                    Err(error) => return Outcome::Failed(error.into(), None),
                }
            }
            Outcome::One(Some(Answer::Walked(landed)))
        };
        Call::begin(work, wakeup(bridge, token))
    }
}
