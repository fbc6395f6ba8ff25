//! Killed at any moment: what was acknowledged is there, whole, once.

use std::path::Path;
use std::time::Duration;

use liqdata::archive::{Archive, DayCorrection, Filter, OrderRow, SegmentStep};
use liqdata::model::Millis;
use rust_decimal::Decimal;

use crate::archive::child::{Process, whole_batches};
use crate::archive::folder::{Folder, files};
use crate::archive::maps::{map, of_maps};
use crate::archive::rows::{START, all_orders, journaled, of_orders, order, sorted, sound};

/// Checks that journal and listed files have each row once, and that nothing unfinished is left.
fn each_row_is_in_one_place(archive: &Archive, rows: usize) {
    let verified = archive.integrity().verify().unwrap();
    assert!(verified.is_sound(), "{verified:?}");
    assert!(verified.unlisted.is_empty(), "{verified:?}");
    let stored = journaled(archive.path()) + verified.rows;
    assert_eq!(stored, u64::try_from(rows).unwrap());
}

#[test]
fn an_empty_journal_file_becomes_a_new_archive() {
    let folder = Folder::new();
    assert!(Archive::read_if_begun(folder.archive()).unwrap().is_none());
    std::fs::create_dir(folder.archive()).unwrap();
    std::fs::write(folder.archive().join("journal.sqlite"), "").unwrap();
    assert!(Archive::read_if_begun(folder.archive()).unwrap().is_none());
    let refused = Archive::read(folder.archive()).unwrap_err().to_string();
    assert!(refused.contains("the journal is empty"), "{refused}");
    drop(Archive::create_or_open(folder.archive()).unwrap());
    assert!(Archive::read_if_begun(folder.archive()).unwrap().is_some());
}

#[test]
fn a_compaction_killed_at_any_step_leaves_every_row_once() {
    let end = Millis(START + 100 * Millis::DAY);
    for step in SegmentStep::ALL {
        // Two days make two files; a kill within the second finds the first one kept.
        for file in [1, 2] {
            let folder = Folder::new();
            let rows = sorted(
                (0..60)
                    .map(|key| order(key, START + i64::try_from(key % 2).unwrap() * Millis::DAY))
                    .collect(),
            );
            let mut writer = Archive::create_or_open(folder.archive()).unwrap();
            writer.append(&of_orders(rows.clone())).unwrap();
            drop(writer);

            let mut process = Process::start(&folder.archive(), &format!("roll {step:?} {file}"));
            assert!(process.read_report("reached").is_some(), "{step:?} {file}");
            process.kill();

            // A reader is right even before a writer has put things in order.
            let reader = Archive::read(folder.archive()).unwrap();
            assert_eq!(all_orders(&reader), rows, "{step:?} {file}");
            drop(reader);
            let mut writer = Archive::create_or_open(folder.archive()).unwrap();
            assert_eq!(all_orders(writer.archive()), rows, "{step:?} {file}");
            each_row_is_in_one_place(writer.archive(), rows.len());
            let done = file - usize::from(step != SegmentStep::Committed);
            assert_eq!(files(&folder.archive(), "parquet").len(), done);

            writer.compact(end).unwrap();
            assert_eq!(all_orders(writer.archive()), rows, "{step:?} {file}");
            each_row_is_in_one_place(writer.archive(), rows.len());
            assert_eq!(journaled(&folder.archive()), 0);
            assert_eq!(files(&folder.archive(), "parquet").len(), 2);
        }
    }
}

/// Half of sixty rows are worth ten times as much, one is gone and one is new.
pub(crate) fn revision() -> DayCorrection {
    let mut corrected: Vec<OrderRow> = (1..30).map(|key| order(key * 2, START + 5)).collect();
    for row in &mut corrected {
        row.order.value_usd *= Decimal::TEN;
    }
    DayCorrection {
        corrected,
        new: vec![order(60, START + 7)],
        removed: vec![("binance".to_owned(), "binance|0".to_owned())],
    }
}

