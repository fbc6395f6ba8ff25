//! Group commits: many senders share few transactions, and every acknowledged row is durable.

use std::time::Duration;

use liqdata::archive::{
    Archive, ArchiveError, Batch, CommitError, CommitPolicy, Completeness, Gap, GroupCommitWriter,
};
use liqdata::model::Millis;

use crate::archive::folder::{Disk, Folder};
use crate::archive::rows::{START, all_orders, of_orders, order, sorted};

/// A pace at which a transaction begins only when it has `rows` rows, or when the test asks for something else.
fn patient(rows: usize) -> CommitPolicy {
    CommitPolicy {
        delay: Duration::from_hours(1),
        rows,
        ..CommitPolicy::default()
    }
}

#[test]
fn batches_of_many_senders_share_a_transaction_and_each_gets_its_own_receipt() {
    let folder = Folder::new();
    let writer = Archive::create_or_open(folder.archive()).unwrap();
    let group_writer = GroupCommitWriter::start_with(writer, patient(12)).unwrap();
    let receipts: Vec<_> = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..4_u64)
            .map(|sender| {
                let inbox = group_writer.queue();
                scope.spawn(move || {
                    // The first order of all senders is the same one.
                    let rows = [0, 10 * sender + 1, 10 * sender + 2].map(|key| order(key, START));
                    inbox.send_blocking(of_orders(rows.to_vec())).unwrap()
                })
            })
            .collect();
        senders
            .into_iter()
            .map(|sender| sender.join().unwrap())
            .collect()
    });
    let committed: Vec<_> = receipts
        .into_iter()
        .map(|receipt| receipt.wait().unwrap())
        .collect();
    assert_eq!(committed.iter().map(|batch| batch.orders).sum::<usize>(), 9);
    assert_eq!(
        committed.iter().map(|batch| batch.repeated).sum::<usize>(),
        3
    );
    let status = group_writer.queue().status();
    assert_eq!(
        (status.commits, status.committed, status.waiting),
        (1, 12, 0)
    );
    let writer = group_writer.stop().unwrap();
    assert_eq!(all_orders(writer.archive()).len(), 9);
}

#[tokio::test]
async fn asynchronous_senders_wait_for_room_and_everything_sent_before_work_is_durable_in_it() {
    let folder = Folder::new();
    let writer = Archive::create_or_open(folder.archive()).unwrap();
    let pace = CommitPolicy {
        queue: 3,
        delay: Duration::ZERO,
        ..CommitPolicy::default()
    };
    let group_writer = GroupCommitWriter::start_with(writer, pace).unwrap();
    let inbox = group_writer.queue();
    let mut receipts = Vec::new();
    for key in 0..50 {
        // Batches larger than the queue among them.
        let rows = (0..=key % 5).map(|row| order(10 * key + row, START));
        receipts.push(inbox.send(of_orders(rows.collect())).await.unwrap());
    }
    let counted = inbox
        .with(|writer| Ok(all_orders(writer.archive()).len()))
        .unwrap()
        .await
        .unwrap();
    assert_eq!(counted, 150);
    for receipt in receipts {
        receipt.await.unwrap();
    }
    let run = inbox
        .with(|writer| writer.begin_session("okx", Completeness::Complete, Millis(START)))
        .unwrap();
    run.await.unwrap();
    drop(group_writer);
    let fault = inbox.send(Batch::default()).await.unwrap_err();
    assert!(matches!(fault, CommitError::Stopped), "{fault}");
    assert!(inbox.with(|_| Ok(())).is_err());
    assert!(inbox.offer(Batch::default()).is_err());
}

#[test]
fn an_invalid_row_is_refused_alone() {
    let folder = Folder::new();
    let writer = Archive::create_or_open(folder.archive()).unwrap();
    let group_writer = GroupCommitWriter::start_with(writer, patient(2)).unwrap();
    let inbox = group_writer.queue();
    let good = inbox
        .send_blocking(of_orders(vec![order(1, START)]))
        .unwrap();
    let mut bad = order(2, START);
    bad.order.price = 0.into();
    let fault = inbox.offer(of_orders(vec![bad])).unwrap_err();
    let CommitError::Archive(fault) = fault else {
        panic!("{fault}");
    };
    assert!(
        matches!(
            *fault,
            ArchiveError::BadRow {
                column: "price",
                ..
            }
        ),
        "{fault}"
    );
    let writer = group_writer.stop().unwrap();
    assert_eq!(good.wait().unwrap().orders, 1);
    assert_eq!(all_orders(writer.archive()), [order(1, START)]);
}

