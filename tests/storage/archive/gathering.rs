//! Folds over orders on several threads, compared with reading row by row, and during writes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use liqdata::archive::{Archive, ArchiveSummary, Filter, OrderFold};
use liqdata::model::{Millis, OrderBrief};
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::archive::folder::{Folder, files};
use crate::archive::rows::{START, of_orders, order, sound};

/// The fields of an order as text.
fn as_text(order: &OrderBrief<'_>) -> String {
    format!(
        "{} {} {} {:?} {} {} {} {} {}",
        order.timestamp,
        order.exchange,
        order.symbol,
        order.side,
        order.coin,
        order.price,
        order.qty,
        order.value_usd,
        order.received_at
    )
}

#[derive(Default)]
struct Collected {
    orders: Vec<String>,
    numbers: Vec<i64>,
    ended: bool,
}

impl OrderFold for Collected {
    fn take(&mut self, order: OrderBrief<'_>) {
        assert!(!self.ended);
        self.orders.push(as_text(&order));
        self.numbers.push(order.number);
    }

    fn end(&mut self) {
        self.ended = true;
    }
}

fn gathered(archive: &Archive, filter: &Filter) -> (Vec<String>, ArchiveSummary) {
    let (shares, known) = archive.fold_orders(filter, Collected::default).unwrap();
    assert!(shares.iter().all(|share| share.ended));
    let numbers = shares.iter().flat_map(|share| &share.numbers);
    let journal: Vec<_> = numbers.filter(|number| **number > 0).collect();
    assert!(
        filter.start.is_some() || journal.is_sorted(),
        "as they lie, they come in order of arrival"
    );
    let mut orders: Vec<String> = shares.into_iter().flat_map(|share| share.orders).collect();
    orders.sort();
    (orders, known)
}

/// The same, one by one; and by the reader of whole rows.
fn read(archive: &Archive, filter: &Filter) -> [Vec<String>; 2] {
    let (briefly, _) = archive
        .visit_orders(filter, Vec::new, |all, order| all.push(as_text(&order)))
        .unwrap();
    let rows = sound(archive.orders(filter).unwrap());
    let whole = rows.iter().map(|row| as_text(&OrderBrief::from(row)));
    let mut all = [briefly, whole.collect()];
    for orders in &mut all {
        orders.sort();
    }
    all
}

proptest! {
    #![proptest_config(Config { cases: 24, failure_persistence: None, ..Config::default() })]

    #[test]
    fn a_fold_gets_the_same_rows_as_a_read_from_journal_and_segments(
        times in prop::collection::vec((0..4 * Millis::DAY, 0..Millis::DAY), 1..80),
        again in 0..80_usize,
        rolled in 0..6_i64,
        // Little, so that the index is gone by, and much.
        start in prop_oneof![0..4 * Millis::DAY, Just(0)],
        length in prop_oneof![0..4 * Millis::DAY, Just(5 * Millis::DAY), 0..Millis::HOUR],
        as_of in prop::option::of(0..5 * Millis::DAY),
        names in (prop::option::of(0..3_usize), prop::option::of(0..2_usize), prop::option::of(0..2_usize)),
    ) {
        let rows: Vec<_> = (0..)
            .zip(&times)
            .map(|(key, (at, late))| {
                let mut row = order(key, START + at);
                row.received_at = Millis(START + at + late);
                row
            })
            .collect();
        let folder = Folder::new();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        let (first, second) = rows.split_at(rows.len() / 2);
        writer.append(&of_orders(first.to_vec())).unwrap();
        writer.compact(Millis(START + rolled * Millis::DAY)).unwrap();
        // Orders of days that are filed, some of them filed already.
        writer.append(&of_orders(second.to_vec())).unwrap();
        writer.append(&of_orders(rows.into_iter().take(again).collect())).unwrap();
        let word = |names: &[&str], name: Option<usize>| name.map(|name| names[name].to_owned());
        let some = Filter {
            start: Some(Millis(START + start)),
            end: Some(Millis(START + start + length)),
            as_of: as_of.map(|at| Millis(START + at)),
            exchange: word(&["binance", "bybit", "okx"], names.0),
            symbol: word(&["BTCUSDT", "ETHUSDT"], names.1),
            coin: word(&["BTC", "ETH"], names.2),
            ..Filter::default()
        };
        for filter in [Filter::default(), some] {
            let (gathered, known) = gathered(writer.archive(), &filter);
            prop_assert_eq!(known, writer.archive().catalog().summary().unwrap());
            for read in read(writer.archive(), &filter) {
                prop_assert_eq!(&gathered, &read);
            }
        }
    }
}

