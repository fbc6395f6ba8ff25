//! What was listened to, and what is missing.

use std::collections::BTreeMap;

use liqdata::archive::{
    Archive, ArchiveError, Batch, Completeness, Counter, CounterKind, Evidence, Gap, GapCause,
    GapOutcome, GapState, Measurement, MeasurementKind, PendingExchange, TopicGap, VenueCoverage,
    Writer,
};
use liqdata::model::{Millis, TimeRange};

use crate::archive::folder::Folder;
use crate::archive::rows::{START, of_orders, order};

fn at(minutes: i64) -> Millis {
    Millis(START + minutes * Millis::MINUTE)
}

fn gap(start: i64, end: i64, reason: &str) -> Gap {
    Gap {
        exchange: "binance".to_owned(),
        start: at(start),
        end: at(end),
        reason: reason.to_owned(),
        recorded_at: at(end),
        ..Gap::default()
    }
}

#[test]
fn the_connected_share_is_the_session_without_its_gaps() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let run = writer
        .begin_session("binance", Completeness::Sampled, at(0))
        .unwrap();
    let batch = Batch {
        orders: vec![order(0, at(10).0), order(3, at(50).0), order(1, at(20).0)],
        gaps: vec![gap(30, 45, "disconnected")],
        seen: vec![(run, at(60))],
        ..Batch::default()
    };
    writer.append(&batch).unwrap();
    let expected = [
        VenueCoverage {
            exchange: "binance".to_owned(),
            completeness: Completeness::Sampled,
            known_by: Evidence::Documented,
            connected_share: Some(0.75),
            last_event: Some(at(50)),
            gaps: 1,
            cnt: 2,
            ..VenueCoverage::default()
        },
        VenueCoverage {
            exchange: "bybit".to_owned(),
            last_event: Some(at(20)),
            cnt: 1,
            ..VenueCoverage::default()
        },
    ];
    assert_eq!(
        writer
            .archive()
            .coverage()
            .by_exchange(at(0), at(60))
            .unwrap(),
        expected
    );
    assert_eq!(
        writer
            .archive()
            .coverage()
            .sessions(at(0), at(60))
            .unwrap()
            .len(),
        1
    );
    // Sent again it stays one gap, and rolled away the counts stay.
    writer.append(&batch).unwrap();
    writer.compact(at(24 * 60)).unwrap();
    assert_eq!(
        writer
            .archive()
            .coverage()
            .by_exchange(at(0), at(60))
            .unwrap(),
        expected
    );
    let whole = writer
        .archive()
        .coverage()
        .by_exchange(at(0), at(24 * 60))
        .unwrap();
    assert_eq!((whole[0].cnt, whole[1].cnt), (2, 1));
    assert_eq!(whole[0].connected_share, Some(0.75 / 24.0));
    // A late row of that day is counted once, too.
    writer
        .append(&of_orders(vec![order(0, at(10).0), order(6, at(11).0)]))
        .unwrap();
    assert_eq!(
        writer
            .archive()
            .coverage()
            .by_exchange(at(0), at(24 * 60))
            .unwrap()[0]
            .cnt,
        3
    );
    assert_eq!(
        writer
            .archive()
            .coverage()
            .by_exchange(at(0), at(11))
            .unwrap()[0]
            .cnt,
        1
    );
}

#[test]
fn the_time_between_two_runs_is_a_gap() {
    let folder = Folder::new();
    let listen = |from: i64, until: i64| {
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        let run = writer
            .begin_session("binance", Completeness::Complete, at(from))
            .unwrap();
        writer
            .append(&Batch {
                seen: vec![(run, at(until)), (run, at(from))],
                ..Batch::default()
            })
            .unwrap();
    };
    listen(0, 10);
    listen(25, 40);
    let reader = Archive::read(folder.archive()).unwrap();
    assert_eq!(
        reader.coverage().gaps(at(0), at(40)).unwrap(),
        [Gap {
            cause: GapCause::NoSession,
            ..gap(10, 25, "not listening")
        }]
    );
    assert!(reader.coverage().gaps(at(25), at(40)).unwrap().is_empty());
    let coverage = reader.coverage().by_exchange(at(0), at(40)).unwrap();
    assert_eq!(coverage[0].connected_share, Some(25.0 / 40.0));
    assert_eq!(coverage[0].completeness, Completeness::Complete);

    // Overlapping sessions leave no gap, and a gap with a reason is listed once.
    listen(35, 50);
    assert_eq!(reader.coverage().gaps(at(0), at(60)).unwrap().len(), 1);
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer
        .append(&Batch {
            gaps: vec![gap(50, 60, "disk full")],
            ..Batch::default()
        })
        .unwrap();
    drop(writer);
    listen(60, 61);
    let gaps = reader.coverage().gaps(at(40), at(61)).unwrap();
    assert_eq!(gaps, [gap(50, 60, "disk full")]);
}