#[test]
fn rows_beyond_a_full_queue_are_a_gap_from_first_to_last() {
    let folder = Folder::new();
    let writer = Archive::create_or_open(folder.archive()).unwrap();
    let pace = CommitPolicy {
        queue: 2,
        ..patient(100)
    };
    let group_writer = GroupCommitWriter::start_with(writer, pace).unwrap();
    let inbox = group_writer.queue();
    let at = |key: u64, at: i64| {
        let mut row = order(key, at);
        row.order.exchange = "okx".to_owned();
        row.received_at = Millis(at);
        row
    };
    let receipt = inbox
        .offer(of_orders(vec![at(1, START), at(2, START + 1)]))
        .unwrap();
    for key in 3..6 {
        let row = at(key, START + i64::try_from(key).unwrap());
        let fault = inbox.offer(of_orders(vec![row])).unwrap_err();
        assert!(matches!(fault, CommitError::Full { waiting: 2 }), "{fault}");
    }
    assert_eq!(inbox.status().refused, 3);
    // The work ends the wait for more rows, and with it the first two make room.
    inbox.with(|_| Ok(())).unwrap().wait().unwrap();
    receipt.wait().unwrap();
    let gap = |start, end| (Millis(start), Millis(end));
    let gaps = |archive: &Archive| -> Vec<(Millis, Millis)> {
        let gaps = archive
            .coverage()
            .gaps(Millis(0), Millis(i64::MAX))
            .unwrap();
        let known =
            |gap: &Gap| gap.exchange == "okx" && gap.reason == "could not be written in time";
        assert!(gaps.iter().all(known), "{gaps:?}");
        gaps.iter().map(|gap| (gap.start, gap.end)).collect()
    };
    let reader = Archive::read(folder.archive()).unwrap();
    // Known at once, in case that was the last thing to be written.
    assert_eq!(gaps(&reader), [gap(START + 3, START + 6)]);

    let full = inbox
        .offer(of_orders(vec![
            at(6, START + 6),
            at(7, START + 6),
            at(8, START + 6),
        ]))
        .unwrap();
    inbox
        .offer(of_orders(vec![at(9, START + 9)]))
        .map(drop)
        .unwrap_err();
    let writer = group_writer.stop().unwrap();
    full.wait().unwrap();
    assert_eq!(
        gaps(writer.archive()),
        [gap(START + 3, START + 6), gap(START + 9, START + 10)]
    );
    assert_eq!(all_orders(writer.archive()).len(), 5);
}

#[test]
fn on_a_full_disk_nothing_is_acknowledged_until_there_is_space_again() {
    let Some(disk) = Disk::of(4) else { return };
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![0; 1 << 20]).unwrap();
    let writer = Archive::create_or_open(disk.archive()).unwrap();
    let pace = CommitPolicy {
        delay: Duration::ZERO,
        queue: 300,
        retry: Duration::from_millis(5),
        ..CommitPolicy::default()
    };
    let group_writer = GroupCommitWriter::start_with(writer, pace).unwrap();
    let inbox = group_writer.queue();
    let mut sent = Vec::new();
    let mut receipts = Vec::new();
    let mut batch = 0;
    // Until the disk is full and says so.
    while inbox.status().stalled.is_none() {
        let rows: Vec<_> = (0..100)
            .map(|place| order(batch * 100 + place, START + 5))
            .collect();
        batch += 1;
        if let Ok(receipt) = inbox.offer(of_orders(rows.clone())) {
            sent.extend(rows);
            receipts.push(receipt);
        }
    }
    let status = inbox.status();
    assert!(status.waiting > 0, "{status:?}");
    assert!(
        status.stalled.as_ref().unwrap().contains("space"),
        "{status:?}"
    );
    let readable = all_orders(&Archive::read(disk.archive()).unwrap()).len();
    assert_eq!(u64::try_from(readable).unwrap(), status.committed);

    std::fs::remove_file(&ballast).unwrap();
    for receipt in receipts {
        receipt.wait().unwrap();
    }
    let status = inbox.status();
    assert_eq!((status.waiting, status.stalled), (0, None));
    let writer = group_writer.stop().unwrap();
    assert_eq!(all_orders(writer.archive()), sorted(sent));
}

#[test]
fn a_writer_stopped_on_a_full_disk_reports_the_lost_batch() {
    let Some(disk) = Disk::of(4) else { return };
    let mut writer = Archive::create_or_open(disk.archive()).unwrap();
    writer.append(&of_orders(vec![order(0, START)])).unwrap();
    let mut size = 4 << 20;
    while size > 4096 && std::fs::write(disk.path().join("ballast"), vec![0; size]).is_err() {
        size -= 4096;
    }
    let group_writer = GroupCommitWriter::start(writer).unwrap();
    let rows: Vec<_> = (1..5000).map(|key| order(key, START)).collect();
    let receipt = group_writer.queue().send_blocking(of_orders(rows)).unwrap();
    let writer = group_writer.stop().unwrap();
    let fault = receipt.wait().unwrap_err();
    assert!(
        matches!(&fault, CommitError::Archive(fault) if matches!(**fault, ArchiveError::DiskFull { .. })),
        "{fault}"
    );
    assert_eq!(all_orders(writer.archive()), [order(0, START)]);
}
