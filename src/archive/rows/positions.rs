//! Trading positions of single accounts, in snapshots.

use std::cmp::Ordering;

use crate::archive::rows::row::{Fault, Row, check_amount, check_name, check_time};
pub use crate::model::PositionRow;
use crate::model::{Millis, Record};

impl Row for PositionRow {
    const TABLE: &'static str = "positions";
    const UNIQUE: &'static str = "exchange, coin, account, side, timestamp";
    const GROUP: usize = 8192;
    const COIN: &'static str = "coin";

    fn check(&self) -> Result<(), Fault> {
        if let Some(fault) = self.fault() {
            return Err(fault);
        }
        check_name("exchange", &self.exchange)?;
        check_name("account", &self.account)?;
        check_name("coin", &self.coin)?;
        check_amount("qty", self.qty)?;
        for (column, price) in [
            ("entry_price", self.entry_price),
            ("liquidation_price", self.liquidation_price),
        ] {
            if let Some(price) = price {
                check_amount(column, price)?;
            }
        }
        if let Some(mode) = &self.margin_mode {
            check_name("margin_mode", mode)?;
        }
        check_amount("value_usd", self.value_usd)?;
        check_time("observed_at", self.observed_at)?;
        check_time("timestamp", self.timestamp)?;
        Ok(())
    }

    fn key(&self) -> String {
        format!(
            "{}\n{}\n{}\n{:?}\n{}",
            self.exchange, self.coin, self.account, self.side, self.timestamp.0
        )
    }

    fn exchange(&self) -> Option<&str> {
        Some(&self.exchange)
    }

    fn symbol(&self) -> &str {
        &self.coin
    }

    fn timestamp(&self) -> Millis {
        self.timestamp
    }

    /// Time of the snapshot, which counts as the time of receipt.
    fn received_at(&self) -> Millis {
        self.timestamp
    }

    fn file_order(&self, other: &Self) -> Ordering {
        (
            self.timestamp,
            &self.exchange,
            &self.coin,
            &self.account,
            self.side,
        )
            .cmp(&(
                other.timestamp,
                &other.exchange,
                &other.coin,
                &other.account,
                other.side,
            ))
    }
}
