//! Rows that have been read but that no caller has taken yet.
//!
//! If a caller is interrupted, the next caller takes the rows from here.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::OrderColumns;
use crate::python::rows::columns::Columns;

/// Untaken rows of a walk.
#[derive(Debug, Default)]
pub(crate) struct UntakenOrders(Mutex<Option<OrderColumns>>);

impl UntakenOrders {
    fn lock(&self) -> MutexGuard<'_, Option<OrderColumns>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_none()
    }

    pub(crate) fn put(&self, rows: OrderColumns) {
        *self.lock() = Some(rows);
    }

    /// Takes the rows. Returns no rows if another caller has taken them.
    pub(crate) fn take(&self) -> OrderColumns {
        self.lock().take().unwrap_or_default()
    }
}

/// A batch of a stream: rows, and the id of each.
pub(crate) type Batch = (Columns, Vec<Option<String>>);

/// Untaken rows of a stream, and the stream position after the taken rows.
#[derive(Debug, Default)]
pub(crate) struct UntakenArrivals(Mutex<Arrivals>);

#[derive(Debug, Default)]
struct Arrivals {
    batch: Option<Batch>,
    place: Option<String>,
}

impl UntakenArrivals {
    fn lock(&self) -> MutexGuard<'_, Arrivals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().batch.is_none()
    }

    pub(crate) fn put(&self, batch: Batch) {
        self.lock().batch = Some(batch);
    }

    pub(crate) fn place(&self) -> Option<String> {
        self.lock().place.clone()
    }

    pub(crate) fn go_to(&self, place: Option<String>) {
        self.lock().place = place;
    }

    /// Takes the rows, and the id of each.
    pub(crate) fn take(&self) -> (Columns, Vec<Option<String>>) {
        let mut arrivals = self.lock();
        let (rows, ids) = arrivals.batch.take().unwrap_or_default();
        if let Some(Some(id)) = ids.last() {
            arrivals.place = Some(id.clone());
        }
        (rows, ids)
    }
}
