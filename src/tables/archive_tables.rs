//! Conversion of checked input tables to the tables that an archive stores.

use std::collections::BTreeMap;

use crate::archive::{BarTable, GivenOrders, InterestTable, OrderTable, TotalRow};
use crate::model::{Labels, exchange_name};
use crate::tables::reading::{BarColumns, InterestColumns, TotalColumns};

/// Converts orders to the archive's columns.
pub(crate) fn order_table(orders: GivenOrders) -> OrderTable {
    OrderTable::of(orders).unwrap_or_default()
}

/// Converts bars to the archive's columns.
pub(crate) fn bar_table(bars: BarColumns) -> BarTable {
    BarTable {
        exchange: spelled(&bars.exchange),
        symbol: bars.symbol,
        interval: bars
            .interval
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect(),
        timestamp: bars.timestamp,
        open: bars.open.into_decimals(),
        high: bars.high.into_decimals(),
        low: bars.low.into_decimals(),
        close: bars.close.into_decimals(),
        volume: bars.volume.into_decimals(),
    }
}

/// Converts open interest readings to the archive's columns. Their unit must be the coin.
pub(crate) fn interest_table(readings: InterestColumns) -> InterestTable {
    InterestTable {
        exchange: spelled(&readings.exchange),
        symbol: readings.symbol,
        timestamp: readings.timestamp,
        open_interest: readings.open_interest.into_decimals(),
        received_at: readings.received_at,
    }
}

/// Converts accepted totals to the archive's rows.
pub(crate) fn total_rows(totals: &TotalColumns) -> Vec<TotalRow> {
    let exchange = spelled(&totals.exchange);
    let row = |row: usize| {
        Some(TotalRow {
            exchange: exchange.get(row)?.to_owned(),
            symbol: totals.symbol.get(row)?.to_owned(),
            interval: (*totals.interval.get(row)?)?,
            timestamp: *totals.timestamp.get(row)?,
            long_usd: totals.long_usd.get(row)?,
            short_usd: totals.short_usd.get(row)?,
            received_at: *totals.received_at.as_ref()?.get(row)?,
        })
    };
    (0..totals.timestamp.len()).filter_map(row).collect()
}

/// Normalises exchange names to the spelling of an archive.
fn spelled(names: &Labels) -> Labels {
    let known: BTreeMap<&str, String> = names
        .names()
        .iter()
        .map(|name| (name.as_str(), exchange_name(name)))
        .collect();
    names
        .iter()
        .map(|name| known.get(name).map_or(name, String::as_str))
        .collect()
}
