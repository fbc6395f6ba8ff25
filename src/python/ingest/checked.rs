//! What tables of the past have to be before anything of them is kept: whose they are, and how long their bars. A table that
//! comes part by part is looked over part by part.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::api::BadQuery;
use crate::archive::GivenOrders;
use crate::collect::{ExchangeAttribution, UnknownExchange};
use crate::model::{Labels, Millis};
use crate::python::error;
use crate::python::ingest::by_column;
use crate::python::ingest::by_column::{GivenBars, GivenInterest};
use crate::python::ingest::parts::{Given, TablePart, days};
use crate::python::ingest::tables::{Reader, unit_of};
use crate::python::runtime::imports;

/// The exchanges that the rows may have; `exchange` is one of them.
pub(crate) fn whose(
    py: Python<'_>,
    path: &Path,
    exchange: Option<&str>,
    new_exchange: bool,
) -> PyResult<ExchangeAttribution> {
    let mut whose = ExchangeAttribution::of(path, new_exchange);
    if let Some(name) = exchange {
        let unknown = whose.unknown(name);
        if let Some(unknown) = unknown.map_err(|fault| error::archive(py, &fault))? {
            return Err(unknown_exchange(py, &unknown));
        }
    }
    Ok(whose)
}

pub(crate) fn unknown_exchange(py: Python<'_>, unknown: &UnknownExchange) -> PyErr {
    error::bad_query_said(py, "exchange", &format!("exchange: {unknown}"))
}

/// Refuses a table with a row whose exchange is none that is known.
pub(crate) fn check_exchanges(
    reader: &Reader<'_>,
    names: &Labels,
    known: &mut ExchangeAttribution,
) -> PyResult<()> {
    let first = known
        .first_unknown(names)
        .map_err(|fault| error::archive(reader.py, &fault))?;
    first.map_or(Ok(()), |(row, unknown)| {
        Err(reader.fault("exchange", row, unknown.to_string()))
    })
}

/// Orders whose exchanges are known; those that do not say whose they are are `exchange`'s.
pub(crate) fn orders(
    reader: &Reader<'_>,
    exchange: Option<&str>,
    known: &mut ExchangeAttribution,
) -> PyResult<GivenOrders> {
    let mut given = by_column::orders(reader, exchange.is_some())?;
    check_exchanges(reader, &given.exchange, known)?;
    if given.exchange.names().iter().any(String::is_empty) {
        let whose = exchange.ok_or_else(|| nobody(reader.py, "orders"))?;
        let names = given.exchange.iter();
        let names = names.map(|name| if name.is_empty() { whose } else { name });
        given.exchange = names.collect();
    }
    Ok(given)
}

/// Bars whose exchanges are known.
pub(crate) fn bars(reader: &Reader<'_>, known: &mut ExchangeAttribution) -> PyResult<GivenBars> {
    let given = by_column::bars(reader)?;
    if let Some(names) = &given.exchange {
        check_exchanges(reader, names, known)?;
    }
    Ok(given)
}

/// Readings in coins whose exchanges are known.
fn open_interest(reader: &Reader<'_>, known: &mut ExchangeAttribution) -> PyResult<GivenInterest> {
    let given = by_column::open_interest(reader)?;
    check_exchanges(reader, &given.exchange, known)?;
    Ok(given)
}

/// Refuses a table of nobody's rows.
pub(crate) fn nobody(py: Python<'_>, table: &'static str) -> PyErr {
    let message = "nothing says whose the rows are";
    let allowed = "a column \"exchange\", or exchange= for all of them";
    error::bad_query(py, &BadQuery::new(table, message, allowed))
}

/// How long bars are that do not say so: the least time between two of a series, of all of them.
#[derive(Default)]
pub(crate) struct Lengths {
    /// Exchanges and symbols, and when the last bar of each opened.
    series: HashMap<(String, String), usize>,
    latest: Vec<Millis>,
    least: Option<i64>,
    /// Whether there are bars that do not say it.
    are_missing: bool,
}

impl Lengths {
    /// Takes note of bars.
    pub(crate) fn add(&mut self, bars: &GivenBars) {
        self.are_missing |= bars.interval.iter().any(Option::is_none);
        let mut known: HashMap<(u32, u32), usize> = HashMap::new();
        let mut met: Option<((u32, u32), usize)> = None;
        for (row, at) in bars.timestamp.iter().enumerate() {
            let code = |names: &Labels| names.codes().get(row).copied();
            let exchange = bars.exchange.as_ref().and_then(code);
            let codes = (
                exchange.unwrap_or(u32::MAX),
                code(&bars.symbol).unwrap_or(u32::MAX),
            );
            // Bars of a series stand together, most of them.
            let before = met.filter(|(before, _)| *before == codes);
            let of_codes = || {
                *known.entry(codes).or_insert_with(|| {
                    let exchange = bars.exchange.as_ref().and_then(|names| names.get(row));
                    let names = (
                        exchange.unwrap_or_default(),
                        bars.symbol.get(row).unwrap_or_default(),
                    );
                    let count = self.series.len();
                    *self
                        .series
                        .entry((names.0.to_owned(), names.1.to_owned()))
                        .or_insert(count)
                })
            };
            let series = before.map_or_else(of_codes, |(_, series)| series);
            met = Some((codes, series));
            match self.latest.get_mut(series) {
                Some(before) => {
                    let apart = i64::try_from(at.0.abs_diff(before.0)).unwrap_or(i64::MAX);
                    if apart > 0 {
                        self.least = Some(self.least.map_or(apart, |least| least.min(apart)));
                    }
                    *before = *at;
                }
                None => self.latest.push(*at),
            }
        }
    }

