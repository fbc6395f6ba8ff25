//! Merges a coin's bars from several exchanges into one series.
//!
//! Prices come from the exchange with the longest observed time; a fixed order of exchanges breaks ties. Where this
//! exchange has no bar, the next exchange in this order supplies the bar. The volume is the sum over all exchanges
//! that have the bar.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{Archive, ArchiveError, Filter, ResampledBar};
use crate::engine::BarSources;
use crate::model::{Bar, Millis, ObservedBar, sort_small};

/// Shorter bars are resampled to this length, in milliseconds.
const SIZE: i64 = 5 * Millis::MINUTE;
/// The order of exchanges with equal observed times; all other exchanges follow by name.
const FIRST: [&str; 3] = ["binance", "bybit", "okx"];

/// A bar of one exchange.
#[derive(Clone, Copy, Debug)]
struct VenueBar {
    bar: Bar,
    /// The part of this bar that the source bars cover, in milliseconds.
    observed: i64,
}

/// The bars of a coin on one day, by exchange.
#[derive(Debug, Default)]
pub(crate) struct DayBars(BTreeMap<String, Vec<VenueBar>>);

impl DayBars {
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The latest close at or before `now`.
    pub(crate) fn last_close(&self, now: Millis) -> Option<Millis> {
        let closes = self
            .0
            .values()
            .flatten()
            .map(|short| short.bar.close_time());
        closes.filter(|close| *close <= now).max()
    }

    fn of(rows: Vec<ResampledBar>) -> (Self, Millis) {
        let mut venues: BTreeMap<String, Vec<VenueBar>> = BTreeMap::new();
        let mut known_by = Millis::default();
        for row in rows {
            known_by = known_by
                .max(row.received_at)
                .max(row.timestamp.on(row.interval));
            let short = VenueBar {
                bar: Bar::nearest(
                    row.timestamp,
                    row.interval,
                    [row.open, row.high, row.low, row.close, row.volume],
                ),
                observed: row.observed,
            };
            venues.entry(row.exchange).or_default().push(short);
        }
        (Self(venues), known_by)
    }
}

/// The bars of a day, and the instant by which all of them were closed and received.
///
/// Bars have the length [`SIZE`] if the stored bars are short enough, or else the shortest stored length.
pub(crate) fn of_day(
    archive: &Archive,
    filter: &Filter,
) -> Result<(DayBars, Millis), ArchiveError> {
    Ok(DayBars::of(archive.finest_bars(filter, Some(SIZE))?.rows))
}

/// The distinct lengths of the stored bars that match `filter`, in milliseconds.
pub(crate) fn lengths(archive: &Archive, filter: &Filter) -> Result<BTreeSet<i64>, ArchiveError> {
    let bars = archive.observed_bars(filter)?.rows;
    Ok(bars.into_iter().map(|bar| bar.interval).collect())
}

/// The exchanges in descending order of observed time.
fn ranked<'a>(days: impl Iterator<Item = &'a DayBars>) -> Vec<&'a str> {
    let mut observed: BTreeMap<&str, i64> = BTreeMap::new();
    for (venue, bars) in days.flat_map(|day| &day.0) {
        *observed.entry(venue).or_default() += bars.iter().map(|bar| bar.observed).sum::<i64>();
    }
    let better_known = |venue: &str| {
        FIRST
            .iter()
            .position(|known| *known == venue)
            .unwrap_or(FIRST.len())
    };
    let mut venues: Vec<(&str, i64)> = observed.into_iter().collect();
    let rank = |(venue, observed): &(&str, i64)| (-observed, better_known(venue));
    sort_small(&mut venues, |one, other| {
        rank(one).cmp(&rank(other)).then(one.0.cmp(other.0))
    });
    venues.into_iter().map(|(venue, _)| venue).collect()
}

/// A bar of the merged series.
struct MergedBar<'a> {
    short: VenueBar,
    /// The exchange that supplies the price, followed by the exchanges that only add volume.
    venues: Vec<&'a str>,
}

/// The merged bars of one day that open at or after `start` and close by `now`.
fn joined<'a>(
    day: &DayBars,
    ranked: &[&'a str],
    start: Millis,
    now: Millis,
) -> impl Iterator<Item = MergedBar<'a>> {
    let mut series: BTreeMap<Millis, MergedBar<'a>> = BTreeMap::new();
    for venue in ranked {
        for short in day.0.get(*venue).into_iter().flatten() {
            if short.bar.open_time < start || short.bar.close_time() > now {
                continue;
            }
            series
                .entry(short.bar.open_time)
                .and_modify(|first| {
                    first.short.bar.volume += short.bar.volume;
                    first.venues.push(venue);
                })
                .or_insert_with(|| MergedBar {
                    short: *short,
                    venues: vec![venue],
                });
        }
    }
    series.into_values()
}

/// The merged bars of several days that open at or after `start` and close by `now`, and the exchanges of each bar.
///
/// The last bar is dropped if source bars cover only a part of it, because the rest may still arrive.
pub(crate) fn together<'a>(
    coin: &str,
    days: impl Iterator<Item = &'a DayBars> + Clone,
    start: Millis,
    now: Millis,
) -> (Vec<ObservedBar>, BarSources) {
    let ranked = ranked(days.clone());
    let mut series: Vec<MergedBar<'_>> = days
        .flat_map(|day| joined(day, &ranked, start, now))
        .collect();
    if series
        .last()
        .is_some_and(|last| last.short.observed < last.short.bar.interval)
    {
        series.pop();
    }
    let mut sources = BarSources::default();
    for bar in &series {
        sources.push(bar.short.bar.open_time, &bar.venues);
    }
    let bars = series
        .into_iter()
        .map(|MergedBar { short, .. }| short.bar.of_coin(coin))
        .collect();
    (bars, sources)
}

/// The merged series of all bars that match `filter`, resampled to `size`, or with the shortest stored lengths.
pub(crate) fn all(
    archive: &Archive,
    filter: &Filter,
    size: Option<i64>,
    now: Millis,
) -> Result<Vec<Bar>, ArchiveError> {
    let found = match size {
        Some(size) => archive.bars(filter, size)?,
        None => archive.finest_bars(filter, None)?,
    };
    let (bars, _) = DayBars::of(found.rows);
    let ranked = ranked(std::iter::once(&bars));
    let series = joined(&bars, &ranked, Millis(i64::MIN), now);
    Ok(series.map(|bar| bar.short.bar).collect())
}
