//! Tables of the past, filed by columns: what becomes of them is what becomes of their rows, whatever is there already.

use std::collections::BTreeMap;

use liqdata::archive::{
    Archive, BarTable, Batch, Completeness, Filter, GivenOrders, ImportOutcome, ImportScope,
    ImportedSession, InterestTable, OrderTable, RejectedRow, Tables,
};
use liqdata::model::{DecimalColumn, Labels, Millis, Side};
use proptest::prelude::*;
use rust_decimal::Decimal;

use crate::place::{Folder, files};
use crate::rows::{START, journaled};

/// Every day but the last is over.
const UNTIL: Millis = Millis(START + 3 * Millis::DAY);

fn scope(sessions: &[ImportedSession], until: Millis) -> ImportScope<'_> {
    ImportScope {
        sessions,
        until,
        ingest: None,
    }
}

/// The same as rows.
fn rows_of(tables: &Tables) -> Batch {
    Batch {
        orders: (0..tables.orders.len())
            .map(|row| tables.orders.row(row).unwrap())
            .collect(),
        bars: (0..tables.bars.len())
            .map(|row| tables.bars.row(row).unwrap())
            .collect(),
        open_interest: (0..tables.open_interest.len())
            .map(|row| tables.open_interest.row(row).unwrap())
            .collect(),
        ..Batch::default()
    }
}

/// What became of rows, in whichever order they were looked at.
fn told(outcome: &ImportOutcome) -> (u64, u64, Vec<String>, usize) {
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

/// Everything that is known of an archive.
fn all(archive: &Archive) -> impl PartialEq + std::fmt::Debug {
    let filter = Filter::default();
    let summary = archive.summary().unwrap();
    let bars = archive.observed_bars(&filter).unwrap();
    let interest = archive.open_interest(&filter).unwrap();
    let orders = archive.orders(&filter).unwrap();
    assert!(archive.verify().unwrap().is_sound());
    (
        (orders.rows, bars.rows, interest.rows),
        archive.coins(None).unwrap(),
        archive.sessions(Millis(0), UNTIL).unwrap(),
        (summary.newest, summary.end, summary.rolled),
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

/// Files tables by columns and by rows, one after the other, and holds what became of them against each other.
fn are_filed_alike(given: &[Tables]) {
    let (by_columns, by_rows) = (Folder::new(), Folder::new());
    let mut columns = Archive::create_or_open(by_columns.archive()).unwrap();
    let mut rows = Archive::create_or_open(by_rows.archive()).unwrap();
    for tables in given {
        let told_of = tables.orders.sessions();
        let one = columns.import(tables.clone(), scope(&told_of, UNTIL), &mut |_| true);
        let other = rows.file(rows_of(tables), &told_of, UNTIL, &mut || true);
        match (one, other) {
            (Ok((one, is_whole)), Ok(other)) => {
                assert!(is_whole);
                assert_eq!(told(&one), told(&other.unwrap()));
            }
            // Of a time that is none nothing can be told.
            (one, other) => {
                let (one, other) = (one.unwrap_err(), other.unwrap_err());
                assert_eq!(one.to_string(), other.to_string());
            }
        }
        assert_eq!(all(&columns), all(&rows));
        assert_eq!(folders(&by_columns.archive()), folders(&by_rows.archive()));
        assert_eq!(
            journaled(&by_columns.archive()),
            journaled(&by_rows.archive())
        );
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
                let is_sampled = |row: &OrderSample| match row.3.0 {
                    true => Completeness::Sampled,
                    false => Completeness::Complete,
                };
                rows.iter().map(is_sampled).collect()
            }),
            native_id: (rows.len() % 5 == 3).then(|| rows.iter().map(|row| row.2).collect()),
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
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn tables_are_filed_as_their_rows_are(given in prop::collection::vec(tables(), 1..4)) {
        are_filed_alike(&given);
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
fn a_heavy_day_is_divided_into_files_as_its_rows_are() {
    are_filed_alike(&[many(70_000, 1)]);
}

#[test]
fn what_is_kept_when_it_is_enough_is_whole_days() {
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
    let scan = writer.orders(&Filter::default()).unwrap();
    assert_eq!(scan.rows.len(), 400_000);
    assert!(writer.verify().unwrap().unlisted.is_empty());
    // Done again, what is missing comes, and what is there is repeated.
    let again = writer.import(tables, scope(&[], UNTIL), &mut |_| true);
    let again = again.unwrap().0;
    assert_eq!((again.new, again.repeated), (200_000, 400_000));
    assert!(writer.verify().unwrap().is_sound());
}

#[test]
fn whoever_says_of_a_table_that_it_is_enough_leaves_nothing_behind() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let tables = many(200, 100);
    let until = Millis(START + 200 * Millis::DAY);
    // Files are put into their places 32 at a time.
    for most in [0, 1, 2, 3, 4, 150] {
        let mut asked = 0;
        let told = tables.orders.sessions();
        let filed = writer.import(tables.clone(), scope(&told, until), &mut |_| {
            asked += 1;
            asked <= most
        });
        assert!(!filed.unwrap().1, "{most}");
        assert!(files(&folder.archive(), "parquet").is_empty());
        assert!(writer.sessions(Millis(START), until).unwrap().is_empty());
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
    let told = tables.orders.sessions();
    let filed = writer.import(tables.clone(), scope(&told, until), &mut |_| true);
    assert!(filed.unwrap().1);
    let found = writer.verify().unwrap();
    assert!(
        found.is_sound() && found.unlisted.is_empty() && found.sound > 0,
        "{found:?}"
    );
}
