//! Bringing files and tables of the past into an archive, from Python.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::api::BadQuery;
use crate::archive::{
    Archive, ArchiveError, BarTable, Filter, GivenOrders, InterestTable, OrderTable, PositionRow,
    Tables, spelled,
};
use crate::collect::{
    Contract, ExchangeAttribution, Files, Finished, IngestError, Ingested, Refused,
    UnclearPosition, ingest, ingest_tables as ingest_all, snapshots,
};
use crate::engine::in_base_units;
use crate::feeds::dumps::Format;
use crate::model::{
    Labels, Millis, ObservedBar, ObservedPosition, Symbol, Vocabulary, exchange_name, nearest_f64,
};
use crate::python::error;
use crate::python::ingest::by_column;
use crate::python::ingest::by_column::{GivenBars, GivenInterest};
use crate::python::ingest::checked;
use crate::python::ingest::checked::{Lengths, check_exchanges, nobody, unknown_exchange};
use crate::python::ingest::in_coins::ArchivePrices;
use crate::python::ingest::parts::{Given, TablePart, joined};
use crate::python::ingest::tables;
use crate::python::ingest::tables::Reader;
use crate::python::runtime::logs;
use crate::python::runtime::signals::interruptible;

/// The formats of files, by name.
#[pyfunction]
pub(crate) fn formats() -> Vec<&'static str> {
    Format::ALL.iter().map(|format| format.name()).collect()
}

/// Brings files into the archive in the folder `path`, whose bars and readings are of `contracts`; messages call them by `names`
/// where these are given. `seen` is told how many rows have
/// been read, and `kept` of each file that is kept to its end: its path, and what [`told`] tells. What became of everything is put
/// into `outcome`, where it is interrupted of what is kept.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value, one by one"
)]
pub(crate) fn ingest_files(
    py: Python<'_>,
    path: PathBuf,
    files: Vec<PathBuf>,
    format: Option<&str>,
    exchange: Option<String>,
    new_exchange: bool,
    contracts: Vec<[String; 4]>,
    names: BTreeMap<PathBuf, String>,
    seen: Py<PyAny>,
    stored: Py<PyAny>,
    outcome: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let format = format.map(|name| format_of(py, name)).transpose()?;
    let files = Files {
        paths: files,
        names,
        format,
        exchange,
        takes_new_exchanges: new_exchange,
        contracts: contracts.into_iter().map(contract).collect(),
    };
    let failed = Mutex::new(None);
    let is_well = || failed.lock().is_ok_and(|failed| failed.is_none());
    let mut finished = |file: Finished| {
        let kept = Python::attach(|py| {
            let path = file.path.clone();
            stored.call1(py, (path, told(py, file.into())?)).map(drop)
        });
        if let (Err(raised), Ok(mut failed)) = (kept, failed.lock()) {
            failed.get_or_insert(raised);
        }
    };
    let prices = ArchivePrices::new(path.clone());
    let (done, raised) = watched(py, seen, |goes_on| {
        let goes_on = &mut |rows| goes_on(rows) && is_well();
        let to_coins =
            &mut |readings, goes_on: &mut dyn FnMut() -> bool| prices.of_files(readings, goes_on);
        ingest(&path, &files, goes_on, &mut finished, to_coins)
    });
    let raised = failed.into_inner().unwrap_or_default().or(raised);
    put_down(outcome, done, raised, |fault| fault_of(py, fault))
}

/// Puts into `outcome` what became of everything, and raises what was raised meanwhile. The interpreter raises a signal wherever it
/// runs code again, and before what is returned is anybody's: what is kept is put down before.
fn put_down<E>(
    outcome: &Bound<'_, PyDict>,
    done: Result<Ingested, E>,
    raised: Option<PyErr>,
    fault_of: impl FnOnce(&E) -> PyErr,
) -> PyResult<()> {
    let py = outcome.py();
    let done = match done {
        Ok(done) => outcome.update(told(py, done)?.as_mapping()),
        Err(fault) => Err(fault_of(&fault)),
    };
    if let Some(raised) = raised {
        return Err(raised);
    }
    logs::deliver(py)?;
    done
}

