//! Converts the arguments of a Python call to a typed query, which a service or a market answers.

use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyInt, PyString};

use crate::client::{self, Client, ExtraParameters};
use crate::contract::decode::Decode;
use crate::contract::{
    self, ArgumentValue, Arguments, BadQuery, ENDPOINTS, EXTENSIONS, Endpoint as _, EndpointEntry,
    Members, Parameter,
};
use crate::market::{self, Market};
use crate::model::{
    Chosen, Groups, HeatmapGrid, LiquidationMap, MaxPain, Millis, OrderColumns, TierLevels,
    TotalsByWindow, VenueCoverage,
};
use crate::python::calls::reading::reading;
use crate::python::calls::specification::Specification;
use crate::python::error::{Failure, bad_query};
use crate::python::rows::columns::Columns;
use crate::python::rows::lazy_rows::{UntakenArrivals, UntakenOrders};
use crate::python::rows::provenance::{Provenance, RowRemarks};
use crate::python::rows::reply_object::{Naming, UnconvertedObject};
use crate::python::rows::rows::Table;

/// A decoded reply before its conversion to Python objects.
#[derive(Debug)]
pub(crate) enum UnconvertedReply {
    Object(UnconvertedObject),
    Rows(Columns, RowRemarks),
    /// Orders of a walk that the caller has not taken yet, and whether they include the group column.
    Walked(Arc<UntakenOrders>, bool),
    /// The body of a vendor's reply as it is.
    Document(client::Document),
    /// Features, with the units of their maps and the views of their models.
    Features(Columns, [Vec<String>; 2]),
    /// Rows of a stream that the caller has not taken yet.
    Arrivals(Arc<UntakenArrivals>),
}

impl UnconvertedReply {
    /// Converts the reply to an object, a [`Table`] or what the variant says. Runs on the caller's thread.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(match self {
            Self::Object(object) => Py::new(py, object.into_python(py)?)?.into_any(),
            Self::Rows(columns, row_remarks) => {
                Py::new(py, Table::telling(columns, row_remarks))?.into_any()
            }
            Self::Document(document) => {
                let body = PyBytes::new(py, &document.body);
                (document.status, document.headers, body).into_py_any(py)?
            }
            Self::Features(columns, [units, views]) => {
                (Table::from(columns), units, views).into_py_any(py)?
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

/// A reply that can be converted to Python objects.
trait Delivered {
    fn into_answer(self, provenance: Provenance) -> UnconvertedReply;
}

impl<R> Delivered for Vec<R>
where
    Columns: From<Self>,
{
    fn into_answer(self, _: Provenance) -> UnconvertedReply {
        UnconvertedReply::Rows(self.into(), RowRemarks::default())
    }
}

impl Delivered for OrderColumns {
    fn into_answer(self, _: Provenance) -> UnconvertedReply {
        UnconvertedReply::Rows(self.into(), RowRemarks::default())
    }
}

/// Implements [`Delivered`] for replies that are objects; says how their members are named.
macro_rules! objects {
    ($($reply:ty: $naming:ident;)+) => {$(
        impl Delivered for $reply {
            fn into_answer(mut self, provenance: Provenance) -> UnconvertedReply {
                UnconvertedReply::Object(UnconvertedObject {
                    members: Members::data(&mut self),
                    naming: Naming::$naming,
                    provenance,
                    remarks: RowRemarks::default(),
                })
            }
        }
    )+};
}

objects! {
    TotalsByWindow: Contract;
    HeatmapGrid: Fields;
    LiquidationMap: Fields;
    TierLevels: Contract;
    MaxPain: Contract;
}

/// A checked query of any endpoint.
pub(crate) trait Question: Debug + Send + Sync {
    /// The entry of the endpoint in the table of endpoints.
    fn entry(&self) -> EndpointEntry;

    /// The parameters as a query string spells them.
    fn parameters(&self) -> Vec<(&'static str, String)>;

    /// The coverage of the time that the reply is about. `None` if the reply has no coverage.
    fn coverage(
        &self,
        market: &Market,
        as_of: Option<Millis>,
    ) -> Result<Option<Vec<VenueCoverage>>, Failure>;

    /// Sends the query to a service over HTTP.
    fn send<'a>(
        &'a self,
        client: &'a Client,
        extra: ExtraParameters,
    ) -> BoxFuture<'a, Result<UnconvertedReply, Failure>>;

    /// Answers the query from a market in this process.
    fn answer(&self, market: &Market, as_of: Option<Millis>) -> Result<UnconvertedReply, Failure>;

    /// Answers the query as of each instant. `None` unless one pass over the data can answer all of them.
    fn answers(
        &self,
        market: &Market,
        instants: &[Millis],
    ) -> Option<Vec<Result<UnconvertedReply, Failure>>>;
}

impl<E> Question for E
where
    E: market::MarketQuery + client::DialectQuery,
    E::Reply: Delivered,
    E::Decoded: Delivered,
{
    fn entry(&self) -> EndpointEntry {
        E::ENTRY
    }

    fn parameters(&self) -> Vec<(&'static str, String)> {
        self.to_query()
    }

    fn coverage(
        &self,
        market: &Market,
        as_of: Option<Millis>,
    ) -> Result<Option<Vec<VenueCoverage>>, Failure> {
        Ok(market.coverage_of(self, as_of)?)
    }

    fn send<'a>(
        &'a self,
        client: &'a Client,
        extra: ExtraParameters,
    ) -> BoxFuture<'a, Result<UnconvertedReply, Failure>> {
        Box::pin(async move {
            let is_covered = self.covered().is_some() || self.covered_range(Millis(0)).is_some();
            let extra = ExtraParameters {
                preferred: self.period(Millis(0)).is_some() || self.leaves_out(),
                ..extra
            };
            let (reply, mut remarks) = client.fetch_with(self, extra).await?;
            let row_remarks = RowRemarks {
                // A service may add the coverage of a time range to any reply. If the query is not about such a
                // range, the coverage does not describe the reply and is dropped.
                coverage: remarks.coverage.take().filter(|_| is_covered),
                earlier: remarks.earlier.take(),
                time_unit: remarks.time_unit,
                period: remarks.period.take(),
                more: remarks.more,
            };
            let answer = reply.into_answer(remarks.into());
            Ok(answer.completed(self.group_column(), row_remarks))
        })
    }

