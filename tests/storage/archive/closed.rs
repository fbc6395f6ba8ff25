//! Copies of days that are over: every answer about them is the same from the copy.

use std::fs;
use std::path::Path;

use liqdata::archive::{
    Archive, ArchiveContents, ArchiveError, Batch, Completeness, Counter, CounterKind,
    ExportSelection, Filter, Gap, GapOutcome, GapState, Measurement, MeasurementKind, TopicGap,
};
use liqdata::model::Millis;

use crate::archive::folder::Folder;
use crate::archive::rows::{START, all_orders, bar, journaled, of_orders, order, reading, sound};

const HOUR: i64 = Millis::HOUR;

fn at(hours: i64) -> Millis {
    Millis(START + hours * HOUR)
}

/// An archive of two days and a half: the first day is in files, the second waits in the journal, the third goes on. Of
/// the first day an order and a bar came late.
fn filled(folder: &Path) {
    let mut writer = Archive::create_or_open(folder).unwrap();
    let run = writer
        .begin_session("binance", Completeness::Sampled, at(1))
        .unwrap();
    let orders = (0..60).map(|hour: i64| order(3 * (1 + hour.unsigned_abs()), at(hour).0));
    writer
        .append(&Batch {
            orders: orders.collect(),
            bars: (0..60).map(|hour| bar("BTC", hour * 60, 100)).collect(),
            open_interest: (0..60).map(|hour| reading("BTC", at(hour).0 + 1)).collect(),
            seen: vec![(run, at(30))],
            ..Batch::default()
        })
        .unwrap();
    // Killed at 30 h, back at 50 h, so that the gap reaches over the end of the second day.
    let again = writer
        .begin_session("binance", Completeness::Sampled, at(50))
        .unwrap();
    let cut = |start, end| Gap {
        exchange: "binance".to_owned(),
        start: at(start),
        end: at(end),
        reason: "disconnected".to_owned(),
        recorded_at: at(end),
        ..Gap::default()
    };
    writer
        .append(&Batch {
            seen: vec![(again, at(60))],
            gaps: vec![cut(3, 5), cut(55, 56)],
            ..Batch::default()
        })
        .unwrap();
    writer.append(&noted()).unwrap();
    writer.compact(at(24)).unwrap();
    writer
        .append(&Batch {
            orders: vec![order(3000, at(2).0 + 1)],
            bars: vec![bar("ETH", 120, 50), bar("SOL", 2880, 20)],
            ..Batch::default()
        })
        .unwrap();
}

/// Coverage records other than sessions and gaps.
fn noted() -> Batch {
    let exchange = || "binance".to_owned();
    let became = |start, end, outcome, rows| GapOutcome {
        exchange: exchange(),
        start: at(start),
        end: at(end),
        outcome,
        rows,
        how: "requested again".to_owned(),
        recorded_at: at(end),
    };
    let unheard = |start, end| TopicGap {
        exchange: exchange(),
        topic: "btcusdt".to_owned(),
        start: at(start),
        end: at(end),
        reason: "refused".to_owned(),
        topics: 4,
        recorded_at: at(start),
    };
    let counted = |hour, kind, count| Counter {
        exchange: exchange(),
        at: at(hour),
        kind,
        count,
    };
    let measured = |hour, kind, value| Measurement {
        exchange: exchange(),
        kind,
        at: at(hour),
        value,
    };
    Batch {
        outcomes: vec![
            became(3, 5, GapState::Recovered, 7),
            became(30, 50, GapState::Lost, 0),
        ],
        topic_gaps: vec![unheard(6, 8), unheard(40, 52)],
        counters: vec![
            counted(2, CounterKind::Hole, 1),
            counted(3, CounterKind::Numbered, 90),
            counted(50, CounterKind::Rejected, 5),
        ],
        measurements: vec![
            measured(4, MeasurementKind::Topics, 4),
            measured(7, MeasurementKind::ComparedCents, 12_345),
            measured(7, MeasurementKind::VenueCents, 12_445),
            measured(51, MeasurementKind::Topics, 5),
        ],
        ..Batch::default()
    }
}

