//! Rows to store, and what is read back of them.

use liqdata::archive::{
    Archive, BarRow, BarTable, Batch, Completeness, Filter, GivenOrders, ImportOutcome,
    ImportScope, ImportedSession, InterestTable, OpenInterestRow, OrderRow, OrderTable,
    PositionRow, Scan, Tables, Writer,
};
use liqdata::model::{Labels, Millis, Order, Side};
use rust_decimal::Decimal;

/// The first instant of a day.
pub(crate) const START: i64 = 20_000 * Millis::DAY;

/// An order with all fields derived from `key` and `timestamp`.
pub(crate) fn order(key: u64, timestamp: i64) -> OrderRow {
    let exchange = ["binance", "bybit", "okx"][usize::try_from(key % 3).unwrap()];
    let coin = ["BTC", "ETH"][usize::try_from(key / 3 % 2).unwrap()];
    let price = Decimal::new(8_265_190 + i64::try_from(key).unwrap(), 2);
    let qty = Decimal::new(1 + i64::try_from(key % 1000).unwrap(), 3);
    OrderRow {
        order: Order {
            exchange: exchange.to_owned(),
            symbol: format!("{coin}USDT"),
            side: if key.is_multiple_of(2) {
                Side::Long
            } else {
                Side::Short
            },
            price,
            qty,
            value_usd: price * qty,
            timestamp: Millis(timestamp),
        },
        coin: coin.to_owned(),
        price_kind: "avg_fill".to_owned(),
        completeness: Completeness::Sampled,
        native_id: key.is_multiple_of(5).then(|| format!("native-{key}")),
        dedupe_key: format!("{exchange}|{key}"),
        received_at: Millis(timestamp + 40),
        raw: key.is_multiple_of(7).then(|| format!("{{\"key\":{key}}}")),
        group_id: key.is_multiple_of(4).then(|| format!("order:{}", key / 2)),
    }
}

pub(crate) fn bar(symbol: &str, minute: i64, price: i64) -> BarRow {
    let timestamp = START + minute * Millis::MINUTE;
    BarRow {
        exchange: "binance".to_owned(),
        symbol: symbol.to_owned(),
        timestamp: Millis(timestamp),
        interval: Millis::MINUTE,
        open: price.into(),
        high: (price + 2).into(),
        low: (price - 1).into(),
        close: (price + 1).into(),
        volume: Decimal::new(15, 1),
        received_at: Millis(timestamp + Millis::MINUTE + 5),
    }
}

pub(crate) fn reading(symbol: &str, timestamp: i64) -> OpenInterestRow {
    OpenInterestRow {
        exchange: "okx".to_owned(),
        symbol: symbol.to_owned(),
        timestamp: Millis(timestamp),
        open_interest: Decimal::new(timestamp - START, 4),
        received_at: Millis(timestamp + 100),
    }
}

/// A position of one account of one snapshot.
pub(crate) fn position(account: &str, coin: &str, timestamp: i64) -> PositionRow {
    PositionRow {
        exchange: "hyperliquid".to_owned(),
        account: account.to_owned(),
        coin: coin.to_owned(),
        side: Side::Short,
        qty: Decimal::new(785, 5),
        entry_price: Some(Decimal::new(269_510, 1)),
        leverage: Some(20.0),
        margin_mode: Some("cross".to_owned()),
        liquidation_price: None,
        value_usd: Decimal::new(21_164_542, 5),
        observed_at: Millis(timestamp - 1500),
        timestamp: Millis(timestamp),
        seen_share: Some(0.25),
    }
}

pub(crate) fn of_orders(orders: Vec<OrderRow>) -> Batch {
    Batch {
        orders,
        ..Batch::default()
    }
}

/// The rows of a scan in which nothing is damaged.
pub(crate) fn sound<R: std::fmt::Debug>(scan: Scan<R>) -> Vec<R> {
    assert!(scan.damaged.is_empty(), "{:?}", scan.damaged);
    scan.rows
}

/// Every order of an archive.
pub(crate) fn all_orders(archive: &Archive) -> Vec<OrderRow> {
    sound(archive.orders(&Filter::default()).unwrap())
}