    fn answer(&self, market: &Market, as_of: Option<Millis>) -> Result<UnconvertedReply, Failure> {
        let answered = market.answer(self, as_of)?;
        let row_remarks = RowRemarks {
            earlier: self.earlier(market, as_of, &answered.reply)?,
            period: market.covered(self, as_of)?,
            ..RowRemarks::default()
        };
        let answer = answered.reply.into_answer(answered.explain.into());
        Ok(answer.completed(self.group_column(), row_remarks))
    }

    fn answers(
        &self,
        market: &Market,
        instants: &[Millis],
    ) -> Option<Vec<Result<UnconvertedReply, Failure>>> {
        let answers = market.answers(self, instants)?.into_iter();
        let answers = answers.map(|answered| {
            let answered = answered?;
            Ok(answered.reply.into_answer(answered.explain.into()))
        });
        Some(answers.collect())
    }
}

/// Functions of one endpoint: one builds its query from arguments, the other decodes its reply.
struct Endpoint {
    ask: fn(&Arguments) -> Result<Arc<dyn Question>, BadQuery>,
    read: fn(&[u8], Option<usize>) -> Result<UnconvertedReply, Failure>,
}

impl Endpoint {
    fn of<E>() -> Self
    where
        E: market::MarketQuery + client::DialectQuery,
        E::Reply: Delivered,
        E::Decoded: Delivered + Decode,
    {
        Self {
            ask: |arguments| Ok(Arc::new(E::from_arguments(arguments)?)),
            read: |body, pieces| {
                let reply = reading::<E, E::Decoded>(body, pieces)?;
                Ok(reply.into_answer(Provenance::Unknown))
            },
        }
    }

