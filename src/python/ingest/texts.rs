//! Reads instants and lengths from texts, for Python callers.

use pyo3::prelude::*;

use crate::model::{Millis, read_span};

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
