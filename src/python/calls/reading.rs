//! Decodes a given body as the client decodes the body of a response.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::client;
use crate::contract::decode::{Decode, Reading, intake, read};
use crate::contract::{Endpoint, GridValues, Heatmap, encode_grid};
use crate::market::Refusal;
use crate::model::HeatmapGrid;
use crate::python::error::{self, Failure};

/// Decodes a body as the reply to a query of type `Q`, complete or in pieces of `pieces` bytes.
pub(crate) fn reading<Q: Endpoint, R: Decode>(
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
        Ok(Reading::Reply(reply) | Reading::Converted { reply, .. }) => Ok(reply),
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

/// Returns a heatmap, given as the body of a reply, in the form `application/vnd.liqdata.grid` with values of type f32.
#[pyfunction]
pub(crate) fn grid_bytes<'py>(py: Python<'py>, body: &str) -> PyResult<Bound<'py, PyBytes>> {
    let read = || -> Result<Vec<u8>, Failure> {
        let mut grid = reading::<Heatmap, HeatmapGrid>(body.as_bytes(), None)?;
        grid.complete();
        encode_grid(&grid, GridValues::F32)
            .map_err(|fault| Refusal::defect(fault.to_string()).into())
    };
    let bytes = read().map_err(|failure| error::python(py, &failure))?;
    Ok(PyBytes::new(py, &bytes))
}
