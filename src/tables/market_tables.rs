//! Reads and checks the input tables of a `Market` object.

use std::collections::BTreeSet;

use crate::model::{Millis, ObservedLiquidations, ObservedOrder, exchange_name};
use crate::tables::amount_unit::ContractSizes;
use crate::tables::attribution::ExchangeAttribution;
use crate::tables::observed::{observed_orders, observed_totals};
use crate::tables::quote_rates::QuoteRates;
use crate::tables::raw_table::{ColumnFault, RawTable, TableKind};
use crate::tables::reading::{
    BarColumns, Defaults, InterestColumns, ReadRows, read_bars, read_interest, read_orders,
    read_totals,
};
use crate::tables::row_fault::{RowFault, first};
use crate::tables::rules::{ContractBook, Judge, Judged};

/// The unconverted tables of a `Market` object.
#[derive(Debug)]
pub(crate) struct RawMarketTables {
    pub(crate) orders: RawTable,
    pub(crate) bars: RawTable,
    pub(crate) open_interest: RawTable,
    pub(crate) liquidations: RawTable,
}

/// Options of the caller for all tables.
#[derive(Debug, Default)]
pub(crate) struct TableOptions {
    /// The exchange of rows that name none. If bars name several exchanges, only the bars of this exchange are used.
    pub(crate) exchange: Option<String>,
    /// Whether unknown exchanges are accepted.
    pub(crate) new_exchange: bool,
    pub(crate) rates: QuoteRates,
    /// The sizes of contracts, if amounts are in contracts.
    pub(crate) sizes: ContractSizes,
}

/// The checked rows of all tables.
#[derive(Debug, Default)]
pub(crate) struct ObservedMarket {
    pub(crate) orders: Vec<ObservedOrder>,
    pub(crate) bars: BarColumns,
    pub(crate) open_interest: InterestColumns,
    pub(crate) liquidations: Vec<ObservedLiquidations>,
}

/// Why a `Market` object refuses its tables.
#[derive(Debug)]
pub(crate) enum MarketTableFault {
    Column(TableKind, ColumnFault),
    Row(TableKind, RowFault),
    /// Bars name these exchanges, and the caller must choose one of them.
    Exchanges(Vec<String>),
    /// The caller stopped the reading.
    Stopped,
}

/// Reads and checks the tables of a `Market` object; stops at the first fault.
///
/// `now` is the time of this machine's clock.
pub(crate) fn observe(
    tables: &RawMarketTables,
    options: &TableOptions,
    now: Millis,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<ObservedMarket, MarketTableFault> {
    let defaults = Defaults {
        exchange: options.exchange.clone(),
        ..Defaults::default()
    };
    let mut attribution = ExchangeAttribution::supported(options.new_exchange);
    let mut unknown = |name: &str| match attribution.unknown(name) {
        Ok(Some(unknown)) => Some(unknown.in_a_line()),
        _ => None,
    };
    let mut book = ContractBook::default();

    let kind = TableKind::Orders;
    let needs = Defaults {
        needs_exchange: true,
        ..defaults.clone()
    };
    let read = read_orders(&tables.orders, &needs, goes_on);
    let read = taken(kind, read)?;
    let bars = taken(TableKind::Bars, read_bars(&tables.bars, &defaults, goes_on))?;
    let bars = of_one_exchange(bars, options.exchange.as_deref())?;
    let interest = taken(
        TableKind::OpenInterest,
        read_interest(&tables.open_interest, &defaults, goes_on),
    )?;
    let totals = taken(
        TableKind::Liquidations,
        read_totals(&tables.liquidations, &defaults, goes_on),
    )?;
    let mut judge = Judge::new(
        now,
        &options.rates,
        &options.sizes,
        &mut book,
        &mut unknown,
        goes_on,
    );
    let orders = accepted(kind, judge.orders(read))?;
    let bars = accepted(TableKind::Bars, judge.bars(bars))?;
    let interest = accepted(TableKind::OpenInterest, judge.open_interest(interest))?;
    let totals = accepted(TableKind::Liquidations, judge.totals(totals))?;
    Ok(ObservedMarket {
        orders: observed_orders(&orders),
        bars,
        open_interest: interest,
        liquidations: observed_totals(&totals),
    })
}

/// Returns the rows of a table, or its first fault as an error.
fn taken<T>(
    kind: TableKind,
    read: Result<Option<ReadRows<T>>, ColumnFault>,
) -> Result<ReadRows<T>, MarketTableFault> {
    let read = read
        .map_err(|fault| MarketTableFault::Column(kind, fault))?
        .ok_or(MarketTableFault::Stopped)?;
    match first(&read.faults) {
        Some(fault) => Err(MarketTableFault::Row(kind, fault.clone())),
        None => Ok(read),
    }
}

fn accepted<T>(kind: TableKind, judged: Option<Judged<T>>) -> Result<T, MarketTableFault> {
    let judged = judged.ok_or(MarketTableFault::Stopped)?;
    match first(&judged.faults) {
        Some(fault) => Err(MarketTableFault::Row(kind, fault.clone())),
        None => Ok(judged.columns),
    }
}

/// Selects the bars of the chosen exchange.
///
/// A `Market` object has one series of bars per coin.
fn of_one_exchange(
    mut read: ReadRows<BarColumns>,
    chosen: Option<&str>,
) -> Result<ReadRows<BarColumns>, MarketTableFault> {
    let names = read.columns.exchange.names().iter();
    let names: BTreeSet<String> = names
        .map(|name| exchange_name(name))
        .filter(|name| !name.is_empty())
        .collect();
    if names.len() < 2 {
        return Ok(read);
    }
    let Some(chosen) = chosen.map(exchange_name) else {
        return Err(MarketTableFault::Exchanges(names.into_iter().collect()));
    };
    let exchanges = read.columns.exchange.iter().enumerate();
    let rows: Vec<usize> = exchanges
        .filter_map(|(row, name)| (exchange_name(name) == chosen).then_some(row))
        .collect();
    read.columns = read.columns.take(&rows);
    let places = rows.iter().filter_map(|row| read.places.get(*row).copied());
    read.places = places.collect();
    Ok(read)
}