/// Brings tables into the archive in the folder `path`; otherwise as [`ingest_files`]. Rows without an exchange are
/// `exchange`'s.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "arguments from Python come one by one"
)]
pub(crate) fn ingest_tables(
    py: Python<'_>,
    path: PathBuf,
    orders: &Bound<'_, PyAny>,
    bars: &Bound<'_, PyAny>,
    open_interest: &Bound<'_, PyAny>,
    positions: &Bound<'_, PyAny>,
    exchange: Option<&str>,
    new_exchange: bool,
    seen: Py<PyAny>,
    outcome: &Bound<'_, PyDict>,
) -> PyResult<()> {
    let mut whose = checked::whose(py, &path, exchange, new_exchange)?;
    let given = (orders, bars, open_interest);
    let mut tables = kept(py, &path, given, exchange, &mut whose)?;
    let given = tables::positions(positions)?;
    let named = given.iter().map(|row| row.exchange.as_deref());
    let named: Labels = named.map(Option::unwrap_or_default).collect();
    check_exchanges(&Reader::new("positions", positions)?, &named, &mut whose)?;
    let (kept, refused) = py
        .detach(|| snapshots_of(&path, given, exchange))
        .map_err(|fault| match fault {
            Fault::Archive(fault) => error::archive(py, &fault),
            Fault::Row(fault) => tables::fault_of(py, "positions", fault),
        })?;
    tables.positions = kept;
    let (done, raised) = watched(py, seen, move |goes_on| {
        ingest_all(&path, tables, Some(Vec::new()), goes_on)
    });
    let done = done.map(|mut done| {
        done.rows += refused.iter().map(|one| one.count).sum::<u64>();
        done.refused.extend(refused);
        done
    });
    put_down(outcome, done, raised, |fault| error::archive(py, fault))
}

/// Brings parts of a table that were looked over into the archive in the folder `path`; otherwise as [`ingest_tables`]. Bars that
/// do not say how long they are are `length` long; of which time orders tell goes on from what was `reported_before`, and is not put
/// on record yet where that is `None`.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value, one by one"
)]
pub(crate) fn ingest_parts(
    py: Python<'_>,
    path: PathBuf,
    parts: Vec<PyRef<'_, TablePart>>,
    exchange: Option<&str>,
    seen: Py<PyAny>,
    outcome: &Bound<'_, PyDict>,
    length: Option<i64>,
    reported_before: Option<Vec<(String, i64, i64)>>,
) -> PyResult<()> {
    let parts: Vec<_> = parts.iter().map(|part| part.share()).collect();
    let mut tables = Tables::default();
    let whose = exchange.map(str::to_owned);
    match aside(py, move || joined(parts))? {
        Some(Given::Orders(given)) => tables.orders = aside(py, || orders_kept(given))??,
        Some(Given::Bars(given)) => {
            let (given, interval) = sized(py, given, length)?;
            tables.bars = aside(py, move || bars_kept(given, interval, whose.as_deref()))??;
        }
        Some(Given::OpenInterest(given)) => {
            tables.open_interest = aside(py, move || interest_kept(given, whose.as_deref()))??;
        }
        None => return Err(PyValueError::new_err("these are no parts of one table")),
    }
    let reported_before = reported_before.map(|spans| {
        let spans = spans.into_iter().map(|(exchange, start, end)| {
            let (start, end) = (Millis(start), Millis(end));
            OrderTable::session(exchange, start, end)
        });
        spans.collect()
    });
    let (done, raised) = watched(py, seen, move |goes_on| {
        ingest_all(&path, tables, reported_before, goes_on)
    });
    put_down(outcome, done, raised, |fault| error::archive(py, fault))
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
    let archive = if given.is_empty() {
        None
    } else {
        Archive::read_if_begun(path).map_err(Fault::Archive)?
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
        IngestError::Exchange(unknown) => unknown_exchange(py, unknown),
        IngestError::UnclearFile(_) | IngestError::Unopened(_) => {
            error::bad_query_said(py, "files", &format!("files: {fault}"))
        }
    }
}

