//! Compaction during writes: new rows become durable meanwhile, and each row is stored once.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use liqdata::archive::{
    Acknowledged, Archive, Batch, CommitError, CommitHandle, CommitPolicy, CompactionReport,
    Filter, GroupCommitWriter, OrderRow, SegmentStep, WriteQueue, Writer,
};
use liqdata::model::Millis;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::archive::child::{self, Process};
use crate::archive::folder::{Folder, files};
use crate::archive::rows::{START, all_orders, bar, journaled, of_orders, order, sorted, sound};

const END: Millis = Millis(START + 100 * Millis::DAY);

/// Long enough for anything but standing still.
const PATIENCE: Duration = Duration::from_mins(2);

/// Orders of so many days.
fn of_days(days: u64) -> Vec<OrderRow> {
    (0..60 * days)
        .map(|key| {
            let day = i64::try_from(key % days).unwrap();
            order(key, START + day * Millis::DAY + i64::try_from(key).unwrap())
        })
        .collect()
}

fn group_writer_of(folder: &Path, rows: &[OrderRow]) -> GroupCommitWriter {
    let mut writer = Archive::create_or_open(folder).unwrap();
    writer.append(&of_orders(rows.to_vec())).unwrap();
    let pace = CommitPolicy {
        delay: Duration::ZERO,
        ..CommitPolicy::default()
    };
    GroupCommitWriter::start_with(writer, pace).unwrap()
}

/// Sends a batch and returns its acknowledgement; panics if none comes.
fn committed(inbox: &WriteQueue, batch: Batch) -> Acknowledged {
    let (sender, receiver) = mpsc::channel();
    let receipt = inbox.send_blocking(batch).unwrap();
    std::thread::spawn(move || sender.send(receipt.wait()));
    receiver
        .recv_timeout(PATIENCE)
        .unwrap_or_else(|_| panic!("nothing was made durable while a roll went on"))
        .unwrap()
}

/// A roll under way, the steps that it comes to, and what lets it go on.
type Paused = (
    CommitHandle<CompactionReport>,
    mpsc::Receiver<SegmentStep>,
    mpsc::Sender<()>,
);

/// Begins a roll that stops at every step until it is let go on; dropping the sender lets it run to its end.
fn paused(inbox: &WriteQueue) -> Paused {
    let (reached, steps) = mpsc::channel();
    let (go, going) = mpsc::channel();
    let rolled = inbox
        .compact_observed(END, move |step, _| {
            let _ = reached.send(step);
            let _ = going.recv();
        })
        .unwrap();
    (rolled, steps, go)
}

#[test]
fn new_rows_become_durable_at_every_step_of_a_compaction() {
    let folder = Folder::new();
    let mut rows = of_days(3);
    let group_writer = group_writer_of(&folder.archive(), &rows);
    let inbox = group_writer.queue();
    let (rolled, steps, go) = paused(&inbox);
    let mut reached = Vec::new();
    let mut key = 1000;
    while let Ok(step) = steps.recv_timeout(PATIENCE) {
        reached.push(step);
        // Of a day that is being rolled, and of one that is not over.
        for day in [0, 1, 2, 200] {
            let row = order(key, START + day * Millis::DAY);
            assert_eq!(committed(&inbox, of_orders(vec![row.clone()])).orders, 1);
            rows.push(row);
            key += 1;
        }
        let reader = Archive::read(folder.archive()).unwrap();
        assert_eq!(all_orders(&reader), sorted(rows.clone()), "{step:?}");
        if go.send(()).is_err() {
            break;
        }
    }
    assert_eq!(reached, [SegmentStep::ALL; 3].concat());
    let rolled = rolled.wait().unwrap();
    // What came in meanwhile is not of this roll.
    assert_eq!((rolled.parts.len(), rolled.rows), (3, 180));
    let rest = inbox.compact(END).unwrap().wait().unwrap();
    assert_eq!((rest.parts.len(), rest.rows), (3, 3 * 18));
    let writer = group_writer.stop().unwrap();
    assert_eq!(all_orders(writer.archive()), sorted(rows));
    assert_eq!(journaled(&folder.archive()), 18);
    assert!(writer.archive().integrity().verify().unwrap().is_sound());
}