#[test]
fn a_tail_beyond_its_limit_is_incomplete_and_visits_no_row() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let from = writer.archive().catalog().summary().unwrap().end;
    let orders = (0..3).map(|key| order(key, START + i64::try_from(key).unwrap()));
    writer.append(&of_orders(orders.collect())).unwrap();
    for (most, visited) in [(3, 3), (2, 0)] {
        let mut shown = 0;
        let news = writer
            .archive()
            .tail(from, most, &mut |_| shown += 1)
            .unwrap();
        assert_eq!((shown, news.incomplete), (visited, visited == 0));
        assert_eq!(news.known, writer.archive().catalog().summary().unwrap());
    }
}

#[test]
fn a_damaged_file_is_left_out_whole() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows =
        (0..20).map(|key| order(key, START + i64::try_from(key).unwrap() * Millis::HOUR * 2));
    let rows: Vec<_> = rows.collect();
    writer.append(&of_orders(rows.clone())).unwrap();
    writer.compact(Millis(START + 2 * Millis::DAY)).unwrap();
    // What was sent again counts once the file that had it is damaged.
    writer.append(&of_orders(rows[..3].to_vec())).unwrap();
    assert_eq!(gathered(writer.archive(), &Filter::default()).0.len(), 20);
    drop(writer);
    let damaged = &files(&folder.archive(), "parquet")[0];
    let mut bytes = std::fs::read(damaged).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(damaged, bytes).unwrap();
    let reader = Archive::read(folder.archive()).unwrap();
    let filter = Filter::default();
    assert_eq!(gathered(&reader, &filter).0.len(), 20 - 12 + 3);
    let left = reader.orders(&filter).unwrap();
    assert_eq!((left.rows.len(), left.damaged.len()), (11, 1));
}

/// Notes the numbers that orders were made of.
#[derive(Default)]
struct Keys(Vec<u64>);

fn key(order: &OrderBrief<'_>) -> u64 {
    let beyond = order.price * rust_decimal::Decimal::ONE_HUNDRED;
    u64::try_from(beyond.mantissa() / 10_i128.pow(beyond.scale())).unwrap() - 8_265_190
}

impl OrderFold for Keys {
    fn take(&mut self, order: OrderBrief<'_>) {
        self.0.push(key(&order));
    }
}

#[test]
fn a_concurrent_reader_gets_every_row_once_during_compactions() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let batch = |keys: std::ops::Range<u64>| {
        // A day is over after five batches; each has one order of the day before.
        let at = |key: u64| {
            let late = if key.is_multiple_of(4000) {
                Millis::DAY
            } else {
                0
            };
            START + Millis::DAY + i64::try_from(key).unwrap() * Millis::DAY / 20_000 - late
        };
        of_orders(keys.map(|key| order(key, at(key))).collect())
    };
    writer.append(&batch(0..16_000)).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for part in 4..14 {
                writer
                    .append(&batch(part * 4000..(part + 1) * 4000))
                    .unwrap();
                if part % 3 == 0 {
                    let day = i64::try_from(part).unwrap() / 5;
                    writer
                        .compact(Millis(START + (1 + day) * Millis::DAY))
                        .unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        let mut rounds = 0;
        let mut last = false;
        while !last {
            last = done.load(Ordering::Acquire);
            let reader = Archive::read(folder.archive()).unwrap();
            let (shares, known) = reader
                .fold_orders(&Filter::default(), Keys::default)
                .unwrap();
            let mut keys: Vec<u64> = shares.into_iter().flat_map(|share| share.0).collect();
            let count = keys.len();
            assert_eq!(count, usize::try_from(known.end.orders).unwrap());
            // What is appended from then on is news, unless a roll has taken it on.
            let news = reader
                .tail(known.end, i64::MAX, &mut |order| keys.push(key(&order)))
                .unwrap();
            let all: BTreeSet<u64> = keys.iter().copied().collect();
            assert_eq!(all.len(), keys.len());
            assert!(
                all.iter()
                    .copied()
                    .eq(0..u64::try_from(keys.len()).unwrap())
            );
            assert!(
                news.incomplete || keys.len() == usize::try_from(news.known.end.orders).unwrap()
            );
            rounds += 1;
        }
        assert!(rounds > 1);
    });
    assert_eq!(
        gathered(
            &Archive::read(folder.archive()).unwrap(),
            &Filter::default()
        )
        .0
        .len(),
        56_000
    );
}
