//! Decodes a given body into the value that a call returns.
//!
//! Not public: benchmarks and tests use it to measure and check the decoding alone.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::python::calls::question::UnconvertedReply;
use crate::python::error;

/// Decodes a body as the reply of `endpoint`, complete or in pieces of `pieces` bytes.
#[pyfunction]
#[pyo3(signature = (endpoint, body, pieces=None))]
pub(crate) fn read_reply(
    py: Python<'_>,
    endpoint: &str,
    body: &[u8],
    pieces: Option<usize>,
) -> PyResult<Py<PyAny>> {
    py.detach(|| UnconvertedReply::read(endpoint, body, pieces))
        .ok_or_else(|| PyValueError::new_err(format!("endpoint: there is no {endpoint:?}")))?
        .map_err(|failure| error::python(py, &failure))?
        .into_python(py)
}