#[test]
fn a_row_repeated_during_its_compaction_is_stored_once() {
    let folder = Folder::new();
    let rows = of_days(1);
    let group_writer = group_writer_of(&folder.archive(), &rows);
    let inbox = group_writer.queue();
    let (rolled, steps, go) = paused(&inbox);
    while let Ok(step) = steps.recv_timeout(PATIENCE) {
        let again = committed(&inbox, of_orders(rows.clone()));
        let has_moved = step == SegmentStep::Committed;
        assert_eq!(again.orders, if has_moved { rows.len() } else { 0 });
        let reader = Archive::read(folder.archive()).unwrap();
        assert_eq!(all_orders(&reader), sorted(rows.clone()), "{step:?}");
        if go.send(()).is_err() {
            break;
        }
    }
    assert_eq!(rolled.wait().unwrap().rows, 60);
    // The next roll finds them in the file.
    let rest = inbox.compact(END).unwrap().wait().unwrap();
    assert_eq!((rest.rows, rest.repeated), (0, 60));
    let writer = group_writer.stop().unwrap();
    assert_eq!(all_orders(writer.archive()), sorted(rows));
    assert_eq!(journaled(&folder.archive()), 0);
    assert_eq!(writer.archive().integrity().verify().unwrap().rows, 60);
}

#[test]
fn rows_of_two_concurrent_compactions_are_in_one_file() {
    let folder = Folder::new();
    let rows = of_days(2);
    let group_writer = group_writer_of(&folder.archive(), &rows);
    let inbox = group_writer.queue();
    let (rolled, steps, go) = paused(&inbox);
    assert_eq!(steps.recv_timeout(PATIENCE).unwrap(), SegmentStep::Intended);
    let other = inbox.with(|writer| writer.compact(END)).unwrap();
    assert_eq!(other.wait().unwrap().rows, 120);
    drop(go);
    // What it had read had gone from the journal when it was to be deleted there.
    let rolled = rolled.wait().unwrap();
    assert_eq!((rolled.rows, rolled.parts), (0, Vec::new()));
    let writer = group_writer.stop().unwrap();
    assert_eq!(all_orders(writer.archive()), sorted(rows));
    let verified = writer.archive().integrity().verify().unwrap();
    assert!(verified.unlisted.is_empty(), "{verified:?}");
    assert_eq!(files(&folder.archive(), "parquet").len(), 2);
}

#[test]
fn rows_stay_in_the_journal_if_their_file_is_quarantined_meanwhile() {
    let folder = Folder::new();
    let rows = of_days(1);
    let group_writer = group_writer_of(&folder.archive(), &rows);
    let inbox = group_writer.queue();
    inbox.compact(END).unwrap().wait().unwrap();
    // All of them once more, and one that is new, so that there is a file to stop at.
    let mut again = rows.clone();
    again.push(order(1000, START + 1));
    assert_eq!(committed(&inbox, of_orders(again.clone())).orders, 61);
    let (rolled, steps, go) = paused(&inbox);
    assert_eq!(steps.recv_timeout(PATIENCE).unwrap(), SegmentStep::Intended);
    let file = files(&folder.archive(), "parquet").remove(0);
    std::fs::write(&file, b"no Parquet").unwrap();
    let quarantine = inbox.with(Writer::quarantine).unwrap();
    assert_eq!(quarantine.wait().unwrap().damaged.len(), 1);
    drop(go);
    assert_eq!(rolled.wait().unwrap().rows, 0);
    let writer = group_writer.stop().unwrap();
    let found = writer.archive().orders(&Filter::default()).unwrap().rows;
    assert_eq!(sorted(found), sorted(again));
}

