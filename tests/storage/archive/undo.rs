//! Undo of an ingest: its rows no longer count, reads as of an earlier instant return them, and other rows stay.

use liqdata::archive::{
    Archive, BarRow, BarTable, Batch, Completeness, Filter, ImportOutcome, ImportScope,
    ImportedSession, IngestOrigin, Tables, Writer,
};
use liqdata::model::{Millis, TimeRange};

use crate::archive::folder::Folder;
use crate::archive::rows::{START, bar, bar_table, journaled, of_orders, order, sound};
use crate::archive::tables::many;

/// The first day is over.
const UNTIL: Millis = Millis(START + Millis::DAY);

pub(crate) fn origin(source: &str) -> IngestOrigin {
    IngestOrigin {
        id: IngestOrigin::new_id(),
        source: Some(source.to_owned()),
        files: vec![format!("{source}.csv")],
    }
}

/// Bars of a coin at some minutes, with a price.
pub(crate) fn bars(coin: &str, minutes: impl Iterator<Item = i64>, price: i64) -> BarTable {
    let rows: Vec<BarRow> = minutes.map(|minute| bar(coin, minute, price)).collect();
    bar_table(&rows)
}

fn import(writer: &mut Writer, tables: Tables, origin: &IngestOrigin) -> ImportOutcome {
    let sessions = tables.orders.covered_time().sessions(None);
    let scope = ImportScope {
        sessions: &sessions,
        until: UNTIL,
        ingest: Some(origin),
    };
    let (outcome, is_whole) = writer.import(tables, scope, &mut |_| true).unwrap();
    assert!(is_whole);
    outcome
}

pub(crate) fn import_bars(
    writer: &mut Writer,
    bars: BarTable,
    origin: &IngestOrigin,
) -> ImportOutcome {
    let tables = Tables {
        bars,
        ..Tables::default()
    };
    import(writer, tables, origin)
}

/// The bars that reads return, each with its open time in minutes and its first price.
fn opens(archive: &Archive, as_of: Option<Millis>) -> Vec<(i64, i64)> {
    let filter = Filter {
        as_of,
        ..Filter::default()
    };
    let bars = sound(archive.observed_bars(&filter).unwrap());
    let mut opens: Vec<(i64, i64)> = (bars.iter())
        .map(|bar| {
            let minute = (bar.timestamp.0 - START) / Millis::MINUTE;
            (minute, bar.open.try_into().unwrap())
        })
        .collect();
    opens.sort_unstable();
    opens
}

/// Minutes of the first day, stored in segments, and of the second, stored in the journal.
const MINUTES: [i64; 4] = [3, 4, 1441, 1442];

fn at(price: i64, minutes: &[i64]) -> Vec<(i64, i64)> {
    minutes.iter().map(|minute| (*minute, price)).collect()
}

#[test]
fn a_wrong_ingest_is_undone_and_the_right_one_is_accepted() {
    for compacts in [false, true] {
        let folder = Folder::new();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        let (wrong, right) = (origin("wrong"), origin("right"));
        let minutes = || MINUTES.into_iter();
        import_bars(&mut writer, bars("BTC", minutes(), 70), &wrong);
        let refused = import_bars(&mut writer, bars("BTC", minutes(), 42), &right);
        assert_eq!((refused.new, refused.rejected.len()), (0, 4));
        if compacts {
            writer.compact(Millis(START + 9 * Millis::DAY)).unwrap();
        }
        let before = Millis(START + 5 * Millis::DAY);
        let known = opens(writer.archive(), Some(before));
        assert_eq!(known, at(70, &MINUTES));

        let undone = writer.undo(&wrong.id).unwrap();
        assert_eq!((undone.len(), undone[0].rows), (1, 4));
        assert!(undone[0].undone.is_some());
        assert_eq!(opens(writer.archive(), None), []);
        assert!(writer.archive().catalog().coins(None).unwrap().is_empty());
        assert!(writer.archive().catalog().exchanges().unwrap().is_empty());
        assert_eq!(writer.archive().catalog().summary().unwrap().newest, None);

        let stored = import_bars(&mut writer, bars("BTC", minutes(), 42), &right);
        assert_eq!((stored.new, stored.rejected.len()), (4, 0));
        for _ in 0..2 {
            assert_eq!(opens(writer.archive(), None), at(42, &MINUTES));
            assert_eq!(
                opens(writer.archive(), Some(before)),
                known,
                "as of before the undo"
            );
            assert_eq!(
                writer.archive().catalog().coins(Some(before)).unwrap()[0].symbol,
                "BTC"
            );
            writer.compact(Millis(START + 9 * Millis::DAY)).unwrap();
        }
        assert!(writer.archive().integrity().verify().unwrap().is_sound());
        let listed = writer.archive().catalog().ingests().unwrap();
        let listed: Vec<(&str, u64, bool)> = (listed.iter())
            .map(|one| (one.files.as_str(), one.bars, one.undone.is_some()))
            .collect();
        assert_eq!(listed, [("wrong.csv", 4, true), ("right.csv", 4, false)]);
    }
}

