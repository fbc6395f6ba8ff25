//! Days on end: memory, open files and the journal stay as large as a day makes them, however many days there were.

use std::fs;
use std::path::Path;

use liqdata::archive::Archive;
use liqdata::model::Millis;

use crate::archive::child::{Process, report};
use crate::archive::folder::Folder;
use crate::archive::rows::{START, journaled, of_orders, order};

/// Orders of one batch.
const BATCH: u64 = 1000;

/// Resources of a process at the end of a day.
#[derive(Clone, Copy, Debug)]
struct Usage {
    memory: u64,
    files: u64,
    journal: u64,
}

/// Writes so many days of so many orders each, compacts every one when it is over, and reports its usage then.
pub(crate) fn live(archive: &Path, days: u64, orders: u64) {
    let mut writer = Archive::create_or_open(archive).unwrap();
    let day = |number: u64| START + i64::try_from(number).unwrap() * Millis::DAY;
    for number in 0..days {
        for first in (0..orders).step_by(usize::try_from(BATCH).unwrap()) {
            let of_batch = first..orders.min(first + BATCH);
            let rows = of_batch.map(|place| {
                let at = place * Millis::DAY.unsigned_abs() / orders;
                order(
                    number * orders + place,
                    day(number) + i64::try_from(at).unwrap(),
                )
            });
            writer.append(&of_orders(rows.collect())).unwrap();
        }
        writer.compact(Millis(day(number + 1))).unwrap();
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let memory = memory.unwrap().trim().trim_end_matches(" kB");
        let files = fs::read_dir("/proc/self/fd").unwrap().count();
        let journal: u64 = ["journal.sqlite", "journal.sqlite-wal"]
            .iter()
            .map(|name| fs::metadata(archive.join(name)).map_or(0, |file| file.len()))
            .sum();
        report(&format!("day {memory} {files} {journal}"));
    }
}

#[test]
fn memory_and_files_of_a_writer_do_not_grow_with_its_days() {
    // The long form is a week of two million orders a day.
    let (days, orders) = if std::env::var_os("LIQDATA_SOAK").is_some() {
        (7, 2_000_000)
    } else {
        (9, 5_000)
    };
    let folder = Folder::new();
    let mut process = Process::start(&folder.archive(), &format!("live {days} {orders}"));
    let usage: Vec<Usage> = (0..days)
        .map(|_| {
            let report = process.read_report("day").unwrap();
            let mut numbers = report.split(' ').map(|number| number.parse().unwrap());
            let mut next = || numbers.next().unwrap();
            Usage {
                memory: next() << 10,
                files: next(),
                journal: next(),
            }
        })
        .collect();
    process.kill();
    println!("{usage:#?}");
    let few = usage[2];
    for later in &usage[3..] {
        assert_eq!(later.files, few.files, "{usage:#?}");
        // An allocator does not return all freed memory.
        assert!(
            later.memory <= few.memory + few.memory / 4 + (8 << 20),
            "{usage:#?}"
        );
        assert!(later.journal <= few.journal + few.journal / 4, "{usage:#?}");
    }
    let archive = Archive::read(folder.archive()).unwrap();
    let verified = archive.integrity().verify().unwrap();
    assert!(verified.is_sound(), "{verified:?}");
    assert_eq!(verified.rows, days * orders);
    assert_eq!(journaled(&folder.archive()), 0);
}
