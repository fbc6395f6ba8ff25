//! Realised replies and estimates against plain reference implementations, and checks of input tables.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "tests"
)]

mod definition;
mod estimates;
mod fit;
mod instants;
mod ledger;
mod oracle;
mod outliers;
mod realised;
mod resized;
mod ring;
mod tables;
mod venues;

use liqdata::engine::Observations;
use liqdata::model::{Millis, ObservedBar, ObservedOpenInterest, ObservedOrder, Order, Side};
use rust_decimal::Decimal;

pub(crate) const MINUTE: i64 = Millis::MINUTE;
pub(crate) const HOUR: i64 = Millis::HOUR;
pub(crate) const DAY: i64 = Millis::DAY;
/// 2026-06-11T00:00Z.
pub(crate) const NOW: i64 = 1_781_136_000_000;

pub(crate) fn order(
    exchange: &str,
    symbol: &str,
    side: Side,
    usd: i64,
    timestamp: i64,
) -> ObservedOrder {
    ObservedOrder {
        order: Order {
            exchange: exchange.to_owned(),
            symbol: symbol.to_owned(),
            side,
            price: Decimal::new(100, 0),
            qty: Decimal::new(usd.max(1), 2),
            value_usd: Decimal::new(usd, 0),
            timestamp: Millis(timestamp),
        },
        coin: None,
        received_at: None,
        group_id: None,
    }
}

pub(crate) fn bar(symbol: &str, open_time: i64, price: f64) -> ObservedBar {
    ObservedBar {
        symbol: symbol.to_owned(),
        timestamp: Millis(open_time),
        closes_at: None,
        interval: None,
        open: price,
        high: price,
        low: price,
        close: price,
        volume: 10.0,
    }
}

pub(crate) fn reading(
    symbol: &str,
    exchange: Option<&str>,
    timestamp: i64,
    value: f64,
) -> ObservedOpenInterest {
    ObservedOpenInterest {
        symbol: symbol.to_owned(),
        exchange: exchange.map(str::to_owned),
        timestamp: Millis(timestamp),
        open_interest: value,
    }
}

pub(crate) fn of_orders(orders: Vec<ObservedOrder>, now: i64) -> Observations {
    Observations::new(orders, Vec::new(), Vec::new(), Some(Millis(now))).unwrap()
}
