//! Arguments become a question, a question becomes an answer: the ten endpoints as one closed set.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyString};

use super::arrays;
use super::columns::Columns;
use super::error::{Failure, bad_query};
use super::reply;
use super::rows::Table;
use super::untaken::{UntakenArrivals, UntakenOrders};
use crate::api::{
    self, BadQuery, Chart, Coins, Exchanges, Heatmap, Largest, Levels, Liqmap, Maxpain, Orders,
    Overview, Stream,
};
use crate::client::{Client, Remarks};
use crate::engine::Explain;
use crate::market::Market;
use crate::model::{
    ChartRow, CoinTotals, ExchangeTotals, HeatmapGrid, HeatmapRange, LiquidationMap, MapRange,
    MaxPain, Millis, OrderColumns, TierLevels, TotalsByWindow, Vocabulary, Window,
};

/// What an estimate rests on, as far as that is known.
#[derive(Debug)]
pub(super) enum Ground {
    /// A service said nothing of it.
    Untold,
    /// A service says that open interest is unknown, so that amounts are none.
    Relative,
    /// An engine in this process says all of it.
    Explained(Box<Explain>),
}

impl From<Remarks> for Ground {
    fn from(remarks: Remarks) -> Self {
        if remarks.relative {
            Self::Relative
        } else {
            Self::Untold
        }
    }
}

impl From<Option<Explain>> for Ground {
    fn from(explain: Option<Explain>) -> Self {
        explain.map_or(Self::Untold, |explain| Self::Explained(Box::new(explain)))
    }
}

/// A reply that has not met Python yet.
#[derive(Debug)]
pub(super) enum Answer {
    Overview(TotalsByWindow),
    Rows(Columns),
    Heatmap(HeatmapGrid, Ground),
    Liqmap(LiquidationMap, Ground),
    Levels(TierLevels),
    Maxpain(MaxPain),
    /// Orders of a walk, not taken yet.
    Walked(Arc<UntakenOrders>),
    /// Orders of a stream, not taken yet.
    Arrivals(Arc<UntakenArrivals>),
}

impl Answer {
    /// Dicts, a [`Table`], or the fields of a grid; on the caller's own thread.
    pub(super) fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self {
            Self::Overview(reply) => arrays::overview(py, &reply)?.into_any().unbind(),
            Self::Rows(columns) => Py::new(py, Table::from(columns))?.into_any(),
            Self::Heatmap(reply, ground) => {
                arrays::heatmap(py, reply, &ground)?.into_any().unbind()
            }
            Self::Liqmap(reply, ground) => arrays::liqmap(py, reply, &ground)?.into_any().unbind(),
            Self::Levels(reply) => arrays::levels(py, reply)?.into_any().unbind(),
            Self::Maxpain(reply) => arrays::maxpain(py, reply)?.into_any().unbind(),
            Self::Walked(untaken) => {
                Py::new(py, Table::from(Columns::from(untaken.take())))?.into_any()
            }
            Self::Arrivals(untaken) => {
                let (rows, ids) = untaken.take();
                (Table::from(rows), ids).into_py_any(py)?
            }
        })
    }
}

macro_rules! questions {
    ($($variant:ident($query:ty) as $reply:ty => $wrap:expr;)+) => {
        #[derive(Clone, Debug)]
        enum Kind {
            $($variant($query),)+
        }

        impl Question {
            /// Asks a service.
            pub(super) async fn send(&self, client: &Client) -> Result<Answer, Failure> {
                match &self.kind {
                    $(Kind::$variant(query) => {
                        let (reply, remarks) = client.fetch(query).await?;
                        Ok($wrap(reply, remarks.into()))
                    })+
                }
            }

            /// Asks a market in this process.
            pub(super) fn answer(&self, market: &Market, as_of: Option<Millis>) -> Result<Answer, Failure> {
                match &self.kind {
                    $(Kind::$variant(query) => {
                        let answered = market.answer(query, as_of)?;
                        Ok($wrap(answered.reply, answered.explain.into()))
                    })+
                }
            }

            /// The endpoint's one name.
            fn endpoint(&self) -> &'static str {
                match &self.kind {
                    $(Kind::$variant(_) => <$query as api::Endpoint>::NAME,)+
                }
            }

            /// The parameters as they are sent.
            fn parameters(&self) -> Vec<(&'static str, String)> {
                match &self.kind {
                    $(Kind::$variant(query) => api::Endpoint::to_query(query),)+
                }
            }
        }

        impl Answer {
            /// Reads a body as the reply of an endpoint; `None` where there is no such endpoint.
            pub(super) fn read(
                endpoint: &str,
                body: &[u8],
                pieces: Option<usize>,
            ) -> Option<Result<Self, Failure>> {
                match endpoint {
                    $(<$query as api::Endpoint>::NAME => {
                        let reply = reply::reading::<$query, $reply>(body, pieces);
                        Some(reply.map(|reply| $wrap(reply, Ground::Untold)))
                    })+
                    _ => None,
                }
            }
        }

        $(impl From<$query> for Question {
            fn from(query: $query) -> Self {
                Self { kind: Kind::$variant(query) }
            }
        })+
    };
}

