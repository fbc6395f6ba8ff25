//! Python packages that the binding calls natively, brought in through Python first.
//!
//! The numpy crate ends in a panic where its first use meets an import that fails or is interrupted; an import of
//! Python's own ends in its exception, `KeyboardInterrupt` among them.

use pyo3::prelude::*;

/// Sees to it that numpy is there, before its arrays are read or made.
pub(super) fn numpy(py: Python<'_>) -> PyResult<()> {
    py.import("numpy").map(drop)
}
