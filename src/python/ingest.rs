//! Bringing files and tables of the past into an archive, from Python.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::archive::{bar_row, order_row, reading_row};
use super::{error, logs, tables};
use crate::api::BadQuery;
use crate::archive::{Archive, ArchiveError, Batch, Filter, OrderRow, PositionRow};
use crate::collect::{
    Contract, Files, Finished, IngestError, Ingested, Refused, UnclearPosition, ingest,
    ingest_rows, snapshots,
};
use crate::engine::{InterestUnit, in_base_units};
use crate::feeds::dumps::Format;
use crate::model::{
    Millis, ObservedBar, ObservedOrder, ObservedPosition, Order, Symbol, Vocabulary, exchange_name,
    nearest_f64, push_decimal,
};

/// The formats of files, by name.
#[pyfunction]
pub(super) fn formats() -> Vec<&'static str> {
    Format::ALL.iter().map(|format| format.name()).collect()
}

/// Brings files into the archive in the folder `path`, whose bars and readings are of `contracts`; `seen` is told how many rows have
/// been read, and `kept` of each file that is kept to its end: its path, and what [`told`] tells.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value, one by one"
)]
pub(super) fn ingest_files<'py>(
    py: Python<'py>,
    path: PathBuf,
    files: Vec<PathBuf>,
    format: Option<&str>,
    exchange: Option<String>,
    contracts: Vec<[String; 4]>,
    seen: Py<PyAny>,
    kept: Py<PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let format = format.map(|name| format_of(py, name)).transpose()?;
    let files = Files {
        paths: files,
        format,
        exchange,
        contracts: contracts.into_iter().map(contract).collect(),
    };
    let failed = Mutex::new(None);
    let is_well = || failed.lock().is_ok_and(|failed| failed.is_none());
    let mut finished = |file: Finished| {
        let kept = Python::attach(|py| {
            let path = file.path.clone();
            kept.call1(py, (path, told(py, Some(file.into()))?))
                .map(drop)
        });
        if let (Err(raised), Ok(mut failed)) = (kept, failed.lock()) {
            failed.get_or_insert(raised);
        }
    };
    let done = watched(py, seen, |goes_on| {
        let goes_on = &mut |rows| goes_on(rows) && is_well();
        ingest(&path, &files, goes_on, &mut finished)
    })?;
    if let Some(raised) = failed.into_inner().unwrap_or_default() {
        return Err(raised);
    }
    told(py, done.map_err(|fault| fault_of(py, &fault))?)
}

/// Brings tables into the archive in the folder `path`; otherwise as [`ingest_files`]. Bars and readings without an exchange
/// are `exchange`'s.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "arguments from Python come one by one"
)]
pub(super) fn ingest_tables<'py>(
    py: Python<'py>,
    path: PathBuf,
    orders: &Bound<'py, PyAny>,
    bars: &Bound<'py, PyAny>,
    open_interest: &Bound<'py, PyAny>,
    positions: &Bound<'py, PyAny>,
    exchange: Option<&str>,
    seen: Py<PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut rows = batch(py, &path, (orders, bars, open_interest), exchange)?;
    let given = tables::positions(positions)?;
    let (kept, refused) = py
        .detach(|| snapshots_of(&path, given, exchange))
        .map_err(|fault| match fault {
            Fault::Archive(fault) => error::archive(py, &fault),
            Fault::Row(fault) => tables::fault_of(py, "positions", fault),
        })?;
    rows.positions = kept;
    let done = watched(py, seen, move |goes_on| ingest_rows(&path, rows, goes_on))?;
    let mut done = done.map_err(|fault| error::archive(py, &fault))?;
    if let Some(done) = &mut done {
        done.rows += refused.iter().map(|one| one.count).sum::<u64>();
        done.refused.extend(refused);
    }
    told(py, done)
}

/// Why positions are not taken.
enum Fault {
    Archive(ArchiveError),
    Row(UnclearPosition),
}

