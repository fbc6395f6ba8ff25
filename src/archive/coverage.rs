//! What was listened to and what was missed: completeness is data, too.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::ArchiveError;
use super::filter::Filter;
use super::manifest::{self, Day, State};
use super::orders::OrderRow;
use super::reader::Archive;
use super::row::Row;
use super::runs::{Gap, Run, by, gaps, runs, silences};
use super::spans::{Span, without};
use crate::model::{Completeness, Millis, VenueCoverage};

/// An exchange, how many orders it has, and the time of the last.
type Counted = (String, u64, Millis);

/// Refuses a stretch that is empty.
fn check_stretch(start: Millis, end: Millis) -> Result<(), ArchiveError> {
    if start < end {
        Ok(())
    } else {
        Err(ArchiveError::BadRange {
            parameter: "end",
            message: format!("{end} is not after the start, {start}"),
        })
    }
}

impl Archive {
    /// The known gaps that reach into the time from `start` until before `end`, by their start; those of files that are
    /// damaged now among them, whether a writer has set them aside or not.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the stretch is empty or the journal cannot be read.
    pub fn gaps(&self, start: Millis, end: Millis) -> Result<Vec<Gap>, ArchiveError> {
        self.gaps_known(start, end, None)
    }

    /// As [`Archive::gaps`], those that had been recorded by `as_of`.
    ///
    /// # Errors
    ///
    /// As [`Archive::gaps`].
    pub fn gaps_known(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<Vec<Gap>, ArchiveError> {
        check_stretch(start, end)?;
        let mut known = self.ask(|journal| gaps(journal, start, end, as_of))?;
        let same = |a: &Gap, b: &Gap| {
            (&a.exchange, a.start, a.end, &a.reason) == (&b.exchange, b.start, b.end, &b.reason)
        };
        for gap in self.gaps_of_damage(start, end)? {
            if !known.iter().any(|one| same(one, &gap)) {
                known.push(gap);
            }
        }
        known.sort_by(|a, b| {
            (a.start, &a.exchange, a.end, &a.reason).cmp(&(b.start, &b.exchange, b.end, &b.reason))
        });
        Ok(known)
    }

    /// The runs that reach into the time from `start` until before `end`, by their start.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the stretch is empty or the journal cannot be read.
    pub fn runs(&self, start: Millis, end: Millis) -> Result<Vec<Run>, ArchiveError> {
        check_stretch(start, end)?;
        self.ask(|journal| runs(journal, start, end))
    }

    /// How well each exchange is covered from `start` until before `end`, by name.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the stretch is empty or the archive cannot be read.
    pub fn coverage(&self, start: Millis, end: Millis) -> Result<Vec<VenueCoverage>, ArchiveError> {
        check_stretch(start, end)?;
        self.coverage_of(start, end, &self.counts(start, end)?, None)
    }

    /// As [`Archive::coverage`], where it is known already how many orders each exchange has and when the last was; with
    /// the gaps that had been recorded by `as_of`.
    ///
    /// # Errors
    ///
    /// As [`Archive::coverage`].
    pub fn coverage_of(
        &self,
        start: Millis,
        end: Millis,
        counts: &BTreeMap<String, (u64, Millis)>,
        as_of: Option<Millis>,
    ) -> Result<Vec<VenueCoverage>, ArchiveError> {
        check_stretch(start, end)?;
        let gaps = self.gaps_known(start, end, as_of)?;
        let (silences, runs, listened_to) = self.ask(|journal| {
            Ok((
                silences(journal, start, end, as_of)?,
                runs(journal, start, end)?,
                listened_to(journal, as_of)?,
            ))
        })?;
        let mut venues: BTreeMap<String, VenueCoverage> = BTreeMap::new();
        let names = listened_to
            .iter()
            .chain(gaps.iter().map(|gap| &gap.exchange))
            .chain(counts.keys());
        for name in names {
            if venues.contains_key(name) {
                continue;
            }
            let of_venue: Vec<&Run> = runs.iter().filter(|run| run.exchange == *name).collect();
            let missed: Vec<&Gap> = gaps.iter().filter(|gap| gap.exchange == *name).collect();
            let (cnt, last_event) = counts
                .get(name)
                .map_or((0, None), |(cnt, last)| (*cnt, Some(*last)));
            let connected_share = listened_to.contains(name).then(|| {
                let listened = of_venue.iter().map(|run| (run.started, run.seen));
                let missing = missed.iter().map(|gap| (gap.start, gap.end));
                let silent = silences
                    .iter()
                    .filter(|(exchange, ..)| exchange == name)
                    .map(|(_, from, to)| (*from, *to));
                share(listened, missing.chain(silent), start, end)
            });
            venues.insert(
                name.clone(),
                VenueCoverage {
                    exchange: name.clone(),
                    completeness: least(&of_venue),
                    connected_share,
                    last_event,
                    gaps: u64::try_from(missed.len()).unwrap_or(u64::MAX),
                    cnt,
                },
            );
        }
        Ok(venues.into_values().collect())
    }

    /// When each exchange was listened to and nothing is known to be missing, from `start` until before `end`: in order and
    /// apart from each other, of every exchange that was ever listened to before; with the gaps that had been recorded by
    /// `as_of`.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the stretch is empty or the archive cannot be read.
    pub fn covered(
        &self,
        start: Millis,
        end: Millis,
        as_of: Option<Millis>,
    ) -> Result<BTreeMap<String, Vec<(Millis, Millis)>>, ArchiveError> {
        let gaps = self.gaps_known(start, end, as_of)?;
        let (silences, runs, listened_to) = self.ask(|journal| {
            Ok((
                silences(journal, start, end, as_of)?,
                runs(journal, start, end)?,
                listened_to(journal, as_of)?,
            ))
        })?;
        let of = |name: &str| {
            let runs = runs.iter().filter(|run| run.exchange == name);
            let heard: Vec<Span> = runs
                .map(|run| (run.started.max(start), run.seen.min(end)))
                .collect();
            let gaps = gaps.iter().filter(|gap| gap.exchange == name);
            let missing = gaps.map(|gap| (gap.start, gap.end));
            let silences = silences.iter().filter(|(exchange, ..)| exchange == name);
            let silent = silences.map(|(_, from, to)| (*from, *to));
            without(&heard, &missing.chain(silent).collect::<Vec<_>>())
        };
        let venues = listened_to.into_iter();
        Ok(venues
            .map(|name| {
                let spans = of(&name);
                (name, spans)
            })
            .collect())
    }

    /// Orders and the last event time of each exchange; whole days that lie in files are read off their list.
    fn counts(
        &self,
        start: Millis,
        end: Millis,
    ) -> Result<BTreeMap<String, (u64, Millis)>, ArchiveError> {
        let mut counts: BTreeMap<String, (u64, Millis)> = BTreeMap::new();
        let mut add = |exchange: String, rows: u64, last: Millis| {
            let count = counts.entry(exchange).or_insert((0, last));
            count.0 += rows;
            count.1 = count.1.max(last);
        };
        let filter = Filter {
            start: Some(start),
            end: Some(end),
            ..Filter::default()
        };
        for day in self.days::<OrderRow>(&filter)? {
            match self.listed(day, start.max(day.start()), end.min(day.end()))? {
                Some(venues) => venues
                    .into_iter()
                    .for_each(|(exchange, rows, last)| add(exchange, rows, last)),
                None => self
                    .day::<OrderRow>(day, &filter)?
                    .rows
                    .into_iter()
                    .for_each(|row| add(row.order.exchange, 1, row.order.timestamp)),
            }
        }
        Ok(counts)
    }

    /// The counts of a day that need no row to be read: those of a day that lies in the journal alone, or whole in
    /// sound files.
    fn listed(
        &self,
        day: Day,
        start: Millis,
        end: Millis,
    ) -> Result<Option<Vec<Counted>>, ArchiveError> {
        let counted = |row: &rusqlite::Row<'_>| {
            let rows: i64 = row.get(1)?;
            Ok((
                row.get(0)?,
                u64::try_from(rows).unwrap_or(0),
                Millis(row.get(2)?),
            ))
        };
        let (parts, journaled, listed) = self.ask(|journal| {
            let parts = manifest::of_day(journal, OrderRow::TABLE, day, State::Kept)?;
            let journaled = journal
                .prepare_cached(
                    "SELECT exchange, count(*), max(timestamp) FROM orders
                     WHERE timestamp >= ?1 AND timestamp < ?2 GROUP BY exchange",
                )?
                .query_map([start.0, end.0], counted)?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            let listed = journal
                .prepare_cached(
                    "SELECT exchange, sum(part_venues.rows), max(part_venues.last) FROM part_venues
                     JOIN manifest USING (path)
                     WHERE holds = 'orders' AND day = ?1 AND state = 'kept' GROUP BY exchange",
                )?
                .query_map([day.0], counted)?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok((parts, journaled, listed))
        })?;
        if parts.is_empty() {
            return Ok(Some(journaled));
        }
        let whole = start == day.start() && end == day.end();
        if whole && journaled.is_empty() && self.all_sound(&parts)? {
            return Ok(Some(listed));
        }
        Ok(None)
    }
}

