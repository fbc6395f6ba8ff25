//! Positions of single accounts: snapshots that are kept, rolled, copied and merged like all rows, and read one at a time.

use liqdata::archive::{Archive, Batch, ExportSelection, Filter, PositionRow};
use liqdata::model::Millis;

use crate::archive::folder::{Folder, files};
use crate::archive::rows::{START, position, sound};

const QUARTER: i64 = 15 * Millis::MINUTE;

fn of(positions: Vec<PositionRow>) -> Batch {
    Batch {
        positions,
        ..Batch::default()
    }
}

/// The accounts that hold a coin in the last snapshot.
fn accounts(archive: &Archive, coin: &str, as_of: Option<i64>) -> Vec<String> {
    let found = archive.last_positions(coin, None, as_of.map(Millis));
    let rows = sound(found.unwrap()).into_iter();
    rows.map(|row| row.account).collect()
}

/// Three snapshots: the first two of a day that is over, in which `b` closes and `c` opens, the last of the next day.
fn snapshots() -> Vec<PositionRow> {
    let first = START + 10 * Millis::HOUR;
    let next = START + Millis::DAY;
    vec![
        position("a", "BTC", first),
        position("b", "BTC", first),
        position("a", "BTC", first + QUARTER),
        position("c", "ETH", first + QUARTER),
        position("c", "ETH", next),
    ]
}

#[test]
fn the_last_snapshot_as_of_an_instant_is_found_in_journal_and_segments() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let acknowledged = writer.append(&of(snapshots())).unwrap();
    assert_eq!((acknowledged.positions, acknowledged.repeated), (5, 0));
    let first = START + 10 * Millis::HOUR;
    for rolled in [false, true] {
        if rolled {
            assert_eq!(writer.compact(Millis(START + Millis::DAY)).unwrap().rows, 4);
            assert_eq!(files(&folder.archive(), "parquet").len(), 1);
        }
        let reader = Archive::read(folder.archive()).unwrap();
        assert!(reader.integrity().verify().unwrap().is_sound());
        assert_eq!(
            sound(reader.positions(&Filter::default()).unwrap()),
            snapshots()
        );
        assert!(accounts(&reader, "BTC", Some(first - 1)).is_empty());
        assert_eq!(accounts(&reader, "BTC", Some(first)), ["a", "b"]);
        assert_eq!(
            accounts(&reader, "BTC", Some(first + QUARTER - 1)),
            ["a", "b"]
        );
        assert_eq!(accounts(&reader, "BTC", Some(first + QUARTER)), ["a"]);
        // No account has a position in the last snapshot.
        assert!(accounts(&reader, "BTC", None).is_empty());
        assert_eq!(accounts(&reader, "ETH", None), ["c"]);
        let elsewhere = reader.last_positions("ETH", Some("dydx"), None).unwrap();
        assert!(sound(elsewhere).is_empty());
    }
    // What lies in a file already is known again when it is sent again.
    assert_eq!(writer.append(&of(snapshots())).unwrap().positions, 4);
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    assert_eq!(
        sound(writer.archive().positions(&Filter::default()).unwrap()),
        snapshots()
    );
}

#[test]
fn positions_go_with_copies_and_merges() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&of(snapshots())).unwrap();
    let copy = folder.path().join("copy");
    let lists = writer
        .archive()
        .export_journal(&copy, &ExportSelection::default())
        .unwrap();
    assert_eq!(lists.journaled, 5);
    writer
        .append(&of(vec![position("d", "ETH", START + Millis::DAY)]))
        .unwrap();
    let archives = [
        Archive::read(folder.archive()).unwrap(),
        Archive::read(&copy).unwrap(),
    ];
    let into = folder.path().join("merged");
    assert!(Archive::merge(&archives, &into, &mut |_, _| true).unwrap());
    let merged = Archive::read(&into).unwrap();
    assert!(merged.integrity().verify().unwrap().is_sound());
    assert_eq!(accounts(&merged, "ETH", None), ["c", "d"]);
}

#[test]
fn an_invalid_position_is_refused_with_its_column() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let sound = position("a", "BTC", START);
    for (row, part) in [
        (
            PositionRow {
                leverage: Some(f64::NAN),
                ..sound.clone()
            },
            "leverage",
        ),
        (
            PositionRow {
                seen_share: Some(1.5),
                ..sound.clone()
            },
            "seen_share",
        ),
        (
            PositionRow {
                observed_at: Millis(START + 1),
                ..sound.clone()
            },
            "observed_at",
        ),
        (
            PositionRow {
                account: " ".to_owned(),
                ..sound.clone()
            },
            "account",
        ),
    ] {
        let fault = writer.append(&of(vec![row])).unwrap_err().to_string();
        assert!(
            fault.contains("positions") && fault.contains(part),
            "{fault}"
        );
    }
}