/// The positions of a table as they are kept, held against the archive's prices.
fn snapshots_of(
    path: &Path,
    given: Vec<ObservedPosition>,
    exchange: Option<&str>,
) -> Result<(Vec<PositionRow>, Vec<Refused>), Fault> {
    let archive = if given.is_empty() || !path.join("journal.sqlite").exists() {
        None
    } else {
        Some(Archive::read(path).map_err(Fault::Archive)?)
    };
    let mut failed = None;
    let mut price_at = |coin: &str, at: Millis| {
        let filter = Filter {
            start: Some(at.back(PRICED)),
            as_of: Some(at),
            coin: Some(coin.to_owned()),
            ..Filter::default()
        };
        match archive.as_ref()?.last_bar(&filter) {
            Ok(bar) => bar.map(|bar| nearest_f64(bar.close)),
            Err(fault) => {
                failed.get_or_insert(fault);
                None
            }
        }
    };
    let made = snapshots(given, exchange, &mut price_at).map_err(Fault::Row)?;
    failed.map_or(Ok(made), |fault| Err(Fault::Archive(fault)))
}

/// How old a bar may be that tells the price of a snapshot, in milliseconds.
const PRICED: i64 = 2 * Millis::HOUR;

fn contract([table, exchange, coin, contract]: [String; 4]) -> Contract {
    Contract {
        table,
        exchange,
        coin,
        contract,
    }
}

fn format_of(py: Python<'_>, name: &str) -> PyResult<Format> {
    Format::parse(name).ok_or_else(|| {
        let message = format!("{name:?} is not allowed");
        error::bad_query(py, &BadQuery::new("format", message, Format::spellings()))
    })
}

fn fault_of(py: Python<'_>, fault: &IngestError) -> PyErr {
    match fault {
        IngestError::Archive(fault) => error::archive(py, fault),
        IngestError::Unclear(_) | IngestError::Unopened(_) => {
            error::bad_query_said(py, "files", &format!("files: {fault}"))
        }
    }
}

/// What `work` does without the interpreter, while `seen` is told of it and signals are looked for.
fn watched<T: Send>(
    py: Python<'_>,
    seen: Py<PyAny>,
    work: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> T + Send,
) -> PyResult<T> {
    let (done, raised) = py.detach(move || {
        let mut raised = None;
        let done = work(&mut |rows| {
            let went_on = Python::attach(|py| {
                py.check_signals()?;
                seen.call1(py, (rows,)).map(drop)
            });
            raised = went_on.err();
            raised.is_none()
        });
        (done, raised)
    });
    logs::deliver(py)?;
    raised.map_or(Ok(done), Err)
}

