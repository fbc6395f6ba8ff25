//! Disks that are full or may not be written to. Both need a disk of their own; without the right to mount one they
//! say so and pass.

use std::fs;
use std::time::Duration;

use liqdata::archive::{
    Archive, ArchiveError, Batch, CommitError, CommitPolicy, Filter, GroupCommitWriter, MapRow,
};
use liqdata::model::Millis;

use crate::archive::folder::{Disk, files, give_back};
use crate::archive::maps::{map, of_maps};
use crate::archive::rows::{START, all_orders, journaled, of_orders, order, sorted};

#[test]
fn a_full_disk_loses_nothing_acknowledged_and_writing_resumes_with_space() {
    let Some(disk) = Disk::of(4) else { return };
    let ballast = disk.path().join("ballast");
    fs::write(&ballast, vec![0; 1 << 20]).unwrap();
    let mut writer = Archive::create_or_open(disk.archive()).unwrap();
    let mut stored = Vec::new();
    let mut refused = None;
    for batch in 0..1000_u64 {
        let rows: Vec<_> = (0..100)
            .map(|place| order(batch * 100 + place, START + 5))
            .collect();
        match writer.append(&of_orders(rows.clone())) {
            Ok(_) => stored.extend(rows),
            Err(fault) => {
                assert!(matches!(fault, ArchiveError::DiskFull { .. }), "{fault:?}");
                refused = Some(rows);
                break;
            }
        }
    }
    let Some(refused) = refused else {
        panic!("100,000 orders fit into 4 MB");
    };
    assert!(stored.len() >= 1000, "{}", stored.len());
    let mut stored = sorted(stored);
    assert_eq!(all_orders(writer.archive()), stored);
    assert_eq!(all_orders(&Archive::read(disk.archive()).unwrap()), stored);

    give_back(&ballast);
    writer.append(&of_orders(refused.clone())).unwrap();
    stored.extend(refused);
    let stored = sorted(stored);
    assert_eq!(all_orders(writer.archive()), stored);
    drop(writer);
    let writer = Archive::create_or_open(disk.archive()).unwrap();
    assert_eq!(all_orders(writer.archive()), stored);
    assert!(writer.archive().integrity().verify().unwrap().is_sound());
}

#[test]
fn a_compaction_on_a_full_disk_leaves_the_rows_in_the_journal() {
    let Some(disk) = Disk::of(4) else { return };
    let mut writer = Archive::create_or_open(disk.archive()).unwrap();
    let rows = sorted((0..2000).map(|key| order(key, START + 5)).collect());
    writer.append(&of_orders(rows.clone())).unwrap();
    // All but a little of what is left.
    let ballast = disk.path().join("ballast");
    let mut size = 4 << 20;
    while size > 4096 && fs::write(&ballast, vec![0; size]).is_err() {
        size -= 4096;
    }
    let fault = writer.compact(Millis(i64::MAX)).unwrap_err();
    assert!(matches!(fault, ArchiveError::DiskFull { .. }), "{fault:?}");
    assert_eq!(all_orders(writer.archive()), rows);
    assert_eq!(journaled(&disk.archive()), 2000);
    assert!(files(&disk.archive(), "parquet").is_empty());
    give_back(&ballast);
    assert_eq!(writer.compact(Millis(i64::MAX)).unwrap().rows, 2000);
    assert_eq!(all_orders(writer.archive()), rows);
    assert!(
        writer
            .archive()
            .integrity()
            .verify()
            .unwrap()
            .unlisted
            .is_empty()
    );
}

