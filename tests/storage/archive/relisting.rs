//! An archive that has lost its journal: a new journal lists its segments, and reads of closed days return equal rows.

use std::fs;
use std::path::Path;

use liqdata::archive::{Archive, ArchiveError, Batch, Filter, Relisted};
use liqdata::model::Millis;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::archive::flips::{copied, of_all_kinds};
use crate::archive::folder::{Folder, files};
use crate::archive::rows::{START, all_orders, bar, of_orders, order};
use crate::archive::undo::{bars, import_bars, origin};

/// All rows of the segments as text: now, and as of the first day.
fn rows(archive: &Archive) -> Vec<String> {
    fn texts<R: std::fmt::Debug>(rows: &[R]) -> impl Iterator<Item = String> + '_ {
        rows.iter().map(|row| format!("{row:?}"))
    }
    let mut found = Vec::new();
    for as_of in [None, Some(Millis(START + 9 * Millis::DAY))] {
        let all = Filter {
            as_of,
            ..Filter::default()
        };
        found.extend(texts(&archive.orders(&all).unwrap().rows));
        found.extend(texts(&archive.observed_bars(&all).unwrap().rows));
        found.extend(texts(&archive.open_interest(&all).unwrap().rows));
        found.extend(texts(&archive.maps(&all, None).unwrap().rows));
        found.extend(texts(&archive.positions(&all).unwrap().rows));
    }
    found.sort();
    found
}

fn delete_journal(folder: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(folder.join(format!("journal.sqlite{ending}")));
    }
}

fn relist(folder: &Path) -> Relisted {
    Archive::replace_missing_journal(folder, &mut |_, _| true)
        .unwrap()
        .unwrap()
}

/// An archive with rows of every kind, a corrected order and an undone ingest, all in segments; it is closed.
fn closed(folder: &Folder) -> Vec<String> {
    of_all_kinds(folder);
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let wrong = origin("wrong");
    import_bars(&mut writer, bars("ETH", 3..9, 100), &wrong);
    writer.undo(&wrong.id).unwrap();
    writer.compact(Millis(START + 99 * Millis::DAY)).unwrap();
    rows(writer.archive())
}

#[test]
fn a_deleted_journal_is_listed_again_and_closed_days_read_the_same() {
    let folder = Folder::new();
    let before = closed(&folder);
    let segments = files(&folder.archive(), "parquet").len();
    delete_journal(&folder.archive());
    for refused in [
        Archive::read(folder.archive()).map(drop),
        Archive::create_or_open(folder.archive()).map(drop),
    ] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("`liqdata verify --repair`"), "{refused}");
    }
    let listed = relist(&folder.archive());
    assert_eq!(usize::try_from(listed.segments).unwrap(), segments);
    assert_eq!(listed.damaged, []);
    let reader = Archive::read(folder.archive()).unwrap();
    assert_eq!(rows(&reader), before);
    assert!(reader.integrity().verify().unwrap().is_sound());
    assert!(reader.catalog().summary().unwrap().newest.is_some());
    assert_eq!(reader.catalog().coins(None).unwrap().len(), 1);

    // What only the journal had may be missing at any time, of every exchange of the segments.
    let gaps = reader
        .coverage()
        .gap_statuses(Millis(0), Millis(START), None)
        .unwrap();
    for exchange in ["binance", "bybit", "okx", "hyperliquid"] {
        let of_orders = gaps
            .iter()
            .any(|gap| gap.exchange == exchange && gap.holds.is_none());
        let of_bars = gaps
            .iter()
            .any(|gap| gap.exchange == exchange && gap.holds.as_deref() == Some("bars"));
        assert!(of_orders && of_bars, "{exchange}: {gaps:?}");
    }
    assert_eq!(
        reader
            .coverage()
            .sessions(Millis(0), Millis(i64::MAX))
            .unwrap(),
        []
    );
    assert_eq!(reader.catalog().ingests().unwrap(), []);
    drop(reader);

    // The archive grows as before, and rows that come again are stored once.
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let known = all_orders(writer.archive());
    let next = order(5_000, START + 50 * Millis::DAY);
    writer
        .append(&of_orders(vec![known[0].clone(), next]))
        .unwrap();
    writer.compact(Millis(START + 99 * Millis::DAY)).unwrap();
    assert_eq!(all_orders(writer.archive()).len(), known.len() + 1);
    assert!(writer.archive().integrity().verify().unwrap().is_sound());
}

