//! Arguments become a question, a question becomes an answer: the ten endpoints as one closed set.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

use super::arrays;
use super::columns::Columns;
use super::error::{Failure, bad_query};
use super::ground::{Ground, Told};
use super::reading::reading;
use super::rows::Table;
use super::specification::Specification;
use super::untaken::{UntakenArrivals, UntakenOrders};
use crate::api::{self, BadQuery, ENDPOINTS, EXTENSIONS, Endpoint, Entry, Parameter, Query};
use crate::client::{Beside, Client};
use crate::market::{Answer as _, Market};
use crate::model::{
    Chosen, Groups, HeatmapGrid, LiquidationMap, MaxPain, Millis, OrderColumns, TierLevels,
    TotalsByWindow, Vocabulary, Window,
};

/// A reply that has not met Python yet.
#[derive(Debug)]
pub(super) enum Answer {
    Overview(TotalsByWindow, Told),
    Rows(Columns, Told),
    Heatmap(HeatmapGrid, Ground),
    Liqmap(LiquidationMap, Ground),
    Levels(TierLevels, Ground),
    Maxpain(MaxPain, Ground),
    /// Orders of a walk, not taken yet, and whether it is told what they have in common.
    Walked(Arc<UntakenOrders>, bool),
    /// Orders of a stream, not taken yet.
    Arrivals(Arc<UntakenArrivals>),
}

impl Answer {
    /// Dicts, a [`Table`], or the fields of a grid; on the caller's own thread.
    pub(super) fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self {
            Self::Overview(reply, told) => {
                let windows = arrays::overview(py, &reply)?;
                if let Some(coverage) = told.coverage {
                    windows.set_item("coverage", Table::from(Columns::from(coverage)))?;
                }
                windows.into_any().unbind()
            }
            Self::Rows(columns, told) => Py::new(py, Table::telling(columns, told))?.into_any(),
            Self::Heatmap(reply, ground) => {
                arrays::heatmap(py, reply, &ground)?.into_any().unbind()
            }
            Self::Liqmap(reply, ground) => arrays::liqmap(py, reply, &ground)?.into_any().unbind(),
            Self::Levels(reply, ground) => arrays::levels(py, reply, &ground)?.into_any().unbind(),
            Self::Maxpain(reply, ground) => {
                arrays::maxpain(py, reply, &ground)?.into_any().unbind()
            }
            Self::Walked(untaken, groups) => {
                let columns = Columns::from(untaken.take()).grouped(groups);
                Py::new(py, Table::from(columns))?.into_any()
            }
            Self::Arrivals(untaken) => {
                let (rows, ids) = untaken.take();
                (Table::from(rows), ids).into_py_any(py)?
            }
        })
    }
}

/// A reply on its way to Python.
trait Delivered {
    fn into_answer(self, ground: Ground) -> Answer;
}

impl<R> Delivered for Vec<R>
where
    Columns: From<Self>,
{
    fn into_answer(self, _: Ground) -> Answer {
        Answer::Rows(self.into(), Told::default())
    }
}

impl Delivered for OrderColumns {
    fn into_answer(self, _: Ground) -> Answer {
        Answer::Rows(self.into(), Told::default())
    }
}

/// Replies that are objects, each with how it becomes an answer.
macro_rules! objects {
    ($($reply:ty => |$it:ident, $ground:pat_param| $answer:expr;)+) => {$(
        impl Delivered for $reply {
            fn into_answer(self, $ground: Ground) -> Answer {
                let $it = self;
                $answer
            }
        }
    )+};
}

objects! {
    TotalsByWindow => |reply, _| Answer::Overview(reply, Told::default());
    HeatmapGrid => |reply, ground| Answer::Heatmap(reply, ground);
    LiquidationMap => |reply, ground| Answer::Liqmap(reply, ground);
    TierLevels => |reply, ground| Answer::Levels(reply, ground);
    MaxPain => |reply, ground| Answer::Maxpain(reply, ground);
}

