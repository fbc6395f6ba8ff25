//! Positions of single accounts as they are kept: snapshots, each of which has all rows of one round of looking.

use std::collections::BTreeMap;

use super::filter::Filter;
use super::manifest::{self, State};
use super::reader::Archive;
use super::row::{Fault, Row, check_amount, check_name, check_time};
use super::scan::Scan;
use super::{ArchiveError, journal};
use crate::model::Millis;
pub use crate::model::PositionRow;

/// A leverage above this is none that an exchange gives.
const MOST_LEVERAGE: f64 = 1000.0;

impl Row for PositionRow {
    const TABLE: &'static str = "positions";
    const UNIQUE: &'static str = "exchange, coin, account, side, timestamp";
    const GROUP: usize = 8192;
    const COIN: &'static str = "coin";
    const SINCE: i32 = 9;

    fn check(&self) -> Result<(), Fault> {
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
        if let Some(leverage) = self.leverage
            && !(leverage > 0.0 && leverage <= MOST_LEVERAGE)
        {
            let message = format!("{leverage} is not above 0 and at most {MOST_LEVERAGE}");
            return Err(("leverage", message));
        }
        if let Some(mode) = &self.margin_mode {
            check_name("margin_mode", mode)?;
        }
        check_amount("value_usd", self.value_usd)?;
        if let Some(share) = self.seen_share
            && !(0.0..=1.0).contains(&share)
        {
            return Err(("seen_share", format!("{share} is not from 0 to 1")));
        }
        check_time("observed_at", self.observed_at)?;
        check_time("timestamp", self.timestamp)?;
        if self.observed_at > self.timestamp {
            let message = format!(
                "{} is after the snapshot, {}",
                self.observed_at, self.timestamp
            );
            return Err(("observed_at", message));
        }
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

    /// A snapshot is known once it is complete.
    fn received_at(&self) -> Millis {
        self.timestamp
    }

    fn sort_for_file(rows: &mut [Self]) {
        rows.sort_by(|a, b| {
            (a.timestamp, &a.exchange, &a.coin, &a.account, a.side).cmp(&(
                b.timestamp,
                &b.exchange,
                &b.coin,
                &b.account,
                b.side,
            ))
        });
    }
}

impl Archive {
    /// The positions that `filter` asks for, by snapshot, exchange, coin and account.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] as [`Archive::orders`] gives.
    pub fn positions(&self, filter: &Filter) -> Result<Scan<PositionRow>, ArchiveError> {
        let mut scan = self.scan::<PositionRow>(filter)?;
        PositionRow::sort_for_file(&mut scan.rows);
        Ok(scan)
    }

    /// The positions of a coin in the last snapshot that each exchange has by `as_of`, or else in the last of all, by
    /// exchange and account; of `exchange` alone where it is named. An exchange whose last snapshot is more than an hour
    /// older than the newest is left out. A snapshot in which the coin has none gives none.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] as [`Archive::orders`] gives.
    pub fn last_positions(
        &self,
        coin: &str,
        exchange: Option<&str>,
        as_of: Option<Millis>,
    ) -> Result<Scan<PositionRow>, ArchiveError> {
        let mut filter = Filter {
            end: as_of.map(|at| at.on(1)),
            exchange: exchange.map(str::to_owned),
            ..Filter::default()
        };
        let Some(newest) = self.newest_snapshot(&filter)? else {
            return Ok(Scan::default());
        };
        filter.start = Some(newest.back(Millis::HOUR));
        let scan = self.scan::<PositionRow>(&filter)?;
        let mut last: BTreeMap<String, Millis> = BTreeMap::new();
        for row in &scan.rows {
            let at = last.entry(row.exchange.clone()).or_default();
            *at = row.timestamp.max(*at);
        }
        let is_last = |row: &PositionRow| last.get(&row.exchange) == Some(&row.timestamp);
        let mut rows = scan.rows;
        rows.retain(|row| row.coin == coin && is_last(row));
        rows.sort_by(|a, b| {
            (&a.exchange, &a.account, a.side).cmp(&(&b.exchange, &b.account, b.side))
        });
        Ok(Scan {
            rows,
            damaged: scan.damaged,
        })
    }

    /// When the newest snapshot was that a filter of an end and an exchange asks for.
    fn newest_snapshot(&self, filter: &Filter) -> Result<Option<Millis>, ArchiveError> {
        let end = filter.end.unwrap_or(Millis(i64::MAX));
        for day in self.days::<PositionRow>(filter)?.into_iter().rev() {
            let (journaled, filed) = self.ask(|journal| {
                let end = end.min(day.end());
                Ok((
                    journal::newest::<PositionRow>(journal, day.start(), end)?,
                    manifest::of_day(journal, PositionRow::TABLE, day, State::Kept)?,
                ))
            })?;
            let filed = filed.iter().map(|part| part.last).max();
            // The lists tell it, unless an exchange is named or a file reaches past the end.
            if filter.exchange.is_none() && filed.is_none_or(|last| last < end) {
                if let Some(at) = journaled.max(filed) {
                    return Ok(Some(at));
                }
                continue;
            }
            let rows = self.day::<PositionRow>(day, filter)?.rows;
            if let Some(at) = rows.iter().map(|row| row.timestamp).max() {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}