/// A checked question: one endpoint with its parameters.
#[pyclass(frozen, module = "liqdata._core")]
#[derive(Clone, Debug)]
pub(super) struct Question {
    kind: Kind,
}

questions! {
    Overview(Overview) as TotalsByWindow => |reply, _: Ground| Answer::Overview(reply);
    Coins(Coins) as Vec<CoinTotals> => |rows, _: Ground| Answer::Rows(Columns::from(rows));
    Exchanges(Exchanges) as Vec<ExchangeTotals> => |rows, _: Ground| Answer::Rows(Columns::from(rows));
    Largest(Largest) as OrderColumns => |rows, _: Ground| Answer::Rows(Columns::from(rows));
    Orders(Orders) as OrderColumns => |rows, _: Ground| Answer::Rows(Columns::from(rows));
    Chart(Chart) as Vec<ChartRow> => |rows, _: Ground| Answer::Rows(Columns::from(rows));
    Heatmap(Heatmap) as HeatmapGrid => Answer::Heatmap;
    Liqmap(Liqmap) as LiquidationMap => Answer::Liqmap;
    Levels(Levels) as TierLevels => |reply, _: Ground| Answer::Levels(reply);
    Maxpain(Maxpain) as MaxPain => |reply, _: Ground| Answer::Maxpain(reply);
}

impl Question {
    /// Whether its reply may be large, so that reading it takes longer than handing it from thread to thread.
    pub(super) fn is_large(&self) -> bool {
        matches!(
            self.kind,
            Kind::Largest(_) | Kind::Orders(_) | Kind::Heatmap(_) | Kind::Liqmap(_)
        )
    }
}

#[pymethods]
impl Question {
    fn __repr__(&self) -> String {
        let parameters: Vec<String> = self
            .parameters()
            .into_iter()
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        format!("Question({}({}))", self.endpoint(), parameters.join(", "))
    }
}

/// A text argument.
fn text(
    name: &'static str,
    value: &Bound<'_, PyAny>,
    allowed: impl FnOnce() -> String,
) -> PyResult<String> {
    let Ok(text) = value.cast::<PyString>() else {
        return Err(wrong_type(name, value, "text", allowed()));
    };
    // Only lone surrogates cannot be taken out of Python.
    text.extract().map_err(|_| {
        let refusal = BadQuery::new(name, "the text is not Unicode", allowed());
        bad_query(value.py(), &refusal)
    })
}

/// A text argument that may be `None`.
fn optional_text(
    name: &'static str,
    value: &Bound<'_, PyAny>,
    allowed: &str,
) -> PyResult<Option<String>> {
    (!value.is_none())
        .then(|| text(name, value, || format!("{allowed}, or None")))
        .transpose()
}

/// A whole-number argument; anything with `__index__` counts, a bool does not.
pub(super) fn whole(name: &'static str, value: &Bound<'_, PyAny>, allowed: &str) -> PyResult<i128> {
    let py = value.py();
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type(
            name,
            value,
            "a whole number",
            allowed.to_owned(),
        ));
    }
    let Ok(index) = value.call_method0("__index__") else {
        return Err(wrong_type(
            name,
            value,
            "a whole number",
            allowed.to_owned(),
        ));
    };
    let index = index.cast::<PyInt>()?;
    index.extract().map_err(|_| {
        bad_query(
            py,
            &BadQuery::new(name, "the number has too many digits", allowed),
        )
    })
}

fn wrong_type(
    name: &'static str,
    value: &Bound<'_, PyAny>,
    wanted: &str,
    allowed: String,
) -> PyErr {
    let shown = value.repr().map_or_else(
        |_| "the value".to_owned(),
        |text| shorten(&text.to_string()),
    );
    let kind = value
        .get_type()
        .name()
        .map_or_else(|_| "object".to_owned(), |name| name.to_string());
    bad_query(
        value.py(),
        &BadQuery::new(
            name,
            format!("{shown} is of type {kind}, not {wanted}"),
            allowed,
        ),
    )
}

fn shorten(text: &str) -> String {
    const MOST: usize = 80;
    if text.chars().count() <= MOST {
        text.to_owned()
    } else {
        text.chars().take(MOST).chain("…".chars()).collect()
    }
}

fn checked<Q: Into<Question>>(py: Python<'_>, query: Result<Q, BadQuery>) -> PyResult<Question> {
    query
        .map(Into::into)
        .map_err(|refusal| bad_query(py, &refusal))
}