#[test]
fn a_gap_is_unknown_until_it_is_recorded() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let run = writer
        .begin_session("binance", Completeness::Sampled, at(0))
        .unwrap();
    let mut seen = |minutes: i64, gaps: Vec<Gap>| {
        let batch = Batch {
            seen: vec![(run, at(minutes))],
            gaps,
            ..Batch::default()
        };
        writer.append(&batch).unwrap();
    };
    // Lost at 20, back at 30; found at 50 to have heard nothing since 40.
    seen(20, Vec::new());
    seen(30, vec![gap(20, 30, "lost")]);
    seen(50, Vec::new());
    seen(60, vec![gap(40, 50, "mute")]);
    let reader = Archive::read(folder.archive()).unwrap();
    let known = |minutes: i32| {
        let (start, end) = (at(0), at(minutes.into()));
        let covered = reader
            .coverage()
            .by_exchange_counted(start, end, &BTreeMap::new(), Some(end))
            .unwrap();
        let gaps = reader.coverage().gaps_known(start, end, Some(end)).unwrap();
        let [binance] = covered.as_slice() else {
            panic!("{covered:?}")
        };
        assert_eq!(usize::try_from(binance.gaps).unwrap(), gaps.len());
        (
            gaps.len(),
            binance.connected_share.unwrap() * f64::from(minutes),
        )
    };
    assert_eq!(known(20), (0, 20.0));
    // Until then the last record is that of 20, without a gap.
    assert_eq!(known(25), (0, 20.0));
    assert_eq!(known(30), (1, 20.0));
    // What turned out to be mute was taken for listening until then.
    assert_eq!(known(45), (1, 35.0));
    assert_eq!(known(50), (2, 30.0));
    assert_eq!(known(60), (2, 40.0));
    // As of that instant no session existed before the beginning.
    let before = reader
        .coverage()
        .by_exchange_counted(at(-5), at(5), &BTreeMap::new(), Some(at(-1)))
        .unwrap();
    assert_eq!(before, []);
}

#[test]
fn a_gap_that_says_nothing_is_refused() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    for bad in [gap(5, 5, "why"), gap(5, 6, " ")] {
        let refused = writer
            .append(&Batch {
                gaps: vec![bad],
                ..Batch::default()
            })
            .unwrap_err();
        assert!(
            matches!(refused, ArchiveError::BadRow { table: "gaps", .. }),
            "{refused}"
        );
    }
    assert!(matches!(
        writer
            .archive()
            .coverage()
            .by_exchange(at(1), at(1))
            .unwrap_err(),
        ArchiveError::BadRange {
            parameter: "end",
            ..
        }
    ));
}

