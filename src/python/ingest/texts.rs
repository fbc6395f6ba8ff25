//! Instants, lengthsand column names in texts, for Python callers.

use pyo3::prelude::*;

use crate::model::{Millis, read_span};
use crate::tables::column_of;

/// Epoch milliseconds of a text that names an instant, floored; `None` if it names none.
#[pyfunction]
pub(crate) fn instant(text: &str) -> Option<i64> {
    Millis::read(text.trim()).map(|at| at.0)
}

/// Milliseconds of a text such as `5m`, `4h` or `1d`; `None` if it is no such length.
#[pyfunction]
pub(crate) fn span(text: &str) -> Option<i64> {
    read_span(text.trim())
}

/// The column that a name in a table means, in any letter case; `None` if it is not read.
#[pyfunction]
pub(crate) fn column(name: &str) -> Option<&'static str> {
    column_of(name)
}
