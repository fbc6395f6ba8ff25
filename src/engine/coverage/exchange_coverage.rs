//! Coverage of the orders by exchange.

use crate::engine::observations::bar_sources::BarCounts;
use crate::engine::{Observations, RecordedRanges, View};
use crate::model::{Millis, TimeRange, VenueCoverage, Window};

/// Returns the coverage of every exchange with an order by now, sorted by name.
///
/// Tables of orders do not record how they were collected. Therefore completeness and the connected share are unknown.
#[must_use]
pub fn coverage(view: &View, window: Window) -> Vec<VenueCoverage> {
    let mut counts = vec![0; view.ring().names().exchanges().len()];
    view.each_sum(window, |name, sums| {
        if let Some(count) = counts.get_mut(name.exchange as usize) {
            *count += sums.cnt;
        }
    });
    counted(view, counts)
}

/// Returns the coverage of every exchange with an order by now, with the number of its orders in `range`.
#[must_use]
pub fn coverage_between(view: &View, range: TimeRange) -> Vec<VenueCoverage> {
    let names = view.ring().names();
    let mut counts = vec![0; names.exchanges().len()];
    for place in view.seen_between(range) {
        let name = names.sum_name(view.ring().kind(place).pair());
        if let Some(count) = name.and_then(|name| counts.get_mut(name.exchange as usize)) {
            *count += 1;
        }
    }
    counted(view, counts)
}

/// The coverage of every exchange with an order by now, of which `counts` has the number of orders.
fn counted(view: &View, counts: Vec<u64>) -> Vec<VenueCoverage> {
    let names = view.ring().names();
    let last_seen = last_seen(*view);
    let mut venues: Vec<VenueCoverage> = names
        .exchanges()
        .iter()
        .zip(counts)
        .zip(last_seen)
        .filter(|(_, last)| last.is_some())
        .map(|((exchange, cnt), last_event)| VenueCoverage {
            exchange: exchange.clone(),
            last_event,
            cnt,
            ..VenueCoverage::default()
        })
        .collect();
    venues.sort_unstable_by(|a, b| a.exchange.cmp(&b.exchange));
    venues
}

/// Returns the times in `range` and up to now in which the orders of each exchange are known.
///
/// A table of orders is complete between its first and its last row, for each exchange in it; as of an instant, between
/// the first and the last row known by then. A simulation has a [record](Observations::with_recorded).
#[must_use]
pub fn recorded(view: &View, range: TimeRange) -> RecordedRanges {
    let known = TimeRange::new(range.start, range.end.min(view.now().on(1)));
    let within = |ranges: &[TimeRange]| -> Vec<TimeRange> {
        let ranges = ranges.iter().map(|one| one.intersection(known));
        ranges.filter(|one| !one.is_empty()).collect()
    };
    if let Some(recorded) = view.observations().recorded() {
        let venues = recorded.iter();
        return venues
            .map(|(name, ranges)| (name.clone(), within(ranges)))
            .collect();
    }
    let ring = view.ring();
    // Without `as_of`, rows after now show that the table covers the time up to now.
    let ends = if view.received_by().is_none() {
        ring.len().checked_sub(1).map(|last| (0, last))
    } else {
        let mut seen = view.seen(i64::MAX);
        let first = seen.next();
        first.map(|first| (first, seen.next_back().unwrap_or(first)))
    };
    let Some((first, last)) = ends else {
        return RecordedRanges::new();
    };
    let table = TimeRange::new(ring.timestamp(first), ring.timestamp(last).on(1));
    let names = ring.names();
    let known = names.known_by(view.received_by());
    let venues = names.exchanges().iter().zip(known);
    venues
        .filter(|(_, is_known)| *is_known)
        .map(|(name, _)| (name.clone(), within(&[table])))
        .collect()
}

/// The first instant at which orders are known, as of the instant of the view; `None` if they are at none.
#[must_use]
pub fn orders_from(view: &View<'_>) -> Option<Millis> {
    let recorded = view.observations().recorded();
    let recorded = recorded.into_iter().flat_map(RecordedRanges::values);
    let recorded = recorded.flatten().map(|range| range.start).min();
    let ring = view.ring();
    let first = if view.received_by().is_none() {
        (!ring.is_empty()).then_some(0)
    } else {
        view.seen(i64::MAX).next()
    };
    let first = first.map(|place| ring.timestamp(place));
    recorded.into_iter().chain(first).min()
}

/// Adds counts of outliers to the coverage of each exchange.
///
/// Outliers are open interest readings and bars that leave the usual level and return to it later. Counts those of
/// `observations` in the window that ends at `now`.
///
/// Rows that name no exchange are not counted here. The explanation of an estimate counts them.
pub fn count_outliers(
    observations: &Observations,
    now: Millis,
    window: Window,
    venues: &mut Vec<VenueCoverage>,
) {
    let start = now.back(window.millis()).on(1);
    for history in observations.histories() {
        let readings = history.open_interest.outliers(start, now);
        add(venues, readings, |venue| &mut venue.open_interest_outliers);
        let bars = history.outlier_bars(start, now);
        add(venues, bars, |venue| &mut venue.bar_outliers);
    }
    for venue in &mut *venues {
        venue.open_interest_outliers.get_or_insert(0);
        venue.bar_outliers.get_or_insert(0);
    }
    venues.sort_unstable_by(|a, b| a.exchange.cmp(&b.exchange));
}

/// Adds counts by exchange to the field that `column` selects.
fn add(
    venues: &mut Vec<VenueCoverage>,
    counts: BarCounts,
    column: impl Fn(&mut VenueCoverage) -> &mut Option<u64>,
) {
    for (exchange, count) in counts {
        if !venues.iter().any(|venue| venue.exchange == exchange) {
            venues.push(VenueCoverage {
                exchange: exchange.clone(),
                ..VenueCoverage::default()
            });
        }
        let known = venues.iter_mut().find(|venue| venue.exchange == exchange);
        if let Some(count_so_far) = known.map(|venue| column(venue).get_or_insert(0)) {
            *count_so_far += count as u64;
        }
    }
}

/// Event time of the last order per exchange.
fn last_seen(view: View<'_>) -> Vec<Option<Millis>> {
    let names = view.ring().names();
    if view.is_current() {
        return names.last_seen().to_vec();
    }
    let mut last_seen = vec![None; names.exchanges().len()];
    let known = names.known_by(view.received_by());
    let mut missing = known.filter(|known| *known).count();
    for place in view.seen(i64::MAX).rev() {
        if missing == 0 {
            break;
        }
        let sum = names.sum_name(view.ring().kind(place).pair());
        if let Some(last) = sum.and_then(|sum| last_seen.get_mut(sum.exchange as usize))
            && last.is_none()
        {
            *last = Some(view.ring().timestamp(place));
            missing -= 1;
        }
    }
    last_seen
}