#[test]
fn a_topic_gap_counts_as_its_part_of_all_topics() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let run = writer
        .begin_session("bybit", Completeness::Complete, at(0))
        .unwrap();
    let unheard = |end: i64| TopicGap {
        exchange: "bybit".to_owned(),
        topic: "allLiquidation.NEWUSDT".to_owned(),
        start: at(10),
        end: at(end),
        reason: "refused".to_owned(),
        topics: 4,
        recorded_at: at(11),
    };
    let mark = |kind, value| Measurement {
        exchange: "bybit".to_owned(),
        kind,
        at: at(10),
        value,
    };
    writer
        .append(&Batch {
            seen: vec![(run, at(60))],
            topic_gaps: vec![unheard(20)],
            measurements: vec![
                mark(MeasurementKind::Topics, 4),
                mark(MeasurementKind::TopicsCovered, 3),
            ],
            ..Batch::default()
        })
        .unwrap();
    let share = |writer: &Archive, end| {
        writer.coverage().by_exchange(at(0), at(end)).unwrap()[0].connected_share
    };
    assert_eq!(
        share(writer.archive(), 60),
        Some((60.0 - 10.0 / 4.0) / 60.0)
    );
    // It goes on, and is one gap still.
    writer
        .append(&Batch {
            topic_gaps: vec![unheard(50), unheard(30)],
            ..Batch::default()
        })
        .unwrap();
    assert_eq!(
        share(writer.archive(), 60),
        Some((60.0 - 40.0 / 4.0) / 60.0)
    );
    let coverage = writer
        .archive()
        .coverage()
        .by_exchange(at(0), at(60))
        .unwrap();
    assert_eq!(
        (coverage[0].topics, coverage[0].topics_covered),
        (Some(4), Some(3))
    );
    assert_eq!(coverage[0].gaps, 1);
    let gaps = writer
        .archive()
        .coverage()
        .topic_gaps(at(0), at(60), None)
        .unwrap();
    assert_eq!(gaps, [unheard(50)]);
    assert!(
        writer
            .archive()
            .coverage()
            .topic_gaps(at(0), at(60), Some(at(10)))
            .unwrap()
            .is_empty()
    );
    // The venue itself was covered all the while.
    let covered = writer
        .archive()
        .coverage()
        .covered(at(0), at(60), None)
        .unwrap();
    assert_eq!(covered["bybit"], [TimeRange::new(at(0), at(60))]);
    assert!(writer.archive().integrity().verify().unwrap().is_sound());
}

#[test]
fn a_recovered_gap_is_open_until_its_recovery() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let run = writer
        .begin_session("binance", Completeness::Sampled, at(0))
        .unwrap();
    writer
        .append(&Batch {
            seen: vec![(run, at(60))],
            gaps: vec![gap(10, 30, "lost")],
            outcomes: vec![GapOutcome {
                exchange: "binance".to_owned(),
                start: at(9),
                end: at(20),
                outcome: GapState::Recovered,
                rows: 7,
                how: "requested again".to_owned(),
                recorded_at: at(40),
            }],
            counters: vec![
                tally(at(5), CounterKind::Rejected, 2),
                tally(at(6), CounterKind::Rejected, 3),
                tally(at(6), CounterKind::Unpriced, 1),
            ],
            ..Batch::default()
        })
        .unwrap();
    let known = |as_of| {
        let covered = writer
            .archive()
            .coverage()
            .covered(at(0), at(60), Some(as_of))
            .unwrap();
        let ranges = covered["binance"].iter();
        ranges
            .map(|range| (range.start, range.end))
            .collect::<Vec<_>>()
    };
    assert_eq!(known(at(35)), [(at(0), at(10)), (at(30), at(35))]);
    assert_eq!(known(at(40)), [(at(0), at(20)), (at(30), at(40))]);
    let coverage = &writer
        .archive()
        .coverage()
        .by_exchange(at(0), at(60))
        .unwrap()[0];
    assert_eq!(coverage.connected_share, Some(50.0 / 60.0));
    assert_eq!(
        (
            coverage.recovered,
            coverage.rejected,
            coverage.unpriced,
            coverage.holes
        ),
        (Some(7), Some(5), Some(1), None)
    );
}

#[test]
fn a_topic_that_was_recovered_is_missing_from_no_share() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let run = writer
        .begin_session("binance", Completeness::Sampled, at(0))
        .unwrap();
    let recovered = |start, end, recorded| GapOutcome {
        exchange: "binance".to_owned(),
        start: at(start),
        end: at(end),
        outcome: GapState::Recovered,
        rows: 1,
        how: "requested again".to_owned(),
        recorded_at: at(recorded),
    };
    writer
        .append(&Batch {
            seen: vec![(run, at(60))],
            topic_gaps: vec![TopicGap {
                exchange: "binance".to_owned(),
                topic: "usdt".to_owned(),
                start: at(10),
                end: at(30),
                reason: "refused".to_owned(),
                topics: 4,
                recorded_at: at(30),
            }],
            outcomes: vec![recovered(5, 20, 40), recovered(20, 30, 50)],
            ..Batch::default()
        })
        .unwrap();
    let known = |minutes| {
        let covered = writer.archive().coverage().by_exchange_counted(
            at(0),
            at(60),
            &BTreeMap::new(),
            Some(at(minutes)),
        );
        covered.unwrap()[0].connected_share.unwrap() * 60.0
    };
    assert_eq!((known(39), known(45), known(50)), (34.0, 42.5, 50.0));
    let missed = writer
        .archive()
        .coverage()
        .gap_statuses(at(0), at(60), None)
        .unwrap();
    assert_eq!(missed[0].state, GapState::Recovered);
}

