//! Readings of open interest as they are kept.

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use rusqlite::params;
use rust_decimal::Decimal;

use super::row::{
    Columns, Fault, Is, Row, check_decimal, check_name, check_time, decimal, decimals, instants,
    next, schema, text, texts,
};
use crate::model::{Millis, ObservedOpenInterest, nearest_f64};

/// One reading of a coin's open interest on one exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenInterestRow {
    /// Exchange, lower case.
    pub exchange: String,
    /// Coin symbol.
    pub symbol: String,
    /// Instant of the reading.
    pub timestamp: Millis,
    /// Open interest in base units, one side.
    pub open_interest: Decimal,
    /// When it was received.
    pub received_at: Millis,
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
    const COLUMNS: &'static [&'static str] = &[
        "exchange",
        "symbol",
        "timestamp",
        "open_interest",
        "received_at",
    ];
    const CREATE: &'static str = "
        CREATE TABLE open_interest (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            exchange TEXT NOT NULL,
            symbol TEXT NOT NULL,
            timestamp INTEGER NOT NULL,
            open_interest TEXT NOT NULL,
            received_at INTEGER NOT NULL,
            UNIQUE (symbol, timestamp, exchange)
        ) STRICT;
        CREATE INDEX open_interest_by_time ON open_interest (timestamp);";
    const GROUP: usize = 8192;
    const COIN: &'static str = "symbol";
    const DIVIDED: &'static str = "symbol, timestamp";

    fn check(&self) -> Result<(), Fault> {
        check_name("exchange", &self.exchange)?;
        check_name("symbol", &self.symbol)?;
        if self.open_interest < Decimal::ZERO {
            return Err((
                "open_interest",
                format!("{} is below 0", self.open_interest),
            ));
        }
        check_decimal("open_interest", self.open_interest)?;
        check_time("timestamp", self.timestamp)?;
        check_time("received_at", self.received_at)
    }

    fn write(&self, statement: &mut rusqlite::Statement<'_>) -> rusqlite::Result<usize> {
        statement.execute(params![
            self.exchange,
            self.symbol,
            self.timestamp.0,
            text(self.open_interest),
            self.received_at.0,
        ])
    }

    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            exchange: row.get(1)?,
            symbol: row.get(2)?,
            timestamp: Millis(row.get(3)?),
            open_interest: decimal(row, 4)?,
            received_at: Millis(row.get(5)?),
        })
    }

    fn key(&self) -> String {
        format!("{}\n{}\n{}", self.symbol, self.exchange, self.timestamp.0)
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
            ("open_interest", Is::Decimal),
            ("received_at", Is::Instant),
        ])
    }

    fn encode(rows: &[Self]) -> Result<Vec<ArrayRef>, Fault> {
        Ok(vec![
            texts(rows, |row| &row.exchange),
            texts(rows, |row| &row.symbol),
            instants(rows, |row| row.timestamp),
            decimals("open_interest", rows, |row| row.open_interest)?,
            instants(rows, |row| row.received_at),
        ])
    }

    fn decode(columns: &Columns<'_>, _interval: i64) -> Result<Vec<Self>, Fault> {
        let mut exchange = columns.texts("exchange")?;
        let mut symbol = columns.texts("symbol")?;
        let mut timestamp = columns.instants("timestamp")?;
        let mut open_interest = columns.decimals("open_interest")?;
        let mut received_at = columns.instants("received_at")?;
        (0..columns.len())
            .map(|_| {
                Ok(Self {
                    exchange: next("exchange", &mut exchange)?,
                    symbol: next("symbol", &mut symbol)?,
                    timestamp: next("timestamp", &mut timestamp)?,
                    open_interest: next("open_interest", &mut open_interest)?,
                    received_at: next("received_at", &mut received_at)?,
                })
            })
            .collect()
    }
}