#[test]
fn a_correction_killed_at_any_step_changes_a_whole_day_or_nothing() {
    let before = sorted((0..60).map(|key| order(key, START + 5)).collect());
    let revision = revision();
    let mut after: Vec<OrderRow> = before
        .iter()
        .filter(|row| row.dedupe_key != "binance|0")
        .map(|row| {
            let mut same = revision.corrected.iter();
            let same = same.find(|other| other.dedupe_key == row.dedupe_key);
            same.unwrap_or(row).clone()
        })
        .collect();
    after.extend(revision.new.clone());
    let after = sorted(after);
    let as_of = |archive: &Archive| {
        let filter = Filter {
            as_of: Some(Millis(START + Millis::HOUR)),
            ..Filter::default()
        };
        sound(archive.orders(&filter).unwrap())
    };
    for step in SegmentStep::ALL {
        let folder = Folder::new();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        writer.append(&of_orders(before[..40].to_vec())).unwrap();
        writer.compact(Millis(START + Millis::DAY)).unwrap();
        writer.append(&of_orders(before[40..].to_vec())).unwrap();
        drop(writer);
        let mut process = Process::start(&folder.archive(), &format!("revise {step:?}"));
        assert!(process.read_report("reached").is_some(), "{step:?}");
        process.kill();
        let expected = if step == SegmentStep::Committed {
            &after
        } else {
            &before
        };
        assert_eq!(
            &all_orders(&Archive::read(folder.archive()).unwrap()),
            expected,
            "{step:?}"
        );
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        assert_eq!(&all_orders(writer.archive()), expected, "{step:?}");
        if step != SegmentStep::Committed {
            writer.supersede(Millis(START), &revision).unwrap();
        }
        assert_eq!(all_orders(writer.archive()), after, "{step:?}");
        assert_eq!(as_of(writer.archive()), before, "{step:?}");
        // Other engines read only valid files.
        let (valid, superseded) = catalog(&folder.archive());
        assert!(!superseded.is_empty());
        assert_eq!(
            names_below(&folder.archive().join("orders")),
            valid,
            "{step:?}"
        );
        assert_eq!(
            names_below(&folder.archive().join("superseded/orders")),
            superseded,
            "{step:?}"
        );
        // A copy has the same rows, and so has a merged archive.
        let verified = writer.archive().integrity().verify().unwrap();
        assert!(
            verified.is_sound() && verified.unlisted.is_empty(),
            "{verified:?}"
        );
        drop(writer);
        if step == SegmentStep::Committed {
            let merged = folder.path().join("merged");
            let only = [Archive::read(folder.archive()).unwrap()];
            assert!(Archive::merge(&only, &merged, &mut |_, _| true).unwrap());
            let merged = Archive::read(merged).unwrap();
            assert_eq!(
                (all_orders(&merged), as_of(&merged)),
                (after.clone(), before.clone())
            );
        }
    }
}

#[test]
fn a_compaction_of_maps_killed_at_any_step_leaves_every_map_once() {
    let end = Millis(START + 100 * Millis::DAY);
    for step in SegmentStep::ALL {
        let folder = Folder::new();
        let maps: Vec<_> = (0..20).map(|bar| map("heatmap", "BTC", bar)).collect();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        writer.append(&of_maps(maps.clone())).unwrap();
        drop(writer);

        let mut process = Process::start(&folder.archive(), &format!("roll {step:?} 1"));
        assert!(process.read_report("reached").is_some(), "{step:?}");
        process.kill();

        let all = |archive: &Archive| sound(archive.maps(&Filter::default(), None).unwrap());
        let reader = Archive::read(folder.archive()).unwrap();
        assert_eq!(all(&reader), maps, "{step:?}");
        drop(reader);
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        assert_eq!(all(writer.archive()), maps, "{step:?}");
        writer.compact(end).unwrap();
        assert_eq!(all(writer.archive()), maps, "{step:?}");
        let verified = writer.archive().integrity().verify().unwrap();
        assert!(verified.is_sound() && verified.unlisted.is_empty());
        assert_eq!(verified.rows, 20, "{step:?}");
        assert_eq!(files(&folder.archive(), "parquet").len(), 1);
    }
}

/// Kills and checks the writer of one archive, twenty times over.
fn kill_twenty_times(random: &mut fastrand::Rng) {
    let kills = 20;
    let folder = Folder::new();
    let mut next = 0;
    for kill in 0..kills {
        let process = Process::start(&folder.archive(), &format!("write {next}"));
        let acknowledged = process.killed_after(random.usize(1..12), Duration::ZERO);
        let writer = Archive::create_or_open(folder.archive()).unwrap();
        let rows = all_orders(writer.archive());
        each_row_is_in_one_place(writer.archive(), rows.len());
        next = whole_batches(&rows).unwrap_or_else(|wrong| panic!("kill {kill}: {wrong}"));
        assert!(acknowledged.is_none_or(|last| last < next), "kill {kill}");
    }
    assert!(next >= kills);
}

#[test]
fn a_writer_killed_at_random_loses_nothing_it_acknowledged() {
    let mut random = fastrand::Rng::with_seed(7);
    // The long form kills a thousand times, each archive twenty times.
    let archives = if std::env::var_os("LIQDATA_SOAK").is_some() {
        50
    } else {
        1
    };
    for _ in 0..archives {
        kill_twenty_times(&mut random);
    }
}

/// Names of the valid and of the superseded files of orders, in order.
fn catalog(folder: &Path) -> (Vec<String>, Vec<String>) {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let journal =
        rusqlite::Connection::open_with_flags(folder.join("journal.sqlite"), flags).unwrap();
    let named = |is: &str| -> Vec<String> {
        let query = format!(
            "SELECT path FROM manifest WHERE holds = 'orders' AND state = 'active' AND path {is}
             (SELECT path FROM generations WHERE superseded_at IS NOT NULL)"
        );
        let mut query = journal.prepare(&query).unwrap();
        let names = query
            .query_map([], |line| line.get::<_, String>(0))
            .unwrap();
        let mut names: Vec<String> = names
            .map(|path| path.unwrap().rsplit('/').next().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    (named("NOT IN"), named("IN"))
}

/// Names of the Parquet files in the folders of days below `folder`, in order.
fn names_below(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for day in std::fs::read_dir(folder).unwrap() {
        for file in std::fs::read_dir(day.unwrap().path()).unwrap() {
            names.push(file.unwrap().file_name().into_string().unwrap());
        }
    }
    names.sort();
    names
}
