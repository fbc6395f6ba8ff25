//! Liquidation orders as they are kept.

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use rusqlite::params;
use rust_decimal::Decimal;

use super::row::{
    Columns, Fault, Is, Row, UnknownWord, check_decimal, check_name, check_time, decimal, decimals,
    instants, next, not_readable, schema, text, texts, texts_or_null,
};
use crate::model::{Millis, ObservedOrder, Order, Side, Vocabulary};

/// The largest value of an order: more than all that is open on all exchanges together, and little enough that a
/// hundred million of them can be summed to the last digit.
const MOST_USD: Decimal = Decimal::from_parts(3_567_587_328, 232, 0, false, 0);

/// How much of what happened a channel tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Completeness {
    /// Some orders are left out by the exchange, such as all but the largest of each second.
    Sampled,
    /// Every order is told.
    Complete,
    /// The exchange does not say.
    #[default]
    Unknown,
}

impl Vocabulary for Completeness {
    const ALL: &'static [Self] = &[Self::Sampled, Self::Complete, Self::Unknown];

    fn name(self) -> &'static str {
        match self {
            Self::Sampled => "sampled",
            Self::Complete => "complete",
            Self::Unknown => "unknown",
        }
    }
}

/// One liquidation order with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRow {
    /// The order.
    pub order: Order,
    /// Its coin.
    pub coin: String,
    /// What the price is a price of, such as `avg_fill` or `bankruptcy`.
    pub price_kind: String,
    /// Whether the channel tells every order.
    pub completeness: Completeness,
    /// The exchange's own name for it, where it has one.
    pub native_id: Option<String>,
    /// What tells it from every other order of its exchange, and is the same when it is sent again.
    pub dedupe_key: String,
    /// When it was received.
    pub received_at: Millis,
    /// The message it was read from, where that is worth keeping.
    pub raw: Option<String>,
}

impl From<OrderRow> for ObservedOrder {
    fn from(row: OrderRow) -> Self {
        Self {
            order: row.order,
            coin: Some(row.coin),
            received_at: Some(row.received_at),
        }
    }
}

/// A name of a vocabulary, or none.
pub(super) fn word<V: Vocabulary>(text: &str) -> Result<V, UnknownWord> {
    V::parse(text).ok_or_else(|| UnknownWord(text.to_owned()))
}

