//! Retention: whole days that are too old or too large leave every answer at once, and their files a little later.

use std::collections::BTreeSet;

use liqdata::archive::{Archive, Batch, Completeness, Filter, Retained, Retention, Writer};
use liqdata::model::Millis;

use crate::archive::folder::{Folder, files};
use crate::archive::maps::map;
use crate::archive::rows::{START, all_orders, bar, journaled, order, position, reading, sound};

const DAYS: i64 = 6;
/// Noon of the last day.
const NOW: Millis = Millis(START + 5 * Millis::DAY + 12 * Millis::HOUR);

/// An archive with rows of every table on six days, of which all but the last are in files.
fn filled(folder: &Folder) -> Writer {
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let session = writer
        .begin_session("binance", Completeness::Sampled, Millis(START))
        .unwrap();
    let mut batch = Batch::default();
    for hour in 0..DAYS * 24 {
        let at = START + hour * Millis::HOUR;
        let mut row = order(u64::try_from(hour).unwrap(), at);
        "binance".clone_into(&mut row.order.exchange);
        batch.orders.push(row);
        batch.bars.push(bar("BTC", hour * 60, 100 + hour));
        batch.open_interest.push(reading("BTC", at));
        batch.positions.push(position("a", "BTC", at));
        batch.maps.push(map("levels", "BTC", hour * 12));
    }
    batch.seen = vec![(session, NOW)];
    writer.append(&batch).unwrap();
    writer
        .compact(Millis(START + (DAYS - 1) * Millis::DAY))
        .unwrap();
    writer
}

/// The days, counted from the first, on which each table has rows.
fn days(archive: &Archive) -> [Vec<i64>; 5] {
    let all = Filter::default();
    let of = |times: Vec<Millis>| {
        let days: BTreeSet<i64> = times
            .into_iter()
            .map(|at| (at.0 - START) / Millis::DAY)
            .collect();
        days.into_iter().collect::<Vec<i64>>()
    };
    let times = [
        all_orders(archive)
            .iter()
            .map(|row| row.order.timestamp)
            .collect(),
        sound(archive.observed_bars(&all).unwrap())
            .iter()
            .map(|row| row.timestamp)
            .collect(),
        sound(archive.open_interest(&all).unwrap())
            .iter()
            .map(|row| row.timestamp)
            .collect(),
        sound(archive.positions(&all).unwrap())
            .iter()
            .map(|row| row.timestamp)
            .collect(),
        sound(archive.maps(&all, None).unwrap())
            .iter()
            .map(|row| row.timestamp)
            .collect(),
    ];
    times.map(of)
}

fn from(day: i64) -> Vec<i64> {
    (day..DAYS).collect()
}

#[test]
fn each_table_keeps_its_own_number_of_days() {
    let folder = Folder::new();
    let mut writer = filled(&folder);
    let reader = Archive::read(folder.archive()).unwrap();
    assert_eq!(
        writer.retain(&Retention::default(), NOW).unwrap(),
        Retained::default()
    );
    assert_eq!(days(&reader), [0; 5].map(from));

    let limits = Retention {
        orders: Some(4),
        bars: Some(1),
        positions: Some(2),
        maps: Some(3),
        ..Retention::default()
    };
    let done = writer.retain(&limits, NOW).unwrap();
    assert_eq!(
        done.rows,
        [
            ("orders", 24),
            ("bars", 96),
            ("positions", 72),
            ("maps", 48)
        ]
    );
    // A reader that was open before, a new one and one after a restart see the same.
    let wanted = [1, 4, 0, 3, 2].map(from);
    assert_eq!(days(&reader), wanted);
    drop(writer);
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    assert_eq!(days(writer.archive()), wanted);
    let verified = reader.integrity().verify().unwrap();
    assert!(verified.is_sound() && verified.unlisted.is_empty());
    // The files stay for readers that have just listed them.
    assert_eq!(files(&folder.archive(), "parquet").len(), 25);
    assert_eq!(
        writer
            .retain(&limits, NOW.on(9 * Millis::MINUTE))
            .unwrap()
            .files,
        0
    );
    let done = writer.retain(&limits, NOW.on(10 * Millis::MINUTE)).unwrap();
    assert_eq!((done.files, done.rows.len()), (10, 0));
    assert_eq!(files(&folder.archive(), "parquet").len(), 15);
    assert!(!folder.archive().join("orders/date=2024-10-04").exists());
    assert_eq!(days(&reader), wanted);
    assert!(writer.archive().integrity().verify().unwrap().is_sound());
}

#[test]
fn late_rows_of_a_deleted_day_are_deleted_from_the_journal() {
    let folder = Folder::new();
    let mut writer = filled(&folder);
    let limits = Retention {
        orders: Some(2),
        ..Retention::default()
    };
    writer.retain(&limits, NOW).unwrap();
    let late = order(9_999, START + Millis::HOUR);
    writer
        .append(&Batch {
            orders: vec![late],
            ..Batch::default()
        })
        .unwrap();
    assert_eq!(journaled(&folder.archive()), 25);
    assert_eq!(writer.retain(&limits, NOW).unwrap().rows, [("orders", 1)]);
    assert_eq!(journaled(&folder.archive()), 24);
}

#[test]
fn a_deleted_time_is_no_longer_covered() {
    let folder = Folder::new();
    let mut writer = filled(&folder);
    let reader = Archive::read(folder.archive()).unwrap();
    let share = |from: i64, until: i64| {
        let (start, end) = (START + from * Millis::DAY, START + until * Millis::DAY);
        let covered = reader
            .coverage()
            .by_exchange(Millis(start), Millis(end))
            .unwrap();
        covered.first().and_then(|one| one.connected_share)
    };
    assert_eq!((share(0, 2), share(3, 5)), (Some(1.0), Some(1.0)));
    let limits = Retention {
        orders: Some(3),
        ..Retention::default()
    };
    writer.retain(&limits, NOW).unwrap();
    assert_eq!((share(0, 2).unwrap_or(0.0), share(3, 5)), (0.0, Some(1.0)));
    assert_eq!(
        reader.coverage().orders_from().unwrap(),
        Some(Millis(START + 2 * Millis::DAY))
    );
}

#[test]
fn the_oldest_maps_are_deleted_first_and_those_of_today_stay() {
    let folder = Folder::new();
    let mut writer = filled(&folder);
    let bytes = |writer: &Writer| writer.archive().catalog().bytes_by_part().unwrap()["maps"];
    let all = bytes(&writer);
    let limits = |maps_bytes: u64| Retention {
        maps_bytes: Some(maps_bytes),
        ..Retention::default()
    };
    writer.retain(&limits(1 << 30), NOW).unwrap();
    assert_eq!(days(writer.archive())[4], from(0));
    // Half of the files, and the day that is in the journal.
    let in_journal: u64 = 24 * 200;
    writer.retain(&limits(all / 2 + in_journal), NOW).unwrap();
    let left = days(writer.archive())[4].clone();
    assert!(
        left.len() > 1 && left.len() < 6 && left.last() == Some(&5),
        "{left:?}"
    );
    writer.retain(&limits(0), NOW).unwrap();
    assert_eq!(days(writer.archive())[4], from(5));
    assert_eq!(days(writer.archive())[0], from(0));
}
