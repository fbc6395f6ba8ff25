//! The newest orders, read fast and once: all of a last stretch of time, and then what has been appended since.

use std::collections::BTreeMap;

use rusqlite::{Connection, Statement, params};
use rust_decimal::Decimal;

use super::journal;
use super::known::{Known, Place, known};
use super::manifest::{self, Day, State};
use super::orders::{OrderRow, word};
use super::row::{Row, not_readable};
use super::scan::Filter;
use super::{Archive, ArchiveError};
use crate::model::{Millis, Side};

/// What a total is made of, of one order; its names are borrowed from the journal.
#[derive(Clone, Copy, Debug)]
pub struct OrderBrief<'a> {
    /// Its number in the order of arrival; 0 where it has left the journal.
    pub number: i64,
    /// Exchange, lower case.
    pub exchange: &'a str,
    /// Trading pair.
    pub symbol: &'a str,
    /// Coin.
    pub coin: &'a str,
    /// Side of the liquidated position.
    pub side: Side,
    /// Price in the quote currency.
    pub price: Decimal,
    /// Quantity in base units.
    pub qty: Decimal,
    /// Notional in USD.
    pub value_usd: Decimal,
    /// Event time.
    pub timestamp: Millis,
    /// When it was received.
    pub received_at: Millis,
}

impl<'a> From<&'a OrderRow> for OrderBrief<'a> {
    fn from(row: &'a OrderRow) -> Self {
        let order = &row.order;
        Self {
            number: 0,
            exchange: &order.exchange,
            symbol: &order.symbol,
            coin: &row.coin,
            side: order.side,
            price: order.price,
            qty: order.qty,
            value_usd: order.value_usd,
            timestamp: order.timestamp,
            received_at: row.received_at,
        }
    }
}

/// What has been appended behind a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// What is known of the archive now; the next place to go on from is its end.
    pub known: Known,
    /// Per coin, the earliest instant that new bars or readings of open interest are about.
    pub coins: BTreeMap<String, Millis>,
    /// Whether some of it has left the journal already, so that it cannot be told what was new.
    pub missed: bool,
}

const COLUMNS: &str =
    "id, exchange, symbol, coin, side, price, qty, value_usd, timestamp, received_at";

/// Shows `sink` every order of a query for [`COLUMNS`].
fn show(
    statement: &mut Statement<'_>,
    parameters: impl rusqlite::Params,
    sink: &mut dyn FnMut(OrderBrief<'_>),
) -> rusqlite::Result<()> {
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        let text = |column: usize| -> rusqlite::Result<&str> { Ok(row.get_ref(column)?.as_str()?) };
        let number = |column: usize| -> rusqlite::Result<Decimal> {
            let text = row.get_ref(column)?.as_str()?;
            match short(text) {
                Some(value) => Ok(value),
                None => {
                    Decimal::from_str_exact(text).map_err(|source| not_readable(column, source))
                }
            }
        };
        sink(OrderBrief {
            number: row.get(0)?,
            exchange: text(1)?,
            symbol: text(2)?,
            coin: text(3)?,
            side: match text(4)? {
                "LONG" => Side::Long,
                "SHORT" => Side::Short,
                other => word(other).map_err(|source| not_readable(4, source))?,
            },
            price: number(5)?,
            qty: number(6)?,
            value_usd: number(7)?,
            timestamp: Millis(row.get(8)?),
            received_at: Millis(row.get(9)?),
        });
    }
    Ok(())
}

/// A decimal of at most 18 digits, as the journal spells it; `None` leaves it to the general reader.
fn short(text: &str) -> Option<Decimal> {
    const DIGITS: usize = 18;
    if text.len() > DIGITS + 1 {
        return None;
    }
    // Nineteen nines still fit.
    let mut mantissa: u64 = 0;
    let mut scale = None;
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => {
                mantissa = mantissa * 10 + u64::from(byte - b'0');
                scale = scale.map(|scale: u32| scale + 1);
            }
            b'.' if scale.is_none() => scale = Some(0),
            _ => return None,
        }
    }
    // Nineteen digits are too many; a point that nothing follows is not ours.
    let mantissa = i64::try_from(mantissa).ok()?;
    let short = text.len() <= DIGITS || scale.is_some();
    (short && scale != Some(0) && !text.is_empty())
        .then(|| Decimal::new(mantissa, scale.unwrap_or_default()))
}

