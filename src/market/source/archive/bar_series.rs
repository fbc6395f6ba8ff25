//! One series of bars of the bars that several exchanges have of a coin.
//!
//! The price is that of one exchange wherever it has bars: of the one that was observed the longest, the better known of
//! equals. Where it has none the next one's stands in. Volume is the sum over the exchanges that have a bar then.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{Archive, ArchiveError, Filter, ResampledBar};
use crate::engine::BarSources;
use crate::model::{Bar, Millis, ObservedBar, sort_small};

/// Bars of this length are made where there are shorter ones.
const SIZE: i64 = 5 * Millis::MINUTE;
/// Which exchange is taken of several that were observed as long; others follow by name.
const FIRST: [&str; 3] = ["binance", "bybit", "okx"];

/// A bar of one exchange.
#[derive(Clone, Copy, Debug)]
struct VenueBar {
    bar: Bar,
    /// How much of it there were bars for, in milliseconds.
    observed: i64,
}

/// The bars of a coin's day by exchange, of each time all of one length.
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

/// The bars of a day, and by when all of it was known: of [`SIZE`] where there are bars short enough, else the shortest.
pub(crate) fn of_day(
    archive: &Archive,
    filter: &Filter,
) -> Result<(DayBars, Millis), ArchiveError> {
    Ok(DayBars::of(archive.finest_bars(filter, Some(SIZE))?.rows))
}

/// The lengths there are bars of.
pub(crate) fn lengths(archive: &Archive, filter: &Filter) -> Result<BTreeSet<i64>, ArchiveError> {
    let bars = archive.observed_bars(filter)?.rows;
    Ok(bars.into_iter().map(|bar| bar.interval).collect())
}

/// Exchanges by how long they were observed, the longest first.
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

/// A bar of the series.
struct MergedBar<'a> {
    short: VenueBar,
    /// The exchange of the price, and the others whose volume is in the sum.
    venues: Vec<&'a str>,
}

/// One series of a day's bars from `start` on.
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

/// One series of the bars of some days, from `start` on, closed by `now`, and whose bars they are.
///
/// The last bar counts only if there were bars for all of it: the end of it may still be on its way.
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

/// One series of all bars that `filter` asks for: of `size`, or else of each time the shortest there are.
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