    /// How long those are that do not say it; none where all do.
    pub(crate) fn of_all(&self) -> Result<Option<i64>, BadQuery> {
        if !self.are_missing {
            return Ok(None);
        }
        let whole = |least: &i64| least % Millis::MINUTE == 0 && Millis::DAY % least == 0;
        if let Some(interval) = self.least.filter(whole) {
            return Ok(Some(interval));
        }
        let message = "column \"interval\" is missing, and the bars do not say how long they are";
        let allowed = "a column \"interval\" of lengths such as \"5m\"";
        Err(BadQuery::new("bars", message, allowed))
    }
}

/// The kinds of tables that may come part by part.
#[derive(Clone, Copy)]
enum Kind {
    Orders,
    Bars,
    OpenInterest,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Orders, Self::Bars, Self::OpenInterest];

    fn name(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Bars => "bars",
            Self::OpenInterest => "open_interest",
        }
    }
}

/// Looks over a table that comes part by part.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct TableCheck {
    kind: Kind,
    /// The exchange of rows without one.
    exchange: Option<String>,
    known: Mutex<(ExchangeAttribution, Lengths)>,
}

#[pymethods]
impl TableCheck {
    #[new]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "arguments from Python come by value"
    )]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        kind: &str,
        exchange: Option<&str>,
        new_exchange: bool,
    ) -> PyResult<Self> {
        let known = Kind::ALL.into_iter().find(|known| known.name() == kind);
        let kind = known.ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            let message = format!("{kind:?} is not allowed");
            error::bad_query(py, &BadQuery::new("kind", message, names))
        })?;
        Ok(Self {
            kind,
            exchange: exchange.map(str::to_owned),
            known: Mutex::new((
                whose(py, &path, exchange, new_exchange)?,
                Lengths::default(),
            )),
        })
    }

    /// Refuses a part with a row that cannot be read, by its number among `numbers`; else gives the day of each row.
    fn add<'py>(
        &self,
        py: Python<'py>,
        part: &Bound<'py, PyAny>,
        numbers: &Bound<'py, PyArray1<i64>>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let given = self.given(&self.reader(part, numbers)?.looked_over())?;
        Ok(days(py, given.timestamps()))
    }

    /// As `add`, and gives what was read.
    fn read(
        &self,
        part: &Bound<'_, PyAny>,
        numbers: &Bound<'_, PyArray1<i64>>,
    ) -> PyResult<TablePart> {
        let given = self.given(&self.reader(part, numbers)?)?;
        Ok(TablePart::of(given))
    }

    /// How long the bars are that do not say it; none where all do.
    fn length(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let length = known.1.of_all();
        length.map_err(|unknown| error::bad_query(py, &unknown))
    }
}

impl TableCheck {
    fn reader<'py>(
        &self,
        part: &Bound<'py, PyAny>,
        numbers: &Bound<'py, PyArray1<i64>>,
    ) -> PyResult<Reader<'py>> {
        imports::numpy(part.py())?;
        let numbers = numbers.readonly();
        let numbers = numbers.as_array();
        let numbers = numbers
            .iter()
            .map(|number| usize::try_from(*number).unwrap_or_default());
        Ok(Reader::new(self.kind.name(), part)?.numbered(numbers.collect()))
    }

    /// The columns of a part, which is looked over.
    fn given(&self, reader: &Reader<'_>) -> PyResult<Given> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (whose, lengths) = &mut *known;
        let exchange = self.exchange.as_deref();
        Ok(match self.kind {
            Kind::Orders => Given::Orders(orders(reader, exchange, whose)?),
            Kind::Bars => {
                let given = bars(reader, whose)?;
                if given.exchange.is_none() && exchange.is_none() {
                    return Err(nobody(reader.py, self.kind.name()));
                }
                lengths.add(&given);
                Given::Bars(given)
            }
            Kind::OpenInterest => {
                unit_of(reader)?;
                let given = open_interest(reader, whose)?;
                if exchange.is_none() && given.exchange.iter().any(str::is_empty) {
                    return Err(nobody(reader.py, self.kind.name()));
                }
                Given::OpenInterest(given)
            }
        })
    }
}
