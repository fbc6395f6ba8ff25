//! Decoded events as Python dicts, one at a time: a frame rarely has more, so nothing is made that its dict does not need.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use rust_decimal::Decimal;

use super::decimal;
use crate::feeds::{Event, PriceKind, VENUES};
use crate::model::{Side, Vocabulary, nearest_f64};

/// The keys of an event's dict, in order; its columns are named alike.
pub(super) const KEYS: [&str; 13] = [
    "exchange",
    "symbol",
    "coin",
    "side",
    "price",
    "price_kind",
    "qty",
    "value_usd",
    "timestamp",
    "received_at",
    "native_id",
    "sampled",
    "dedupe_key",
];

/// Texts that stand in every dict, made once.
struct Texts {
    keys: [Py<PyString>; KEYS.len()],
    exchanges: Vec<(&'static str, Py<PyString>)>,
    sides: Vec<(Side, Py<PyString>)>,
    price_kinds: Vec<(PriceKind, Py<PyString>)>,
}

impl Texts {
    fn of(py: Python<'_>) -> &'static Self {
        static TEXTS: PyOnceLock<Texts> = PyOnceLock::new();
        let text = |name: &str| PyString::intern(py, name).unbind();
        TEXTS.get_or_init(py, || Self {
            keys: KEYS.map(text),
            exchanges: VENUES
                .iter()
                .map(|venue| (venue.name(), text(venue.name())))
                .collect(),
            sides: words(py),
            price_kinds: words(py),
        })
    }
}

fn words<V: Vocabulary + Copy + 'static>(py: Python<'_>) -> Vec<(V, Py<PyString>)> {
    V::ALL
        .iter()
        .map(|word| (*word, PyString::intern(py, word.name()).unbind()))
        .collect()
}

/// The text of a word, from those made once.
fn known<'py, W: PartialEq>(
    py: Python<'py>,
    texts: &[(W, Py<PyString>)],
    word: &W,
    name: &str,
) -> Bound<'py, PyString> {
    texts.iter().find(|(each, _)| each == word).map_or_else(
        || PyString::new(py, name),
        |(_, text)| text.bind(py).clone(),
    )
}

/// The event as a dict.
pub(super) fn dict<'py>(
    py: Python<'py>,
    event: &Event,
    exact: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let texts = Texts::of(py);
    let dict = PyDict::new(py);
    let number = |value: Option<Decimal>| -> PyResult<Bound<'py, PyAny>> {
        Ok(match value {
            Some(value) if exact => decimal::exact(py, value)?,
            Some(value) => nearest_f64(value).into_pyobject(py)?.into_any(),
            None => py.None().into_bound(py),
        })
    };
    let native_id = PyString::new(py, &event.native_id);
    // Most venues name their contracts as we do.
    let symbol = if event.symbol == event.native_id {
        native_id.clone()
    } else {
        PyString::new(py, &event.symbol)
    };
    let kind = known(
        py,
        &texts.price_kinds,
        &event.price_kind,
        event.price_kind.name(),
    );
    let [
        exchange_key,
        symbol_key,
        coin_key,
        side_key,
        price_key,
        price_kind_key,
        qty_key,
        value_usd_key,
        timestamp_key,
        received_at_key,
        native_id_key,
        sampled_key,
        dedupe_key_key,
    ] = texts.keys.each_ref().map(|key| key.bind(py));
    dict.set_item(
        exchange_key,
        known(py, &texts.exchanges, &event.exchange, event.exchange),
    )?;
    dict.set_item(symbol_key, symbol)?;
    dict.set_item(coin_key, PyString::new(py, &event.coin))?;
    dict.set_item(
        side_key,
        known(py, &texts.sides, &event.side, event.side.name()),
    )?;
    dict.set_item(price_key, number(Some(event.price))?)?;
    dict.set_item(price_kind_key, kind)?;
    dict.set_item(qty_key, number(event.qty)?)?;
    dict.set_item(value_usd_key, number(event.value_usd)?)?;
    dict.set_item(timestamp_key, event.timestamp.map(|at| at.0))?;
    dict.set_item(received_at_key, event.received_at.map(|at| at.0))?;
    dict.set_item(native_id_key, native_id)?;
    dict.set_item(sampled_key, event.sampled)?;
    dict.set_item(dedupe_key_key, PyString::new(py, &event.dedupe_key))?;
    Ok(dict)
}