#[test]
fn coverage_as_of_an_instant_ignores_later_records() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let run = writer
        .begin_session("binance", Completeness::Sampled, at(0))
        .unwrap();
    let mark = |kind, minutes, value| Measurement {
        exchange: "binance".to_owned(),
        kind,
        at: at(minutes),
        value,
    };
    let unheard = |end| TopicGap {
        exchange: "binance".to_owned(),
        topic: "usdt".to_owned(),
        start: at(10),
        end: at(end),
        reason: "refused".to_owned(),
        topics: 2,
        recorded_at: at(end),
    };
    writer
        .append(&Batch {
            seen: vec![(run, at(60))],
            topic_gaps: vec![unheard(11), unheard(40)],
            counters: vec![tally(at(50), CounterKind::Rejected, 2)],
            measurements: vec![
                mark(MeasurementKind::ClockAhead, 5, 7),
                mark(MeasurementKind::ClockAhead, 50, 9),
                mark(MeasurementKind::VenueCents, 50, 100),
                mark(MeasurementKind::ComparedCents, 50, 90),
            ],
            ..Batch::default()
        })
        .unwrap();
    let known = |as_of: Option<i64>| {
        let covered = writer.archive().coverage().by_exchange_counted(
            at(0),
            at(60),
            &BTreeMap::new(),
            as_of.map(at),
        );
        let one = covered.unwrap().remove(0);
        let usd = (one.compared_usd, one.exchange_usd);
        (one.rejected, one.clock_ahead, usd)
    };
    assert_eq!(known(Some(20)), (None, Some(7), (None, None)));
    assert_eq!(known(Some(50)), (None, Some(9), (Some(0.9), Some(1.0))));
    // Of a day only its whole count is on record: it is known when the day is over.
    let day = Millis::DAY / Millis::MINUTE;
    assert_eq!(known(Some(2 * day)).0, Some(2));
    assert_eq!(known(None), (Some(2), Some(9), (Some(0.9), Some(1.0))));
    // It was not heard until then, as far as anybody could know.
    let end = |as_of: Option<i64>| {
        let gaps = writer
            .archive()
            .coverage()
            .topic_gaps(at(0), at(60), as_of.map(at))
            .unwrap();
        gaps.first().map(|gap| gap.end)
    };
    assert_eq!(end(Some(10)), None);
    assert_eq!(end(Some(11)), Some(at(11)));
    assert_eq!(end(Some(20)), Some(at(20)));
    assert_eq!([end(Some(45)), end(None)], [Some(at(40)); 2]);
    let missed = writer
        .archive()
        .coverage()
        .gap_statuses(at(0), at(60), Some(at(20)))
        .unwrap();
    assert_eq!(missed[0].end, at(20));
}

#[test]
fn coverage_as_of_an_instant_ignores_later_session_records() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let late = 3 * Millis::MINUTE;
    let run = writer
        .begin_late_session("binance", Completeness::Complete, at(0), late)
        .unwrap();
    let known = |writer: &Archive, minutes| {
        let of = |covered: BTreeMap<String, Vec<TimeRange>>| covered["binance"].clone();
        let as_of = Some(at(minutes));
        (
            of(writer.coverage().covered(at(0), at(99), as_of).unwrap()),
            of(writer
                .coverage()
                .fully_covered(at(0), at(99), as_of)
                .unwrap()),
            writer
                .coverage()
                .by_exchange_counted(at(0), at(60), &BTreeMap::new(), as_of)
                .unwrap(),
            writer
                .coverage()
                .gap_statuses(at(0), at(99), as_of)
                .unwrap(),
        )
    };
    let seen = |writer: &mut Writer, minutes, gaps| {
        let seen = vec![(run, at(minutes))];
        let batch = Batch {
            seen,
            gaps,
            ..Batch::default()
        };
        writer.append(&batch).unwrap();
    };
    seen(&mut writer, 9, vec![]);
    let before = [2, 6, 10, 12].map(|minutes| known(writer.archive(), minutes));
    assert_eq!(before[1].0, [TimeRange::new(at(0), at(3))]);
    assert_eq!(before[3].0, [TimeRange::new(at(0), at(9))]);
    // It goes on, after a time in which nothing was received, and another one of lower completeness begins.
    seen(&mut writer, 40, vec![gap(9, 20, "closed")]);
    let other = writer.begin_session("binance", Completeness::Sampled, at(50));
    writer
        .append(&Batch {
            seen: vec![(other.unwrap(), at(60))],
            ..Batch::default()
        })
        .unwrap();
    assert_eq!(
        [2, 6, 10, 12].map(|minutes| known(writer.archive(), minutes)),
        before
    );
    let now = writer
        .archive()
        .coverage()
        .covered(at(0), at(99), Some(at(43)))
        .unwrap();
    let ranges = [TimeRange::new(at(0), at(9)), TimeRange::new(at(20), at(40))];
    assert_eq!(now["binance"], ranges);
}

