//! Prices before and after an event, from bar closes.
//!
//! Only the closes of bars of at most one hour are used.

use crate::model::{Bar, CascadeRow, Millis};

/// Maximum length of a bar, in milliseconds.
const LONGEST: i64 = Millis::HOUR;

/// Returns the time range of the bars that [`priced`] needs for an event.
#[must_use]
pub fn reach(row: &CascadeRow) -> (Millis, Millis) {
    let from = row.start.back(2 * LONGEST);
    (from, row.end.on(Millis::HOUR).on(LONGEST))
}

/// Sets the prices of an event from the bars of its coin.
///
/// Bars must be sorted by time.
pub fn priced(row: &mut CascadeRow, bars: &[Bar]) {
    row.price_before = known_by(bars, row.start).map(|bar| bar.close);
    let after = reached_at(bars, row.end);
    row.price_after = after.map(|bar| bar.close);
    let change = |length| after.and_then(|after| change(bars, after, length));
    row.change_1m = change(Millis::MINUTE);
    row.change_5m = change(5 * Millis::MINUTE);
    row.change_1h = change(Millis::HOUR);
}

/// The last bar that closed by `at`.
///
/// `None` if bars are missing between its close and `at`.
fn known_by(bars: &[Bar], at: Millis) -> Option<&Bar> {
    let closed = bars.partition_point(|bar| bar.close_time() <= at);
    let last = bars.get(closed.checked_sub(1)?)?;
    let age = at.0 - last.close_time().0;
    let goes_on = |next: &Bar| next.open_time == last.close_time() && next.interval <= LONGEST;
    let is_newest = age < last.interval || bars.get(closed).is_some_and(goes_on);
    (last.interval <= LONGEST && is_newest).then_some(last)
}

/// The bar in which `at` lies. An instant at a close lies in the bar that ends there.
fn reached_at(bars: &[Bar], at: Millis) -> Option<&Bar> {
    let closed = bars.partition_point(|bar| bar.close_time() < at);
    let first = bars.get(closed)?;
    (first.interval <= LONGEST && first.open_time < at).then_some(first)
}

/// Relative change from the close of a bar to the close `length` milliseconds later.
///
/// `None` if no bar closes then, or if the length of either bar does not divide `length`.
fn change(bars: &[Bar], from: &Bar, length: i64) -> Option<f64> {
    let to = from.close_time().on(length);
    let closed = bars.partition_point(|bar| bar.close_time() < to);
    let last = bars.get(closed).filter(|bar| bar.close_time() == to)?;
    let known = length % from.interval == 0 && length % last.interval == 0;
    known.then(|| last.close / from.close - 1.0)
}

#[cfg(test)]
mod tests {
    use rust_decimal::Decimal;

    use crate::engine::cascade::event_prices::*;
    use crate::model::Side;

    /// Creates bars with the close time in minutes as the close price.
    fn bars(interval: i64, count: i64) -> Vec<Bar> {
        let close = |place: i64| f64::from(u32::try_from(place * interval / 60_000).unwrap_or(0));
        (0..count)
            .map(|place| Bar {
                open_time: Millis(place * interval),
                interval,
                open: close(place),
                high: close(place + 1),
                low: close(place),
                close: close(place + 1),
                volume: 1.0,
            })
            .collect()
    }

    fn around(start: i64, end: i64, bars: &[Bar]) -> CascadeRow {
        let mut row = CascadeRow {
            start: Millis(start),
            end: Millis(end),
            coin: "BTC".to_owned(),
            side: Side::Long,
            usd: Decimal::ONE,
            cnt: 1,
            exchanges: 1,
            largest_usd: Decimal::ONE,
            price_before: None,
            price_after: None,
            change_1m: None,
            change_5m: None,
            change_1h: None,
            percentile_7d: None,
        };
        priced(&mut row, bars);
        row
    }

    #[test]
    fn prices_are_those_of_closes_before_the_start_and_behind_the_end() {
        let minutes = bars(60_000, 100);
        let row = around(10 * 60_000 + 1, 11 * 60_000 + 1, &minutes);
        assert_eq!(
            (row.price_before, row.price_after),
            (Some(10.0), Some(12.0))
        );
        assert_eq!(row.change_1m, Some(13.0 / 12.0 - 1.0));
        assert_eq!(row.change_5m, Some(17.0 / 12.0 - 1.0));
        assert_eq!(row.change_1h, Some(72.0 / 12.0 - 1.0));
        // An instant at a close uses that close.
        let row = around(10 * 60_000, 10 * 60_000, &minutes);
        assert_eq!(
            (row.price_before, row.price_after),
            (Some(10.0), Some(10.0))
        );
    }

    #[test]
    fn what_bars_cannot_tell_is_absent() {
        let fives = bars(300_000, 20);
        let row = around(600_001, 600_002, &fives);
        assert_eq!(
            (row.price_before, row.price_after),
            (Some(10.0), Some(15.0))
        );
        assert_eq!(row.change_1m, None, "bars of five minutes know no minute");
        assert_eq!(row.change_5m, Some(20.0 / 15.0 - 1.0));
        let last = around(99 * 60_000, 99 * 60_000 + 1, &fives);
        assert_eq!((last.price_after, last.change_5m), (Some(100.0), None));
        assert_eq!(around(101 * 60_000, 101 * 60_000, &fives).price_after, None);
        // If the bar that a price needs is missing, the price is absent. No older bar replaces it.
        let mut holed = fives.clone();
        holed.remove(2);
        let row = around(900_001, 900_001, &holed);
        assert_eq!((row.price_before, row.price_after), (None, Some(20.0)));
        assert_eq!(around(600_001, 600_001, &holed).price_after, None);
        let days = bars(Millis::DAY, 9);
        assert_eq!(around(Millis::DAY, Millis::DAY, &days).price_before, None);
    }
}
