//! Reads instants, lengths and column names from texts, for Python callers.

use pyo3::prelude::*;

use crate::model::{Millis, read_span};
use crate::tables::column_of;

/// Returns the epoch milliseconds of a text that names an instant, rounded down. `None` if the text names none.
#[pyfunction]
pub(crate) fn instant(text: &str) -> Option<i64> {
    Millis::read(text.trim()).map(|at| at.0)
}

/// Returns the milliseconds of a length such as `5m`, `4h` or `1d`. `None` if the text is not a length.
#[pyfunction]
pub(crate) fn span(text: &str) -> Option<i64> {
    read_span(text.trim())
}

/// Returns the column that a name in a table stands for, in any letter case. `None` if no such column is read.
#[pyfunction]
pub(crate) fn column(name: &str) -> Option<&'static str> {
    column_of(name)
}
