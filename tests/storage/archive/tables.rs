//! Tables of historical data: what becomes of their rows does not depend on what else the archive has.

use std::collections::BTreeMap;

use liqdata::archive::{
    Archive, BarRow, BarTable, Batch, Completeness, Filter, GivenOrders, ImportOutcome,
    InterestTable, OpenInterestRow, OrderTable, RejectedRow, Tables, Writer,
};
use liqdata::model::{DecimalColumn, Labels, Millis, Side};
use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::archive::folder::{Folder, files};
use crate::archive::rows::{START, bar, journaled, order, reading, scope};

/// Every day but the last is over.
const UNTIL: Millis = Millis(START + 3 * Millis::DAY);

/// What became of rows, in whichever order they were looked at.
fn summary(outcome: &ImportOutcome) -> (u64, u64, Vec<String>, usize) {
    let show = |one: &RejectedRow| format!("{one:?}");
    let mut rejected: Vec<String> = outcome.rejected.iter().map(show).collect();
    rejected.sort();
    (
        outcome.new,
        outcome.repeated,
        rejected,
        outcome.segments.len(),
    )
}

/// The exchange of rows that make the archive compare every row of their days.
const OTHER: &str = "other";

/// Adds a row of each table to each of four days.
fn fill_days(writer: &mut Writer) {
    let mut batch = Batch::default();
    for day in 0..4 {
        let at = START + day * Millis::DAY;
        let mut row = order(u64::try_from(day).unwrap(), at);
        OTHER.clone_into(&mut row.order.exchange);
        batch.orders.push(row);
        let (minute, other) = (day * Millis::DAY / Millis::MINUTE, OTHER.to_owned());
        batch.bars.push(BarRow {
            exchange: other.clone(),
            ..bar("OTHER", minute, 5)
        });
        batch.open_interest.push(OpenInterestRow {
            exchange: other,
            ..reading("OTHER", at)
        });
    }
    writer.append(&batch).unwrap();
}

/// Everything that is known of an archive, without the rows of [`fill_days`].
fn all(archive: &Archive) -> impl PartialEq + std::fmt::Debug {
    let filter = Filter::default();
    let mut orders = archive.orders(&filter).unwrap().rows;
    let mut bars = archive.observed_bars(&filter).unwrap().rows;
    let mut interest = archive.open_interest(&filter).unwrap().rows;
    orders.retain(|row| row.order.exchange != OTHER);
    bars.retain(|row| row.exchange != OTHER);
    interest.retain(|row| row.exchange != OTHER);
    let mut coins = archive.catalog().coins(None).unwrap();
    coins.retain(|coin| coin.symbol != "OTHER");
    assert!(archive.integrity().verify().unwrap().is_sound());
    (
        (orders, bars, interest),
        coins,
        archive.coverage().sessions(Millis(0), UNTIL).unwrap(),
    )
}

/// How many files there are below each folder.
fn folders(archive: &std::path::Path) -> BTreeMap<std::path::PathBuf, usize> {
    let mut folders = BTreeMap::new();
    for file in files(archive, "parquet") {
        let folder = file.parent().unwrap().strip_prefix(archive).unwrap();
        *folders.entry(folder.to_owned()).or_default() += 1;
    }
    folders
}

/// Imports tables into an empty archive and into one with rows of every day, and compares what became of them.
fn are_imported_alike(given: &[Tables]) {
    let (empty, filled) = (Folder::new(), Folder::new());
    let mut one = Archive::create_or_open(empty.archive()).unwrap();
    let mut other = Archive::create_or_open(filled.archive()).unwrap();
    fill_days(&mut other);
    for tables in given {
        let sessions = tables.orders.covered_time().sessions(None);
        let import = |writer: &mut Writer| {
            let scope = scope(&sessions, UNTIL);
            let (outcome, is_whole) = writer.import(tables.clone(), scope, &mut |_| true).unwrap();
            assert!(is_whole);
            summary(&outcome)
        };
        assert_eq!(import(&mut one), import(&mut other));
        assert_eq!(all(one.archive()), all(other.archive()));
        assert_eq!(folders(&empty.archive()), folders(&filled.archive()));
        let of_journal = journaled(&empty.archive());
        assert_eq!(of_journal + 4, journaled(&filled.archive()));
    }
}

fn name(among: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    prop::sample::select(among)
}

/// Amounts, of which few cannot be kept.
fn amount() -> impl Strategy<Value = Decimal> {
    prop_oneof![
        60 => (1_i64..500, 0_u32..4).prop_map(|(digits, scale)| Decimal::new(digits, scale)),
        1 => (any::<i64>(), 0_u32..28).prop_map(|(digits, scale)| Decimal::new(digits, scale)),
        1 => prop::sample::select(vec![Decimal::ZERO, Decimal::MAX, Decimal::new(10, 20), Decimal::new(100_000, 23)]),
    ]
}