/// Copies the files that the list of a copy names.
fn with_files(from: &Path, into: &Path, lists: &ArchiveContents) {
    for file in &lists.files {
        let to = into.join(&file.path);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from.join(&file.path), to).unwrap();
    }
}

fn cut(from: Option<i64>, until: Option<i64>) -> ExportSelection {
    ExportSelection {
        from: from.map(at),
        until: until.map(at),
        ..ExportSelection::default()
    }
}

#[test]
fn a_copy_answers_like_its_archive_for_the_copied_days() {
    let folder = Folder::new();
    filled(&folder.archive());
    let archive = Archive::read(folder.archive()).unwrap();
    let into = folder.path().join("copy");
    let lists = archive.export_journal(&into, &cut(None, Some(48))).unwrap();
    assert_eq!((lists.files.len(), lists.journaled), (3, 3 * 24 + 2));
    assert_eq!(lists.closed, Some(at(48)));
    assert_eq!(lists.series, archive.catalog().lists().unwrap().series);
    // One plain file, with no log that would have to go along.
    let entries: Vec<_> = fs::read_dir(&into).unwrap().collect();
    assert_eq!(entries.len(), 1);
    with_files(&folder.archive(), &into, &lists);
    let copy = Archive::read(&into).unwrap();
    assert!(copy.integrity().verify().unwrap().is_sound());

    let days = Filter {
        end: Some(at(48)),
        ..Filter::default()
    };
    assert_eq!(all_orders(&copy), sound(archive.orders(&days).unwrap()));
    assert_eq!(
        sound(copy.observed_bars(&Filter::default()).unwrap()),
        sound(archive.observed_bars(&days).unwrap())
    );
    assert_eq!(
        sound(copy.open_interest(&Filter::default()).unwrap()),
        sound(archive.open_interest(&days).unwrap())
    );
    for (start, end) in [(0, 24), (0, 48), (24, 48), (2, 6), (29, 31), (31, 40)] {
        for as_of in [None, Some(at(4)), Some(at(30)), Some(at(48))] {
            let of = |archive: &Archive| {
                let counts = archive.coverage().by_exchange(at(start), at(end)).unwrap();
                let counts = counts.into_iter().map(|venue| {
                    let last = venue.last_event.unwrap_or_default();
                    (venue.exchange, (venue.cnt, last))
                });
                archive
                    .coverage()
                    .by_exchange_counted(at(start), at(end), &counts.collect(), as_of)
                    .unwrap()
            };
            assert_eq!(of(&copy), of(&archive), "{start} to {end} as of {as_of:?}");
        }
    }
    // What became of its gaps, those of topics among them, goes along.
    let missed = |archive: &Archive| {
        archive
            .coverage()
            .gap_statuses(at(0), at(24), None)
            .unwrap()
    };
    assert_eq!(missed(&copy), missed(&archive));
    let states: Vec<GapState> = missed(&copy).iter().map(|gap| gap.state).collect();
    assert_eq!(states, [GapState::Recovered, GapState::Open]);
    let lost = copy.coverage().gap_statuses(at(31), at(40), None).unwrap();
    assert_eq!(lost.first().map(|gap| gap.state), Some(GapState::Lost));
    let first = &copy.coverage().by_exchange(at(0), at(24)).unwrap()[0];
    assert_eq!((first.holes, first.numbered), (Some(1), Some(90)));
    assert_eq!(
        (first.compared_usd, first.exchange_usd),
        (Some(123.45), Some(124.45))
    );
    // Behind its end the copy claims nothing.
    let behind = copy.coverage().by_exchange(at(48), at(60)).unwrap();
    assert_eq!(behind[0].connected_share, Some(0.0));
    assert_eq!(copy.catalog().summary().unwrap().newest, Some(at(48)));
    let coins = |archive: &Archive| -> Vec<String> {
        let coins = archive.catalog().coins(None).unwrap().into_iter();
        coins.map(|coin| coin.symbol).collect()
    };
    assert_eq!(coins(&archive), ["BTC", "ETH", "SOL"]);
    assert_eq!(coins(&copy), ["BTC", "ETH"]);
    assert!(copy.catalog().coins(None).unwrap()[0].last_close <= at(48));
}

