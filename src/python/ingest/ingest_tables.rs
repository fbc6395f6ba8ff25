//! Ingests the tables of a Python caller: imports their rows into an archive.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::archive::{
    Archive, ArchiveError, CoveredTime, Filter, GivenOrders, PositionRow, Tables,
};
use crate::collect::{
    ExchangeAttribution, Ingested, Refused, TablePlaces, UnclearPosition,
    ingest_tables as ingest_all, snapshots,
};
use crate::engine::{OpenInterestUnit, each_in_base_units};
use crate::market::wall_clock;
use crate::model::{Millis, NotInCoins, ObservedBar, ObservedPosition, nearest_f64};
use crate::python::archive::writer::decimal;
use crate::python::error;
use crate::python::ingest::in_coins::ArchivePrices;
use crate::python::ingest::ingest::{
    GivenOrigin, NamedHour, covered_time, ingest_origin, known_exchanges, put_outcome, watched,
};
use crate::python::ingest::raw::{column_fault, contract_sizes, rates, raw_table, row_fault};
use crate::python::runtime::signals::interruptible;
use crate::tables::{
    AmountColumn, BarColumns, ColumnFault, ContractBook, Defaults, InterestColumns, Judge, Judged,
    RawTable, ReadRows, RowFault, TableKind, UnvaluedOrders, bar_table, first, interest_table,
    observed_bars, observed_interest, order_table, other_length, read_bars, read_interest,
    read_orders, read_positions,
};

/// Maximum age, in milliseconds, of the bar that gives the market price for a snapshot of trading positions.
const PRICED: i64 = 2 * Millis::HOUR;

/// Facts about a file that the caller has read into tables.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FilePart {
    /// The symbol in the name of the file.
    symbol: Option<String>,
    /// Length of the file's bars in milliseconds.
    interval: Option<i64>,
    /// For each row of the table, its row number in the file.
    numbers: Vec<usize>,
    /// The time that the parts of the file cover that were ingested before.
    covered: Vec<NamedHour>,
}

