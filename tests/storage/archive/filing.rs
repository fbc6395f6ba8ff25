//! Rows of the past, filed past the journal: each once, all of a lot or none, whatever was there and whenever it is killed.

use liqdata::archive::{
    Archive, Batch, Completeness, Filter, ImportedSession, OrderRow, SegmentStep, Tables,
};
use liqdata::model::Millis;

use crate::archive::child::Process;
use crate::archive::folder::{Folder, files};
use crate::archive::rows::{
    START, all_orders, bar, bar_table, import_orders, interest_table, journaled, of_orders, order,
    reading, scope, sorted, sound,
};

/// Every day is over.
const LATER: Millis = Millis(START + 100 * Millis::DAY);

/// Tables have no frames.
fn without_frame(row: OrderRow) -> OrderRow {
    OrderRow { raw: None, ..row }
}

/// Thirty orders a day.
pub(crate) fn orders_of(days: u64) -> Vec<OrderRow> {
    let at = |key: u64| START + i64::try_from(key % days).unwrap() * Millis::DAY;
    let rows = (0..30 * days).map(|key| without_frame(order(key, at(key))));
    sorted(rows.collect())
}

fn two_days() -> Vec<OrderRow> {
    orders_of(2)
}

pub(crate) fn two_day_session() -> ImportedSession {
    ImportedSession {
        exchange: "okx".to_owned(),
        completeness: Completeness::Sampled,
        start: Millis(START),
        end: Millis(START + 2 * Millis::DAY),
        known_at: Millis(START + 2 * Millis::DAY),
    }
}

#[test]
fn days_that_are_over_become_files_and_the_others_go_to_the_journal() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let over = Millis(START + Millis::DAY);
    let filed = import_orders(
        &mut writer,
        &two_days(),
        &[two_day_session()],
        over,
        &mut || true,
    )
    .unwrap();
    assert_eq!(
        (filed.new, filed.repeated, filed.rejected.len()),
        (60, 0, 0)
    );
    assert_eq!(filed.segments.len(), 1);
    assert_eq!(journaled(&folder.archive()), 30);
    assert_eq!(all_orders(writer.archive()), two_days());

    // Again, and once more when both days are over: nothing is added, and a roll moves what is left.
    for until in [over, LATER] {
        let again = import_orders(
            &mut writer,
            &two_days(),
            &[two_day_session()],
            until,
            &mut || true,
        )
        .unwrap();
        assert_eq!((again.new, again.repeated), (0, 60));
        assert!(again.segments.is_empty());
    }
    writer.compact(LATER).unwrap();
    assert_eq!(all_orders(writer.archive()), two_days());
    let verified = writer.archive().integrity().verify().unwrap();
    assert!(verified.is_sound() && verified.unlisted.is_empty());
    assert_eq!(verified.rows, 60);
    // A session that is imported twice is stored once.
    let runs = writer
        .archive()
        .coverage()
        .sessions(Millis(START), LATER)
        .unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(
        (runs[0].started, runs[0].seen),
        (two_day_session().start, two_day_session().end)
    );
}

#[test]
fn a_row_with_other_values_is_returned_and_the_first_one_stays() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let first = bar("BTC", 0, 100);
    writer
        .append(&Batch {
            bars: vec![first.clone()],
            ..Batch::default()
        })
        .unwrap();
    let (same, other) = (first.clone(), bar("BTC", 0, 200));
    let tables = Tables {
        bars: bar_table(&[same, other, bar("BTC", 1, 100)]),
        open_interest: interest_table(&[reading("BTC", START), reading("BTC", START)]),
        ..Tables::default()
    };
    let filed = writer.import(tables, scope(&[], LATER), &mut |_| true);
    let filed = filed.unwrap().0;
    assert_eq!((filed.new, filed.repeated), (2, 2));
    let unfit = &filed.rejected[0];
    assert_eq!((unfit.table, unfit.row, unfit.differs), ("bars", 1, true));
    let bars = sound(writer.archive().observed_bars(&Filter::default()).unwrap());
    // A bar of a table counts as received when it closed.
    let mut second = bar("BTC", 1, 100);
    second.received_at = second.close_time();
    assert_eq!(bars, [first, second]);
    assert_eq!(
        writer.archive().catalog().coins(None).unwrap()[0].symbol,
        "BTC"
    );
}

#[test]
fn invalid_rows_are_returned_with_their_number_and_the_others_stored() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let mut wrong = bar("BTC", 1, 100);
    wrong.high = 1.into();
    let tables = Tables {
        bars: bar_table(&[bar("BTC", 0, 100), wrong, bar("BTC", 2, 100)]),
        ..Tables::default()
    };
    let filed = writer.import(tables, scope(&[], LATER), &mut |_| true);
    let filed = filed.unwrap().0;
    assert_eq!((filed.new, filed.rejected.len()), (2, 1));
    assert_eq!(
        (filed.rejected[0].row, filed.rejected[0].differs),
        (1, false)
    );
    assert!(
        filed.rejected[0]
            .message
            .contains("outside the range of the bar")
    );
}

