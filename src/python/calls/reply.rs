//! Replies at hand: bytes that have come some other way become what a service's answer becomes.
//!
//! Not public; benchmarks and tests measure and check the reading by itself.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::python::calls::question::UnconvertedReply;
use crate::python::error;

/// What the answer of `endpoint` with this body gives; read in pieces of so many bytes, or whole.
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