/// In the order in which they are read.
pub(crate) fn sorted(mut orders: Vec<OrderRow>) -> Vec<OrderRow> {
    orders.sort_by_key(|row| {
        (
            row.order.timestamp,
            row.order.exchange.clone(),
            row.dedupe_key.clone(),
        )
    });
    orders
}

/// How many orders lie in the journal, by looking into it past the archive.
pub(crate) fn journaled(folder: &std::path::Path) -> u64 {
    let journal = rusqlite::Connection::open_with_flags(
        folder.join("journal.sqlite"),
        rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
    )
    .unwrap();
    journal
        .query_row("SELECT count(*) FROM orders", [], |row| {
            row.get::<_, i64>(0)
        })
        .unwrap()
        .try_into()
        .unwrap()
}

/// The orders as a table, without their frames.
pub(crate) fn order_table(rows: &[OrderRow]) -> OrderTable {
    fn texts<'a>(rows: &'a [OrderRow], of: impl Fn(&'a OrderRow) -> &'a str) -> Labels {
        rows.iter().map(of).collect()
    }
    fn optional(text: Option<&String>) -> &str {
        text.map_or("", String::as_str)
    }
    let given = GivenOrders {
        exchange: texts(rows, |row| &row.order.exchange),
        symbol: texts(rows, |row| &row.order.symbol),
        coin: Some(texts(rows, |row| &row.coin)),
        side: rows.iter().map(|row| row.order.side).collect(),
        price: rows.iter().map(|row| row.order.price).collect(),
        qty: rows.iter().map(|row| row.order.qty).collect(),
        value_usd: rows.iter().map(|row| row.order.value_usd).collect(),
        timestamp: rows.iter().map(|row| row.order.timestamp).collect(),
        received_at: rows.iter().map(|row| row.received_at).collect(),
        group_id: Some(texts(rows, |row| optional(row.group_id.as_ref()))),
        dedupe_key: Some(rows.iter().map(|row| row.dedupe_key.clone()).collect()),
        price_kind: Some(texts(rows, |row| &row.price_kind)),
        completeness: Some(rows.iter().map(|row| row.completeness).collect()),
        native_id: Some(texts(rows, |row| optional(row.native_id.as_ref()))),
        is_numbered: false,
    };
    OrderTable::of(given).unwrap()
}

/// The bars as a table.
pub(crate) fn bar_table(rows: &[BarRow]) -> BarTable {
    BarTable {
        exchange: rows.iter().map(|row| row.exchange.as_str()).collect(),
        symbol: rows.iter().map(|row| row.symbol.as_str()).collect(),
        interval: rows.iter().map(|row| row.interval).collect(),
        timestamp: rows.iter().map(|row| row.timestamp).collect(),
        open: rows.iter().map(|row| row.open).collect(),
        high: rows.iter().map(|row| row.high).collect(),
        low: rows.iter().map(|row| row.low).collect(),
        close: rows.iter().map(|row| row.close).collect(),
        volume: rows.iter().map(|row| row.volume).collect(),
    }
}

/// The readings as a table.
pub(crate) fn interest_table(rows: &[OpenInterestRow]) -> InterestTable {
    InterestTable {
        exchange: rows.iter().map(|row| row.exchange.as_str()).collect(),
        symbol: rows.iter().map(|row| row.symbol.as_str()).collect(),
        timestamp: rows.iter().map(|row| row.timestamp).collect(),
        open_interest: rows.iter().map(|row| row.open_interest).collect(),
        received_at: Some(rows.iter().map(|row| row.received_at).collect()),
    }
}

/// An import of rows of days that ended by `until`; belongs to no ingest.
pub(crate) fn scope(sessions: &[ImportedSession], until: Millis) -> ImportScope<'_> {
    ImportScope {
        sessions,
        until,
        ingest: None,
    }
}

/// Imports orders; `None` if `progress` ended it.
pub(crate) fn import_orders(
    writer: &mut Writer,
    rows: &[OrderRow],
    sessions: &[ImportedSession],
    until: Millis,
    progress: &mut dyn FnMut() -> bool,
) -> Option<ImportOutcome> {
    let tables = Tables {
        orders: order_table(rows),
        ..Tables::default()
    };
    let imported = writer.import(tables, scope(sessions, until), &mut |_| progress());
    let (outcome, is_whole) = imported.unwrap();
    is_whole.then_some(outcome)
}
