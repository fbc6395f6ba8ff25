//! Frames as they came in: kept within bounds, read as far as they are whole, and never in the way of rows.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use liqdata::archive::{
    Archive, RawFileEntry, RawLine, RawLineKind, RawQueue, RawRetention, RawStatus,
};
use liqdata::model::Millis;

use crate::archive::folder::Folder;
use crate::archive::rows::START;

const PLENTY: RawRetention = RawRetention {
    days: 36_500,
    bytes: 1 << 30,
};

fn line(number: i64, at: i64) -> RawLine {
    RawLine {
        frame: format!(
            "{{\"number\":{number},\"text\":\"{:x}\"}}",
            number.wrapping_mul(0x1E37_79B9_7F4A_7C15)
        ),
        ..RawLine::new("okx", Millis(at + number), RawLineKind::Socket)
    }
}

fn markets() -> RawLine {
    RawLine {
        list: Some(0),
        page: Some(0),
        request: Some("/markets?".to_owned()),
        frame: "[\"BTC\"]".to_owned(),
        ..RawLine::new("okx", Millis(START), RawLineKind::Markets)
    }
}

/// Keeps frames from `START` on in a file of their own.
fn write(folder: &Path, bounds: RawRetention, at: i64, count: i64) -> RawStatus {
    let inbox = RawQueue::start(folder, bounds, || false).unwrap();
    inbox.offer(RawLine::new("okx", Millis(at), RawLineKind::Start));
    inbox.markets("okx", 0, vec![markets()]);
    for number in 0..count {
        inbox.offer(line(number, at));
    }
    inbox.stop();
    inbox.status()
}

fn parts(archive: &Archive) -> Vec<RawFileEntry> {
    archive.raw().files().unwrap()
}

#[test]
fn frames_are_read_unchanged_up_to_the_last_whole_line() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    assert_eq!(write(&folder.archive(), PLENTY, START, 4000).frames, 4000);
    let [part] = parts(writer.archive()).try_into().unwrap();
    assert_eq!((part.exchange.as_str(), part.date), ("okx", Millis(START)));
    let mut lines = writer.archive().raw().lines(&part).unwrap();
    let read: Vec<RawLine> = lines.by_ref().collect();
    assert_eq!((lines.fault(), lines.is_cut()), (None, false));
    let begin = [
        RawLine::new("okx", Millis(START), RawLineKind::Start),
        markets(),
    ];
    let frames = (0..4000).map(|number| line(number, START));
    assert_eq!(read, begin.into_iter().chain(frames).collect::<Vec<_>>());

    // Whatever a killed process left is a begin of it.
    let whole = fs::read(&part.path).unwrap();
    let mut longest = 0;
    for end in (0..whole.len()).step_by(whole.len() / 12) {
        fs::write(&part.path, &whole[..end]).unwrap();
        let mut lines = writer.archive().raw().lines(&part).unwrap();
        let some: Vec<RawLine> = lines.by_ref().collect();
        assert_eq!((lines.fault(), lines.is_cut()), (None, end > 0));
        assert!(read.starts_with(&some), "{end}");
        longest = longest.max(some.len());
    }
    assert!(longest > 1000, "{longest}");
    assert!(writer.archive().integrity().verify().unwrap().is_sound());

    // What is damaged is named, and taken out of the way.
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x55;
    fs::write(&part.path, &damaged).unwrap();
    let found = writer.archive().integrity().verify().unwrap();
    let findings = found.findings(&folder.archive());
    let reported = findings
        .iter()
        .map(|one| (one.holds.as_str(), one.problem.as_str(), one.repaired));
    assert_eq!(reported.collect::<Vec<_>>(), [("raw", "damaged", false)]);
    let found = writer.quarantine().unwrap();
    let findings = found.findings(&folder.archive());
    assert_eq!((findings.len(), findings[0].repaired), (1, true));
    assert!(writer.archive().integrity().verify().unwrap().is_sound());
    assert!(parts(writer.archive()).is_empty());
}

#[test]
fn old_and_excess_frames_are_deleted_oldest_first() {
    let folder = Folder::new();
    let archive = Archive::create_or_open(folder.archive()).unwrap();
    for day in 0..4 {
        write(&folder.archive(), PLENTY, START + day * Millis::DAY, 300);
    }
    let all = parts(archive.archive());
    assert_eq!(all.len(), 4);
    let bytes = all.iter().map(|part| part.bytes).sum::<u64>() - 1;
    let few = RawRetention { bytes, ..PLENTY };
    let status = write(&folder.archive(), few, START + 4 * Millis::DAY, 0);
    assert_eq!(parts(archive.archive()), all[1..]);
    assert_eq!(
        status.bytes,
        all[1..].iter().map(|part| part.bytes).sum::<u64>()
    );
    let young = RawRetention { days: 1, ..PLENTY };
    write(&folder.archive(), young, START, 0);
    assert!(parts(archive.archive()).is_empty());
    // None at all where the bounds say so.
    let off = RawRetention { days: 0, ..PLENTY };
    assert_eq!(
        write(&folder.archive(), off, START, 9),
        RawStatus::default()
    );
    assert!(parts(archive.archive()).is_empty());
}

#[test]
fn frames_make_room_for_rows_on_a_full_disk_and_dropped_ones_are_counted() {
    let folder = Folder::new();
    let archive = Archive::create_or_open(folder.archive()).unwrap();
    write(&folder.archive(), PLENTY, START, 300);
    let is_full = Arc::new(AtomicBool::new(true));
    let full = Arc::clone(&is_full);
    let inbox = RawQueue::start(&folder.archive(), PLENTY, move || {
        full.load(Ordering::Acquire)
    })
    .unwrap();
    inbox.offer(line(0, START));
    inbox.offer(line(1, START));
    let begun = Instant::now();
    while inbox.status().dropped < 2 || !parts(archive.archive()).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{inbox:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    is_full.store(false, Ordering::Release);
    inbox.offer(line(2, START));
    inbox.stop();
    let status = inbox.status();
    assert_eq!((status.frames, status.dropped), (1, 2));
    let [part] = parts(archive.archive()).try_into().unwrap();
    let lines: Vec<RawLine> = archive.archive().raw().lines(&part).unwrap().collect();
    let missed = RawLine {
        from: Some(Millis(START)),
        until: Some(Millis(START + 2)),
        frames: Some(2),
        ..RawLine::new("okx", Millis(START + 2), RawLineKind::Dropped)
    };
    assert_eq!(lines, [missed, line(2, START)]);
}
