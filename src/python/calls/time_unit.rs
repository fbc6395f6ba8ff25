//! The unit of an epoch number, for the checks of arguments and tables in Python.

use pyo3::prelude::*;

use crate::model::{TimeUnit, Vocabulary};

/// The unit that an epoch number looks like: `seconds`, `milliseconds`, `microseconds` or `nanoseconds`.
#[pyfunction]
pub(crate) fn time_unit(number: i64) -> Option<&'static str> {
    TimeUnit::of(number).map(Vocabulary::name)
}
