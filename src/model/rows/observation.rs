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

crate::model::record! {
    /// One price bar of a coin.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ObservedBar {
        /// Coin symbol.
        pub symbol: String,
        /// Time of the open.
        pub timestamp: Millis,
        /// Close time, from which on the bar is known; open time plus interval if absent.
        pub closes_at: Option<Millis>,
        /// First price.
        #[unit("quote currency")]
        pub open: f64,
        /// Highest price.
        #[unit("quote currency")]
        pub high: f64,
        /// Lowest price.
        #[unit("quote currency")]
        pub low: f64,
        /// Last price.
        #[unit("quote currency")]
        pub close: f64,
        /// Traded volume in base units.
        #[unit("base units")]
        pub volume: f64,
        /// Length in milliseconds; inferred from the spacing of the coin's bars if absent.
        #[unit("ms")]
        pub interval: Option<i64>,
    }
}

impl ObservedBar {
    /// The given length, or else the time between open and close, in milliseconds.
    #[must_use]
    pub fn length(&self) -> Option<i64> {
        let lasting = |closes: Millis| closes.0.saturating_sub(self.timestamp.0);
        self.interval.or_else(|| self.closes_at.map(lasting))
    }
}

crate::model::record! {
    /// One reading of a coin's open interest.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub struct ObservedOpenInterest {
        /// Coin symbol.
        pub symbol: String,
        /// Exchange of the reading; absent if the reading is a total.
        pub exchange: Option<String>,
        /// Time of the reading.
        pub timestamp: Millis,
        /// Open interest in base units, one side.
        #[unit("base units")]
        pub open_interest: f64,
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
