//! Converts decoded events to Python dicts, one at a time. Most frames contain one event.

use std::array;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

use crate::feeds::{Event, PriceKind, VENUES};
use crate::model::{Record, Side, Vocabulary};
use crate::python::rows::decimal::Form;

/// Python objects that many dicts share.
struct Known {
    /// The column names of an event.
    keys: [Py<PyString>; Event::COLUMNS.len()],
    /// A template dict for each exchange. Copying it takes less time than filling a new dict.
    blanks: Vec<(&'static str, Py<PyDict>)>,
    sides: Vec<(Side, Py<PyString>)>,
    price_kinds: Vec<(PriceKind, Py<PyString>)>,
}

impl Known {
    fn of(py: Python<'_>) -> PyResult<&'static Self> {
        static KNOWN: PyOnceLock<Known> = PyOnceLock::new();
        KNOWN.get_or_try_init(py, || {
            let blanks = VENUES.iter().map(|venue| {
                let name = venue.name();
                Ok((name, blank(py, name)?.unbind()))
            });
            Ok(Self {
                keys: array::from_fn(|place| {
                    let name = Event::COLUMNS.get(place).map_or("", |column| column.name);
                    PyString::intern(py, name).unbind()
                }),
                blanks: blanks.collect::<PyResult<_>>()?,
                sides: words(py),
                price_kinds: words(py),
            })
        })
    }
}

/// Creates the template dict of an exchange.
fn blank<'py>(py: Python<'py>, exchange: &str) -> PyResult<Bound<'py, PyDict>> {
    let blank = PyDict::new(py);
    for column in Event::COLUMNS {
        blank.set_item(PyString::intern(py, column.name), py.None())?;
    }
    blank.set_item("exchange", PyString::intern(py, exchange))?;
    Ok(blank)
}

fn words<V: Vocabulary + Copy + 'static>(py: Python<'_>) -> Vec<(V, Py<PyString>)> {
    V::ALL
        .iter()
        .map(|word| (*word, PyString::intern(py, word.name()).unbind()))
        .collect()
}

/// Returns the shared Python text of a vocabulary word.
fn word<'py, W: Vocabulary + PartialEq>(
    py: Python<'py>,
    texts: &[(W, Py<PyString>)],
    word: W,
) -> Bound<'py, PyString> {
    texts.iter().find(|(each, _)| *each == word).map_or_else(
        || PyString::new(py, word.name()),
        |(_, text)| text.bind(py).clone(),
    )
}

/// Converts an event to a dict.
pub(crate) fn dict<'py>(
    py: Python<'py>,
    event: &Event,
    form: Form,
) -> PyResult<Bound<'py, PyDict>> {
    let known = Known::of(py)?;
    let blanks = &mut known.blanks.iter();
    let dict = match blanks.find(|(exchange, _)| *exchange == event.exchange) {
        Some((_, blank)) => blank.bind(py).copy()?,
        None => blank(py, event.exchange)?,
    };
    let [
        _,
        symbol,
        coin,
        side,
        price,
        price_kind,
        qty,
        value_usd,
        timestamp,
        received_at,
        native_id,
        sampled,
        dedupe_key,
        group_id,
    ] = known.keys.each_ref().map(|key| key.bind(py));
    let id = PyString::new(py, &event.native_id);
    // Most exchanges name contracts in the canonical form. Symbol and the exchange's own id then share one text.
    if event.symbol == event.native_id {
        dict.set_item(symbol, &id)?;
    } else {
        dict.set_item(symbol, PyString::new(py, &event.symbol))?;
    }
    dict.set_item(native_id, id)?;
    dict.set_item(coin, PyString::new(py, &event.coin))?;
    dict.set_item(side, word(py, &known.sides, event.side))?;
    dict.set_item(price, form.decimal(py, event.price)?)?;
    dict.set_item(price_kind, word(py, &known.price_kinds, event.price_kind))?;
    if let Some(amount) = event.qty {
        dict.set_item(qty, form.decimal(py, amount)?)?;
    }
    if let Some(worth) = event.value_usd {
        dict.set_item(value_usd, form.decimal(py, worth)?)?;
    }
    if let Some(at) = event.timestamp {
        dict.set_item(timestamp, at.0)?;
    }
    if let Some(at) = event.received_at {
        dict.set_item(received_at, at.0)?;
    }
    dict.set_item(sampled, event.sampled)?;
    dict.set_item(dedupe_key, PyString::new(py, &event.dedupe_key))?;
    if let Some(group) = &event.group_id {
        dict.set_item(group_id, group)?;
    }
    Ok(dict)
}
