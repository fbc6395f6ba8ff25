//! Price bars as they are kept.

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use rusqlite::params;
use rust_decimal::Decimal;

use super::row::{
    Columns, Fault, Is, Row, check_decimal, check_name, check_time, decimal, decimals, instants,
    next, schema, text, texts,
};
use crate::model::{Millis, ObservedBar, nearest_f64};

/// One closed price bar of a coin on one exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarRow {
    /// Exchange, lower case.
    pub exchange: String,
    /// Coin symbol.
    pub symbol: String,
    /// Time of the open.
    pub timestamp: Millis,
    /// Length in milliseconds: whole minutes that divide a day.
    pub interval: i64,
    /// First price.
    pub open: Decimal,
    /// Highest price.
    pub high: Decimal,
    /// Lowest price.
    pub low: Decimal,
    /// Last price.
    pub close: Decimal,
    /// Traded volume in base units.
    pub volume: Decimal,
    /// When it was received.
    pub received_at: Millis,
}

impl BarRow {
    /// The instant the bar closes.
    #[must_use]
    pub fn close_time(&self) -> Millis {
        self.timestamp.on(self.interval)
    }
}

impl From<BarRow> for ObservedBar {
    fn from(row: BarRow) -> Self {
        Self {
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

/// A length of bars as folders are named after it: `1m`, `4h`, `1d`.
pub(super) fn interval_name(interval: i64) -> String {
    for (unit, name) in [
        (Millis::DAY, "d"),
        (Millis::HOUR, "h"),
        (Millis::MINUTE, "m"),
    ] {
        if interval % unit == 0 {
            return format!("{}{name}", interval / unit);
        }
    }
    format!("{interval}ms")
}

impl Row for BarRow {
    const TABLE: &'static str = "bars";
    const COLUMNS: &'static [&'static str] = &[
        "exchange",
        "symbol",
        "interval",
        "timestamp",
        "open",
        "high",
        "low",
        "close",
        "volume",
        "received_at",
    ];
    const CREATE: &'static str = "
        CREATE TABLE bars (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            exchange TEXT NOT NULL,
            symbol TEXT NOT NULL,
            interval INTEGER NOT NULL,
            timestamp INTEGER NOT NULL,
            open TEXT NOT NULL,
            high TEXT NOT NULL,
            low TEXT NOT NULL,
            close TEXT NOT NULL,
            volume TEXT NOT NULL,
            received_at INTEGER NOT NULL,
            UNIQUE (symbol, timestamp, exchange, interval)
        ) STRICT;
        CREATE INDEX bars_by_time ON bars (timestamp);";
    const HAS_INTERVAL: bool = true;
    const GROUP: usize = 8192;
    const COIN: &'static str = "symbol";
    const DIVIDED: &'static str = "symbol, timestamp";

    fn check(&self) -> Result<(), Fault> {
        check_name("exchange", &self.exchange)?;
        check_name("symbol", &self.symbol)?;
        let interval = self.interval;
        if interval <= 0 || interval % Millis::MINUTE != 0 || Millis::DAY % interval != 0 {
            return Err((
                "interval",
                format!("{interval} ms is no number of whole minutes that divides a day"),
            ));
        }
        check_time("timestamp", self.timestamp)?;
        check_time("received_at", self.received_at)?;
        if self.timestamp.0 % interval != 0 {
            return Err((
                "timestamp",
                format!("{} is not a multiple of {interval} ms", self.timestamp),
            ));
        }
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
                        "{value} is outside the bar, from {} to {}",
                        self.low, self.high
                    ),
                ));
            }
            check_decimal(column, value)?;
        }
        if self.volume < Decimal::ZERO {
            return Err(("volume", format!("{} is below 0", self.volume)));
        }
        check_decimal("volume", self.volume)
    }

    fn write(&self, statement: &mut rusqlite::Statement<'_>) -> rusqlite::Result<usize> {
        statement.execute(params![
            self.exchange,
            self.symbol,
            self.interval,
            self.timestamp.0,
            text(self.open),
            text(self.high),
            text(self.low),
            text(self.close),
            text(self.volume),
            self.received_at.0,
        ])
    }

    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            exchange: row.get(1)?,
            symbol: row.get(2)?,
            interval: row.get(3)?,
            timestamp: Millis(row.get(4)?),
            open: decimal(row, 5)?,
            high: decimal(row, 6)?,
            low: decimal(row, 7)?,
            close: decimal(row, 8)?,
            volume: decimal(row, 9)?,
            received_at: Millis(row.get(10)?),
        })
    }

    fn key(&self) -> String {
        format!(
            "{}\n{}\n{}\n{}",
            self.symbol, self.exchange, self.interval, self.timestamp.0
        )
    }

    fn exchange(&self) -> Option<&str> {
        Some(&self.exchange)
    }

    fn symbol(&self) -> &str {
        &self.symbol
    }

    fn coin(&self) -> &str {
        &self.symbol
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

    fn sort_for_file(rows: &mut [Self]) {
        rows.sort_by(|a, b| {
            (&a.symbol, &a.exchange, a.timestamp).cmp(&(&b.symbol, &b.exchange, b.timestamp))
        });
    }

    fn schema() -> SchemaRef {
        schema(&[
            ("exchange", Is::Text),
            ("symbol", Is::Text),
            ("timestamp", Is::Instant),
            ("open", Is::Decimal),
            ("high", Is::Decimal),
            ("low", Is::Decimal),
            ("close", Is::Decimal),
            ("volume", Is::Decimal),
            ("received_at", Is::Instant),
        ])
    }

    fn encode(rows: &[Self]) -> Result<Vec<ArrayRef>, Fault> {
        Ok(vec![
            texts(rows, |row| &row.exchange),
            texts(rows, |row| &row.symbol),
            instants(rows, |row| row.timestamp),
            decimals("open", rows, |row| row.open)?,
            decimals("high", rows, |row| row.high)?,
            decimals("low", rows, |row| row.low)?,
            decimals("close", rows, |row| row.close)?,
            decimals("volume", rows, |row| row.volume)?,
            instants(rows, |row| row.received_at),
        ])
    }

    fn decode(columns: &Columns<'_>, interval: i64) -> Result<Vec<Self>, Fault> {
        let mut exchange = columns.texts("exchange")?;
        let mut symbol = columns.texts("symbol")?;
        let mut timestamp = columns.instants("timestamp")?;
        let mut open = columns.decimals("open")?;
        let mut high = columns.decimals("high")?;
        let mut low = columns.decimals("low")?;
        let mut close = columns.decimals("close")?;
        let mut volume = columns.decimals("volume")?;
        let mut received_at = columns.instants("received_at")?;
        (0..columns.len())
            .map(|_| {
                Ok(Self {
                    exchange: next("exchange", &mut exchange)?,
                    symbol: next("symbol", &mut symbol)?,
                    timestamp: next("timestamp", &mut timestamp)?,
                    interval,
                    open: next("open", &mut open)?,
                    high: next("high", &mut high)?,
                    low: next("low", &mut low)?,
                    close: next("close", &mut close)?,
                    volume: next("volume", &mut volume)?,
                    received_at: next("received_at", &mut received_at)?,
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_names_the_largest_unit() {
        for (minutes, name) in [
            (1, "1m"),
            (5, "5m"),
            (60, "1h"),
            (90, "90m"),
            (240, "4h"),
            (1440, "1d"),
        ] {
            assert_eq!(interval_name(minutes * Millis::MINUTE), name);
        }
    }
}