/// What `work` does without the interpreter, while `seen` is told of it and signals are looked for; and what was raised meanwhile.
fn watched<T: Send>(
    py: Python<'_>,
    seen: Py<PyAny>,
    work: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> T + Send,
) -> (T, Option<PyErr>) {
    py.detach(move || {
        let mut raised = None;
        let done = work(&mut |rows| {
            // Asked once more, it is still not to go on.
            if raised.is_some() {
                return false;
            }
            let went_on = Python::attach(|py| {
                py.check_signals()?;
                seen.call1(py, (rows,)).map(drop)
            });
            raised = went_on.err();
            raised.is_none()
        });
        (done, raised)
    })
}

fn told(py: Python<'_>, done: Ingested) -> PyResult<Bound<'_, PyDict>> {
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
    told.set_item("cut_short", done.cut_short)?;
    let of_time = done.told.into_iter();
    let of_time: Vec<(String, i64, i64)> = of_time
        .map(|one| (one.exchange, one.start.0, one.end.0))
        .collect();
    told.set_item("told", of_time)?;
    Ok(told)
}

/// The tables that an archive keeps.
fn kept(
    py: Python<'_>,
    path: &Path,
    (orders, bars, open_interest): (&Bound<'_, PyAny>, &Bound<'_, PyAny>, &Bound<'_, PyAny>),
    exchange: Option<&str>,
    known: &mut ExchangeAttribution,
) -> PyResult<Tables> {
    let orders = checked::orders(&Reader::new("orders", orders)?, exchange, known)?;
    let given = checked::bars(&Reader::new("bars", bars)?, known)?;
    let (given, interval) = sized(py, given, None)?;
    let of_interest = Reader::new("open_interest", open_interest)?;
    let interest = interest(&of_interest, path, (open_interest, bars), &given, &interval)?;
    check_exchanges(&of_interest, &interest.exchange, known)?;
    if !given.timestamp.is_empty() && given.exchange.is_none() && exchange.is_none() {
        return Err(nobody(py, "bars"));
    }
    if exchange.is_none() && interest.exchange.iter().any(str::is_empty) {
        return Err(nobody(py, "open_interest"));
    }
    let whose = exchange.map(str::to_owned);
    let tables = move || {
        Ok(Tables {
            orders: orders_kept(orders)?,
            bars: bars_kept(given, interval, whose.as_deref())?,
            open_interest: interest_kept(interest, whose.as_deref())?,
            positions: Vec::new(),
        })
    };
    aside(py, tables)?
}

/// What `work` makes of whole columns, beside the caller, who looks for signals meanwhile.
fn aside<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    interruptible(py, move || Ok(work()))
}

fn orders_kept(given: GivenOrders) -> PyResult<OrderTable> {
    OrderTable::of(given).ok_or_else(|| uneven("orders"))
}

/// Bars of these lengths; those without an exchange are `exchange`'s.
fn bars_kept(given: GivenBars, interval: Vec<i64>, exchange: Option<&str>) -> PyResult<BarTable> {
    let exchange = if let Some(names) = &given.exchange {
        of_exchanges(names, exchange)
    } else {
        let whose = exchange.map(exchange_name).unwrap_or_default();
        Some(given.timestamp.iter().map(|_| whose.as_str()).collect())
    };
    Ok(BarTable {
        exchange: exchange.ok_or_else(|| uneven("bars"))?,
        symbol: spelled(&given.symbol, coin).ok_or_else(|| uneven("bars"))?,
        interval,
        timestamp: given.timestamp,
        open: given.open,
        high: given.high,
        low: given.low,
        close: given.close,
        volume: given.volume,
    })
}

/// Readings; those without an exchange are `exchange`'s.
fn interest_kept(given: GivenInterest, exchange: Option<&str>) -> PyResult<InterestTable> {
    let exchange = of_exchanges(&given.exchange, exchange);
    Ok(InterestTable {
        exchange: exchange.ok_or_else(|| uneven("open_interest"))?,
        symbol: spelled(&given.symbol, coin).ok_or_else(|| uneven("open_interest"))?,
        timestamp: given.timestamp,
        open_interest: given.open_interest,
        received_at: None,
    })
}

/// Exchanges as an archive spells them; those without a name are `exchange`.
fn of_exchanges(names: &Labels, exchange: Option<&str>) -> Option<Labels> {
    let whose = exchange.map(exchange_name).unwrap_or_default();
    spelled(names, |name| match name {
        "" => whose.clone(),
        name => exchange_name(name),
    })
}

fn uneven(table: &str) -> PyErr {
    let message = format!("{table}: its columns are not of one length");
    PyValueError::new_err(message)
}

/// The coin that a table means.
fn coin(symbol: &str) -> String {
    Symbol::read(symbol).map_or_else(|| symbol.to_owned(), |read| read.coin().to_owned())
}

/// Readings in base units: those in USD with the prices of the bars beside them, else with the archive's own.
fn interest(
    reader: &Reader<'_>,
    path: &Path,
    (open_interest, bars): (&Bound<'_, PyAny>, &Bound<'_, PyAny>),
    given: &GivenBars,
    interval: &[i64],
) -> PyResult<GivenInterest> {
    let py = reader.py;
    if !tables::is_in_usd(open_interest)? {
        return by_column::open_interest(reader);
    }
    let (rows, unit) = tables::open_interest(open_interest, None)?;
    let own = tables::bars(bars, None)?.into_iter().enumerate();
    let own = own.map(|(place, mut bar)| {
        bar.interval = interval.get(place).copied();
        let exchange = given.exchange.as_ref().and_then(|names| names.get(place));
        (exchange.unwrap_or_default().to_owned(), bar)
    });
    let prices = one_series(own.collect());
    let column = unit.column();
    let fault = |row, why| tables::fault_of(py, "open_interest", (row, column, why));
    let rows = if prices.is_empty() {
        let rows = ArchivePrices::new(path.to_owned()).priced(py, rows)?;
        let rows = rows.into_iter().enumerate();
        rows.map(|(row, made)| made.map_err(|left| fault(row, left.why().to_owned())))
            .collect::<PyResult<Vec<_>>>()?
    } else {
        in_base_units(rows, unit, prices).map_err(|fault| error::bad_table(py, &fault))?
    };
    let mut made = GivenInterest::default();
    for (place, row) in rows.into_iter().enumerate() {
        let held = crate::python::archive::writer::decimal(column, row.open_interest)
            .map_err(|why| fault(place, why))?;
        made.symbol.push(&row.symbol);
        made.exchange
            .push(row.exchange.as_deref().unwrap_or_default());
        made.timestamp.push(row.timestamp);
        made.open_interest.push(held);
    }
    Ok(made)
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

/// Bars and their lengths; `length` is that of those which do not say it, or the least time between two of a series.
fn sized(py: Python<'_>, bars: GivenBars, length: Option<i64>) -> PyResult<(GivenBars, Vec<i64>)> {
    let lengths = move || {
        let told: Option<Vec<i64>> = bars.interval.iter().copied().collect();
        if let Some(lengths) = told {
            return Ok((bars, lengths));
        }
        let length = if length.is_some() {
            length
        } else {
            let mut lengths = Lengths::default();
            lengths.add(&bars);
            lengths.of_all()?
        };
        let lengths = bars.interval.iter();
        let lengths = lengths.filter_map(|own| own.or(length)).collect();
        Ok((bars, lengths))
    };
    aside(py, lengths)?.map_err(|unknown| error::bad_query(py, &unknown))
}