/// Instants of a few days, many of them the same.
fn instant() -> impl Strategy<Value = Millis> {
    prop_oneof![
        50 => (0_i64..4, 0_i64..6).prop_map(|(day, minute)| Millis(START + day * Millis::DAY + minute * Millis::MINUTE)),
        1 => (0_i64..2).prop_map(|by| Millis(START + by * (Millis::DAY - 1) + 7)),
    ]
}

/// Exchange, pair, coin, time, amounts.
type OrderSample = (
    &'static str,
    &'static str,
    &'static str,
    (bool, Millis, i64),
    (Decimal, Decimal, Decimal),
);

fn orders() -> impl Strategy<Value = OrderTable> {
    let row = (
        name(&["okx", "okex", "bybit", "Binance"]),
        name(&["BTCUSDT", "BTC/USDT:USDT", "1000PEPEUSDT", "what is it"]),
        name(&["", "", "BTC", "PEPE"]),
        (any::<bool>(), instant(), 0_i64..3),
        (amount(), amount(), amount()),
    );
    (prop::collection::vec(row, 0..80), any::<bool>()).prop_map(|(rows, coined)| {
        let decimals = |which: fn(&(Decimal, Decimal, Decimal)) -> Decimal| -> DecimalColumn {
            rows.iter().map(|row| which(&row.4)).collect()
        };
        let given = GivenOrders {
            exchange: rows.iter().map(|row| row.0).collect(),
            symbol: rows.iter().map(|row| row.1).collect(),
            coin: coined.then(|| rows.iter().map(|row| row.2).collect()),
            side: rows
                .iter()
                .map(|row| if row.3.0 { Side::Long } else { Side::Short })
                .collect(),
            price: decimals(|row| row.0),
            qty: decimals(|row| row.1),
            value_usd: decimals(|row| row.2),
            timestamp: rows.iter().map(|row| row.3.1).collect(),
            received_at: rows.iter().map(|row| Millis(row.3.1.0 + row.3.2)).collect(),
            group_id: (rows.len() % 4 == 1).then(|| {
                rows.iter()
                    .map(|row| if row.3.0 { "order:7" } else { "" })
                    .collect()
            }),
            // As dumps have them: some keys are the same, and some are derived.
            dedupe_key: (rows.len() % 3 == 1).then(|| {
                let key = |row: &OrderSample| match row.3.2 {
                    0 => String::new(),
                    _ => format!("dump|{}|{}", row.1, row.3.1.0),
                };
                rows.iter().map(key).collect()
            }),
            price_kind: (rows.len() % 5 == 1).then(|| {
                let kind = |row: &OrderSample| match row.3.2 {
                    0 => "bankruptcy",
                    1 => "avg_fill",
                    _ => " ",
                };
                rows.iter().map(kind).collect()
            }),
            completeness: (rows.len() % 5 == 2).then(|| {
                let of_row = |row: &OrderSample| {
                    if row.3.0 {
                        Completeness::Sampled
                    } else {
                        Completeness::Complete
                    }
                };
                rows.iter().map(of_row).collect()
            }),
            native_id: (rows.len() % 5 == 3).then(|| rows.iter().map(|row| row.2).collect()),
            is_numbered: false,
        };
        OrderTable::of(given).unwrap()
    })
}

fn bars() -> impl Strategy<Value = BarTable> {
    let row = (
        name(&["okx", "bybit", "bybit"]),
        name(&["BTC", "ETH", "SOL"]),
        prop_oneof![
            9 => Just(Millis::MINUTE),
            3 => Just(5 * Millis::MINUTE),
            1 => prop::sample::select(vec![0, 7, 7 * Millis::MINUTE]),
        ],
        (instant(), 1_i64..4),
        (amount(), prop::bool::weighted(0.03)),
    );
    prop::collection::vec(row, 0..80).prop_map(|rows| {
        let price = |by: i64| -> DecimalColumn {
            let rows = rows.iter();
            rows.map(|row| Decimal::from(row.3.1 * 100 + if row.4.1 { -by } else { by }))
                .collect()
        };
        BarTable {
            exchange: rows.iter().map(|row| row.0).collect(),
            symbol: rows.iter().map(|row| row.1).collect(),
            interval: rows.iter().map(|row| row.2).collect(),
            timestamp: rows.iter().map(|row| row.3.0).collect(),
            open: price(0),
            high: price(3),
            low: price(-2),
            close: price(1),
            volume: rows.iter().map(|row| row.4.0).collect(),
        }
    })
}

