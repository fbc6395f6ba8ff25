//! Decodes frames: messages that exchanges send over their WebSocket connections.

use std::iter;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use super::error;
use crate::contract::BadQuery;
use crate::feeds::{self, Instrument, Instruments};
use crate::model::Millis;
use crate::python::rows::deferred_drop::Unwaited;
use crate::python::rows::rows::Table;
use crate::python::runtime::signals::SIGNAL_TICK;

/// An instrument from Python: exchange's own id, base, quote, kind, contract size.
type Given = (String, String, String, String, String);

/// The expected form of an instrument, for error messages.
const SHAPE: &str = "{native_id: {\"base\": …, \"quote\": …, \"kind\": \"linear\" or \"inverse\", \"contract_size\": …}}";

/// Maximum size of a frame that is decoded without releasing the interpreter, in bytes. Releasing it for a few
/// microseconds costs more than it saves if other threads wait for it. Compressed frames always release it.
const LARGE: usize = 16 << 10;

/// Decodes one frame into events.
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

/// Decodes several frames into events, in order. Calls `seen` with the number of frames decoded since the last call.
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
    // Decodes frames until the next signal check is due.
    let mut until_signal_check = || {
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
        let outcome = py.detach(&mut until_signal_check);
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

/// The rows of a reply, and the table to which they belong.
type ReplyRows = Option<(&'static str, Vec<Vec<String>>)>;

/// Decodes a REST reply of an exchange with bars or open interest. Returns the table and its rows: time and four prices
/// and volume, or time and amount in coins.
///
/// `None` if it is no such reply. Binance's replies have the columns of its files, which are read with more rules.
#[pyfunction]
pub(crate) fn decode_reply(exchange: &str, body: &str) -> ReplyRows {
    let venue = feeds::venue(exchange)
        .ok()
        .filter(|venue| venue.name() != "binance")?;
    let none = Instruments::default();
    let frame = venue.frame(body, None, &none);
    if let Ok(bars) = venue.read_bars(&frame)
        && !bars.is_empty()
    {
        let bars = bars.iter().map(|bar| {
            let numbers = [bar.open, bar.high, bar.low, bar.close, bar.volume];
            let cells = numbers.iter().map(ToString::to_string);
            iter::once(bar.timestamp.0.to_string())
                .chain(cells)
                .collect()
        });
        return Some(("bars", bars.collect()));
    }
    let readings = venue.read_open_interest(&frame).ok()?;
    let rows = readings.iter().map(|reading| {
        vec![
            reading.timestamp.0.to_string(),
            reading.open_interest.to_string(),
        ]
    });
    (!readings.is_empty()).then(|| ("open_interest", rows.collect()))
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