/// The exchanges that had been listened to by `as_of`.
fn listened_to(journal: &Connection, as_of: Option<Millis>) -> rusqlite::Result<Vec<String>> {
    journal
        .prepare_cached("SELECT DISTINCT exchange FROM runs WHERE started <= ?1")?
        .query_map([by(as_of)], |row| row.get(0))?
        .collect()
}

fn least(runs: &[&Run]) -> Completeness {
    let all = |is| !runs.is_empty() && runs.iter().all(|run| run.completeness == is);
    if runs
        .iter()
        .any(|run| run.completeness == Completeness::Sampled)
    {
        Completeness::Sampled
    } else if all(Completeness::Complete) {
        Completeness::Complete
    } else {
        Completeness::Unknown
    }
}

/// The share of the time from `start` until `end` that is in one of `listened` and in none of `missing`.
fn share(
    listened: impl Iterator<Item = (Millis, Millis)>,
    missing: impl Iterator<Item = (Millis, Millis)>,
    start: Millis,
    end: Millis,
) -> f64 {
    // +1 and -1 where a run begins and ends, and likewise for gaps; swept in order of time.
    let cut = |(from, to): (Millis, Millis)| (from.max(start), to.min(end));
    let mut edges: Vec<(Millis, i32, i32)> = Vec::new();
    for (from, to) in listened.map(cut).filter(|(from, to)| from < to) {
        edges.extend([(from, 1, 0), (to, -1, 0)]);
    }
    for (from, to) in missing.map(cut).filter(|(from, to)| from < to) {
        edges.extend([(from, 0, 1), (to, 0, -1)]);
    }
    edges.sort_unstable();
    let (mut runs, mut gaps, mut since, mut covered) = (0, 0, start, 0_i64);
    for (at, run, gap) in edges {
        if runs > 0 && gaps == 0 {
            covered += at.0 - since.0;
        }
        runs += run;
        gaps += gap;
        since = at;
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share is a ratio; milliseconds of a few thousand years are exact in a double"
    )]
    let share = covered as f64 / (end.0.saturating_sub(start.0)) as f64;
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(listened: &[(i64, i64)], missing: &[(i64, i64)]) -> f64 {
        let spans = |spans: &[(i64, i64)]| {
            spans
                .iter()
                .map(|(a, b)| (Millis(*a), Millis(*b)))
                .collect()
        };
        let (listened, missing): (Vec<_>, Vec<_>) = (spans(listened), spans(missing));
        share(
            listened.into_iter(),
            missing.into_iter(),
            Millis(100),
            Millis(200),
        )
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "the shares are exact")]
    fn time_counts_once_however_many_runs_overlap_and_not_where_a_gap_is() {
        assert_eq!(of(&[], &[]), 0.0);
        assert_eq!(of(&[(0, 300)], &[]), 1.0);
        assert_eq!(of(&[(0, 150), (125, 175)], &[]), 0.75);
        assert_eq!(of(&[(0, 300)], &[(150, 160), (155, 175)]), 0.75);
        assert_eq!(of(&[(100, 150), (150, 200)], &[(190, 400)]), 0.9);
        assert_eq!(of(&[(0, 100), (200, 300)], &[(100, 200)]), 0.0);
    }
}