#[test]
fn a_compaction_ends_with_its_writer_and_its_rows_stay() {
    let folder = Folder::new();
    let rows = of_days(2);
    for step in SegmentStep::ALL {
        let group_writer = group_writer_of(&folder.archive(), &rows);
        let inbox = group_writer.queue();
        let (rolled, steps, go) = paused(&inbox);
        // Another one waits for it.
        let next = inbox.compact(END).unwrap();
        while steps.recv_timeout(PATIENCE).unwrap() != step {
            go.send(()).unwrap();
        }
        let stopping = std::thread::spawn(move || group_writer.stop().unwrap());
        while inbox.with(|_| Ok(())).is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(go);
        let writer = stopping.join().unwrap();
        for rolled in [rolled, next] {
            let fault = rolled.wait().unwrap_err();
            assert!(matches!(fault, CommitError::Stopped), "{step:?}: {fault}");
        }
        assert!(matches!(inbox.compact(END), Err(CommitError::Stopped)));
        assert_eq!(
            all_orders(writer.archive()),
            sorted(rows.clone()),
            "{step:?}"
        );
        drop(writer);
        // The next opening puts right what was left.
        let writer = Archive::create_or_open(folder.archive()).unwrap();
        assert_eq!(
            all_orders(writer.archive()),
            sorted(rows.clone()),
            "{step:?}"
        );
        let verified = writer.archive().integrity().verify().unwrap();
        assert!(verified.unlisted.is_empty(), "{step:?}: {verified:?}");
        drop(writer);
        std::fs::remove_dir_all(folder.archive()).unwrap();
    }
}

#[test]
fn a_compaction_during_writes_killed_at_any_step_leaves_every_row_once() {
    for step in SegmentStep::ALL {
        let folder = Folder::new();
        let rows = of_days(2);
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        writer.append(&of_orders(rows.clone())).unwrap();
        drop(writer);
        let part = format!("roll-during-writes {step:?} 2");
        let mut process = Process::start(&folder.archive(), &part);
        assert!(process.read_report("reached").is_some(), "{step:?}");
        process.kill();

        let place = SegmentStep::ALL
            .iter()
            .position(|one| *one == step)
            .unwrap();
        let meanwhile = u64::try_from(SegmentStep::ALL.len() + place + 1).unwrap();
        let later = |key| order(child::LATER + key, START + 200 * Millis::DAY);
        let rows = sorted(rows.into_iter().chain((0..meanwhile).map(later)).collect());
        let reader = Archive::read(folder.archive()).unwrap();
        assert_eq!(all_orders(&reader), rows, "{step:?}");
        drop(reader);
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        for _ in 0..2 {
            assert_eq!(all_orders(writer.archive()), rows, "{step:?}");
            let verified = writer.archive().integrity().verify().unwrap();
            assert!(verified.is_sound(), "{step:?}: {verified:?}");
            assert!(verified.unlisted.is_empty(), "{step:?}: {verified:?}");
            let count = journaled(&folder.archive()) + verified.rows;
            assert_eq!(count, u64::try_from(rows.len()).unwrap());
            writer.compact(END).unwrap();
        }
        assert_eq!(journaled(&folder.archive()), meanwhile);
    }
}

#[test]
fn a_day_of_many_bars_is_divided_by_coins() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let coins: Vec<String> = (0..70).map(|coin| format!("C{coin:02}")).collect();
    let bars = (0..1440).flat_map(|minute| coins.iter().map(move |coin| bar(coin, minute, 100)));
    let batch = Batch {
        bars: bars.collect(),
        ..Batch::default()
    };
    writer.append(&batch).unwrap();
    let rolled = writer.compact(END).unwrap();
    assert_eq!((rolled.parts.len(), rolled.rows), (3, 70 * 1440));
    let found = sound(writer.archive().observed_bars(&Filter::default()).unwrap());
    assert_eq!(found.len(), 70 * 1440);
    // A coin's day lies in one file, or in two where the first was full.
    let mut ranges: Vec<(Vec<u8>, Vec<u8>)> =
        rolled.parts.iter().map(|path| symbols(path)).collect();
    ranges.sort();
    assert!(
        ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0),
        "{ranges:?}"
    );
}

/// The first and the last symbol of a file.
fn symbols(path: &Path) -> (Vec<u8>, Vec<u8>) {
    let file = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let groups = file.metadata().row_groups().iter();
    let bounds: Vec<(Vec<u8>, Vec<u8>)> = groups
        .map(|group| {
            let column = group
                .columns()
                .iter()
                .find(|column| column.column_descr().name() == "symbol");
            let statistics = column.unwrap().statistics().unwrap();
            (
                statistics.min_bytes_opt().unwrap().to_vec(),
                statistics.max_bytes_opt().unwrap().to_vec(),
            )
        })
        .collect();
    (
        bounds.iter().map(|bound| bound.0.clone()).min().unwrap(),
        bounds.iter().map(|bound| bound.1.clone()).max().unwrap(),
    )
}