#[test]
fn an_undo_names_the_ingests_that_repeated_its_rows() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let [first, second, third] = ["first", "second", "third"].map(origin);
    import_bars(
        &mut writer,
        bars("ETH", [1, 2, 1500].into_iter(), 9),
        &first,
    );
    let again = import_bars(
        &mut writer,
        bars("ETH", [2, 3, 1500].into_iter(), 9),
        &second,
    );
    assert_eq!((again.new, again.repeated), (1, 2));
    import_bars(&mut writer, bars("SOL", [7].into_iter(), 9), &third);

    let undone = writer.undo(&first.id).unwrap();
    let named: Vec<(&str, u64)> = (undone.iter())
        .map(|one| (one.id.as_str(), one.run_again))
        .collect();
    assert_eq!(named, [(first.id.as_str(), 0), (second.id.as_str(), 2)]);
    let mut incomplete = writer.archive().catalog().incomplete_ingests().unwrap();
    incomplete.sort();
    assert_eq!(incomplete, [first.id.clone(), second.id]);
    assert_eq!(opens(writer.archive(), None), [(3, 9), (7, 9)]);
    let coins = writer.archive().catalog().coins(None).unwrap();
    let last = coins.iter().find(|coin| coin.symbol == "ETH").unwrap();
    assert_eq!(last.last_close, Millis(START + 4 * Millis::MINUTE));

    for id in [first.id.as_str(), "no-such-ingest"] {
        let fault = writer.undo(id).unwrap_err().to_string();
        assert!(fault.starts_with("id: "), "{fault}");
    }
}

#[test]
fn collected_rows_outlive_the_undo_of_an_ingest_that_brought_them_first() {
    for compacts in [false, true] {
        let folder = Folder::new();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        let ingest = origin("dump");
        import_bars(&mut writer, bars("BTC", MINUTES.into_iter(), 5), &ingest);
        // A collector delivers one row of each day, and one of its own.
        let collected = Batch {
            bars: [3, 1441, 1443].map(|minute| bar("BTC", minute, 5)).to_vec(),
            ..Batch::default()
        };
        writer.append(&collected).unwrap();
        if compacts {
            writer.compact(Millis(START + 9 * Millis::DAY)).unwrap();
        }
        writer.undo(&ingest.id).unwrap();
        assert_eq!(
            opens(writer.archive(), None),
            at(5, &[3, 1441, 1443]),
            "{compacts}"
        );
        assert!(writer.archive().integrity().verify().unwrap().is_sound());
    }
}

#[test]
fn an_undo_ends_the_coverage_of_its_sessions_and_no_other() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&of_orders(vec![order(9, START)])).unwrap();
    let collected = Millis(START + Millis::HOUR);
    let session = writer.begin_session("okx", Completeness::Unknown, collected);
    let end = Millis(START + 2 * Millis::HOUR);
    let seen = vec![(session.unwrap(), end)];
    writer
        .append(&Batch {
            seen,
            ..Batch::default()
        })
        .unwrap();
    let ingest = origin("orders");
    let orders = many(600, 2).orders;
    let tables = Tables {
        orders,
        ..Tables::default()
    };
    import(&mut writer, tables, &ingest);
    let whole = (Millis(START), Millis(START + 9 * Millis::DAY));
    let covered = |writer: &Writer, as_of| {
        let covered = writer
            .archive()
            .coverage()
            .covered(whole.0, whole.1, as_of)
            .unwrap();
        covered.get("okx").cloned().unwrap_or_default()
    };
    let before = covered(&writer, None);
    assert_ne!(before, [TimeRange::new(collected, end)]);
    let orders = |writer: &Writer| {
        writer
            .archive()
            .orders(&Filter::default())
            .unwrap()
            .rows
            .len()
    };
    assert_eq!(orders(&writer), 601);
    assert_eq!(journaled(&folder.archive()), 301);

    writer.undo(&ingest.id).unwrap();
    assert_eq!(orders(&writer), 1);
    assert_eq!(covered(&writer, None), [TimeRange::new(collected, end)]);
    assert_eq!(
        covered(&writer, Some(whole.1)),
        before,
        "as of before the undo"
    );

    // The same time is covered again once the rows are there again.
    let again = ImportedSession {
        exchange: "okx".to_owned(),
        completeness: Completeness::Unknown,
        start: whole.0,
        end: collected,
        known_at: collected,
    };
    let (sessions, ingest) = ([again], origin("again"));
    let scope = ImportScope {
        sessions: &sessions,
        until: UNTIL,
        ingest: Some(&ingest),
    };
    writer
        .import(Tables::default(), scope, &mut |_| true)
        .unwrap();
    assert_eq!(covered(&writer, None), [TimeRange::new(whole.0, end)]);
}
