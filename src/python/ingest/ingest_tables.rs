//! Ingests the tables of a Python caller: imports their rows into an archive.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::archive::{ArchiveError, GivenOrders, Tables};
use crate::collect::{
    Ingested, PositionsFault, Refused, TablePlaces, archive_positions, ingest_tables as ingest_all,
};
use crate::engine::{OpenInterestUnit, bars_by_coin, each_in_base_units};
use crate::market::wall_clock;
use crate::model::{NotInCoins, ObservedBar, ObservedPosition};
use crate::python::error;
use crate::python::ingest::in_coins::ArchivePrices;
use crate::python::ingest::ingest::{
    GivenOrigin, ingest_origin, known_exchanges, put_outcome, watched,
};
use crate::python::ingest::raw::{column_fault, contract_sizes, rates, raw_table, row_fault};
use crate::python::runtime::signals::interruptible;
use crate::tables::{
    AmountColumn, BarColumns, ColumnFault, ContractBook, Defaults, InterestColumns, Judge, Judged,
    RawTable, ReadRows, RowFault, TableKind, TotalColumns, UnvaluedOrders, bar_table, decimal,
    first, interest_table, observed_bars, observed_interest, order_table, read_bars, read_interest,
    read_orders, read_positions, read_totals, total_rows,
};