fn told(py: Python<'_>, done: Option<Ingested>) -> PyResult<Bound<'_, PyDict>> {
    let done = done.unwrap_or_default();
    let told = PyDict::new(py);
    told.set_item("rows", done.rows)?;
    told.set_item("new", done.new)?;
    told.set_item("repeated", done.repeated)?;
    let refused = done.refused.into_iter();
    let refused: Vec<(String, u64, String, String)> = refused
        .map(|one| (one.reason, one.count, one.place, one.shown))
        .collect();
    told.set_item("refused", refused)?;
    let files: Vec<(String, &str)> = (done.files.into_iter())
        .map(|(file, format)| (file, format.name()))
        .collect();
    told.set_item("files", files)?;
    let contracts = done.contracts.into_iter();
    let contracts: Vec<[String; 4]> = contracts
        .map(|one| [one.table, one.exchange, one.coin, one.contract])
        .collect();
    told.set_item("contracts", contracts)?;
    Ok(told)
}

/// The rows that an archive keeps of tables.
fn batch(
    py: Python<'_>,
    path: &Path,
    (orders, bars, open_interest): (&Bound<'_, PyAny>, &Bound<'_, PyAny>, &Bound<'_, PyAny>),
    exchange: Option<&str>,
) -> PyResult<Batch> {
    let of_bars = tables::exchanges("bars", bars)?;
    let orders = tables::orders(orders, None)?;
    let bars = sized(py, tables::bars(bars, None)?, of_bars.as_deref())?;
    let (open_interest, unit) = tables::open_interest(open_interest, None)?;
    let nobody = |table: &'static str| {
        let message = "nothing says whose the rows are";
        let allowed = "a column \"exchange\", or exchange= for all of them";
        error::bad_query(py, &BadQuery::new(table, message, allowed))
    };
    let whose = exchange.map(exchange_name);
    if !bars.is_empty() && of_bars.is_none() && whose.is_none() {
        return Err(nobody("bars"));
    }
    if whose.is_none() && open_interest.iter().any(|row| row.exchange.is_none()) {
        return Err(nobody("open_interest"));
    }
    let coin = |symbol: &str| {
        Symbol::read(symbol).map_or_else(|| symbol.to_owned(), |read| read.coin().to_owned())
    };
    let open_interest = if unit == InterestUnit::Usd {
        let own = bars.iter().enumerate().map(|(place, bar)| {
            let exchange = of_bars.as_ref().and_then(|names| names.get(place));
            (exchange.cloned().unwrap_or_default(), bar.clone())
        });
        let mut prices = one_series(own.collect());
        if prices.is_empty() && path.join("journal.sqlite").exists() {
            prices = py
                .detach(|| known_prices(path))
                .map_err(|fault| error::archive(py, &fault))?;
        }
        in_base_units(open_interest, unit, prices).map_err(|fault| error::bad_table(py, &fault))?
    } else {
        open_interest
    };
    let mut keyed = Keyed::default();
    let orders = orders.into_iter().map(|row| keyed.row(row));
    let orders = orders.collect();
    let (mut coins, mut exchanges) = (Spelled::default(), Spelled::default());
    let mut names = of_bars.unwrap_or_default().into_iter();
    let bars = bars.into_iter().map(|mut row| {
        row.symbol = coins.by(row.symbol, coin);
        let own = names.next().map(|name| exchanges.by(name, exchange_name));
        let name = own.or_else(|| whose.clone()).unwrap_or_default();
        bar_row(row, &name)
    });
    let bars = bars.collect();
    let open_interest = open_interest.into_iter().map(|mut row| {
        row.symbol = coins.by(row.symbol, coin);
        row.exchange = row.exchange.map(|name| exchanges.by(name, exchange_name));
        reading_row(row, whose.as_deref().unwrap_or_default())
    });
    Ok(Batch {
        orders,
        bars,
        open_interest: open_interest.collect(),
        ..Batch::default()
    })
}

/// Rows of orders on their way to their keys.
#[derive(Default)]
struct Keyed {
    /// How often an order stood in the table so far, by its exchange and key.
    times: HashMap<String, u32>,
    /// What is known of a pair as the table spells it: its name and its coin.
    pairs: HashMap<String, Option<(String, String)>>,
    exchanges: Spelled,
}

/// Names in our spelling, each looked up once while it is met again and again.
#[derive(Default)]
struct Spelled(HashMap<String, String>);

impl Spelled {
    fn by(&mut self, name: String, spell: impl FnOnce(&str) -> String) -> String {
        if let Some(known) = self.0.get(&name) {
            return known.clone();
        }
        let spelled = spell(&name);
        self.0.insert(name, spelled.clone());
        spelled
    }
}

impl Keyed {
    /// An order as it is kept. Two equal rows are two orders: nothing says that one of them stands twice.
    fn row(&mut self, mut row: ObservedOrder) -> OrderRow {
        let exchange = std::mem::take(&mut row.order.exchange);
        row.order.exchange = self.exchanges.by(exchange, exchange_name);
        let Order {
            exchange,
            symbol,
            side,
            price,
            qty,
            timestamp,
            ..
        } = &row.order;
        let (qty, price) = (qty.normalize(), price.normalize());
        let of_exchange = exchange.len() + 1;
        let mut key = String::with_capacity(96);
        // Nothing is refused by a text.
        let _ = write!(
            key,
            "{exchange}|file|{symbol}|{}|{}|",
            side.name(),
            timestamp.0
        );
        push_decimal(&mut key, qty);
        key.push('|');
        push_decimal(&mut key, price);
        let times = match self.times.get_mut(&key) {
            Some(times) => {
                *times += 1;
                *times
            }
            None => *self.times.entry(key.clone()).or_insert(1),
        };
        key.drain(..of_exchange);
        if times > 1 {
            let _ = write!(key, "|{times}");
        }
        if !self.pairs.contains_key(symbol) {
            let named = Symbol::read(symbol);
            let named = named.map(|named| (named.name().to_owned(), named.coin().to_owned()));
            self.pairs.insert(symbol.clone(), named);
        }
        if let Some(Some((name, coin))) = self.pairs.get(symbol) {
            row.coin.get_or_insert_with(|| coin.clone());
            row.order.symbol.clone_from(name);
        }
        order_row(row, key)
    }
}

/// The bars of an archive, as prices.
fn known_prices(path: &Path) -> Result<Vec<ObservedBar>, ArchiveError> {
    let found = Archive::read(path)?.observed_bars(&Filter::default())?;
    let rows = found.rows.into_iter();
    Ok(one_series(
        rows.map(|row| (row.exchange.clone(), row.into())).collect(),
    ))
}

/// Of the bars of each coin those of one exchange and length: of which there are most, of equals the first by name.
fn one_series(bars: Vec<(String, ObservedBar)>) -> Vec<ObservedBar> {
    let mut counts: HashMap<&str, BTreeMap<(&str, Option<i64>), usize>> = HashMap::new();
    for (exchange, bar) in &bars {
        let of_coin = counts.entry(&bar.symbol).or_default();
        *of_coin.entry((exchange, bar.length())).or_default() += 1;
    }
    let most: HashMap<String, (String, Option<i64>)> = counts
        .into_iter()
        .filter_map(|(coin, series)| {
            let (exchange, length) = series.into_iter().rev().max_by_key(|(_, count)| *count)?.0;
            Some((coin.to_owned(), (exchange.to_owned(), length)))
        })
        .collect();
    bars.into_iter()
        .filter(|(exchange, bar)| {
            most.get(&bar.symbol)
                .is_some_and(|(name, length)| name == exchange && *length == bar.length())
        })
        .map(|(_, bar)| bar)
        .collect()
}

/// Bars with their lengths; where none says its own, the least time between two of a series is that of all.
fn sized(
    py: Python<'_>,
    mut bars: Vec<ObservedBar>,
    exchanges: Option<&[String]>,
) -> PyResult<Vec<ObservedBar>> {
    if bars.iter().all(|bar| bar.length().is_some()) {
        return Ok(bars);
    }
    let mut latest: HashMap<(&str, &str), Millis> = HashMap::new();
    let mut least: Option<i64> = None;
    for (place, bar) in bars.iter().enumerate() {
        let exchange = exchanges.and_then(|names| names.get(place));
        let series = (exchange.map_or("", String::as_str), bar.symbol.as_str());
        if let Some(before) = latest.insert(series, bar.timestamp) {
            let apart = i64::try_from(bar.timestamp.0.abs_diff(before.0)).unwrap_or(i64::MAX);
            if apart > 0 {
                least = Some(least.map_or(apart, |least| least.min(apart)));
            }
        }
    }
    let whole = |least: &i64| least % Millis::MINUTE == 0 && Millis::DAY % least == 0;
    let Some(interval) = least.filter(whole) else {
        let message = "column \"interval\" is missing, and the bars do not say how long they are";
        let allowed = "a column \"interval\" of lengths such as \"5m\"";
        return Err(error::bad_query(
            py,
            &BadQuery::new("bars", message, allowed),
        ));
    };
    for bar in &mut bars {
        bar.interval = bar.length().or(Some(interval));
    }
    Ok(bars)
}