/// Ingests tables into the archive at `path`. Rows without an exchange belong to `exchange`.
///
/// `contracts` describes the series of bars and open interest in the archive: table, exchange, coin and contract. The
/// outcome is put into `outcome`. It counts refused rows by reason.
///
/// If a cell cannot be read, the whole table is refused. If the table is part of a file, only the row is refused.
#[pyfunction]
#[pyo3(signature = (
    path, orders, bars, open_interest, positions, exchange, new_exchange, contracts, seen, outcome, quote_rates=None,
    dry_run=false, file=None, origin=None, contract_size=None
))]
#[expect(
    clippy::too_many_arguments,
    clippy::too_many_lines,
    clippy::needless_pass_by_value,
    reason = "arguments from Python come by value, one by one"
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
    contracts: Vec<[String; 4]>,
    seen: Py<PyAny>,
    outcome: &Bound<'_, PyDict>,
    quote_rates: Option<&Bound<'_, PyDict>>,
    dry_run: bool,
    file: Option<FilePart>,
    origin: Option<GivenOrigin>,
    contract_size: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let ingest = origin.map(ingest_origin);
    let mut known = known_exchanges(py, &path, exchange, new_exchange)?;
    let rates = rates(py, quote_rates)?;
    let sizes = contract_sizes(py, contract_size)?;
    let raw = raw_tables([orders, bars, open_interest, positions])?;
    let defaults = Defaults {
        exchange: exchange.map(str::to_owned),
        symbol: file.as_ref().and_then(|file| file.symbol.clone()),
        interval: file.as_ref().and_then(|file| file.interval),
        needs_exchange: true,
        needs_exact: true,
        ..Defaults::default()
    };
    let mut book = ContractBook::default();
    for [table, exchange, coin, contract] in &contracts {
        book.add(table, exchange, coin, contract);
    }
    let is_file = file.is_some();
    let is_stated = raw
        .get(1)
        .is_some_and(|bars| bars.has("interval") || bars.has("closes_at"));
    let judged = interruptible(py, move || {
        let judged = judge_all(&raw, &defaults, is_file, |read, goes_on| {
            let mut failed = None;
            let mut unknown = |name: &str| match known.unknown(name) {
                Ok(unknown) => unknown.map(|unknown| unknown.in_a_line()),
                Err(fault) => {
                    failed.get_or_insert(fault);
                    None
                }
            };
            let mut judge = Judge::new(
                wall_clock(),
                &rates,
                &sizes,
                &mut book,
                &mut unknown,
                goes_on,
            );
            let made = JudgedTables {
                orders: judge.orders(read.orders).unwrap_or_default(),
                bars: judge.bars(read.bars).unwrap_or_default(),
                open_interest: judge.open_interest(read.open_interest).unwrap_or_default(),
                positions: read.positions.columns,
            };
            failed.map_or(Ok(made), |fault| Err(TablesFault::Archive(fault)))
        });
        let book: Vec<[String; 4]> = book.all().map(|one| one.map(str::to_owned)).collect();
        Ok(judged.map(|judged| (judged, book)))
    })?;
    let (mut judged, book) = judged.map_err(|fault| tables_fault(py, fault))?;
    let named = file.as_ref().and_then(|file| file.interval);
    let named = named.filter(|_| !is_stated);
    if let Some(why) = named.and_then(|named| other_length(&judged.bars.columns, named)) {
        return outcome.set_item("implausible", why);
    }
    if !is_file {
        // A misspelt exchange concerns the whole table, so the table is refused.
        judged.refuse_unknown_exchanges(py)?;
    }
    if judged.open_interest.columns.timestamp.is_empty() {
        judged.open_interest.columns.in_usd = false;
    } else if let Some(why) = in_coins(py, &path, &mut judged, is_file)? {
        return outcome.set_item("implausible", why);
    }
    let given = std::mem::take(&mut judged.positions);
    let known = known_exchanges(py, &path, exchange, new_exchange)?;
    let (positions, mut refused) = accepted_positions(py, &path, given, exchange, known)?;
    let number = |row: usize| {
        let numbers = file.as_ref().map(|file| &file.numbers);
        let number = numbers.and_then(|numbers| numbers.get(row).copied());
        number.unwrap_or(row)
    };
    judged.count_refused(&mut refused, number);
    let repeated = judged.bars.repeated + judged.open_interest.repeated;
    let places = judged.places(number);
    let tables = Tables {
        orders: order_table(judged.orders.columns),
        bars: bar_table(judged.bars.columns),
        open_interest: interest_table(judged.open_interest.columns),
        positions,
    };
    let covered = file.map_or_else(CoveredTime::default, |file| covered_time(file.covered));
    let (done, raised) = if dry_run {
        let new = tables.rows() as u64;
        let done = Ingested {
            rows: new,
            new,
            covered: tables.orders.covered_time(),
            ..Ingested::default()
        };
        (Ok(done), None)
    } else {
        watched(py, seen, move |goes_on| {
            ingest_all(&path, tables, &places, &covered, ingest.as_ref(), goes_on)
        })
    };
    let done = done.map(|mut done| {
        done.rows += repeated + refused.iter().map(|one| one.count).sum::<u64>();
        done.repeated += repeated;
        done.refused.extend(refused);
        done.contracts = book.into_iter().map(Into::into).collect();
        done
    });
    put_outcome(outcome, done, raised, |fault| error::archive(py, fault))
}

