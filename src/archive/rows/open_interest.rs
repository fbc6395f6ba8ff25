//! Open interest readings.

use std::cmp::Ordering;
use std::hash::{Hash as _, Hasher};

use rust_decimal::Decimal;

use crate::archive::rows::row::{Fault, Row, check_amount, check_name, check_time};
use crate::model::{Millis, ObservedOpenInterest, nearest_f64, record};

record! {
    /// One reading of a coin's open interest on one exchange.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct OpenInterestRow {
        /// Exchange, lower case.
        pub exchange: String,
        /// Coin symbol.
        pub symbol: String,
        /// Time of the reading.
        pub timestamp: Millis,
        /// Open interest in base units; each contract counts once, not once per side.
        #[unit("base units")]
        pub open_interest: Decimal,
        /// When the reading was received.
        pub received_at: Millis,
    }
}

impl From<OpenInterestRow> for ObservedOpenInterest {
    fn from(row: OpenInterestRow) -> Self {
        Self {
            symbol: row.symbol,
            exchange: Some(row.exchange),
            timestamp: row.timestamp,
            open_interest: nearest_f64(row.open_interest),
        }
    }
}

impl Row for OpenInterestRow {
    const TABLE: &'static str = "open_interest";
    const UNIQUE: &'static str = "symbol, timestamp, exchange";
    const GROUP: usize = 8192;
    const COIN: &'static str = "symbol";
    const DIVIDED: &'static str = "symbol, timestamp";

    fn check(&self) -> Result<(), Fault> {
        check_name("exchange", &self.exchange)?;
        check_name("symbol", &self.symbol)?;
        check_amount("open_interest", self.open_interest)?;
        check_time("timestamp", self.timestamp)?;
        check_time("received_at", self.received_at)
    }

    fn key(&self) -> String {
        format!("{}\n{}\n{}", self.symbol, self.exchange, self.timestamp.0)
    }

    fn hash_key(&self, hasher: &mut impl Hasher) {
        (&self.symbol, &self.exchange, self.timestamp).hash(hasher);
    }

    fn has_key_of(&self, other: &Self) -> bool {
        self.timestamp == other.timestamp
            && self.symbol == other.symbol
            && self.exchange == other.exchange
    }

    fn exchange(&self) -> Option<&str> {
        Some(&self.exchange)
    }

    fn symbol(&self) -> &str {
        &self.symbol
    }

    fn timestamp(&self) -> Millis {
        self.timestamp
    }

    fn received_at(&self) -> Millis {
        self.received_at
    }

    fn file_order(&self, other: &Self) -> Ordering {
        (&self.symbol, &self.exchange, self.timestamp).cmp(&(
            &other.symbol,
            &other.exchange,
            other.timestamp,
        ))
    }
}
