//! Resampling of bars.

use liqdata::engine::{EngineError, resize};
use liqdata::model::{Bar, Millis, PeriodLength, TimeRange};

use super::{DAY, HOUR, MINUTE, NOW};

const FIVE: i64 = 5 * MINUTE;
/// 2026-01-05.
const MONDAY: i64 = 1_767_571_200_000;

/// Bars of `length` from `start` on with distinct prices and a volume of 1.
fn bars(start: i64, length: i64, count: i64) -> Vec<Bar> {
    (0..count)
        .map(|i| Bar {
            open_time: Millis(start + i * length),
            interval: length,
            open: (1000 + i) as f64,
            high: (1002 + i) as f64,
            low: (999 + i) as f64,
            close: (1001 + i) as f64,
            volume: 1.0,
        })
        .collect()
}

fn made(bars: &[Bar], size: i64, start: Option<i64>, end: Option<i64>) -> Vec<(i64, i64, f64)> {
    let made = resize(
        "BTC",
        bars,
        PeriodLength::Fixed(size),
        TimeRange::bounded(start.map(Millis), end.map(Millis)),
    )
    .unwrap();
    made.iter()
        .map(|bar| (bar.open_time.0 - NOW, bar.interval, bar.volume))
        .collect()
}

#[test]
fn only_bars_entirely_within_the_range_are_returned() {
    let small = bars(NOW, FIVE, 36);
    let hour = |i: i64| (i * HOUR, HOUR, 12.0);
    let all = vec![hour(0), hour(1), hour(2)];
    assert_eq!(made(&small, HOUR, None, None), all);
    assert_eq!(made(&small, HOUR, Some(NOW), Some(NOW + 3 * HOUR)), all);
    // A resampled bar that starts before the range is left out as a whole.
    for start in [1, FIVE, 35 * MINUTE, HOUR - 1, HOUR] {
        assert_eq!(made(&small, HOUR, Some(NOW + start), None), all[1..]);
    }
    // So is one that ends after the range.
    for end in [2 * HOUR, 2 * HOUR + 1, 2 * HOUR + 35 * MINUTE, 3 * HOUR - 1] {
        assert_eq!(made(&small, HOUR, None, Some(NOW + end)), all[..2]);
    }
    let (start, end) = (Some(NOW + FIVE), Some(NOW + 2 * HOUR - FIVE));
    assert_eq!(made(&small, HOUR, start, end), []);
    assert_eq!(made(&small, HOUR, Some(i64::MIN), Some(i64::MAX)), all);
    assert_eq!(made(&small, HOUR, Some(i64::MAX), None), []);
}

#[test]
fn a_bar_aggregates_its_shorter_bars() {
    let small = bars(NOW, FIVE, 24);
    let start = Millis(NOW + 20 * MINUTE);
    let made = resize(
        "BTC",
        small.as_slice(),
        PeriodLength::Fixed(HOUR),
        TimeRange::bounded(Some(start), None),
    )
    .unwrap();
    assert_eq!(made.len(), 1);
    let bar = made[0];
    assert_eq!(bar.open_time, Millis(NOW + HOUR));
    assert_eq!((bar.open, bar.close), (1012.0, 1024.0));
    assert_eq!((bar.high, bar.low), (1025.0, 1011.0));
}

#[test]
fn a_bar_is_made_of_its_available_parts_once_it_has_closed() {
    let mut small = bars(NOW, FIVE, 21);
    small.drain(3..6);
    assert_eq!(made(&small, HOUR, None, None), [(0, HOUR, 9.0)]);
    let until = Some(NOW + DAY);
    assert_eq!(made(&small, HOUR, None, until), [(0, HOUR, 9.0)]);
    // A range either contains a resampled bar unchanged or not at all.
    assert_eq!(made(&small, HOUR, Some(NOW + 15 * MINUTE), None), []);
}

#[test]
fn a_length_that_the_bars_cannot_be_made_into_is_refused() {
    let refused = |bars: &[Bar], size: i64| {
        let error = resize("BTC", bars, PeriodLength::Fixed(size), TimeRange::ALL).unwrap_err();
        assert!(matches!(error, EngineError::NoSuchLength { .. }));
        error.to_string()
    };
    let small = bars(NOW, FIVE, 24);
    for (size, name) in [(MINUTE, "1 min"), (7 * MINUTE, "7 min"), (0, "0 d")] {
        let message = refused(&small, size);
        assert!(
            message.starts_with(&format!("bars of {name} cannot be made")),
            "{message}"
        );
        assert!(
            message.contains("\"BTC\", which have a length of 5 min;"),
            "{message}"
        );
    }
    assert!(refused(&small, MINUTE).ends_with("allowed: whole multiples of 5 min"));
    // For every range.
    let later = NOW + DAY;
    let range = TimeRange::bounded(Some(Millis(later)), None);
    assert!(resize("BTC", small.as_slice(), PeriodLength::Fixed(MINUTE), range).is_err());
    assert_eq!(made(&small, FIVE, Some(later), None), []);

    let mut mixed = bars(NOW - DAY, HOUR, 2);
    mixed.extend(bars(NOW, FIVE, 3));
    assert!(refused(&mixed, MINUTE).ends_with("multiples of 5 min or 1 h"));
    assert_eq!(
        made(&mixed, 15 * MINUTE, None, None),
        [(0, 15 * MINUTE, 3.0)]
    );

    // Weeks start on Mondays.
    let weeks = bars(MONDAY + 3 * DAY, 7 * DAY, 3);
    assert!(refused(&weeks, 7 * DAY).contains("on Mondays"));
}

#[test]
fn weeks_start_on_mondays_and_months_are_those_of_the_calendar() {
    let days = bars(MONDAY - 2 * DAY, DAY, 70);
    let opened = |size: PeriodLength| -> Vec<(i64, i64)> {
        let made = resize("BTC", days.as_slice(), size, TimeRange::ALL).unwrap();
        made.iter()
            .map(|bar| ((bar.open_time.0 - MONDAY) / DAY, bar.interval / DAY))
            .collect()
    };
    let weeks: Vec<(i64, i64)> = (-1..9).map(|week| (7 * week, 7)).collect();
    assert_eq!(opened(PeriodLength::Fixed(7 * DAY)), weeks);
    // The first Monday is 2026-01-05.
    assert_eq!(opened(PeriodLength::Month), [(-4, 31), (27, 28)]);
    // Whole weeks and months are taken as they are.
    let week = bars(MONDAY, 7 * DAY, 2);
    assert_eq!(made(&week, 7 * DAY, None, None).len(), 2);
    let month = bars(MONDAY + 27 * DAY, 28 * DAY, 1);
    assert_eq!(
        resize("BTC", month.as_slice(), PeriodLength::Month, TimeRange::ALL).unwrap(),
        month
    );
    assert!(resize("BTC", week.as_slice(), PeriodLength::Month, TimeRange::ALL).is_err());
}

#[test]
fn no_bars_are_no_bars_of_any_length() {
    assert_eq!(made(&[], HOUR, None, None), []);
    assert_eq!(made(&[], 7, None, None), []);
}
