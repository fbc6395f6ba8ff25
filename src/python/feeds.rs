//! Frames of exchanges, decoded for Python.

use pyo3::prelude::*;

use super::columns::Columns;
use super::error;
use super::rows::Table;
use crate::api::BadQuery;
use crate::feeds::{self, Instrument, Instruments};
use crate::model::Millis;

/// An instrument as the shim hands it in: native id, base, quote, kind, contract size.
type Given = (String, String, String, String, String);

/// What an instrument is made of.
const SHAPE: &str = "{native_id: {\"base\": …, \"quote\": …, \"kind\": \"linear\" or \"inverse\", \"contract_size\": …}}";

/// The events of one frame.
#[pyfunction]
pub(super) fn decode(
    py: Python<'_>,
    exchange: &str,
    frame: &[u8],
    received_at: Option<i64>,
    instruments: Vec<Given>,
) -> PyResult<Table> {
    let instruments = read(instruments).map_err(|refusal| error::bad_query(py, &refusal))?;
    py.detach(|| feeds::decode(exchange, frame, received_at.map(Millis), &instruments))
        .map(|events| Columns::from(events).into())
        .map_err(|error| error::from_feeds(py, &error))
}

fn read(given: Vec<Given>) -> Result<Instruments, BadQuery> {
    given
        .into_iter()
        .map(|(native_id, base, quote, kind, contract_size)| {
            Instrument::read(&base, &quote, &kind, &contract_size)
                .map(|instrument| (native_id.clone(), instrument))
                .map_err(|message| {
                    BadQuery::new("instruments", format!("{native_id:?}: {message}"), SHAPE)
                })
        })
        .collect()
}
