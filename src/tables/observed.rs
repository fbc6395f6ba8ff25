//! Conversion of typed columns to the observed rows of a `Market` object.

use std::iter;

use crate::archive::GivenOrders;
use crate::model::{
    Labels, Millis, ObservedBar, ObservedLiquidations, ObservedOpenInterest, ObservedOrder, Order,
    Side, exchange_name,
};
use crate::tables::reading::{BarColumns, InterestColumns, TotalColumns};

/// The text of a row; `None` if it is blank.
fn text(names: &Labels, row: usize) -> Option<String> {
    names
        .get(row)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
}

/// Applies `change` to each name of a column, once per distinct name.
fn renamed(names: &Labels, change: impl Fn(&str) -> String) -> Vec<String> {
    let changed: Vec<String> = names.names().iter().map(|name| change(name)).collect();
    let codes = names.codes().iter();
    codes
        .map(|code| changed.get(*code as usize).cloned().unwrap_or_default())
        .collect()
}

/// Converts orders. The spelling of pairs is unchanged.
pub(crate) fn observed_orders(orders: &GivenOrders) -> Vec<ObservedOrder> {
    let pairs = renamed(&orders.symbol, str::to_owned);
    let exchanges = renamed(&orders.exchange, exchange_name);
    let rows = iter::zip(pairs, exchanges).enumerate();
    rows.map(|(row, (symbol, exchange))| ObservedOrder {
        order: Order {
            exchange,
            symbol,
            side: orders.side.get(row).copied().unwrap_or(Side::Long),
            price: orders.price.get(row).unwrap_or_default(),
            qty: orders.qty.get(row).unwrap_or_default(),
            value_usd: orders.value_usd.get(row).unwrap_or_default(),
            timestamp: at(&orders.timestamp, row),
        },
        coin: orders.coin.as_ref().and_then(|coin| text(coin, row)),
        received_at: Some(at(&orders.received_at, row)),
        group_id: orders.group_id.as_ref().and_then(|group| text(group, row)),
    })
    .collect()
}

fn at(times: &[Millis], row: usize) -> Millis {
    times.get(row).copied().unwrap_or_default()
}

/// The bars as rows.
pub(crate) fn observed_bars(bars: &BarColumns) -> impl Iterator<Item = ObservedBar<&str>> {
    (0..bars.timestamp.len()).map(|row| ObservedBar {
        symbol: bars.symbol.get(row).unwrap_or_default(),
        timestamp: at(&bars.timestamp, row),
        closes_at: None,
        open: bars.open.f64(row),
        high: bars.high.f64(row),
        low: bars.low.f64(row),
        close: bars.close.f64(row),
        volume: bars.volume.f64(row),
        interval: bars.interval.get(row).copied().flatten(),
    })
}

/// The open interest readings as rows. Their unit is unchanged.
pub(crate) fn observed_interest(
    readings: &InterestColumns,
) -> impl Iterator<Item = ObservedOpenInterest<&str>> {
    (0..readings.timestamp.len()).map(|row| ObservedOpenInterest {
        symbol: readings.symbol.get(row).unwrap_or_default(),
        exchange: readings
            .exchange
            .get(row)
            .filter(|name| !name.trim().is_empty()),
        timestamp: at(&readings.timestamp, row),
        open_interest: readings.open_interest.f64(row),
    })
}

/// Converts liquidated USD by period.
pub(crate) fn observed_totals(totals: &TotalColumns) -> Vec<ObservedLiquidations> {
    (0..totals.timestamp.len())
        .map(|row| ObservedLiquidations {
            symbol: totals.symbol.get(row).unwrap_or_default().to_owned(),
            timestamp: at(&totals.timestamp, row),
            long_usd: totals.long_usd.f64(row),
            short_usd: totals.short_usd.f64(row),
            interval: totals.interval.get(row).copied().flatten(),
        })
        .collect()
}