impl Archive {
    /// Shows `sink` every order that `filter` asks for, in no order, and gives what is known at that instant.
    ///
    /// Only what is looked at is read, and no more than a day of it is held: several times as fast as
    /// [`Archive::orders`], and for as many orders as there are.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] as [`Archive::orders`] gives; a damaged file is left out.
    pub fn orders_briefly(
        &self,
        filter: &Filter,
        sink: &mut dyn FnMut(OrderBrief<'_>),
    ) -> Result<Known, ArchiveError> {
        filter.check()?;
        let start = filter.start.unwrap_or(Millis(i64::MIN));
        let end = filter.end.unwrap_or(Millis(i64::MAX));
        // One transaction, so that a roll moves no order past it; files that are listed never change.
        let (known, filed) = self.ask(|journal| {
            let known = known(journal)?;
            let mut filed = Vec::new();
            for day in manifest::days(journal, OrderRow::TABLE)? {
                if day.end() > start && day.start() < end {
                    let parts = manifest::of_day(journal, OrderRow::TABLE, day, State::Kept)?;
                    let (start, end) = (start.max(day.start()), end.min(day.end()));
                    let rows = journal::rows::<OrderRow>(journal, start, end, filter)?;
                    filed.push((day, parts, rows));
                }
            }
            let days: Vec<Day> = filed.iter().map(|(day, ..)| *day).collect();
            show_journal(journal, filter, (start, end), &mut |brief| {
                if days.binary_search(&Day::of(brief.timestamp)).is_err() {
                    sink(brief);
                }
            })?;
            Ok((known, filed))
        })?;
        for (day, parts, rows) in filed {
            let scan = self.together(day, filter, rows, parts, &[])?;
            for damaged in scan.damaged {
                log::warn!(
                    "{} orders are missing: {}: {}",
                    damaged.rows,
                    damaged.path.display(),
                    damaged.reason
                );
            }
            for row in &scan.rows {
                sink(OrderBrief::from(row));
            }
        }
        Ok(known)
    }

    /// Shows `sink` the orders behind `place` in their order of arrival, and says what else is new.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal cannot be read.
    pub fn news(
        &self,
        place: Place,
        sink: &mut dyn FnMut(OrderBrief<'_>),
    ) -> Result<News, ArchiveError> {
        self.ask(|journal| {
            let known = known(journal)?;
            let missed = known.rolled.orders > place.orders
                || known.rolled.bars > place.bars
                || known.rolled.open_interest > place.open_interest;
            let mut coins = BTreeMap::new();
            if !missed {
                if known.end.orders > place.orders {
                    let mut statement = journal.prepare_cached(&format!(
                        "SELECT {COLUMNS} FROM orders WHERE id > ?1 ORDER BY id"
                    ))?;
                    show(&mut statement, [place.orders], sink)?;
                }
                for (table, behind, end) in [
                    ("bars", place.bars, known.end.bars),
                    (
                        "open_interest",
                        place.open_interest,
                        known.end.open_interest,
                    ),
                ] {
                    if end > behind {
                        earliest(journal, table, behind, &mut coins)?;
                    }
                }
            }
            Ok(News {
                known,
                coins,
                missed,
            })
        })
    }

    /// Shows `sink` up to `limit` orders behind the one of this number that are still in the journal, as they arrived.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal cannot be read.
    pub fn arrivals(
        &self,
        after: i64,
        limit: usize,
        sink: &mut dyn FnMut(OrderBrief<'_>),
    ) -> Result<Known, ArchiveError> {
        self.ask(|journal| {
            let known = known(journal)?;
            let mut statement = journal.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM orders WHERE id > ?1 ORDER BY id LIMIT ?2"
            ))?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            show(&mut statement, [after, limit], sink)?;
            Ok(known)
        })
    }
}

/// Shows the orders of the journal that `filter` asks for.
fn show_journal(
    journal: &Connection,
    filter: &Filter,
    (start, end): (Millis, Millis),
    sink: &mut dyn FnMut(OrderBrief<'_>),
) -> rusqlite::Result<()> {
    let (all, wanted): (i64, i64) = journal.query_row(
        "SELECT coalesce((SELECT max(id) - min(id) + 1 FROM orders), 0),
                (SELECT count(*) FROM orders WHERE timestamp >= ?1 AND timestamp < ?2)",
        [start.0, end.0],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    // Reading the table as it lies is several times as fast as by way of the index, if most of it is wanted.
    let hint = if wanted > all / 4 {
        "NOT INDEXED"
    } else {
        "INDEXED BY orders_by_time"
    };
    let mut statement = journal.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM orders {hint} WHERE timestamp >= ?1 AND timestamp < ?2
         AND received_at <= ?3 AND (?4 IS NULL OR exchange = ?4) AND (?5 IS NULL OR symbol = ?5)
         AND (?6 IS NULL OR coin = ?6)"
    ))?;
    let known_by = filter.as_of.unwrap_or(Millis(i64::MAX));
    let parameters = params![
        start.0,
        end.0,
        known_by.0,
        filter.exchange,
        filter.symbol,
        filter.coin
    ];
    show(&mut statement, parameters, &mut |brief| {
        if brief.timestamp <= known_by {
            sink(brief);
        }
    })
}

/// Notes the earliest instant that rows behind a number are about, per coin.
fn earliest(
    journal: &Connection,
    table: &str,
    behind: i64,
    coins: &mut BTreeMap<String, Millis>,
) -> rusqlite::Result<()> {
    let mut statement = journal.prepare_cached(&format!(
        "SELECT symbol, min(timestamp) FROM {table} NOT INDEXED WHERE id > ?1 GROUP BY symbol"
    ))?;
    let mut rows = statement.query([behind])?;
    while let Some(row) = rows.next()? {
        let first = Millis(row.get(1)?);
        coins
            .entry(row.get(0)?)
            .and_modify(|known: &mut Millis| *known = first.min(*known))
            .or_insert(first);
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_short_decimal_is_read_as_the_general_reader_reads_it() {
        for text in [
            "0",
            "1",
            "82651.9",
            "0.000000001",
            "999999999999999999",
            "0.12345678901234567",
            "99999999999999999.9",
            "123456789.123456789",
        ] {
            let value: Decimal = Decimal::from_str_exact(text).unwrap();
            assert_eq!(short(text).unwrap().to_string(), value.to_string());
        }
        for text in [
            "",
            ".",
            "-1",
            "1.",
            "1.2.3",
            "1e5",
            "9223372036854775808",
            "1000000000000000000",
            "123456789012345678.9x",
        ] {
            assert_eq!(short(text), None, "{text}");
        }
    }
}