    /// The endpoint of this name, if there is one.
    fn named(name: &str) -> Option<Self> {
        macro_rules! named {
            ([$($_name:ident($of_contract:ident))+] [$($_extra:ident($extra:ident))*]) => {
                match name {
                    $(<contract::$of_contract as contract::Endpoint>::NAME => Some(Self::of::<contract::$of_contract>()),)+
                    $(<contract::$extra as contract::Endpoint>::NAME => Some(Self::of::<contract::$extra>()),)*
                    _ => None,
                }
            };
        }
        contract::endpoints!(named)
    }
}

impl UnconvertedReply {
    /// Decodes a body as the reply of an endpoint. `None` if there is no such endpoint.
    pub(crate) fn read(
        endpoint: &str,
        body: &[u8],
        pieces: Option<usize>,
    ) -> Option<Result<Self, Failure>> {
        let endpoint = Endpoint::named(endpoint)?;
        Some((endpoint.read)(body, pieces))
    }

    /// Adds remarks to the reply. `groups` says whether orders have the group column; `None` leaves the columns
    /// unchanged.
    fn completed(self, groups: Option<bool>, row_remarks: RowRemarks) -> Self {
        match self {
            Self::Rows(columns, _) => Self::Rows(
                match groups {
                    Some(wanted) => columns.grouped(wanted),
                    None => columns,
                },
                row_remarks,
            ),
            Self::Object(object) => Self::Object(UnconvertedObject {
                remarks: row_remarks,
                ..object
            }),
            other => other,
        }
    }
}

/// A query with the additional parameters for a service.
#[pyclass(frozen, name = "Question", module = "liqdata._core")]
#[derive(Clone, Debug)]
pub(crate) struct AskedQuestion {
    question: Arc<dyn Question>,
    extra: ExtraParameters,
}

impl AskedQuestion {
    /// Whether the reply may be so large that a thread pool should decode it.
    pub(crate) fn is_large(&self) -> bool {
        self.question.entry().large
    }

    /// Sends the query to a service over HTTP.
    pub(crate) async fn send(&self, client: &Client) -> Result<UnconvertedReply, Failure> {
        self.question.send(client, self.extra).await
    }

    /// The coverage of the time that the reply is about.
    pub(crate) fn coverage(
        &self,
        market: &Market,
        as_of: Option<Millis>,
    ) -> Result<Option<Vec<VenueCoverage>>, Failure> {
        self.question.coverage(market, as_of)
    }

    /// Answers the query from a market in this process.
    pub(crate) fn answer(
        &self,
        market: &Market,
        as_of: Option<Millis>,
    ) -> Result<UnconvertedReply, Failure> {
        self.question.answer(market, as_of)
    }

    /// Answers the query as of each instant. `None` unless one pass over the data can answer all of them.
    pub(crate) fn answers(
        &self,
        market: &Market,
        instants: &[Millis],
    ) -> Option<Vec<Result<UnconvertedReply, Failure>>> {
        self.question.answers(market, instants)
    }
}

#[pymethods]
impl AskedQuestion {
    /// Returns a copy of this query with additional parameters for a service: the instant of the answer (`as_of`), and
    /// whether to request an explanation (`explain`).
    #[pyo3(signature = (as_of=None, explain=false))]
    fn with_extra(&self, as_of: Option<i64>, explain: bool) -> Self {
        let extra = ExtraParameters {
            as_of: as_of.map(Millis),
            explain,
            ..ExtraParameters::default()
        };
        Self {
            extra,
            ..self.clone()
        }
    }

    fn __repr__(&self) -> String {
        let parameters = self.question.parameters().into_iter();
        let parameters: Vec<String> = parameters
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        let name = self.question.entry().name;
        format!("Question({name}({}))", parameters.join(", "))
    }
}

/// Checks a text argument.
fn text(
    name: &'static str,
    value: &Bound<'_, PyAny>,
    allowed: impl Fn() -> String,
) -> PyResult<String> {
    let Ok(text) = value.cast::<PyString>() else {
        return Err(wrong_type(name, value, "text", allowed()));
    };
    // Only text with lone surrogates cannot be converted from Python.
    text.extract().map_err(|_| {
        let refusal = BadQuery::new(name, "the text is not Unicode", allowed());
        bad_query(value.py(), &refusal)
    })
}