fn interest() -> impl Strategy<Value = InterestTable> {
    let row = (
        name(&["okx", "bybit"]),
        name(&["BTC", "ETH"]),
        instant(),
        amount(),
    );
    prop::collection::vec(row, 0..60).prop_map(|rows| InterestTable {
        exchange: rows.iter().map(|row| row.0).collect(),
        symbol: rows.iter().map(|row| row.1).collect(),
        timestamp: rows.iter().map(|row| row.2).collect(),
        open_interest: rows.iter().map(|row| row.3).collect(),
        received_at: (rows.len() % 3 == 1)
            .then(|| rows.iter().map(|row| Millis(row.2.0 + 5)).collect()),
    })
}

fn tables() -> impl Strategy<Value = Tables> {
    (orders(), bars(), interest()).prop_map(|(orders, bars, open_interest)| Tables {
        orders,
        bars,
        open_interest,
        positions: Vec::new(),
        totals: Vec::new(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_table_is_imported_alike_whatever_else_its_days_have(given in prop::collection::vec(tables(), 1..4)) {
        are_imported_alike(&given);
    }
}

/// Orders of one exchange, each a millisecond after the other.
pub(crate) fn many(rows: usize, days: i64) -> Tables {
    let texts = |text: &'static str| -> Labels { (0..rows).map(|_| text).collect() };
    let at = |row: usize| {
        let row = i64::try_from(row).unwrap();
        // The days of a table may stand in any order.
        Millis(START + row % days * Millis::DAY + row)
    };
    let whole: DecimalColumn = (0..rows).map(|row| Decimal::from(row + 1)).collect();
    let orders = OrderTable::of(GivenOrders {
        exchange: (0..rows)
            .map(|row| if row % 3 == 0 { "okx" } else { "bybit" })
            .collect(),
        symbol: texts("BTCUSDT"),
        side: vec![Side::Short; rows],
        price: whole.clone(),
        qty: whole.clone(),
        value_usd: whole,
        timestamp: (0..rows).map(at).collect(),
        received_at: (0..rows).map(at).collect(),
        ..GivenOrders::default()
    });
    Tables {
        orders: orders.unwrap(),
        ..Tables::default()
    }
}

#[test]
fn a_heavy_day_is_divided_alike() {
    are_imported_alike(&[many(70_000, 1)]);
}

#[test]
fn a_cancelled_import_of_tables_stores_whole_days() {
    let tables = many(600_000, 3);
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let mut seen = Vec::new();
    let filed = writer.import(tables.clone(), scope(&[], UNTIL), &mut |done| {
        seen.push(done);
        done < 400_000
    });
    assert!(!filed.unwrap().1);
    assert!(seen.is_sorted(), "{seen:?}");
    // The first lot ends with a day, and what came behind it is not there.
    let scan = writer.archive().orders(&Filter::default()).unwrap();
    assert_eq!(scan.rows.len(), 400_000);
    assert!(
        writer
            .archive()
            .integrity()
            .verify()
            .unwrap()
            .unlisted
            .is_empty()
    );
    // Done again, what is missing comes, and what is there is repeated.
    let again = writer.import(tables, scope(&[], UNTIL), &mut |_| true);
    let again = again.unwrap().0;
    assert_eq!((again.new, again.repeated), (200_000, 400_000));
    assert!(writer.archive().integrity().verify().unwrap().is_sound());
}

#[test]
fn a_cancelled_import_of_tables_leaves_no_files() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let tables = many(200, 100);
    let until = Millis(START + 200 * Millis::DAY);
    // Files are put into their places 32 at a time.
    for most in [0, 1, 2, 3, 4, 150] {
        let mut calls = 0;
        let sessions = tables.orders.covered_time().sessions(None);
        let filed = writer.import(tables.clone(), scope(&sessions, until), &mut |_| {
            calls += 1;
            calls <= most
        });
        assert!(!filed.unwrap().1, "{most}");
        assert!(files(&folder.archive(), "parquet").is_empty());
        assert!(
            writer
                .archive()
                .coverage()
                .sessions(Millis(START), until)
                .unwrap()
                .is_empty()
        );
    }
    drop(writer);
    let pending = || {
        let journal = rusqlite::Connection::open(folder.archive().join("journal.sqlite")).unwrap();
        let count = "SELECT count(*) FROM manifest WHERE state = 'pending'";
        journal.query_row(count, [], |row| row.get(0)).unwrap()
    };
    let left: i64 = pending();
    assert!(left > 0, "the disk was waited for");
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    assert_eq!(pending(), 0);
    let sessions = tables.orders.covered_time().sessions(None);
    let filed = writer.import(tables.clone(), scope(&sessions, until), &mut |_| true);
    assert!(filed.unwrap().1);
    let found = writer.archive().integrity().verify().unwrap();
    assert!(
        found.is_sound() && found.unlisted.is_empty() && found.sound > 0,
        "{found:?}"
    );
}