#[test]
fn a_startup_gap_stays_known_as_of_the_time_before_its_session() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let pending = |exchange: &str, until, why: Option<&str>| Batch {
        pending: vec![PendingExchange {
            exchange: exchange.to_owned(),
            since: at(0),
            until: at(until),
            why: why.map(str::to_owned),
        }],
        ..Batch::default()
    };
    let known = |writer: &Archive, as_of: Option<i64>| {
        let as_of = as_of.map(at);
        let gaps = writer
            .coverage()
            .gap_statuses(at(0), at(99), as_of)
            .unwrap();
        let coverage = writer
            .coverage()
            .by_exchange_counted(at(0), at(60), &BTreeMap::new(), as_of)
            .unwrap();
        let names: Vec<String> = coverage.into_iter().map(|one| one.exchange).collect();
        let ends: Vec<Millis> = gaps.into_iter().map(|gap| gap.end).collect();
        (names, ends)
    };
    for (exchange, why) in [("okx", None), ("htx", Some("refused"))] {
        for until in [1, 2, 9] {
            writer.append(&pending(exchange, until, why)).unwrap();
        }
    }
    let before = [0, 1, 2, 5].map(|minutes| known(writer.archive(), Some(minutes)));
    let both = vec!["htx".to_owned(), "okx".to_owned()];
    assert_eq!(before[0], (vec![], vec![]));
    assert_eq!(before[3], (both.clone(), vec![at(5); 2]));
    for exchange in ["okx", "htx"] {
        writer
            .begin_session(exchange, Completeness::Complete, at(10))
            .unwrap();
    }
    assert_eq!(
        [0, 1, 2, 5].map(|minutes| known(writer.archive(), Some(minutes))),
        before
    );
    // Now only the exchange that could not be reached has a gap.
    assert_eq!(known(writer.archive(), None), (both, vec![at(10)]));
    assert!(writer.archive().integrity().verify().unwrap().is_sound());
}

#[test]
fn a_sequence_hole_is_verified_only_after_its_recovery() {
    let known = |outcome: Option<GapState>| {
        let folder = Folder::new();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        let run = writer
            .begin_session("binance", Completeness::Complete, at(0))
            .unwrap();
        let outcomes = outcome.map(|outcome| GapOutcome {
            exchange: "binance".to_owned(),
            start: at(9),
            end: at(31),
            outcome,
            rows: 0,
            how: "requested again".to_owned(),
            recorded_at: at(40),
        });
        writer
            .append(&Batch {
                seen: vec![(run, at(60))],
                gaps: vec![Gap {
                    cause: GapCause::SequenceHole,
                    ..gap(10, 30, "BTC: 2 missing in the exchange's own numbers")
                }],
                outcomes: outcomes.into_iter().collect(),
                counters: vec![tally(at(5), CounterKind::Numbered, 20)],
                ..Batch::default()
            })
            .unwrap();
        let before = writer
            .archive()
            .coverage()
            .by_exchange(at(0), at(10))
            .unwrap()[0]
            .known_by;
        assert_eq!(before, Evidence::Verified);
        writer
            .archive()
            .coverage()
            .by_exchange(at(0), at(60))
            .unwrap()[0]
            .known_by
    };
    assert_eq!(known(None), Evidence::Documented);
    assert_eq!(known(Some(GapState::Lost)), Evidence::Documented);
    assert_eq!(known(Some(GapState::Recovered)), Evidence::Verified);
}

fn tally(at: Millis, kind: CounterKind, count: u64) -> Counter {
    Counter {
        exchange: "binance".to_owned(),
        at,
        kind,
        count,
    }
}