#[test]
fn a_flipped_bit_without_a_journal_never_gives_a_wrong_value() {
    let flips = if std::env::var_os("LIQDATA_SOAK").is_some() {
        400
    } else {
        40
    };
    let folder = Folder::new();
    let right = closed(&folder);
    delete_journal(&folder.archive());
    let mut all = files(&folder.archive(), "parquet");
    all.push(folder.archive().join("versions.tsv"));
    let mut chance = ChaCha8Rng::seed_from_u64(71);
    let (mut marked, mut refused) = (0, 0);
    for _ in 0..flips {
        let file = &all[chance.random_range(0..all.len())];
        let copy = folder.path().join("copy");
        copied(&folder.archive(), &copy);
        let flipped = copy.join(file.strip_prefix(folder.archive()).unwrap());
        let mut bytes = fs::read(&flipped).unwrap();
        let place = chance.random_range(0..bytes.len());
        bytes[place] ^= 1 << chance.random_range(0..8);
        fs::write(&flipped, bytes).unwrap();
        match Archive::replace_missing_journal(&copy, &mut |_, _| true) {
            Ok(listed) => {
                assert_eq!(listed.unwrap().damaged.len(), 1, "{}", file.display());
                assert!(!flipped.exists());
                let found = rows(&Archive::read(&copy).unwrap());
                assert!(found.len() < right.len());
                assert!(found.iter().all(|row| right.binary_search(row).is_ok()));
                marked += 1;
            }
            Err(ArchiveError::Damaged { path, .. }) => {
                assert!(path.ends_with("versions.tsv"), "{}", path.display());
                refused += 1;
            }
            Err(fault) => panic!("byte {place} of {}: {fault}", file.display()),
        }
        fs::remove_dir_all(copy).unwrap();
    }
    assert!(4 * marked > 3 * flips && refused > 0, "{marked} {refused}");
}

#[test]
fn the_log_of_the_lost_journal_is_not_applied_to_the_new_one() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&of_orders(vec![order(1, START)])).unwrap();
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    writer
        .append(&of_orders(vec![order(2, START + 5 * Millis::DAY)]))
        .unwrap();
    let log = fs::read(folder.archive().join("journal.sqlite-wal")).unwrap();
    assert!(!log.is_empty());
    drop(writer);
    delete_journal(&folder.archive());
    fs::write(folder.archive().join("journal.sqlite-wal"), &log).unwrap();
    // An earlier attempt that was interrupted leaves a part of a journal.
    fs::write(folder.archive().join(".journal.sqlite.tmp"), "a part").unwrap();
    let stopped = Archive::replace_missing_journal(folder.archive(), &mut |_, _| false);
    assert_eq!(stopped.unwrap(), None);
    assert!(!folder.archive().join("journal.sqlite").exists());
    relist(&folder.archive());
    let reader = Archive::read(folder.archive()).unwrap();
    assert_eq!(all_orders(&reader), [order(1, START)]);
    let moved = files(&folder.archive().join("damaged"), "");
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert_eq!(fs::read(&moved[0]).unwrap(), log);
}

#[test]
fn a_journal_that_is_there_and_a_folder_without_segments_are_left_alone() {
    let folder = Folder::new();
    let replaced = || Archive::replace_missing_journal(folder.archive(), &mut |_, _| true).unwrap();
    fs::create_dir(folder.archive()).unwrap();
    assert_eq!(replaced(), None);
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let some = Batch {
        bars: vec![bar("BTC", 1, 100)],
        ..Batch::default()
    };
    writer.append(&some).unwrap();
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    assert_eq!(replaced(), None);
    delete_journal(&folder.archive());
    // The lock of the writer that is still open.
    let refused = Archive::replace_missing_journal(folder.archive(), &mut |_, _| true);
    assert!(
        matches!(refused, Err(ArchiveError::Locked { .. })),
        "{refused:?}"
    );
    drop(writer);
}
