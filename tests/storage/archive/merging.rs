//! Several archives as one: each row once, and covered where any of them listened.

use std::fs;
use std::path::{Path, PathBuf};

use liqdata::archive::{Archive, Batch, Completeness, Filter, Gap, OrderRow};
use liqdata::model::Millis;

use crate::archive::folder::Folder;
use crate::archive::rows::{START, all_orders, bar, order, reading, sorted, sound};

const HOUR: i64 = Millis::HOUR;

fn at(hours: i64) -> Millis {
    Millis(START + hours * HOUR)
}

/// Orders of binance, of these numbers, that were received so much after they happened.
fn orders(numbers: std::ops::Range<i64>, late: i64) -> Vec<OrderRow> {
    let of = |number: i64| OrderRow {
        received_at: Millis(at(number).0 + late),
        ..order(3 * (1 + number.unsigned_abs()), at(number).0)
    };
    numbers.map(of).collect()
}

/// An archive of one run over some hours, rolled until an hour.
fn collected(folder: &Path, orders: Vec<OrderRow>, run: (i64, i64), rolled: i64) -> Archive {
    let mut writer = Archive::create_or_open(folder).unwrap();
    let id = writer
        .begin_session("binance", Completeness::Sampled, at(run.0))
        .unwrap();
    let hours = run.0..run.1;
    writer
        .append(&Batch {
            orders,
            bars: hours
                .clone()
                .map(|hour| bar("BTC", hour * 60, 100))
                .collect(),
            open_interest: hours.map(|hour| reading("BTC", at(hour).0 + 1)).collect(),
            seen: vec![(id, at(run.1))],
            ..Batch::default()
        })
        .unwrap();
    writer.compact(at(rolled)).unwrap();
    drop(writer);
    Archive::read(folder).unwrap()
}

fn merged(folder: &Folder, archives: &[Archive]) -> (PathBuf, Archive) {
    let into = folder.path().join("merged");
    assert!(Archive::merge(archives, &into, &mut |_, _| true).unwrap());
    let archive = Archive::read(&into).unwrap();
    assert!(archive.integrity().verify().unwrap().is_sound());
    (into, archive)
}

#[test]
fn a_row_of_both_archives_is_merged_once_as_first_received() {
    let folder = Folder::new();
    // The first has days 0 and 1, the second days 1 and 2; of day 1 it heard half, and half of that sooner.
    let one = collected(&folder.path().join("one"), orders(0..48, 500), (0, 48), 48);
    let mut both = orders(30..36, 100);
    both.extend(orders(36..72, 900));
    let two = collected(&folder.path().join("two"), both, (30, 72), 48);
    let (into, archive) = merged(&folder, &[one, two]);

    let mut wanted = orders(0..30, 500);
    wanted.extend(orders(30..36, 100));
    wanted.extend(orders(36..48, 500));
    wanted.extend(orders(48..72, 900));
    assert_eq!(all_orders(&archive), sorted(wanted));
    assert_eq!(
        sound(archive.observed_bars(&Filter::default()).unwrap()).len(),
        72
    );
    assert_eq!(
        sound(archive.open_interest(&Filter::default()).unwrap()).len(),
        72
    );
    let coverage = archive.coverage().by_exchange(at(0), at(72)).unwrap();
    assert_eq!(
        (coverage[0].cnt, coverage[0].connected_share),
        (72, Some(1.0))
    );
    assert_eq!(
        archive.catalog().summary().unwrap().newest,
        Some(at(71).on(Millis::MINUTE))
    );
    // A day of one alone is its own file under a second name.
    let day = |folder: &Path| {
        let files = fs::read_dir(folder.join("orders/date=2024-10-04")).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        files.sort();
        files
    };
    assert_eq!(day(&into), day(&folder.path().join("one")));
}

#[test]
fn a_gap_that_the_other_archive_covers_is_merged_away() {
    let folder = Folder::new();
    let gap = |start, end, reason: &str| Gap {
        exchange: "binance".to_owned(),
        start: at(start),
        end: at(end),
        reason: reason.to_owned(),
        recorded_at: at(end),
        ..Gap::default()
    };
    let with = |name: &str, run, gaps: Vec<Gap>| {
        let path = folder.path().join(name);
        drop(collected(&path, Vec::new(), run, 0));
        let mut writer = Archive::create_or_open(&path).unwrap();
        let batch = Batch {
            gaps,
            ..Batch::default()
        };
        writer.append(&batch).unwrap();
        drop(writer);
        Archive::read(path).unwrap()
    };
    let one = with(
        "one",
        (0, 20),
        vec![gap(4, 8, "disconnected"), gap(15, 16, "slow")],
    );
    let two = with("two", (2, 12), vec![gap(6, 7, "maintenance")]);
    let (_, archive) = merged(&folder, &[one, two]);
    let gaps = archive.coverage().gaps(at(0), at(30)).unwrap();
    let reported: Vec<_> = gaps
        .iter()
        .map(|gap| (gap.start, gap.end, gap.reason.as_str()))
        .collect();
    // From 6 to 7 both missed it, each for a reason of its own.
    assert_eq!(
        reported,
        [
            (at(6), at(7), "disconnected"),
            (at(6), at(7), "maintenance"),
            (at(15), at(16), "slow")
        ]
    );
    let share = |start, end| {
        let coverage = archive.coverage().by_exchange(at(start), at(end)).unwrap();
        coverage[0].connected_share
    };
    assert_eq!(share(0, 6), Some(1.0));
    assert_eq!(share(6, 7), Some(0.0));
    assert_eq!(share(0, 20), Some(0.9));
    assert_eq!(share(20, 24), Some(0.0));
}

#[test]
fn a_merge_reports_a_damaged_file_and_takes_the_other_copy() {
    let folder = Folder::new();
    let one = folder.path().join("one");
    drop(collected(&one, orders(0..20, 500), (0, 20), 24));
    let file = fs::read_dir(one.join("orders/date=2024-10-04")).unwrap();
    let file = file.map(|file| file.unwrap().path()).next().unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    let one = Archive::read(one).unwrap();
    let two = collected(&folder.path().join("two"), orders(5..15, 500), (5, 15), 24);
    let into = folder.path().join("merged");
    assert!(Archive::merge(&[one, two], &into, &mut |_, _| true).unwrap());
    let archive = Archive::read(&into).unwrap();
    let scan = archive.orders(&Filter::default()).unwrap();
    assert_eq!(scan.rows, sorted(orders(5..15, 500)));
    assert_eq!(scan.damaged.len(), 1);
    assert!(scan.damaged[0].reason.contains("SHA-256"));
    let gaps = archive.coverage().gaps(at(0), at(24)).unwrap();
    assert!(
        gaps.iter().any(|gap| gap.reason == "damaged file"),
        "{gaps:?}"
    );
}

#[test]
fn a_merge_stops_when_its_callback_says_so() {
    let folder = Folder::new();
    let one = collected(&folder.path().join("one"), orders(0..48, 500), (0, 48), 48);
    let into = folder.path().join("merged");
    let mut calls = Vec::new();
    let mut progress = |done, of| {
        calls.push((done, of));
        done < 2
    };
    assert!(!Archive::merge(std::slice::from_ref(&one), &into, &mut progress).unwrap());
    assert_eq!(calls, [(0, 6), (1, 6), (2, 6)]);
    // A folder that holds something else is left alone.
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("mine"), "mine").unwrap();
    let refused = Archive::merge(&[one], &other, &mut |_, _| true).unwrap_err();
    assert!(
        refused.to_string().contains("is not an archive"),
        "{refused}"
    );
}
