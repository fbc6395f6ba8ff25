//! An archive that an earlier version made: it opens, is sound, and goes on where it was left.
//!
//! `tests/data/archive-4` was written by the version whose tables have the number 4, with the rows below; `archive-5`
//! and `archive-6` are the same, brought up by the versions of these numbers. They are never written anew: the code that made them is gone.

use std::fs;
use std::path::{Path, PathBuf};

use liqdata::archive::{Archive, Filter, Gap, MapRow, OrderRow, Writer};
use liqdata::model::Millis;

use crate::place::{Folder, files};
use crate::rows::{START, all_orders, bar, of_orders, order, reading, sorted, sound};

const NEXT_DAY: i64 = START + Millis::DAY;

fn orders() -> Vec<OrderRow> {
    let rolled = (0..60).map(|key| order(key, START + i64::try_from(key).unwrap() * 1000));
    let journaled = (60..100).map(|key| order(key, NEXT_DAY + i64::try_from(key).unwrap() * 1000));
    let of_none = |row| OrderRow {
        group_id: None,
        ..row
    };
    sorted(rolled.chain(journaled).map(of_none).collect())
}

fn map(timestamp: i64) -> MapRow {
    MapRow {
        kind: "levels".to_owned(),
        symbol: "BTC".to_owned(),
        params: "range=24h".to_owned(),
        timestamp: Millis(timestamp),
        computed_at: Millis(timestamp + 500),
        reply: format!("{{\"levels\":[{timestamp}]}}"),
        explain: Some("{}".to_owned()),
        version: Some("0a1b".to_owned()),
    }
}

fn gap() -> Gap {
    Gap {
        exchange: "okx".to_owned(),
        start: Millis(START + 5000),
        end: Millis(START + 9000),
        reason: "connection lost".to_owned(),
        recorded_at: Millis(START + 9000),
    }
}

const VERSIONS: [&str; 3] = ["archive-4", "archive-5", "archive-6"];

/// A copy of the archive of an earlier version.
fn copy(folder: &Folder, version: &str) -> PathBuf {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(version);
    copy_all(&kept, &folder.archive());
    folder.archive()
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Everything that was put in is there.
fn check(archive: &Archive) {
    assert_eq!(all_orders(archive), orders());
    let bars = sound(archive.observed_bars(&Filter::default()).unwrap());
    let minutes = (0..3).chain(1440..1443);
    assert_eq!(
        bars,
        minutes
            .map(|minute| bar("BTC", minute, 100 + minute))
            .collect::<Vec<_>>()
    );
    let readings = sound(archive.open_interest(&Filter::default()).unwrap());
    assert_eq!(
        readings,
        [reading("BTC", START + 1000), reading("BTC", NEXT_DAY)]
    );
    let maps = sound(archive.maps(&Filter::default(), None).unwrap());
    assert_eq!(maps, [map(START + 2000), map(NEXT_DAY + 2000)]);
    assert!(sound(archive.positions(&Filter::default()).unwrap()).is_empty());
    let gaps = archive.gaps(Millis(START), Millis(NEXT_DAY)).unwrap();
    assert_eq!(gaps, [gap()]);
    let verified = archive.verify().unwrap();
    assert!(verified.is_sound(), "{verified:?}");
    assert_eq!((verified.sound, verified.rows), (4, 65));
}

#[test]
fn an_archive_of_an_earlier_version_is_read_and_sound() {
    for version in VERSIONS {
        let folder = Folder::new();
        let archive = copy(&folder, version);
        check(&Archive::read(archive).unwrap());
    }
}

#[test]
fn an_archive_of_an_earlier_version_is_written_on_in_its_place() {
    for version in VERSIONS {
        is_written_on(version);
    }
}

fn is_written_on(version: &str) {
    let folder = Folder::new();
    let archive = copy(&folder, version);
    let mut writer: Writer = Archive::create_or_open(&archive).unwrap();
    check(&writer);
    // What is there is known again, what is new is kept, and the day in the journal is rolled.
    let mut batch = of_orders(orders().split_off(60));
    batch.orders.push(order(100, NEXT_DAY + 200_000));
    let acknowledged = writer.append(&batch).unwrap();
    assert_eq!((acknowledged.orders, acknowledged.repeated), (1, 40));
    assert_eq!(
        writer.roll(Millis(NEXT_DAY + Millis::DAY)).unwrap().rows,
        46
    );
    drop(writer);
    let reader = Archive::read(&archive).unwrap();
    assert_eq!(all_orders(&reader).len(), 101);
    assert!(reader.verify().unwrap().is_sound());
    assert_eq!(files(&archive, "parquet").len(), 8);
}
