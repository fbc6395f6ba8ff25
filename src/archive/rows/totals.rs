//! Liquidated USD by period, as published by an exchange or a data service.

use std::cmp::Ordering;
use std::hash::{Hash as _, Hasher};

use crate::archive::rows::bars::check_interval;
use crate::archive::rows::row::{Fault, Row, check_amount, check_name, check_time};
use crate::model::Millis;
pub use crate::model::TotalRow;

impl Row for TotalRow {
    const TABLE: &'static str = "totals";
    const UNIQUE: &'static str = "symbol, timestamp, exchange, interval";
    const HAS_INTERVAL: bool = true;
    const GROUP: usize = 8192;
    const COIN: &'static str = "symbol";
    const DIVIDED: &'static str = "symbol, timestamp";

    fn check(&self) -> Result<(), Fault> {
        check_name("exchange", &self.exchange)?;
        check_name("symbol", &self.symbol)?;
        check_time("timestamp", self.timestamp)?;
        check_time("received_at", self.received_at)?;
        check_interval(self.timestamp, self.interval)?;
        check_amount("long_usd", self.long_usd)?;
        check_amount("short_usd", self.short_usd)?;
        if self.received_at < self.range().end {
            let message = format!(
                "{} is before the end of the period, {}",
                self.received_at,
                self.range().end
            );
            return Err(("received_at", message));
        }
        Ok(())
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
        self.range().end
    }

    fn file_order(&self, other: &Self) -> Ordering {
        (&self.symbol, &self.exchange, self.timestamp).cmp(&(
            &other.symbol,
            &other.exchange,
            other.timestamp,
        ))
    }
}
