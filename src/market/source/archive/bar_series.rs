//! Merges the bars that several exchanges have of a coin into one series.
//!
//! The price is that of the exchange that was observed the longest; a fixed order breaks ties. Where it has no bar,
//! the next exchange stands in. Volume is the sum over all exchanges with a bar.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{Archive, ArchiveError, Filter, ResampledBar};
use crate::engine::BarSources;
use crate::model::{Bar, Millis, ObservedBar, sort_small};

/// Bars are resampled to this length if shorter ones exist.
const SIZE: i64 = 5 * Millis::MINUTE;
/// The order of exchanges that were observed equally long; others follow by name.
const FIRST: [&str; 3] = ["binance", "bybit", "okx"];

/// A bar of one exchange.
#[derive(Clone, Copy, Debug)]
struct VenueBar {
    bar: Bar,
    /// How many milliseconds of this bar the source bars cover.
    observed: i64,
}

/// The bars of a day of a coin, by exchange.
#[derive(Debug, Default)]
pub(crate) struct DayBars(BTreeMap<String, Vec<VenueBar>>);

impl DayBars {
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The last close by `now`.
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

/// The bars of a day and the instant by which all were received.
///
/// They have the length [`SIZE`] if the source bars are short enough, else the shortest length there is.
pub(crate) fn of_day(
    archive: &Archive,
    filter: &Filter,
) -> Result<(DayBars, Millis), ArchiveError> {
    Ok(DayBars::of(archive.finest_bars(filter, Some(SIZE))?.rows))
}

/// The lengths of the stored bars.
pub(crate) fn lengths(archive: &Archive, filter: &Filter) -> Result<BTreeSet<i64>, ArchiveError> {
    let bars = archive.observed_bars(filter)?.rows;
    Ok(bars.into_iter().map(|bar| bar.interval).collect())
}

/// Exchanges by observed time, the longest first.
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
    /// The exchange of the price first, then those added to the volume.
    venues: Vec<&'a str>,
}

/// The merged series of one day from `start` on.
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

/// The merged series of several days from `start` on, closed by `now`, and the exchange of each bar.
///
/// The last bar counts only if source bars cover all of it, as the rest may be on its way.
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

/// The merged series of all bars that match `filter`, of length `size` or the shortest available.
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