macro_rules! questions {
    ([$($_name:ident($of_contract:ident))+] [$($_beside:ident($beside:ident))*]) => {
        questions!($($of_contract)+ $($beside)*);
    };
    ($($endpoint:ident)+) => {
        #[derive(Clone, Debug)]
        enum Kind {
            $($endpoint(api::$endpoint),)+
        }

        impl Question {
            /// The question that `query` asks of `entry`.
            fn of(entry: &Entry, query: &Query) -> Result<Self, BadQuery> {
                let kind = match entry.name {
                    $(api::$endpoint::NAME => Kind::$endpoint(api::$endpoint::from_query(query)?),)+
                    name => return Err(BadQuery::new("endpoint", format!("there is no {name:?}"), "")),
                };
                Ok(Self { kind, beside: Beside::default() })
            }

            /// Asks a service.
            pub(super) async fn send(&self, client: &Client) -> Result<Answer, Failure> {
                match &self.kind {
                    $(Kind::$endpoint(query) => {
                        let covered = query.covered();
                        let beside = Beside {
                            preferred: covered.is_some() || query.leaves_out(),
                            ..self.beside
                        };
                        let (reply, mut remarks) = client.fetch_beside(query, beside).await?;
                        let told = Told {
                            // Of a stretch of its own a server tells that of a window, too.
                            coverage: remarks.coverage.take().filter(|_| covered.is_some()),
                            earlier: remarks.earlier.take(),
                        };
                        Ok(self.shaped(reply.into_answer(remarks.into()), told))
                    })+
                }
            }

            /// Asks a market in this process.
            pub(super) fn answer(&self, market: &Market, as_of: Option<Millis>) -> Result<Answer, Failure> {
                match &self.kind {
                    $(Kind::$endpoint(query) => {
                        let answered = market.answer(query, as_of)?;
                        let told = Told {
                            earlier: query.earlier(market, as_of, &answered.reply)?,
                            ..Told::default()
                        };
                        Ok(self.shaped(answered.reply.into_answer(answered.explain.into()), told))
                    })+
                }
            }

            /// An answer with the columns that the question asks for, and what is told beside it.
            fn shaped(&self, answer: Answer, told: Told) -> Answer {
                match (&self.kind, answer) {
                    (Kind::Orders(asked), Answer::Rows(columns, _)) => {
                        Answer::Rows(columns.grouped(asked.tells_groups()), told)
                    }
                    (_, Answer::Rows(columns, _)) => Answer::Rows(columns, told),
                    (_, Answer::Overview(totals, _)) => Answer::Overview(totals, told),
                    (_, answer) => answer,
                }
            }

            /// The window whose coverage belongs beside its numbers.
            fn window(&self) -> Option<Window> {
                match &self.kind {
                    $(Kind::$endpoint(query) => query.covered(),)+
                }
            }

            /// Asks a market in this process as of each of some instants, where one replay answers them all.
            pub(super) fn answers(
                &self,
                market: &Market,
                instants: &[Millis],
            ) -> Option<Vec<Result<Answer, Failure>>> {
                match &self.kind {
                    $(Kind::$endpoint(query) => {
                        let answers = market.answers(query, instants)?.into_iter();
                        let answers = answers.map(|answered| {
                            let answered = answered?;
                            Ok(answered.reply.into_answer(answered.explain.into()))
                        });
                        Some(answers.collect())
                    })+
                }
            }

            /// All there is to say of the endpoint.
            fn entry(&self) -> Entry {
                match &self.kind {
                    $(Kind::$endpoint(_) => api::$endpoint::ENTRY,)+
                }
            }

            /// The parameters as they are sent.
            fn parameters(&self) -> Vec<(&'static str, String)> {
                match &self.kind {
                    $(Kind::$endpoint(query) => query.to_query(),)+
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
                    $(api::$endpoint::NAME => {
                        let reply = reading::<api::$endpoint, <api::$endpoint as Endpoint>::Held>(body, pieces);
                        Some(reply.map(|reply| reply.into_answer(Ground::Untold)))
                    })+
                    _ => None,
                }
            }
        }
    };
}