#[test]
fn maps_make_room_for_orders_on_a_full_disk() {
    let Some(disk) = Disk::of(4) else { return };
    let writer = Archive::create_or_open(disk.archive()).unwrap();
    // Both are in one transaction, and the map is larger than the disk.
    let pace = CommitPolicy {
        delay: Duration::from_hours(1),
        rows: 2,
        ..CommitPolicy::default()
    };
    let group_writer = GroupCommitWriter::start_with(writer, pace).unwrap();
    let mut random = fastrand::Rng::with_seed(3);
    let large = MapRow {
        reply: (0..12 << 20).map(|_| random.alphanumeric()).collect(),
        ..map("heatmap", "BTC", 1)
    };
    let orders = vec![order(1, START)];
    let of_map = group_writer
        .queue()
        .send_blocking(of_maps(vec![large.clone()]))
        .unwrap();
    let of_order = group_writer
        .queue()
        .send_blocking(of_orders(orders.clone()));
    assert_eq!(of_order.unwrap().wait().unwrap().orders, 1);
    match of_map.wait() {
        Err(CommitError::Archive(fault)) => {
            assert!(matches!(&*fault, ArchiveError::DiskFull { .. }), "{fault}");
        }
        other => panic!("{other:?}"),
    }
    let status = group_writer.queue().status();
    assert_eq!((status.waiting, status.committed), (0, 1));
    assert_eq!(status.stalled, None);
    let writer = group_writer.stop().unwrap();
    assert_eq!(all_orders(writer.archive()), orders);
    assert_eq!(
        writer
            .archive()
            .maps(&Filter::default(), None)
            .unwrap()
            .rows,
        []
    );
}

#[test]
fn a_read_only_archive_can_be_read() {
    let Some(disk) = Disk::of(8) else { return };
    let mut writer = Archive::create_or_open(disk.archive()).unwrap();
    let rows = sorted(
        (0..20)
            .map(|key| order(key, START + i64::try_from(key).unwrap() * 9_000_000))
            .collect(),
    );
    writer.append(&of_orders(rows.clone())).unwrap();
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    drop(writer);
    disk.freeze();
    let refused = Archive::create_or_open(disk.archive()).unwrap_err();
    assert!(
        matches!(refused, ArchiveError::ReadOnly { .. }),
        "{refused:?}"
    );
    let reader = Archive::read(disk.archive()).unwrap();
    assert_eq!(all_orders(&reader), rows);
    assert!(reader.integrity().verify().unwrap().is_sound());
}

#[test]
fn an_archive_that_was_closed_can_be_read_on_a_full_disk() {
    let Some(disk) = Disk::of(8) else { return };
    let mut writer = Archive::create_or_open(disk.archive()).unwrap();
    let rows = sorted((0..20).map(|key| order(key, START)).collect());
    writer.append(&of_orders(rows.clone())).unwrap();
    drop(writer);
    let mut ballast = fs::File::create(disk.path().join("ballast")).unwrap();
    while std::io::Write::write_all(&mut ballast, &[0; 512]).is_ok() {}
    let reader = Archive::read(disk.archive()).unwrap();
    assert_eq!(all_orders(&reader), rows);
    assert!(reader.integrity().verify().unwrap().is_sound());
}

#[test]
fn an_unclosed_journal_on_a_read_only_disk_is_refused() {
    let Some(disk) = Disk::of(8) else { return };
    let live = crate::archive::folder::Folder::new();
    let mut writer = Archive::create_or_open(live.archive()).unwrap();
    writer.append(&of_orders(vec![order(0, START)])).unwrap();
    // As a copy of the folder of a running writer has it.
    fs::create_dir(disk.archive()).unwrap();
    for name in ["journal.sqlite", "journal.sqlite-wal"] {
        fs::copy(live.archive().join(name), disk.archive().join(name)).unwrap();
    }
    disk.freeze();
    match Archive::read(disk.archive()) {
        Ok(reader) => assert_eq!(
            reader.orders(&Filter::default()).unwrap().rows,
            [order(0, START)]
        ),
        Err(fault) => {
            assert!(matches!(fault, ArchiveError::ReadOnly { .. }), "{fault:?}");
            assert!(fault.to_string().contains("not closed"), "{fault}");
        }
    }
}

