//! The rows of a file.

use rust_decimal::Decimal;

use crate::feeds::decoding::event::{Completeness, Event, PriceKind};
use crate::feeds::instruments::{price_of_one, unscaled};
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
    /// The order.
    pub order: Order,
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
    /// Coin.
    pub coin: String,
    /// The contract as the file names it.
    pub contract: String,
    /// Time of the open.
    pub timestamp: Millis,
    /// Length in milliseconds.
    pub interval: i64,
    /// Open, high, low and close per coin.
    pub prices: [Decimal; 4],
    /// Volume in coins.
    pub volume: Decimal,
}

impl RowBar {
    /// Converts prices and volume from listed units of `scale` coins to single coins.
    pub(super) fn of_one(mut self, scale: u32) -> Result<Self, RowError> {
        let fits = |value: Option<Decimal>| {
            value.ok_or_else(|| {
                RowError::new("a number does not fit a decimal exactly", &self.contract)
            })
        };
        let [open, high, low, close] = self.prices;
        let prices = [
            fits(price_of_one(open, scale))?,
            fits(price_of_one(high, scale))?,
            fits(price_of_one(low, scale))?,
            fits(price_of_one(close, scale))?,
        ];
        self.volume = fits(unscaled(self.volume, scale))?;
        self.prices = prices;
        Ok(self)
    }
}

/// A reading of open interest from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowReading {
    /// Exchange, lower case.
    pub exchange: String,
    /// Coin.
    pub coin: String,
    /// The contract as the file names it.
    pub contract: String,
    /// Time of the reading.
    pub timestamp: Millis,
    /// Open interest in coins, one side.
    pub open_interest: Decimal,
    /// When the recorder received it, if recorded.
    pub received_at: Option<Millis>,
}

impl RowReading {
    /// Converts from listed units of `scale` coins to single coins.
    pub(super) fn of_one(mut self, scale: u32) -> Result<Self, RowError> {
        self.open_interest = unscaled(self.open_interest, scale).ok_or_else(|| {
            RowError::new("a number does not fit a decimal exactly", &self.contract)
        })?;
        Ok(self)
    }
}
