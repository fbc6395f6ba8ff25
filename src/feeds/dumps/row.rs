//! The rows of a file.

use rust_decimal::Decimal;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::model::{Millis, Order};

use crate::feeds::dumps::cells::RowError;

/// A liquidation order, a bar or a reading of open interest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DumpRow {
    /// A liquidation order.
    Order(RowOrder),
    /// A closed price bar.
    Bar(RowBar),
    /// A reading of open interest.
    Reading(RowReading),
    /// A reading of open interest in USD; `open_interest` counts USD.
    ReadingInUsd(RowReading),
}

/// A liquidation order from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowOrder {
    /// The order; its value is 0 if the file does not state one.
    pub order: Order,
    /// Whether the file states the value.
    pub is_valued: bool,
    /// The coin.
    pub coin: String,
    /// Meaning of the price; absent if the format does not define it.
    pub price_kind: Option<PriceKind>,
    /// Whether the file has every order of its time.
    pub completeness: Completeness,
    /// The exchange's name of the contract.
    pub native_id: Option<String>,
    /// Identical for the same order in any file.
    pub dedupe_key: String,
    /// When the recorder received it, if recorded.
    pub received_at: Option<Millis>,
}

impl RowOrder {
    /// The order of an event; an error if quantity or value is unknown.
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

/// The completeness of a recorded feed: no recorder is certain to receive everything.
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
    /// Exchange, lower case.
    pub exchange: String,
    /// The contract as the file names it.
    pub contract: String,
    /// Time of the open.
    pub timestamp: Millis,
    /// Length in milliseconds, where stated.
    pub interval: Option<i64>,
    /// Open, high, low and close per listed unit.
    pub prices: [Decimal; 4],
    /// Volume in listed units.
    pub volume: Decimal,
    /// Number of trades, if the file has it.
    pub trades: Option<Decimal>,
}

/// A reading of open interest from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowReading {
    /// Exchange, lower case.
    pub exchange: String,
    /// The contract as the file names it.
    pub contract: String,
    /// Time of the reading.
    pub timestamp: Millis,
    /// Open interest in listed units, one side.
    pub open_interest: Decimal,
    /// When the recorder received it, if recorded.
    pub received_at: Option<Millis>,
}
