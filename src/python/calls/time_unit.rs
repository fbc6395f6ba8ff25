//! Detects the unit of an epoch number, for checks of arguments and tables in Python.

use pyo3::prelude::*;

use crate::model::{TimeUnit, Vocabulary};

/// Returns the unit that an epoch number has by its size: `seconds`, `milliseconds`, `microseconds` or `nanoseconds`.
#[pyfunction]
pub(crate) fn time_unit(number: i64) -> Option<&'static str> {
    TimeUnit::of(number).map(Vocabulary::name)
}
