//! Walks over the orders of a service, batch by batch.

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;

use crate::client;
use crate::model::{TimeUnit, Vocabulary};
use crate::python::calls::asyncio_waker::{Bridge, wakeup};
use crate::python::calls::call::{Call, Outcome};
use crate::python::calls::question::UnconvertedReply;
use crate::python::rows::lazy_rows::UntakenOrders;

/// A walk over the orders of a service, batch by batch.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct Walk {
    rows: Arc<tokio::sync::Mutex<client::Walk>>,
    untaken: Arc<UntakenOrders>,
    end: Arc<OnceLock<client::End>>,
    time_unit: Arc<OnceLock<TimeUnit>>,
    groups: bool,
}

impl Walk {
    pub(crate) fn new(walk: client::Walk, groups: bool) -> Self {
        Self {
            end: walk.end(),
            time_unit: walk.time_unit(),
            groups,
            rows: Arc::new(tokio::sync::Mutex::new(walk)),
            untaken: Arc::default(),
        }
    }
}

#[pymethods]
impl Walk {
    /// Whether the walk returned all requested rows, and otherwise the reason. `None` before the end.
    #[getter]
    fn end(&self) -> Option<(bool, Option<&str>)> {
        Some(match self.end.get()? {
            client::End::Complete => (true, None),
            client::End::Incomplete(why) => (false, Some(why)),
        })
    }

    /// The unit of the service's instants, if it is not milliseconds. The instants of the rows are converted.
    #[getter]
    fn time_unit(&self) -> Option<&'static str> {
        self.time_unit.get().map(|unit| unit.name())
    }

    /// Starts a call that waits for the next batch of rows. At the end of the walk, the result is `None`.
    #[pyo3(signature = (bridge=None, token=0))]
    fn begin_next(&self, bridge: Option<&Bound<'_, Bridge>>, token: u64) -> PyResult<Call> {
        let (walk, untaken) = (Arc::clone(&self.rows), Arc::clone(&self.untaken));
        let groups = self.groups;
        let work = async move {
            let mut walk = walk.lock().await;
            if untaken.is_empty() {
                match walk.next().await {
                    Ok(Some(rows)) => untaken.put(rows),
                    Ok(None) => return Outcome::One(None),
                    Err(error) => return Outcome::Failed(error.into(), None),
                }
            }
            Outcome::One(Some(Box::new(UnconvertedReply::Walked(untaken, groups))))
        };
        Call::begin(work, wakeup(bridge, token))
    }
}
