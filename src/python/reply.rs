//! Replies at hand: bytes that have come some other way become what a service's answer becomes.
//!
//! Not public; benchmarks and tests measure and check the reading by itself.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::error::{self, Failure};
use super::question::Answer;
use crate::api::Endpoint;
use crate::client;
use crate::wire::{Decode, Reading, intake, read};

/// Reads a body as the reply to a question of type `Q`, whole or as it would arrive in pieces of so many bytes.
pub(super) fn reading<Q: Endpoint, R: Decode>(
    body: &[u8],
    pieces: Option<usize>,
) -> Result<R, Failure> {
    let reading = match pieces {
        None => read::<R>(body, Q::ENVELOPED),
        Some(length) => {
            let mut arriving = intake::<R>(Q::ENVELOPED);
            arriving.begin(Some(body.len()));
            for piece in body.chunks(length.max(1)) {
                arriving.feed(piece);
            }
            arriving.finish()
        }
    };
    match reading {
        Ok(Reading::Reply(reply)) => Ok(reply),
        Ok(Reading::Refused { message }) => Err(client::Error::Refused {
            status: 200,
            body: String::new(),
            retry_after: None,
            message,
        }
        .into()),
        Err(damage) => Err(client::Error::from(damage).into()),
    }
}

/// What the answer of `endpoint` with this body gives; read in pieces of so many bytes, or whole.
#[pyfunction]
#[pyo3(signature = (endpoint, body, pieces=None))]
pub(super) fn read_reply(
    py: Python<'_>,
    endpoint: &str,
    body: &[u8],
    pieces: Option<usize>,
) -> PyResult<Py<PyAny>> {
    py.detach(|| Answer::read(endpoint, body, pieces))
        .ok_or_else(|| PyValueError::new_err(format!("endpoint: there is no {endpoint:?}")))?
        .map_err(|failure| error::python(py, &failure))?
        .into_python(py)
}
