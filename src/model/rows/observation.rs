//! Observed rows, in the form in which tables, archives and simulations pass them to the engine.

use rust_decimal::Decimal;
use serde::Serialize;

use crate::model::{Millis, Order, Side};

/// One liquidation order with its coin and time of receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedOrder {
    /// The order.
    pub order: Order,
    /// Coin; derived from the pair if absent.
    pub coin: Option<String>,
    /// Time of receipt; the event time if absent.
    pub received_at: Option<Millis>,
    /// Id shared by the fills of one liquidation, if known.
    pub group_id: Option<String>,
}

crate::model::record! {
    impl ObservedOrder {
        exchange: String = order.exchange,
        symbol: String = order.symbol,
        side: Side = order.side,
        price: Decimal = order.price,
        qty: Decimal = order.qty,
        value_usd: Decimal = order.value_usd,
        timestamp: Millis = order.timestamp,
        coin: Option<String> = coin,
        received_at: Option<Millis> = received_at,
        group_id: Option<String> = group_id,
    }
    made of {
        order: Order { exchange, symbol, side, price, qty, value_usd, timestamp },
        coin,
        received_at,
        group_id,
    }
}

/// One price bar of a coin.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedBar<S = String> {
    /// Coin symbol.
    pub symbol: S,
    /// Time of the open.
    pub timestamp: Millis,
    /// Close time, from which on the bar is known; open time plus interval if absent.
    pub closes_at: Option<Millis>,
    /// First price.
    pub open: f64,
    /// Highest price.
    pub high: f64,
    /// Lowest price.
    pub low: f64,
    /// Last price.
    pub close: f64,
    /// Traded volume in base units.
    pub volume: f64,
    /// Length in milliseconds; inferred from the spacing of the coin's bars if absent.
    pub interval: Option<i64>,
}

crate::model::record! {
    impl ObservedBar {
        /// Coin symbol.
        symbol: String = symbol,
        /// Time of the open.
        timestamp: Millis = timestamp,
        /// Close time, from which on the bar is known; open time plus interval if absent.
        closes_at: Option<Millis> = closes_at,
        /// First price.
        #[unit("quote currency")]
        open: f64 = open,
        /// Highest price.
        #[unit("quote currency")]
        high: f64 = high,
        /// Lowest price.
        #[unit("quote currency")]
        low: f64 = low,
        /// Last price.
        #[unit("quote currency")]
        close: f64 = close,
        /// Traded volume in base units.
        #[unit("base units")]
        volume: f64 = volume,
        /// Length in milliseconds; inferred from the spacing of the coin's bars if absent.
        #[unit("ms")]
        interval: Option<i64> = interval,
    }
    made of { symbol, timestamp, closes_at, open, high, low, close, volume, interval }
}

impl<S> ObservedBar<S> {
    /// The given length, or else the time between open and close, in milliseconds.
    #[must_use]
    pub fn length(&self) -> Option<i64> {
        let lasting = |closes: Millis| closes.0.saturating_sub(self.timestamp.0);
        self.interval.or_else(|| self.closes_at.map(lasting))
    }
}

/// One reading of a coin's open interest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObservedOpenInterest<S = String> {
    /// Coin symbol.
    pub symbol: S,
    /// Exchange of the reading; absent if the reading is a total.
    pub exchange: Option<S>,
    /// Time of the reading.
    pub timestamp: Millis,
    /// Open interest in base units, one side.
    pub open_interest: f64,
}

crate::model::record! {
    impl ObservedOpenInterest {
        /// Coin symbol.
        symbol: String = symbol,
        /// Exchange of the reading; absent if the reading is a total.
        exchange: Option<String> = exchange,
        /// Time of the reading.
        timestamp: Millis = timestamp,
        /// Open interest in base units, one side.
        #[unit("base units")]
        open_interest: f64 = open_interest,
    }
    made of { symbol, exchange, timestamp, open_interest }
}

impl ObservedBar<&str> {
    /// The bar with a name of its own.
    #[must_use]
    pub fn owned(self) -> ObservedBar {
        ObservedBar {
            symbol: self.symbol.to_owned(),
            timestamp: self.timestamp,
            closes_at: self.closes_at,
            open: self.open,
            high: self.high,
            low: self.low,
            close: self.close,
            volume: self.volume,
            interval: self.interval,
        }
    }
}

impl<S: AsRef<str>> ObservedOpenInterest<S> {
    /// The reading with borrowed names.
    #[must_use]
    pub fn borrowed(&self) -> ObservedOpenInterest<&str> {
        ObservedOpenInterest {
            symbol: self.symbol.as_ref(),
            exchange: self.exchange.as_ref().map(AsRef::as_ref),
            timestamp: self.timestamp,
            open_interest: self.open_interest,
        }
    }

    /// The reading with names of its own.
    #[must_use]
    pub fn owned(&self) -> ObservedOpenInterest {
        let reading = self.borrowed();
        ObservedOpenInterest {
            symbol: reading.symbol.to_owned(),
            exchange: reading.exchange.map(str::to_owned),
            timestamp: reading.timestamp,
            open_interest: reading.open_interest,
        }
    }
}

crate::model::record! {
    /// One reading of a coin's open interest in USD.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ObservedOpenInterestUsd {
        /// Coin symbol.
        pub symbol: String,
        /// Exchange of the reading; absent if the reading is a total.
        pub exchange: Option<String>,
        /// Time of the reading.
        pub timestamp: Millis,
        /// Open interest in USD, one side.
        #[unit("USD")]
        pub open_interest_usd: f64,
    }
}

crate::model::record! {
    /// Liquidated USD of a coin in one period, for use without single orders.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ObservedLiquidations {
        /// Coin symbol.
        pub symbol: String,
        /// Start of the period.
        pub timestamp: Millis,
        /// USD of liquidated longs.
        #[unit("USD")]
        pub long_usd: f64,
        /// USD of liquidated shorts.
        #[unit("USD")]
        pub short_usd: f64,
        /// Length in milliseconds; inferred from the spacing of the coin's periods if absent.
        #[unit("ms")]
        pub interval: Option<i64>,
    }
}

crate::model::record! {
    /// One open position of a simulated market: the ground truth for an estimate.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Position {
        /// Coin symbol.
        pub symbol: String,
        /// Side of the position.
        pub side: Side,
        /// Leverage at entry.
        pub leverage: f64,
        /// Entry price.
        #[unit("quote currency")]
        pub entry_price: f64,
        /// Mark price at which the position is liquidated.
        #[unit("quote currency")]
        pub liquidation_price: f64,
        /// Quantity in base units.
        #[unit("base units")]
        pub qty: f64,
    }
}
