//! Price bars.

use std::cmp::Ordering;
use std::hash::{Hash as _, Hasher};

use rust_decimal::Decimal;

use crate::archive::rows::row::{Fault, Row, check_amount, check_decimal, check_name, check_time};
use crate::model::{Millis, ObservedBar, nearest_f64, record};

record! {
    /// One closed price bar of a coin on one exchange.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct BarRow {
        /// Exchange, lower case.
        pub exchange: String,
        /// Coin symbol.
        pub symbol: String,
        /// Length in milliseconds: a whole number of minutes that divides a day.
        #[unit("ms")]
        pub interval: i64,
        /// Time at which the bar opens.
        pub timestamp: Millis,
        /// First price.
        #[unit("quote currency")]
        pub open: Decimal,
        /// Highest price.
        #[unit("quote currency")]
        pub high: Decimal,
        /// Lowest price.
        #[unit("quote currency")]
        pub low: Decimal,
        /// Last price.
        #[unit("quote currency")]
        pub close: Decimal,
        /// Traded volume in base units.
        #[unit("base units")]
        pub volume: Decimal,
        /// When the bar was received.
        pub received_at: Millis,
    }
}

impl BarRow {
    /// Close time.
    #[must_use]
    pub fn close_time(&self) -> Millis {
        self.timestamp.on(self.interval)
    }
}

impl From<BarRow> for ObservedBar {
    fn from(row: BarRow) -> Self {
        Self {
            closes_at: Some(row.timestamp.on(row.interval)),
            symbol: row.symbol,
            timestamp: row.timestamp,
            interval: Some(row.interval),
            open: nearest_f64(row.open),
            high: nearest_f64(row.high),
            low: nearest_f64(row.low),
            close: nearest_f64(row.close),
            volume: nearest_f64(row.volume),
        }
    }
}

/// Returns an error for a period that is not one of the equal periods of a day.
pub(super) fn check_interval(at: Millis, interval: i64) -> Result<(), Fault> {
    if interval <= 0 || interval % Millis::MINUTE != 0 || Millis::DAY % interval != 0 {
        return Err((
            "interval",
            format!("{interval} ms is not a whole number of minutes that divides a day"),
        ));
    }
    if at.0 % interval != 0 {
        return Err((
            "timestamp",
            format!("{at} is not a multiple of {interval} ms"),
        ));
    }
    Ok(())
}

impl Row for BarRow {
    const TABLE: &'static str = "bars";
    const UNIQUE: &'static str = "symbol, timestamp, exchange, interval";
    const HAS_INTERVAL: bool = true;
    const HAS_PRICES: bool = true;
    const GROUP: usize = 8192;
    const COIN: &'static str = "symbol";
    const DIVIDED: &'static str = "symbol, timestamp";

    fn check(&self) -> Result<(), Fault> {
        check_name("exchange", &self.exchange)?;
        check_name("symbol", &self.symbol)?;
        check_time("timestamp", self.timestamp)?;
        check_time("received_at", self.received_at)?;
        check_interval(self.timestamp, self.interval)?;
        for (column, value) in [
            ("open", self.open),
            ("high", self.high),
            ("low", self.low),
            ("close", self.close),
        ] {
            if value <= Decimal::ZERO {
                return Err((column, format!("{value} is not above 0")));
            }
            if value > self.high || value < self.low {
                return Err((
                    column,
                    format!(
                        "{value} is outside the range of the bar, from {} to {}",
                        self.low, self.high
                    ),
                ));
            }
            check_decimal(column, value)?;
        }
        check_amount("volume", self.volume)
    }

    fn key(&self) -> String {
        format!(
            "{}\n{}\n{}\n{}",
            self.symbol, self.exchange, self.interval, self.timestamp.0
        )
    }

    fn hash_key(&self, hasher: &mut impl Hasher) {
        (&self.symbol, &self.exchange, self.interval, self.timestamp).hash(hasher);
    }

    fn has_key_of(&self, other: &Self) -> bool {
        self.timestamp == other.timestamp
            && self.interval == other.interval
            && self.symbol == other.symbol
            && self.exchange == other.exchange
    }

    fn exchange(&self) -> Option<&str> {
        Some(&self.exchange)
    }

    fn symbol(&self) -> &str {
        &self.symbol
    }

    fn interval(&self) -> i64 {
        self.interval
    }

    fn timestamp(&self) -> Millis {
        self.timestamp
    }

    fn received_at(&self) -> Millis {
        self.received_at
    }

    fn known_at(&self) -> Millis {
        self.close_time()
    }

    fn file_order(&self, other: &Self) -> Ordering {
        (&self.symbol, &self.exchange, self.timestamp).cmp(&(
            &other.symbol,
            &other.exchange,
            other.timestamp,
        ))
    }
}