impl Row for OrderRow {
    const TABLE: &'static str = "orders";
    const COLUMNS: &'static [&'static str] = &[
        "exchange",
        "symbol",
        "coin",
        "side",
        "price",
        "price_kind",
        "qty",
        "value_usd",
        "timestamp",
        "received_at",
        "completeness",
        "native_id",
        "dedupe_key",
        "raw",
    ];
    const CREATE: &'static str = "
        CREATE TABLE orders (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            exchange TEXT NOT NULL,
            symbol TEXT NOT NULL,
            coin TEXT NOT NULL,
            side TEXT NOT NULL,
            price TEXT NOT NULL,
            price_kind TEXT NOT NULL,
            qty TEXT NOT NULL,
            value_usd TEXT NOT NULL,
            timestamp INTEGER NOT NULL,
            received_at INTEGER NOT NULL,
            completeness TEXT NOT NULL,
            native_id TEXT,
            dedupe_key TEXT NOT NULL,
            raw TEXT,
            UNIQUE (exchange, dedupe_key)
        ) STRICT;
        CREATE INDEX orders_by_time ON orders (timestamp);";
    const GROUP: usize = 32_768;
    const COIN: &'static str = "coin";

    fn check(&self) -> Result<(), Fault> {
        check_name("exchange", &self.order.exchange)?;
        check_name("symbol", &self.order.symbol)?;
        check_name("coin", &self.coin)?;
        check_name("price_kind", &self.price_kind)?;
        check_name("dedupe_key", &self.dedupe_key)?;
        for (column, value) in [("price", self.order.price), ("qty", self.order.qty)] {
            if value <= Decimal::ZERO {
                return Err((column, format!("{value} is not above 0")));
            }
            check_decimal(column, value)?;
        }
        if self.order.value_usd < Decimal::ZERO {
            return Err(("value_usd", format!("{} is below 0", self.order.value_usd)));
        }
        if self.order.value_usd > MOST_USD {
            return Err((
                "value_usd",
                format!(
                    "{} is more than any order can be worth; at most {MOST_USD} is kept",
                    self.order.value_usd
                ),
            ));
        }
        check_decimal("value_usd", self.order.value_usd)?;
        check_time("timestamp", self.order.timestamp)?;
        check_time("received_at", self.received_at)
    }

    fn write(&self, statement: &mut rusqlite::Statement<'_>) -> rusqlite::Result<usize> {
        let order = &self.order;
        statement.execute(params![
            order.exchange,
            order.symbol,
            self.coin,
            order.side.name(),
            text(order.price),
            self.price_kind,
            text(order.qty),
            text(order.value_usd),
            order.timestamp.0,
            self.received_at.0,
            self.completeness.name(),
            self.native_id,
            self.dedupe_key,
            self.raw,
        ])
    }

    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let side = word(row.get_ref(4)?.as_str()?).map_err(|source| not_readable(4, source))?;
        let completeness =
            word(row.get_ref(11)?.as_str()?).map_err(|source| not_readable(11, source))?;
        Ok(Self {
            order: Order {
                exchange: row.get(1)?,
                symbol: row.get(2)?,
                side,
                price: decimal(row, 5)?,
                qty: decimal(row, 7)?,
                value_usd: decimal(row, 8)?,
                timestamp: Millis(row.get(9)?),
            },
            coin: row.get(3)?,
            price_kind: row.get(6)?,
            completeness,
            native_id: row.get(12)?,
            dedupe_key: row.get(13)?,
            received_at: Millis(row.get(10)?),
            raw: row.get(14)?,
        })
    }

    fn key(&self) -> String {
        format!("{}\n{}", self.order.exchange, self.dedupe_key)
    }

    fn exchange(&self) -> Option<&str> {
        Some(&self.order.exchange)
    }

    fn symbol(&self) -> &str {
        &self.order.symbol
    }

    fn coin(&self) -> &str {
        &self.coin
    }

    fn timestamp(&self) -> Millis {
        self.order.timestamp
    }

    fn received_at(&self) -> Millis {
        self.received_at
    }

    fn sort_for_file(rows: &mut [Self]) {
        rows.sort_by(|a, b| {
            (a.order.timestamp, &a.order.exchange, &a.dedupe_key).cmp(&(
                b.order.timestamp,
                &b.order.exchange,
                &b.dedupe_key,
            ))
        });
    }

    fn schema() -> SchemaRef {
        schema(&[
            ("exchange", Is::Text),
            ("symbol", Is::Text),
            ("coin", Is::Text),
            ("side", Is::Text),
            ("price", Is::Decimal),
            ("price_kind", Is::Text),
            ("qty", Is::Decimal),
            ("value_usd", Is::Decimal),
            ("timestamp", Is::Instant),
            ("received_at", Is::Instant),
            ("completeness", Is::Text),
            ("native_id", Is::TextOrNull),
            ("dedupe_key", Is::Text),
            ("raw", Is::TextOrNull),
        ])
    }

    fn encode(rows: &[Self]) -> Result<Vec<ArrayRef>, Fault> {
        Ok(vec![
            texts(rows, |row| &row.order.exchange),
            texts(rows, |row| &row.order.symbol),
            texts(rows, |row| &row.coin),
            texts(rows, |row| row.order.side.name()),
            decimals("price", rows, |row| row.order.price)?,
            texts(rows, |row| &row.price_kind),
            decimals("qty", rows, |row| row.order.qty)?,
            decimals("value_usd", rows, |row| row.order.value_usd)?,
            instants(rows, |row| row.order.timestamp),
            instants(rows, |row| row.received_at),
            texts(rows, |row| row.completeness.name()),
            texts_or_null(rows, |row| row.native_id.as_deref()),
            texts(rows, |row| &row.dedupe_key),
            texts_or_null(rows, |row| row.raw.as_deref()),
        ])
    }

    fn decode(columns: &Columns<'_>, _interval: i64) -> Result<Vec<Self>, Fault> {
        let mut exchange = columns.texts("exchange")?;
        let mut symbol = columns.texts("symbol")?;
        let mut coin = columns.texts("coin")?;
        let mut side = columns.texts("side")?;
        let mut price = columns.decimals("price")?;
        let mut price_kind = columns.texts("price_kind")?;
        let mut qty = columns.decimals("qty")?;
        let mut value_usd = columns.decimals("value_usd")?;
        let mut timestamp = columns.instants("timestamp")?;
        let mut received_at = columns.instants("received_at")?;
        let mut completeness = columns.texts("completeness")?;
        let mut native_id = columns.texts("native_id")?;
        let mut dedupe_key = columns.texts("dedupe_key")?;
        let mut raw = columns.texts("raw")?;
        (0..columns.len())
            .map(|_| {
                let side: Side =
                    word(&next("side", &mut side)?).map_err(|fault| ("side", fault.to_string()))?;
                let completeness = word(&next("completeness", &mut completeness)?)
                    .map_err(|fault| ("completeness", fault.to_string()))?;
                Ok(Self {
                    order: Order {
                        exchange: next("exchange", &mut exchange)?,
                        symbol: next("symbol", &mut symbol)?,
                        side,
                        price: next("price", &mut price)?,
                        qty: next("qty", &mut qty)?,
                        value_usd: next("value_usd", &mut value_usd)?,
                        timestamp: next("timestamp", &mut timestamp)?,
                    },
                    coin: next("coin", &mut coin)?,
                    price_kind: next("price_kind", &mut price_kind)?,
                    completeness,
                    native_id: native_id.next().flatten(),
                    dedupe_key: next("dedupe_key", &mut dedupe_key)?,
                    received_at: next("received_at", &mut received_at)?,
                    raw: raw.next().flatten(),
                })
            })
            .collect()
    }
}
