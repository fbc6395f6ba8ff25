//! The decoded rows of a historical file.

use rust_decimal::Decimal;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::model::{Millis, Order};

use crate::feeds::dumps::cells::RowError;

/// A liquidation order, a bar or an open-interest reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DumpRow {
    /// A liquidation order.
    Order(RowOrder),
    /// A closed price bar.
    Bar(RowBar),
    /// An open-interest reading in listed units.
    Reading(RowReading),
    /// An open-interest reading of which the field `open_interest` is in USD.
    ReadingInUsd(RowReading),
}

/// A liquidation order from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowOrder {
    /// The order; its `value_usd` is 0 if the file does not state it.
    pub order: Order,
    /// Whether the file states the value in USD.
    pub is_valued: bool,
    /// The coin of the contract.
    pub coin: String,
    /// Meaning of the price; `None` if the format does not define it.
    pub price_kind: Option<PriceKind>,
    /// Whether the file contains every liquidation order of its time range.
    pub completeness: Completeness,
    /// The exchange's name of the contract.
    pub native_id: Option<String>,
    /// Key for recognizing duplicates; the same order has the same key in every file.
    pub dedupe_key: String,
    /// Time at which the recording program received the order, if stated.
    pub received_at: Option<Millis>,
}

impl RowOrder {
    /// Converts a decoded event to an order; an event without quantity or value is an error.
    pub(super) fn of(event: Event) -> Result<Self, RowError> {
        let unknown = |why: &str| RowError::new(why, &event.native_id);
        let qty = event
            .qty
            .ok_or_else(|| unknown("the size is in contracts, and the contract size is unknown"))?;
        let value_usd = event
            .value_usd
            .ok_or_else(|| unknown("the quote currency does not count as USD"))?;
        let timestamp = event.timestamp.ok_or_else(|| unknown("there is no time"))?;
        Ok(Self {
            order: Order {
                exchange: event.exchange.to_owned(),
                symbol: event.symbol,
                side: event.side,
                price: event.price,
                qty,
                value_usd,
                timestamp,
            },
            is_valued: true,
            coin: event.coin,
            price_kind: Some(event.price_kind),
            completeness: event_completeness(event.sampled),
            native_id: Some(event.native_id),
            dedupe_key: event.dedupe_key,
            received_at: event.received_at,
        })
    }
}

/// Returns the completeness of a recorded feed; it is never complete, because a recorder may miss messages.
fn event_completeness(sampled: bool) -> Completeness {
    if sampled {
        Completeness::Sampled
    } else {
        Completeness::Unknown
    }
}

/// A bar from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowBar {
    /// Name of the exchange, in lower case.
    pub exchange: String,
    /// The contract as the file names it.
    pub contract: String,
    /// Opening time of the bar.
    pub timestamp: Millis,
    /// Length of the bar in milliseconds, if stated.
    pub interval: Option<i64>,
    /// Open, high, low and close, each per listed unit.
    pub prices: [Decimal; 4],
    /// Traded volume in listed units.
    pub volume: Decimal,
    /// Number of trades, if stated.
    pub trades: Option<Decimal>,
}

/// An open-interest reading from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowReading {
    /// Name of the exchange, in lower case.
    pub exchange: String,
    /// The contract as the file names it.
    pub contract: String,
    /// Time of the reading.
    pub timestamp: Millis,
    /// Open interest in listed units, counting one side.
    pub open_interest: Decimal,
    /// Time at which the recording program received the reading, if stated.
    pub received_at: Option<Millis>,
}
