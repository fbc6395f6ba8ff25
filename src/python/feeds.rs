//! Frames of exchanges, decoded for Python.

use std::iter;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::error;
use crate::api::BadQuery;
use crate::feeds::{self, Instrument, Instruments};
use crate::model::Millis;
use crate::python::rows::deferred_drop::Unwaited;
use crate::python::rows::rows::Table;
use crate::python::runtime::signals::SIGNAL_TICK;

/// An instrument as the shim hands it in: native id, base, quote, kind, contract size.
type Given = (String, String, String, String, String);

/// What an instrument is made of.
const SHAPE: &str = "{native_id: {\"base\": …, \"quote\": …, \"kind\": \"linear\" or \"inverse\", \"contract_size\": …}}";

/// A frame of so many bytes, or a zipped one, is decoded with the interpreter lock released. One that is over in a few
/// microseconds is not: where other threads wait for the lock, to get it back takes a thousand times as long.
const LARGE: usize = 16 << 10;

/// The events of one frame.
#[pyfunction]
pub(crate) fn decode(
    py: Python<'_>,
    exchange: &str,
    frame: &[u8],
    received_at: Option<i64>,
    instruments: Option<Vec<Given>>,
) -> PyResult<Table> {
    let instruments =
        read(instruments.unwrap_or_default()).map_err(|refusal| error::bad_query(py, &refusal))?;
    let decode = || feeds::decode(exchange, frame, received_at.map(Millis), &instruments);
    let decoded = if frame.len() < LARGE && !feeds::is_zipped(frame) {
        decode()
    } else {
        py.detach(decode)
    };
    decoded
        .map(|events| Table::from(Unwaited::from(events)))
        .map_err(|error| error::from_feeds(py, &error))
}

/// The events of many frames, in their order; `seen` is told how many more were decoded, now and then.
#[pyfunction]
#[pyo3(signature = (exchange, frames, received_at, instruments, seen=None))]
#[expect(
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value"
)]
pub(crate) fn decode_all(
    py: Python<'_>,
    exchange: &str,
    frames: Vec<PyBackedBytes>,
    received_at: Vec<Option<i64>>,
    instruments: Option<Vec<Given>>,
    seen: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let instruments =
        read(instruments.unwrap_or_default()).map_err(|refusal| error::bad_query(py, &refusal))?;
    let times = received_at.into_iter().chain(iter::repeat(None));
    let mut left = frames.iter().zip(times).enumerate();
    let mut events = Unwaited::from(Vec::with_capacity(frames.len()));
    // From one look for signals to the next.
    let mut stretch = || {
        let begun = Instant::now();
        let mut done = 0;
        while begun.elapsed() < SIGNAL_TICK {
            let Some((place, (frame, received_at))) = left.next() else {
                return Ok((done, false));
            };
            done += 1;
            let decoded = feeds::decode(exchange, frame, received_at.map(Millis), &instruments);
            events.extend(decoded.map_err(|error| error.of_frame(place))?);
        }
        Ok((done, true))
    };
    loop {
        let outcome = py.detach(&mut stretch);
        let (done, more) = outcome.map_err(|error| error::from_feeds(py, &error))?;
        if let Some(seen) = seen {
            seen.call1((done,))?;
        }
        if !more {
            return Ok(Table::from(events));
        }
        py.check_signals()?;
    }
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