/// A checked question: one endpoint with its parameters.
#[pyclass(frozen, module = "liqdata._core")]
#[derive(Clone, Debug)]
pub(super) struct Question {
    kind: Kind,
    /// What a service is asked beside it.
    beside: Beside,
}

api::endpoints!(questions);

impl Question {
    /// Whether its reply may be large, so that reading it takes longer than handing it from thread to thread.
    pub(super) fn is_large(&self) -> bool {
        self.entry().large
    }
}

#[pymethods]
impl Question {
    /// The same, asked of a service as of an instant, and for how the answer came to be.
    #[pyo3(signature = (as_of=None, explain=false))]
    fn beside(&self, as_of: Option<i64>, explain: bool) -> Self {
        let beside = Beside {
            as_of: as_of.map(Millis),
            explain,
            ..Beside::default()
        };
        Self {
            beside,
            ..self.clone()
        }
    }

    /// The window whose coverage belongs beside the numbers of its answer.
    #[getter]
    fn covered(&self) -> Option<&'static str> {
        self.window().map(Vocabulary::name)
    }

    fn __repr__(&self) -> String {
        let parameters: Vec<String> = self
            .parameters()
            .into_iter()
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        format!("Question({}({}))", self.entry().name, parameters.join(", "))
    }
}

/// A text argument.
fn text(
    name: &'static str,
    value: &Bound<'_, PyAny>,
    allowed: impl Fn() -> String,
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

/// A number; anything that is one counts, a bool or text does not.
fn number(
    name: &'static str,
    value: &Bound<'_, PyAny>,
    allowed: impl Fn() -> String,
) -> PyResult<f64> {
    let found = if value.is_instance_of::<PyBool>() {
        None
    } else {
        value.extract::<f64>().ok()
    };
    found.ok_or_else(|| wrong_type(name, value, "a number", allowed()))
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

/// What an argument for `parameter` says in a query string; nothing where it is `None` and may be.
fn spelled(parameter: &Parameter, value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let allowed = || {
        let allowed = parameter.allowed();
        if parameter.optional {
            format!("{allowed}, or None")
        } else {
            allowed
        }
    };
    if parameter.optional && value.is_none() {
        return Ok(None);
    }
    if parameter.name == "model"
        && let Ok(own) = value.cast::<Specification>()
    {
        return Ok(Some(own.get().coded()));
    }
    let spelled = if parameter.whole {
        whole(parameter.name, value, &parameter.allowed())?.to_string()
    } else if parameter.fraction {
        number(parameter.name, value, allowed)?.to_string()
    } else {
        text(parameter.name, value, allowed)?
    };
    Ok(Some(spelled))
}

/// The query that arguments make: each parameter of `entry` that `given` has, checked for its type.
fn query<'py>(
    py: Python<'py>,
    entry: &Entry,
    given: impl Fn(&'static str) -> PyResult<Option<Bound<'py, PyAny>>>,
) -> PyResult<Query> {
    let mut pairs = Vec::with_capacity(entry.parameters.len());
    let mut names = Vec::with_capacity(entry.parameters.len());
    for parameter in entry.parameters {
        names.push(parameter.name);
        if let Some(argument) = given(parameter.name)?
            && let Some(text) = spelled(parameter, &argument)?
        {
            pairs.push((parameter.name.to_owned(), text));
        }
    }
    Query::new(pairs, &names).map_err(|refusal| bad_query(py, &refusal))
}

/// The checked question of an endpoint; parameters that are left out take the contract's defaults.
#[pyfunction]
#[pyo3(signature = (endpoint, **parameters))]
pub(super) fn question(
    py: Python<'_>,
    endpoint: &str,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<Question> {
    let entry = ENDPOINTS
        .iter()
        .chain(EXTENSIONS)
        .find(|entry| entry.name == endpoint)
        .ok_or_else(|| PyTypeError::new_err(format!("there is no endpoint {endpoint:?}")))?;
    for name in parameters.into_iter().flat_map(PyDictMethods::keys) {
        let name: String = name.extract()?;
        if entry.parameters.iter().all(|known| known.name != name) {
            let message = format!("{endpoint} has no parameter {name:?}");
            return Err(PyTypeError::new_err(message));
        }
    }
    let query = query(py, entry, |name| {
        parameters.map_or(Ok(None), |given| given.get_item(name))
    })?;
    Question::of(entry, &query).map_err(|refusal| bad_query(py, &refusal))
}

/// The table of endpoints as JSON, as `/api` lists it: those of the contract, and those beside them.
#[pyfunction]
pub(super) fn endpoints() -> PyResult<String> {
    serde_json::to_string(&[ENDPOINTS, EXTENSIONS])
        .map_err(|failure| PyTypeError::new_err(failure.to_string()))
}

/// The model that an argument names: 2, 3 or a caller's own.
pub(super) fn chosen(model: &Bound<'_, PyAny>) -> PyResult<Chosen> {
    let query = query(model.py(), &api::Heatmap::ENTRY, |name| {
        Ok((name == "model").then(|| model.clone()))
    })?;
    let asked = api::Heatmap::from_query(&query).map_err(|fault| bad_query(model.py(), &fault))?;
    Ok(asked.model)
}

/// The orders of a feed that are wanted: those of a pair or a coin, of an exchange, of so many USD; `None` stands for all.
pub(super) fn orders(
    symbol: &Bound<'_, PyAny>,
    exchange: &Bound<'_, PyAny>,
    min_usd: &Bound<'_, PyAny>,
    groups: bool,
) -> PyResult<api::Orders> {
    let query = query(symbol.py(), &api::Orders::ENTRY, |name| {
        Ok(match name {
            "symbol" => Some(symbol.clone()),
            "exchange" => Some(exchange.clone()),
            "min_usd" => Some(min_usd.clone()),
            _ => None,
        })
    })?;
    let asked =
        api::Orders::from_query(&query).map_err(|refusal| bad_query(symbol.py(), &refusal))?;
    Ok(api::Orders {
        groups: groups.then_some(Groups::Told),
        ..asked
    })
}

/// The question for the orders as they arrive, which both a service and a market answer.
pub(super) fn stream(
    symbol: &Bound<'_, PyAny>,
    exchange: &Bound<'_, PyAny>,
    min_usd: &Bound<'_, PyAny>,
    last_event_id: &Bound<'_, PyAny>,
) -> PyResult<api::Stream> {
    let py = symbol.py();
    let query = query(py, &api::Stream::ENTRY, |name| {
        Ok(match name {
            "symbol" => Some(symbol.clone()),
            "exchange" => Some(exchange.clone()),
            "min_usd" => Some(min_usd.clone()),
            "last_event_id" => Some(last_event_id.clone()),
            _ => None,
        })
    })?;
    api::Stream::from_query(&query).map_err(|refusal| bad_query(py, &refusal))
}

/// The question for the cascades as they close.
pub(super) fn cascade_stream(
    symbol: &Bound<'_, PyAny>,
    gap: &Bound<'_, PyAny>,
    min_usd: &Bound<'_, PyAny>,
    last_event_id: &Bound<'_, PyAny>,
) -> PyResult<api::Stream> {
    let py = symbol.py();
    let events = PyString::new(py, api::Events::Cascades.name()).into_any();
    let query = query(py, &api::Stream::ENTRY, |name| {
        Ok(match name {
            "symbol" => Some(symbol.clone()),
            "events" => Some(events.clone()),
            "gap" => Some(gap.clone()),
            "min_usd" => Some(min_usd.clone()),
            "last_event_id" => Some(last_event_id.clone()),
            _ => None,
        })
    })?;
    api::Stream::from_query(&query).map_err(|refusal| bad_query(py, &refusal))
}

/// What a page of a walk may hold, as a sentence.
pub(super) const PAGE_SIZES: &str = "a whole number from 1 to 1000";
/// What a walk may be bounded by, as a sentence.
pub(super) const MAX_ROWS: &str = "a whole number from 1, or None";