/// Reads the columns of the four tables: orders, bars, open interest and positions.
fn raw_tables(
    [orders, bars, open_interest, positions]: [&Bound<'_, PyAny>; 4],
) -> PyResult<[RawTable; 4]> {
    Ok([
        raw_table(TableKind::Orders, orders)?,
        raw_table(TableKind::Bars, bars)?,
        raw_table(TableKind::OpenInterest, open_interest)?,
        raw_table(TableKind::Positions, positions)?,
    ])
}

/// The tables after reading, before validation.
struct ReadTables {
    orders: ReadRows<UnvaluedOrders>,
    bars: ReadRows<BarColumns>,
    open_interest: ReadRows<InterestColumns>,
    positions: ReadRows<Vec<ObservedPosition>>,
}

/// The tables after validation. Each has accepted rows and the faults of refused rows.
struct JudgedTables {
    orders: Judged<GivenOrders>,
    bars: Judged<BarColumns>,
    open_interest: Judged<InterestColumns>,
    positions: Vec<ObservedPosition>,
}

impl JudgedTables {
    /// Raises an exception for the first row with an unknown exchange.
    fn refuse_unknown_exchanges(&self, py: Python<'_>) -> PyResult<()> {
        let tables = [
            (TableKind::Orders, &self.orders.faults),
            (TableKind::Bars, &self.bars.faults),
            (TableKind::OpenInterest, &self.open_interest.faults),
        ];
        for (kind, faults) in tables {
            if let Some(fault) = faults.iter().find(|fault| fault.column == "exchange") {
                return Err(row_fault(py, kind, fault));
            }
        }
        Ok(())
    }

    /// Counts the refused rows by reason. `number` converts a row of a table to a row of the file.
    fn count_refused(&self, refused: &mut Vec<Refused>, number: impl Fn(usize) -> usize) {
        let tables = [
            ("orders", &self.orders.faults),
            ("bars", &self.bars.faults),
            ("open_interest", &self.open_interest.faults),
        ];
        for (table, faults) in tables {
            for fault in faults {
                let place = format!("{table}:{}", number(fault.row));
                Refused::count(refused, (&fault.counted(), &fault.shown), &place);
            }
        }
    }

    /// Returns, for each accepted row, its row number in the table or file.
    fn places(&self, number: impl Fn(usize) -> usize) -> TablePlaces {
        let numbered = |places: &[usize]| places.iter().map(|row| number(*row)).collect();
        TablePlaces::from([
            ("orders", numbered(&self.orders.places)),
            ("bars", numbered(&self.bars.places)),
            ("open_interest", numbered(&self.open_interest.places)),
        ])
    }
}

/// Why tables cannot be ingested.
enum TablesFault {
    Column(TableKind, ColumnFault),
    Row(TableKind, RowFault),
    Archive(ArchiveError),
}

fn tables_fault(py: Python<'_>, fault: TablesFault) -> PyErr {
    match fault {
        TablesFault::Column(kind, fault) => column_fault(py, kind, &fault),
        TablesFault::Row(kind, fault) => row_fault(py, kind, &fault),
        TablesFault::Archive(fault) => error::archive(py, &fault),
    }
}

/// Reads and validates all tables. If a cell cannot be read, its row is refused if `is_file`, otherwise its table.
fn judge_all(
    [orders, bars, open_interest, positions]: &[RawTable; 4],
    defaults: &Defaults,
    is_file: bool,
    judge: impl FnOnce(ReadTables, &mut dyn FnMut() -> bool) -> Result<JudgedTables, TablesFault>,
) -> Result<JudgedTables, TablesFault> {
    let mut goes_on = || true;
    let read = ReadTables {
        orders: whole(
            TableKind::Orders,
            read_orders(orders, defaults, &mut goes_on),
            is_file,
        )?,
        bars: whole(
            TableKind::Bars,
            read_bars(bars, defaults, &mut goes_on),
            is_file,
        )?,
        open_interest: whole(
            TableKind::OpenInterest,
            read_interest(open_interest, defaults, &mut goes_on),
            is_file,
        )?,
        positions: whole(
            TableKind::Positions,
            read_positions(positions, &mut goes_on),
            false,
        )?,
    };
    judge(read, &mut goes_on)
}

/// Returns the rows of a table that can be read. If a row cannot be read and `is_file` is false, returns its fault.
fn whole<T: Default>(
    kind: TableKind,
    read: Result<Option<ReadRows<T>>, ColumnFault>,
    is_file: bool,
) -> Result<ReadRows<T>, TablesFault> {
    let read = read.map_err(|fault| TablesFault::Column(kind, fault))?;
    let read = read.unwrap_or_default();
    match first(&read.faults).filter(|_| !is_file) {
        Some(fault) => Err(TablesFault::Row(kind, fault.clone())),
        None => Ok(read),
    }
}

/// Converts open-interest readings from USD to coins, and checks those in coins against the traded volume. The prices
/// come from the bars of the same call, or from the
/// archive if there are none.
///
/// A reading without a price is refused if `is_file`; otherwise its table is refused. If most readings of a file are
/// implausible, returns why they are probably not in USD.
fn in_coins(
    py: Python<'_>,
    path: &Path,
    judged: &mut JudgedTables,
    is_file: bool,
) -> PyResult<Option<String>> {
    let unit = if judged.open_interest.columns.in_usd {
        OpenInterestUnit::Usd
    } else {
        OpenInterestUnit::Base
    };
    let column = unit.column();
    let readings = observed_interest(&judged.open_interest.columns);
    let prices = one_series(&judged.bars.columns);
    let made: Vec<Result<f64, NotInCoins>> = if prices.is_empty() {
        let made = ArchivePrices::new(path.to_owned()).priced(py, readings, unit)?;
        made.into_iter()
            .map(|made| made.map(|made| made.open_interest))
            .collect()
    } else {
        let made = each_in_base_units(readings, unit, prices);
        let made = made.map_err(|fault| error::bad_table(py, &fault))?;
        made.into_iter()
            .map(|made| made.map(|made| made.open_interest))
            .collect()
    };
    let interest = &mut judged.open_interest;
    let (mut good, mut coins) = (Vec::new(), AmountColumn::with_capacity(made.len()));
    let mut implausible: Vec<String> = Vec::new();
    for (row, made) in made.into_iter().enumerate() {
        let given = interest.columns.open_interest.get(row);
        let exact = made.and_then(|value| match (unit, given) {
            // An amount in coins is stored as it is.
            (OpenInterestUnit::Base, Some(given)) => Ok(given),
            _ => decimal(column, value).map_err(NotInCoins::NoAmount),
        });
        match exact {
            Ok(exact) => {
                good.push(row);
                coins.push(exact);
            }
            Err(why) => {
                if let NotInCoins::Implausible(why) = &why {
                    implausible.push(why.clone());
                }
                let place = interest.places.get(row).copied().unwrap_or(row);
                let is_implausible = matches!(why, NotInCoins::Implausible(_));
                let reason = if unit == OpenInterestUnit::Base && is_implausible {
                    "implausible in coins, compared with price and volume"
                } else {
                    let reason = why.reason().strip_prefix("open_interest_usd: ");
                    reason.unwrap_or(why.reason())
                };
                let fault = RowFault::new(place, column, reason, why.why());
                if !is_file {
                    let fault = RowFault::new(place, column, why.why().to_owned(), "");
                    return Err(row_fault(py, TableKind::OpenInterest, &fault));
                }
                interest.faults.push(fault);
            }
        }
    }
    interest.columns = interest.columns.take(&good);
    let places = good
        .iter()
        .filter_map(|row| interest.places.get(*row).copied());
    interest.places = places.collect();
    interest.columns.open_interest = coins;
    interest.columns.in_usd = false;
    let is_other = implausible.len() > good.len();
    Ok(implausible.into_iter().next().filter(|_| is_other))
}

/// Selects one series of bars for each coin: the exchange and length with the most bars. Among equals, the first
/// exchange by name counts.
fn one_series(bars: &BarColumns) -> Vec<ObservedBar> {
    let observed = observed_bars(bars).into_iter().enumerate();
    let bars: Vec<(&str, ObservedBar)> = observed
        .map(|(row, bar)| (bars.exchange.get(row).unwrap_or_default(), bar))
        .collect();
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

/// Converts trading positions to archive rows, and counts refused ones. Raises an exception for the first unknown
/// exchange.
fn accepted_positions(
    py: Python<'_>,
    path: &Path,
    given: Vec<ObservedPosition>,
    exchange: Option<&str>,
    mut known: ExchangeAttribution,
) -> PyResult<(Vec<PositionRow>, Vec<Refused>)> {
    for (row, position) in given.iter().enumerate() {
        let Some(name) = position.exchange.as_deref() else {
            continue;
        };
        let unknown = known.unknown(name);
        if let Some(unknown) = unknown.map_err(|fault| error::archive(py, &fault))? {
            let fault = RowFault::new(row, "exchange", unknown.to_string(), "");
            return Err(row_fault(py, TableKind::Positions, &fault));
        }
    }
    let made = py.detach(|| snapshots_of(path, given, exchange));
    made.map_err(|fault| match fault {
        PositionsFault::Archive(fault) => error::archive(py, &fault),
        PositionsFault::Row((row, column, message)) => {
            let fault = RowFault::new(row, column, message, "");
            row_fault(py, TableKind::Positions, &fault)
        }
    })
}

/// Why trading positions cannot be ingested.
enum PositionsFault {
    Archive(ArchiveError),
    Row(UnclearPosition),
}

/// Converts trading positions to archive rows and compares them with prices of the archive. Also counts refused ones.
fn snapshots_of(
    path: &Path,
    given: Vec<ObservedPosition>,
    exchange: Option<&str>,
) -> Result<(Vec<PositionRow>, Vec<Refused>), PositionsFault> {
    let archive = if given.is_empty() {
        None
    } else {
        Archive::read_if_begun(path).map_err(PositionsFault::Archive)?
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
    let made = snapshots(given, exchange, &mut price_at).map_err(PositionsFault::Row)?;
    failed.map_or(Ok(made), |fault| Err(PositionsFault::Archive(fault)))
}