/// Ingests tables into the archive at `path`. Rows without an exchange belong to `exchange`.
///
/// `contracts` describes the series of bars and open interest in the archive: table, exchange, coin and contract. The
/// outcome is put into `outcome`. It counts refused rows by reason.
///
/// If a cell cannot be read, the whole table is refused.
#[pyfunction]
#[pyo3(signature = (
    path, orders, bars, open_interest, positions, totals, exchange, new_exchange, contracts, seen, outcome,
    quote_rates=None, dry_run=false, origin=None, contract_size=None
))]
#[expect(
    clippy::too_many_arguments,
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
    totals: &Bound<'_, PyAny>,
    exchange: Option<&str>,
    new_exchange: bool,
    contracts: Vec<[String; 4]>,
    seen: Py<PyAny>,
    outcome: &Bound<'_, PyDict>,
    quote_rates: Option<&Bound<'_, PyDict>>,
    dry_run: bool,
    origin: Option<GivenOrigin>,
    contract_size: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let ingest = origin.map(ingest_origin);
    let mut known = known_exchanges(py, &path, exchange, new_exchange)?;
    let rates = rates(py, quote_rates)?;
    let sizes = contract_sizes(py, contract_size)?;
    let raw = raw_tables([orders, bars, open_interest, positions, totals])?;
    let defaults = Defaults {
        exchange: exchange.map(str::to_owned),
        needs_exchange: true,
        needs_exact: true,
        ..Defaults::default()
    };
    let mut book = ContractBook::default();
    for [table, exchange, coin, contract] in &contracts {
        book.add(table, exchange, coin, contract);
    }
    let judged = interruptible(py, move || {
        let judged = judge_all(&raw, &defaults, |read, goes_on| {
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
            )
            .of_closed_bars();
            let made = JudgedTables {
                orders: judge.orders(read.orders).unwrap_or_default(),
                bars: judge.bars(read.bars).unwrap_or_default(),
                open_interest: judge.open_interest(read.open_interest).unwrap_or_default(),
                positions: read.positions.columns,
                totals: judge.archived_totals(read.totals).unwrap_or_default(),
            };
            failed.map_or(Ok(made), |fault| Err(TablesFault::Archive(fault)))
        });
        let book: Vec<[String; 4]> = book.all().map(|one| one.map(str::to_owned)).collect();
        Ok(judged.map(|judged| (judged, book)))
    })?;
    let (mut judged, book) = judged.map_err(|fault| tables_fault(py, fault))?;
    // A misspelt exchange concerns the whole table, so the table is refused.
    judged.refuse_unknown_exchanges(py)?;
    if judged.open_interest.columns.timestamp.is_empty() {
        judged.open_interest.columns.in_usd = false;
    } else {
        in_coins(py, &path, &mut judged)?;
    }
    let given = std::mem::take(&mut judged.positions);
    let mut known = known_exchanges(py, &path, exchange, new_exchange)?;
    let made = py.detach(|| archive_positions(&path, given, exchange, &mut known));
    let (positions, _, mut refused) = made.map_err(|fault| match fault {
        PositionsFault::Archive(fault) => error::archive(py, &fault),
        PositionsFault::Row((row, column, message)) => {
            let fault = RowFault::new(row, column, message, "");
            row_fault(py, TableKind::Positions, &fault)
        }
    })?;
    judged.count_refused(&mut refused);
    let repeated = judged.bars.repeated + judged.open_interest.repeated + judged.totals.repeated;
    let places = judged.places();
    let tables = Tables {
        orders: order_table(judged.orders.columns),
        bars: bar_table(judged.bars.columns),
        open_interest: interest_table(judged.open_interest.columns),
        positions,
        totals: total_rows(&judged.totals.columns),
    };
    let (done, raised) = if dry_run {
        let new = tables.rows() as u64;
        let done = Ingested {
            rows: new,
            new,
            ..Ingested::default()
        };
        (Ok(done), None)
    } else {
        watched(py, seen, move |goes_on| {
            ingest_all(&path, tables, &places, ingest.as_ref(), goes_on)
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

/// Reads the columns of the five tables: orders, bars, open interest, positions and totals.
fn raw_tables(
    [orders, bars, open_interest, positions, totals]: [&Bound<'_, PyAny>; 5],
) -> PyResult<[RawTable; 5]> {
    Ok([
        raw_table(TableKind::Orders, orders)?,
        raw_table(TableKind::Bars, bars)?,
        raw_table(TableKind::OpenInterest, open_interest)?,
        raw_table(TableKind::Positions, positions)?,
        raw_table(TableKind::Totals, totals)?,
    ])
}

/// The tables after reading, before validation.
struct ReadTables {
    orders: ReadRows<UnvaluedOrders>,
    bars: ReadRows<BarColumns>,
    open_interest: ReadRows<InterestColumns>,
    positions: ReadRows<Vec<ObservedPosition>>,
    totals: ReadRows<TotalColumns>,
}

/// The tables after validation. Each has accepted rows and the faults of refused rows.
struct JudgedTables {
    orders: Judged<GivenOrders>,
    bars: Judged<BarColumns>,
    open_interest: Judged<InterestColumns>,
    positions: Vec<ObservedPosition>,
    totals: Judged<TotalColumns>,
}

impl JudgedTables {
    /// Raises an exception for the first row with an unknown exchange.
    fn refuse_unknown_exchanges(&self, py: Python<'_>) -> PyResult<()> {
        let tables = [
            (TableKind::Orders, &self.orders.faults),
            (TableKind::Bars, &self.bars.faults),
            (TableKind::OpenInterest, &self.open_interest.faults),
            (TableKind::Totals, &self.totals.faults),
        ];
        for (kind, faults) in tables {
            if let Some(fault) = faults.iter().find(|fault| fault.column == "exchange") {
                return Err(row_fault(py, kind, fault));
            }
        }
        Ok(())
    }

    /// Counts the refused rows by reason.
    fn count_refused(&self, refused: &mut Vec<Refused>) {
        let tables = [
            ("orders", &self.orders.faults),
            ("bars", &self.bars.faults),
            ("open_interest", &self.open_interest.faults),
            ("totals", &self.totals.faults),
        ];
        for (table, faults) in tables {
            for fault in faults {
                let place = format!("{table}:{}", fault.row);
                Refused::count(refused, (&fault.counted(), &fault.shown), &place);
            }
        }
    }

    /// Returns, for each accepted row, its row number in the table.
    fn places(&self) -> TablePlaces {
        TablePlaces::from([
            ("orders", self.orders.places.clone()),
            ("bars", self.bars.places.clone()),
            ("open_interest", self.open_interest.places.clone()),
            ("totals", self.totals.places.clone()),
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

/// Reads and validates all tables. If a cell cannot be read, its table is refused.
fn judge_all(
    [orders, bars, open_interest, positions, totals]: &[RawTable; 5],
    defaults: &Defaults,
    judge: impl FnOnce(ReadTables, &mut dyn FnMut() -> bool) -> Result<JudgedTables, TablesFault>,
) -> Result<JudgedTables, TablesFault> {
    let mut goes_on = || true;
    let read = ReadTables {
        orders: whole(
            TableKind::Orders,
            read_orders(orders, defaults, &mut goes_on),
        )?,
        bars: whole(TableKind::Bars, read_bars(bars, defaults, &mut goes_on))?,
        open_interest: whole(
            TableKind::OpenInterest,
            read_interest(open_interest, defaults, &mut goes_on),
        )?,
        positions: whole(
            TableKind::Positions,
            read_positions(positions, &mut goes_on),
        )?,
        totals: whole(
            TableKind::Totals,
            read_totals(totals, defaults, &mut goes_on),
        )?,
    };
    judge(read, &mut goes_on)
}

/// Returns the rows of a table. If a row cannot be read, returns its fault.
fn whole<T: Default>(
    kind: TableKind,
    read: Result<Option<ReadRows<T>>, ColumnFault>,
) -> Result<ReadRows<T>, TablesFault> {
    let read = read.map_err(|fault| TablesFault::Column(kind, fault))?;
    let read = read.unwrap_or_default();
    match first(&read.faults) {
        Some(fault) => Err(TablesFault::Row(kind, fault.clone())),
        None => Ok(read),
    }
}

/// Converts open-interest readings from USD to coins, and checks those in coins against the traded volume. The prices
/// come from the bars of the same call, or from the
/// archive if there are none.
///
/// If a reading has no price, its table is refused.
fn in_coins(py: Python<'_>, path: &Path, judged: &mut JudgedTables) -> PyResult<()> {
    let unit = if judged.open_interest.columns.in_usd {
        OpenInterestUnit::Usd
    } else {
        OpenInterestUnit::Base
    };
    let column = unit.column();
    let readings = observed_interest(&judged.open_interest.columns);
    let readings = readings.map(|reading| reading.owned()).collect();
    let prices = one_series(&judged.bars.columns);
    let made = if prices.is_empty() {
        ArchivePrices::new(path.to_owned()).priced(py, readings, unit)?
    } else {
        let prices = bars_by_coin(prices).map_err(|fault| error::bad_table(py, &fault))?;
        each_in_base_units(readings, unit, prices)
    };
    let interest = &mut judged.open_interest;
    let mut coins = AmountColumn::with_capacity(made.len());
    for (row, made) in made.into_iter().enumerate() {
        let given = interest.columns.open_interest.get(row);
        let exact = made.and_then(|value| match (unit, given) {
            // An amount in coins is stored as it is.
            (OpenInterestUnit::Base, Some(given)) => Ok(given),
            _ => decimal(column, value).map_err(NotInCoins::NoAmount),
        });
        let exact = exact.map_err(|why| {
            let place = interest.places.get(row).copied().unwrap_or(row);
            let fault = RowFault::new(place, column, why.why().to_owned(), "");
            row_fault(py, TableKind::OpenInterest, &fault)
        })?;
        coins.push(exact);
    }
    interest.columns.open_interest = coins;
    interest.columns.in_usd = false;
    Ok(())
}

/// Selects one series of bars for each coin: the exchange and length with the most bars. Among equals, the first
/// exchange by name counts.
fn one_series(bars: &BarColumns) -> Vec<ObservedBar<&str>> {
    let rows = || {
        let rows = observed_bars(bars).enumerate();
        rows.map(|(row, bar)| (bars.exchange.get(row).unwrap_or_default(), bar))
    };
    let mut counts: HashMap<&str, BTreeMap<(&str, Option<i64>), usize>> = HashMap::new();
    for (exchange, bar) in rows() {
        let of_coin = counts.entry(bar.symbol).or_default();
        *of_coin.entry((exchange, bar.length())).or_default() += 1;
    }
    let most: HashMap<&str, (&str, Option<i64>)> = counts
        .into_iter()
        .filter_map(|(coin, series)| {
            let (most, _) = series.into_iter().rev().max_by_key(|(_, count)| *count)?;
            Some((coin, most))
        })
        .collect();
    rows()
        .filter(|(exchange, bar)| most.get(bar.symbol) == Some(&(exchange, bar.length())))
        .map(|(_, bar)| bar)
        .collect()
}