#[test]
fn maps_are_dropped_at_once_while_orders_wait_for_a_full_disk() {
    let Some(disk) = Disk::of(4) else { return };
    let writer = Archive::create_or_open(disk.archive()).unwrap();
    let group_writer = GroupCommitWriter::start(writer).unwrap();
    let inbox = group_writer.queue();
    let ballast = disk.archive().parent().unwrap().join("ballast");
    let mut size = 4 << 20;
    while std::fs::write(&ballast, vec![0; size]).is_err() {
        size -= 4096;
    }
    // More than a page, of which there may be one left.
    let rows = |round: u64| (0..200).map(move |key| order(round * 200 + key, START));
    let waiting = inbox.send_blocking(of_orders(rows(0).collect())).unwrap();
    while inbox.status().stalled.is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    for bar in 0..3 {
        let maps = of_maps(vec![map("heatmap", "BTC", bar)]);
        let fault = inbox.send_blocking(maps).unwrap().wait().unwrap_err();
        assert!(fault.to_string().contains("no space"), "{fault}");
        // The orders still wait, and a batch of both waits with them.
        let status = inbox.status();
        assert_eq!(status.waiting, 200);
        assert!(status.stalled.is_some());
    }
    let both = Batch {
        maps: vec![map("heatmap", "ETH", 1)],
        ..of_orders(rows(1).collect())
    };
    let both = inbox.send_blocking(both).unwrap();
    give_back(&ballast);
    assert_eq!(waiting.wait().unwrap().orders, 200);
    let committed = both.wait().unwrap();
    assert_eq!((committed.orders, committed.maps), (200, 1));
    let writer = group_writer.stop().unwrap();
    assert_eq!(all_orders(writer.archive()).len(), 400);
}

/// Appends an order and closes the archive.
fn add(disk: &Disk, key: u64) {
    let mut writer = Archive::create_or_open(disk.archive()).unwrap();
    writer.append(&of_orders(vec![order(key, START)])).unwrap();
}

#[test]
fn a_reader_that_was_opened_where_nothing_can_be_written_sees_later_rows() {
    let Some(disk) = Disk::of(8) else { return };
    add(&disk, 1);
    disk.freeze();
    let reader = Archive::read(disk.archive()).unwrap();
    assert_eq!(all_orders(&reader).len(), 1);
    for key in 2..4 {
        let before = reader.version().unwrap();
        disk.thaw();
        add(&disk, key);
        // The reader is still one that cannot write.
        disk.freeze();
        let orders = usize::try_from(key).unwrap();
        assert_eq!(all_orders(&reader).len(), orders);
        assert_ne!(reader.version().unwrap(), before);
    }
    disk.thaw();
    let mut writer = Archive::create_or_open(disk.archive()).unwrap();
    writer.append(&of_orders(vec![order(4, START)])).unwrap();
    assert_eq!(all_orders(&reader).len(), 4, "while a writer runs");
    writer.append(&of_orders(vec![order(5, START)])).unwrap();
    assert_eq!(all_orders(&reader).len(), 5);
    drop(writer);
    assert_eq!(all_orders(&reader).len(), 5);
}

#[test]
fn a_reader_that_was_opened_on_a_full_disk_sees_later_rows() {
    let Some(disk) = Disk::of(4) else { return };
    add(&disk, 1);
    let ballast = disk.path().join("ballast");
    let mut size = 4 << 20;
    while size > 0 && fs::write(&ballast, vec![0; size]).is_err() {
        size -= 4096;
    }
    // Without space there is no shared memory, with which connections tell each other of commits.
    let reader = Archive::read(disk.archive()).unwrap();
    assert_eq!(all_orders(&reader).len(), 1);
    give_back(&ballast);
    for key in 2..4 {
        add(&disk, key);
        let orders = usize::try_from(key).unwrap();
        assert_eq!(all_orders(&reader).len(), orders);
        assert_eq!(
            reader.catalog().summary().unwrap().newest,
            Some(Millis(START))
        );
    }
}