/// Checks a whole-number argument: an object with `__index__`, except a bool.
pub(crate) fn whole(name: &'static str, value: &Bound<'_, PyAny>, allowed: &str) -> PyResult<i128> {
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

/// Checks a number argument, which must not be a bool or text.
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
    let text = value.repr().map_or_else(
        |_| "the value".to_owned(),
        |text| shorten(&text.to_string_lossy()),
    );
    let kind = value.get_type().name().map_or_else(
        |_| "object".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    bad_query(
        value.py(),
        &BadQuery::new(
            name,
            format!("{text} is of type {kind}, not {wanted}"),
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

/// Checks the type of an argument. Returns `None` if the parameter is optional and the value is `None`.
fn argument(parameter: &Parameter, value: &Bound<'_, PyAny>) -> PyResult<Option<ArgumentValue>> {
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
        return Ok(Some(ArgumentValue::Model(Box::new(
            own.get().own().clone(),
        ))));
    }
    Ok(Some(if parameter.whole {
        ArgumentValue::Whole(whole(parameter.name, value, &parameter.allowed())?)
    } else if parameter.fraction {
        ArgumentValue::Fraction(number(parameter.name, value, allowed)?)
    } else {
        ArgumentValue::Text(text(parameter.name, value, allowed)?)
    }))
}

/// Checks the arguments of the endpoint `entry`. `given` returns the value of a keyword.
fn arguments<'py>(
    py: Python<'py>,
    entry: &EndpointEntry,
    given: impl Fn(&'static str) -> PyResult<Option<Bound<'py, PyAny>>>,
) -> PyResult<Arguments> {
    let mut pairs = Vec::with_capacity(entry.parameters.len());
    let mut names = Vec::with_capacity(entry.parameters.len());
    for parameter in entry.parameters {
        names.push(parameter.name);
        if let Some(value) = given(parameter.name)?
            && let Some(argument) = argument(parameter, &value)?
        {
            pairs.push((parameter.name.to_owned(), argument));
        }
    }
    Arguments::new(pairs, &names).map_err(|refusal| bad_query(py, &refusal))
}

/// Creates the checked query of an endpoint. Omitted parameters have the defaults of the HTTP API.
#[pyfunction]
#[pyo3(signature = (endpoint, **parameters))]
pub(crate) fn question(
    py: Python<'_>,
    endpoint: &str,
    parameters: Option<&Bound<'_, PyDict>>,
) -> PyResult<AskedQuestion> {
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
    let arguments = arguments(py, entry, |name| {
        parameters.map_or(Ok(None), |given| given.get_item(name))
    })?;
    let question = match Endpoint::named(entry.name) {
        Some(endpoint) => (endpoint.ask)(&arguments),
        None => Err(BadQuery::new(
            "endpoint",
            format!("there is no {endpoint:?}"),
            "",
        )),
    };
    let question = question.map_err(|refusal| bad_query(py, &refusal))?;
    Ok(AskedQuestion {
        question,
        extra: ExtraParameters::default(),
    })
}

/// Returns the table of endpoints and extensions as JSON, in the form that `/api` uses.
#[pyfunction]
pub(crate) fn endpoints() -> PyResult<String> {
    serde_json::to_string(&[ENDPOINTS, EXTENSIONS])
        .map_err(|failure| PyTypeError::new_err(failure.to_string()))
}

/// Returns the `OpenAPI` document of a service without a token, as JSON.
#[pyfunction]
pub(crate) fn openapi() -> String {
    contract::openapi(env!("CARGO_PKG_VERSION"), ENDPOINTS, EXTENSIONS, false).to_string()
}

/// Checks the model argument of an estimate: 2, 3 or a custom model.
pub(crate) fn chosen(model: &Bound<'_, PyAny>) -> PyResult<Chosen> {
    let arguments = arguments(model.py(), &contract::Heatmap::ENTRY, |name| {
        Ok((name == "model").then(|| model.clone()))
    })?;
    let asked = contract::Heatmap::from_arguments(&arguments)
        .map_err(|fault| bad_query(model.py(), &fault))?;
    Ok(asked.model)
}

/// Creates an order query for a walk, filtered by pair or coin, exchange and USD. `None` means no filter.
pub(crate) fn orders(
    symbol: &Bound<'_, PyAny>,
    exchange: &Bound<'_, PyAny>,
    min_usd: &Bound<'_, PyAny>,
    groups: bool,
) -> PyResult<contract::Orders> {
    let arguments = arguments(symbol.py(), &contract::Orders::ENTRY, |name| {
        Ok(match name {
            "symbol" => Some(symbol.clone()),
            "exchange" => Some(exchange.clone()),
            "min_usd" => Some(min_usd.clone()),
            _ => None,
        })
    })?;
    let asked = contract::Orders::from_arguments(&arguments)
        .map_err(|refusal| bad_query(symbol.py(), &refusal))?;
    Ok(contract::Orders {
        groups: groups.then_some(Groups::Included),
        ..asked
    })
}

/// Creates the query for features from its parameters.
pub(crate) fn features(parameters: &Bound<'_, PyDict>) -> PyResult<contract::Features> {
    let py = parameters.py();
    let arguments = arguments(py, &contract::Features::ENTRY, |name| {
        parameters.get_item(name)
    })?;
    contract::Features::from_arguments(&arguments).map_err(|refusal| bad_query(py, &refusal))
}

/// Returns the length in bytes of the query string of a request for features.
#[pyfunction]
pub(crate) fn feature_query_length(parameters: &Bound<'_, PyDict>) -> PyResult<usize> {
    let pairs = features(parameters)?.to_query();
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    Ok(query.extend_pairs(pairs).finish().len())
}

/// Returns the names of the columns of features.
#[pyfunction]
pub(crate) fn feature_columns(windows: Vec<String>, moves: Vec<f64>, opens: bool) -> Vec<String> {
    let windows = windows.into_iter().map(|name| (name, 0)).collect();
    let columns = contract::FeatureColumns {
        windows,
        moves,
        wanted: None,
    };
    columns.names(opens)
}

/// Creates the query for the order stream of a service or market.
pub(crate) fn stream(
    symbol: &Bound<'_, PyAny>,
    exchange: &Bound<'_, PyAny>,
    min_usd: &Bound<'_, PyAny>,
    last_event_id: &Bound<'_, PyAny>,
) -> PyResult<contract::Stream> {
    let py = symbol.py();
    let arguments = arguments(py, &contract::Stream::ENTRY, |name| {
        Ok(match name {
            "symbol" => Some(symbol.clone()),
            "exchange" => Some(exchange.clone()),
            "min_usd" => Some(min_usd.clone()),
            "last_event_id" => Some(last_event_id.clone()),
            _ => None,
        })
    })?;
    contract::Stream::from_arguments(&arguments).map_err(|refusal| bad_query(py, &refusal))
}

/// Creates the query for the cascade stream of a service or market.
pub(crate) fn cascade_stream(
    symbol: &Bound<'_, PyAny>,
    gap: &Bound<'_, PyAny>,
    min_usd: &Bound<'_, PyAny>,
    last_event_id: &Bound<'_, PyAny>,
) -> PyResult<contract::Stream> {
    let py = symbol.py();
    let events = PyString::new(py, &contract::StreamEvents::CASCADES.to_string()).into_any();
    let arguments = arguments(py, &contract::Stream::ENTRY, |name| {
        Ok(match name {
            "symbol" => Some(symbol.clone()),
            "events" => Some(events.clone()),
            "gap" => Some(gap.clone()),
            "min_usd" => Some(min_usd.clone()),
            "last_event_id" => Some(last_event_id.clone()),
            _ => None,
        })
    })?;
    contract::Stream::from_arguments(&arguments).map_err(|refusal| bad_query(py, &refusal))
}

/// The allowed page sizes of a walk, for messages.
pub(crate) const PAGE_SIZES: &str = "a whole number from 1 to 1000";
/// The allowed row limits of a walk, for messages.
pub(crate) const MAX_ROWS: &str = "a whole number from 1, or None";