#[test]
fn a_cancelled_import_leaves_nothing_behind() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    for most in 0..5 {
        let mut calls = 0;
        let filed = import_orders(
            &mut writer,
            &two_days(),
            &[two_day_session()],
            LATER,
            &mut || {
                calls += 1;
                calls <= most
            },
        );
        assert_eq!(filed, None, "{most}");
        assert!(all_orders(writer.archive()).is_empty());
        assert!(files(&folder.archive(), "parquet").is_empty());
        assert!(
            writer
                .archive()
                .coverage()
                .sessions(Millis(START), LATER)
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn an_import_stores_the_rows_of_a_damaged_file_again() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let filed = import_orders(&mut writer, &two_days(), &[], LATER, &mut || true).unwrap();
    let mut bytes = std::fs::read(&filed.segments[0]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&filed.segments[0], bytes).unwrap();
    let again = import_orders(&mut writer, &two_days(), &[], LATER, &mut || true).unwrap();
    assert_eq!((again.new, again.repeated), (30, 30));
    let scan = writer.archive().orders(&Filter::default()).unwrap();
    assert_eq!(scan.rows, two_days());
}

#[test]
fn a_heavy_day_has_files_of_at_most_fifty_thousand_rows_and_comes_back_whole() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows: Vec<_> = (0..160_000)
        .map(|key| order(key, START + i64::try_from(key).unwrap() * 500))
        .map(without_frame)
        .collect();
    let filed = import_orders(&mut writer, &rows, &[], LATER, &mut || true).unwrap();
    // Three exchanges, each with two files.
    assert_eq!((filed.new, filed.segments.len()), (160_000, 6));
    assert_eq!(all_orders(writer.archive()), sorted(rows));
    assert!(writer.archive().integrity().verify().unwrap().is_sound());
}

#[test]
fn a_tail_from_before_an_import_is_incomplete() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&of_orders(vec![order(1000, START)])).unwrap();
    let reader = Archive::read(folder.archive()).unwrap();
    let place = reader.catalog().summary().unwrap().end;
    let (version, newest) = (
        reader.version().unwrap(),
        reader.catalog().summary().unwrap().newest,
    );
    import_orders(&mut writer, &two_days(), &[], LATER, &mut || true).unwrap();
    assert_ne!(reader.version().unwrap(), version);
    let news = reader.tail(place, 1000, &mut |_| ()).unwrap();
    assert!(news.incomplete);
    assert!(news.known.newest > newest);
    // What is appended from now on has a place behind everything.
    writer.append(&of_orders(vec![order(1001, START)])).unwrap();
    let on = reader.tail(news.known.end, 1000, &mut |_| ()).unwrap();
    assert!(!on.incomplete);
    assert_eq!(on.known.end.orders, news.known.end.orders + 1);
}

#[test]
fn an_import_killed_at_any_step_is_stored_whole_or_not() {
    for step in SegmentStep::ALL {
        for file in [1, 2] {
            killed(2, step, file);
        }
    }
}

/// While some files have their names already and others are on their way.
#[test]
fn an_import_of_many_days_killed_at_any_step_is_stored_whole_or_not() {
    for step in SegmentStep::ALL {
        for file in [40, 70] {
            killed(70, step, file);
        }
    }
}

/// Kills a filing of so many days once as many files as `file` have come to `step`.
fn killed(days: u64, step: SegmentStep, file: usize) {
    let (rows, wanted) = (usize::try_from(30 * days).unwrap(), orders_of(days));
    let folder = Folder::new();
    drop(Archive::create_or_open(folder.archive()).unwrap());
    let part = format!("file {days} {step:?} {file}");
    let mut process = Process::start(&folder.archive(), &part);
    assert!(process.read_report("reached").is_some(), "{part}");
    process.kill();

    // Everything becomes there at once, with the last file.
    let there = if step == SegmentStep::Committed {
        wanted.clone()
    } else {
        Vec::new()
    };
    let reader = Archive::read(folder.archive()).unwrap();
    assert_eq!(all_orders(&reader), there, "{part}");
    drop(reader);
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    assert_eq!(all_orders(writer.archive()), there, "{part}");
    let count = files(&folder.archive(), "parquet").len() as u64;
    assert_eq!(count, if there.is_empty() { 0 } else { days }, "{part}");

    let again = import_orders(
        &mut writer,
        &wanted,
        &[two_day_session()],
        LATER,
        &mut || true,
    )
    .unwrap();
    assert_eq!(again.new + again.repeated, rows as u64, "{part}");
    assert_eq!(all_orders(writer.archive()), wanted, "{part}");
    let verified = writer.archive().integrity().verify().unwrap();
    assert!(verified.is_sound() && verified.unlisted.is_empty());
    assert_eq!(verified.rows, rows as u64, "{part}");
    assert_eq!(
        writer
            .archive()
            .coverage()
            .sessions(Millis(START), LATER)
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn an_import_cancelled_between_two_groups_of_files_leaves_nothing() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    // Two questions a day: those behind the first lot, and behind the second.
    for most in [65, 80, 128, 139] {
        let mut calls = 0;
        let filed = import_orders(
            &mut writer,
            &orders_of(70),
            &[two_day_session()],
            LATER,
            &mut || {
                calls += 1;
                calls <= most
            },
        );
        assert_eq!(filed, None, "{most}");
        assert!(all_orders(writer.archive()).is_empty());
        assert!(files(&folder.archive(), "").iter().all(|path| {
            let name = path.to_string_lossy();
            !name.ends_with(".parquet") && !name.ends_with(".tmp")
        }));
    }
}