/// What a trading pair may be, as a sentence.
const PAIR: &str = r#"a trading pair such as "BTCUSDT""#;
/// What an exchange may be, as a sentence.
const VENUE: &str = r#"an exchange's name such as "binance""#;
/// What a place in a stream may be, as a sentence.
const EVENT_ID: &str = "the id of an event of the stream, as it was sent";
/// What a page of a walk may hold, as a sentence.
pub(super) const PAGE_SIZES: &str = "a whole number from 1 to 1000";
/// What a walk may be bounded by, as a sentence.
pub(super) const MAX_ROWS: &str = "a whole number from 1, or None";
const COIN: &str = r#"a coin symbol such as "BTC""#;

#[pyfunction]
pub(super) fn overview() -> Question {
    Overview.into()
}

#[pyfunction]
pub(super) fn coins(range: &Bound<'_, PyAny>, limit: &Bound<'_, PyAny>) -> PyResult<Question> {
    let window = text("range", range, Window::spellings)?;
    checked(
        range.py(),
        Coins::new(
            &window,
            whole("limit", limit, "a whole number from 1 to 200")?,
        ),
    )
}

#[pyfunction]
pub(super) fn exchanges(range: &Bound<'_, PyAny>) -> PyResult<Question> {
    checked(
        range.py(),
        Exchanges::new(&text("range", range, Window::spellings)?),
    )
}

#[pyfunction]
pub(super) fn largest(range: &Bound<'_, PyAny>, limit: &Bound<'_, PyAny>) -> PyResult<Question> {
    let window = text("range", range, Window::spellings)?;
    checked(
        range.py(),
        Largest::new(
            &window,
            whole("limit", limit, "a whole number from 1 to 1000")?,
        ),
    )
}

/// The pair and the exchange of a feed of orders; `None` stands for all.
pub(super) fn pair_and_venue(
    symbol: &Bound<'_, PyAny>,
    exchange: &Bound<'_, PyAny>,
) -> PyResult<(Option<String>, Option<String>)> {
    Ok((
        optional_text("symbol", symbol, PAIR)?,
        optional_text("exchange", exchange, VENUE)?,
    ))
}

/// The question for the orders as they arrive, which both a service and a market answer.
pub(super) fn stream(
    symbol: &Bound<'_, PyAny>,
    exchange: &Bound<'_, PyAny>,
    last_event_id: &Bound<'_, PyAny>,
) -> PyResult<Stream> {
    let (pair, venue) = pair_and_venue(symbol, exchange)?;
    let place = optional_text("last_event_id", last_event_id, EVENT_ID)?;
    Stream::new(pair.as_deref(), venue.as_deref(), place.as_deref())
        .map_err(|refusal| bad_query(symbol.py(), &refusal))
}

#[pyfunction]
pub(super) fn orders(
    symbol: &Bound<'_, PyAny>,
    exchange: &Bound<'_, PyAny>,
    limit: &Bound<'_, PyAny>,
    offset: &Bound<'_, PyAny>,
) -> PyResult<Question> {
    let (pair, venue) = pair_and_venue(symbol, exchange)?;
    let limit = whole("limit", limit, "a whole number from 1 to 1000")?;
    let offset = whole("offset", offset, Orders::OFFSETS)?;
    checked(
        symbol.py(),
        Orders::new(pair.as_deref(), venue.as_deref(), limit, offset),
    )
}

#[pyfunction]
pub(super) fn chart(symbol: &Bound<'_, PyAny>) -> PyResult<Question> {
    checked(
        symbol.py(),
        Chart::new(&text("symbol", symbol, || PAIR.to_owned())?),
    )
}

#[pyfunction]
pub(super) fn heatmap(
    symbol: &Bound<'_, PyAny>,
    range: &Bound<'_, PyAny>,
    model: &Bound<'_, PyAny>,
) -> PyResult<Question> {
    let coin = text("symbol", symbol, || COIN.to_owned())?;
    let range_ = text("range", range, HeatmapRange::spellings)?;
    checked(
        symbol.py(),
        Heatmap::new(&coin, &range_, whole("model", model, Heatmap::MODELS)?),
    )
}

#[pyfunction]
pub(super) fn liqmap(symbol: &Bound<'_, PyAny>, range: &Bound<'_, PyAny>) -> PyResult<Question> {
    let coin = text("symbol", symbol, || COIN.to_owned())?;
    checked(
        symbol.py(),
        Liqmap::new(&coin, &text("range", range, MapRange::spellings)?),
    )
}

#[pyfunction]
pub(super) fn levels(symbol: &Bound<'_, PyAny>) -> PyResult<Question> {
    checked(
        symbol.py(),
        Levels::new(&text("symbol", symbol, || COIN.to_owned())?),
    )
}

#[pyfunction]
pub(super) fn maxpain(symbol: &Bound<'_, PyAny>) -> PyResult<Question> {
    checked(
        symbol.py(),
        Maxpain::new(&text("symbol", symbol, || COIN.to_owned())?),
    )
}
