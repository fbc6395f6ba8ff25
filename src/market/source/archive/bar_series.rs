//! Merges a coin's bars from several exchanges into one series.
//!
//! Prices come from the exchange with the longest observed time, in estimates that of the seven days before; a fixed
//! order of exchanges breaks ties. Where this
//! exchange has no bar, the next exchange in this order supplies the bar. The volume is the sum over all exchanges
//! that have the bar.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{Archive, ArchiveError, Filter, ResampledBar};
use crate::engine::BarSources;
use crate::model::{Bar, Millis, ObservedBar, PeriodLength, sort_small};

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

/// The place of an exchange in the fixed order.
fn better_known(venue: &str) -> usize {
    let place = FIRST.iter().position(|known| *known == venue);
    place.unwrap_or(FIRST.len())
}

/// The rank of each exchange by observed time; the lowest rank is the longest observed.
fn ranks<'a>(days: impl Iterator<Item = &'a DayBars>) -> BTreeMap<&'a str, usize> {
    let mut observed: BTreeMap<&str, i64> = BTreeMap::new();
    for (venue, bars) in days.flat_map(|day| &day.0) {
        *observed.entry(venue).or_default() += bars.iter().map(|bar| bar.observed).sum::<i64>();
    }
    let mut venues: Vec<(&str, i64)> = observed.into_iter().collect();
    let rank = |(venue, observed): &(&str, i64)| (-observed, better_known(venue));
    sort_small(&mut venues, |one, other| {
        rank(one).cmp(&rank(other)).then(one.0.cmp(other.0))
    });
    let ranked = venues.into_iter().enumerate();
    ranked.map(|(rank, (venue, _))| (venue, rank)).collect()
}

/// A bar of the merged series.
struct MergedBar<'a> {
    short: VenueBar,
    rank: usize,
    volume: f64,
    /// The exchange that supplies the price, followed by the exchanges that only add volume.
    venues: Vec<&'a str>,
}

impl MergedBar<'_> {
    fn bar(&self) -> Bar {
        Bar {
            volume: self.volume,
            ..self.short.bar
        }
    }
}

/// The merged bars of one day that open at or after `start` and close by `now`.
fn joined<'a>(
    day: &'a DayBars,
    ranks: &BTreeMap<&str, usize>,
    start: Millis,
    now: Millis,
) -> impl Iterator<Item = MergedBar<'a>> + use<'a> {
    let mut series: BTreeMap<Millis, MergedBar<'a>> = BTreeMap::new();
    // Volumes are added in the order of names, so that their sum does not depend on the ranks.
    for (venue, bars) in &day.0 {
        let rank = ranks.get(venue.as_str()).copied();
        let rank = rank.unwrap_or_else(|| ranks.len() + better_known(venue));
        for short in bars {
            if short.bar.open_time < start || short.bar.close_time() > now {
                continue;
            }
            let merged = series
                .entry(short.bar.open_time)
                .or_insert_with(|| MergedBar {
                    short: *short,
                    rank: usize::MAX,
                    volume: 0.0,
                    venues: Vec::new(),
                });
            merged.volume += short.bar.volume;
            if rank < merged.rank {
                (merged.short, merged.rank) = (*short, rank);
                merged.venues.insert(0, venue);
            } else {
                merged.venues.push(venue);
            }
        }
    }
    series.into_values()
}

/// The exchanges of a day are ranked by the observed time of so many days before it.
const RANKED: usize = 7;

/// The merged bars of consecutive days that open at or after `start` and close by `now`, and the exchanges of each bar.
///
/// The exchanges of a day are ranked by the days before it, so that no later row changes the price of a bar. The first
/// day with bars is ranked by itself. The last bar is dropped if source bars cover only a part of it, because the rest
/// may still arrive.
pub(crate) fn together<'a>(
    coin: &str,
    days: impl Iterator<Item = &'a DayBars>,
    start: Millis,
    now: Millis,
) -> (Vec<ObservedBar>, BarSources) {
    let days: Vec<&DayBars> = days.collect();
    let mut series: Vec<MergedBar<'_>> = Vec::new();
    for (place, day) in days.iter().enumerate() {
        let before = days.get(place.saturating_sub(RANKED)..place);
        let before = before.unwrap_or_default().iter().copied();
        let mut ranks_of_day = ranks(before);
        if ranks_of_day.is_empty() {
            ranks_of_day = ranks(std::iter::once(*day));
        }
        series.extend(joined(day, &ranks_of_day, start, now));
    }
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
        .map(|merged| merged.bar().of_coin(coin.to_owned()))
        .collect();
    (bars, sources)
}

/// The merged series of all bars that match `filter`, resampled to `size`, or with the shortest stored lengths.
pub(crate) fn all(
    archive: &Archive,
    filter: &Filter,
    size: Option<PeriodLength>,
    now: Millis,
) -> Result<Vec<Bar>, ArchiveError> {
    let found = match size {
        Some(size) => archive.bars(filter, size)?,
        None => archive.finest_bars(filter, None)?,
    };
    let (bars, _) = DayBars::of(found.rows);
    let ranks = ranks(std::iter::once(&bars));
    let series = joined(&bars, &ranks, Millis(i64::MIN), now);
    Ok(series.map(|merged| merged.bar()).collect())
}