#[test]
fn a_copy_of_nothing_new_is_the_same_to_the_last_byte() {
    let folder = Folder::new();
    filled(&folder.archive());
    let archive = Archive::read(folder.archive()).unwrap();
    let made = |name: &str| {
        let into = folder.path().join(name);
        archive.export_journal(&into, &cut(None, Some(24))).unwrap();
        fs::read(into.join("journal.sqlite")).unwrap()
    };
    let before = made("one");
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&of_orders(vec![order(9, at(61).0)])).unwrap();
    assert_eq!(before, made("two"));
    writer
        .append(&of_orders(vec![order(12, at(23).0)]))
        .unwrap();
    assert_ne!(before, made("three"));
}

#[test]
fn a_copy_of_a_copy_may_begin_later_and_of_some_tables_has_nothing_else() {
    let folder = Folder::new();
    filled(&folder.archive());
    let archive = Archive::read(folder.archive()).unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    archive.export_journal(&one, &cut(None, Some(48))).unwrap();
    let copy = Archive::to_verify(&one).unwrap();
    let lists = copy.export_journal(&two, &cut(Some(24), None)).unwrap();
    assert_eq!((lists.files.len(), lists.closed), (0, Some(at(48))));
    let later = Archive::read(&two).unwrap();
    assert_eq!(journaled(&two), 24);
    let runs = later.coverage().sessions(at(0), at(60)).unwrap();
    assert_eq!((runs[0].started, runs[0].seen), (at(24), at(30)));
    assert_eq!(later.coverage().gaps(at(0), at(60)).unwrap().len(), 1);

    let bars = ExportSelection {
        kinds: vec!["bars".to_owned()],
        ..ExportSelection::default()
    };
    let three = folder.path().join("three");
    let lists = archive.export_journal(&three, &bars).unwrap();
    assert!(lists.files.iter().all(|file| file.holds == "bars"));
    let only = Archive::to_verify(&three).unwrap();
    assert!(all_orders(&only).is_empty());
    // No orders went along, so none can be missing and nothing is covered.
    assert!(
        only.coverage()
            .by_exchange(at(0), at(60))
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_cut_is_at_the_ends_of_days_and_a_damaged_journal_is_not_copied() {
    let folder = Folder::new();
    filled(&folder.archive());
    let archive = Archive::read(folder.archive()).unwrap();
    let into = folder.path().join("copy");
    let kind = ExportSelection {
        kinds: vec!["trades".to_owned()],
        ..ExportSelection::default()
    };
    for (cut, message) in [
        (
            cut(Some(1), None),
            "start: 2024-10-04T01:00:00Z is not the start of a UTC day",
        ),
        (cut(None, Some(25)), "end: "),
        (cut(Some(48), Some(24)), "is not after the start"),
        (
            kind,
            "tables: \"trades\" is not allowed; allowed: orders, bars",
        ),
    ] {
        let refused = archive.export_journal(&into, &cut).unwrap_err();
        assert!(matches!(refused, ArchiveError::BadRange { .. }));
        assert!(refused.to_string().contains(message), "{refused}");
    }
    archive.export_journal(&into, &cut(None, Some(24))).unwrap();
    let again = archive
        .export_journal(&into, &cut(None, Some(24)))
        .unwrap_err();
    assert!(
        again.to_string().contains("already contains a journal"),
        "{again}"
    );

    let journal = rusqlite::Connection::open(folder.archive().join("journal.sqlite")).unwrap();
    let changed = "DROP TRIGGER sessions_summed_again; UPDATE sessions SET seen = seen + 1";
    journal.execute_batch(changed).unwrap();
    let into = folder.path().join("other");
    let refused = archive
        .export_journal(&into, &ExportSelection::default())
        .unwrap_err();
    assert!(matches!(refused, ArchiveError::Damaged { .. }), "{refused}");
    assert!(!into.exists());
}
