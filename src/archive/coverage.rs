//! What was listened to and what was missed: completeness is data, too.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::manifest::{Day, State};
use super::orders::{Completeness, word};
use super::row::{Row, check_name, check_time, not_readable};
use super::scan::Filter;
use super::{Archive, ArchiveError, OrderRow, manifest, wall_clock};
use crate::model::{Millis, Vocabulary, record};

pub(super) const CREATE: &str = "
    CREATE TABLE gaps (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        exchange TEXT NOT NULL,
        start INTEGER NOT NULL,
        \"end\" INTEGER NOT NULL,
        reason TEXT NOT NULL,
        recorded_at INTEGER NOT NULL,
        silent_from INTEGER NOT NULL,
        UNIQUE (exchange, start, \"end\", reason)
    ) STRICT;
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        exchange TEXT NOT NULL,
        completeness TEXT NOT NULL,
        started INTEGER NOT NULL,
        seen INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX runs_by_exchange ON runs (exchange, seen);";

/// The reason of a gap between two runs that nobody gave another reason for.
const SILENT: &str = "not listening";
/// The reason of a gap that a damaged file leaves.
pub(super) const DAMAGED: &str = "damaged file";

record! {
    /// A stretch of time in which orders of an exchange may have been missed.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Gap {
        /// Exchange, lower case.
        pub exchange: String,
        /// When it began.
        pub start: Millis,
        /// When it was over.
        pub end: Millis,
        /// Why, in a few words.
        pub reason: String,
        /// When it became known.
        pub recorded_at: Millis,
    }
}

/// The name of a stretch of listening, as [`Writer::begin_run`](super::Writer::begin_run) gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub(super) i64);

/// A stretch of time in which an exchange was listened to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// Exchange, lower case.
    pub exchange: String,
    /// Whether the channel tells every order.
    pub completeness: Completeness,
    /// When the listening began.
    pub started: Millis,
    /// Until when it is known to have gone on.
    pub seen: Millis,
}

/// How well one exchange is covered in a stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct VenueCoverage {
    /// Exchange, lower case.
    pub exchange: String,
    /// The least complete of the channels that were listened to.
    pub completeness: Completeness,
    /// Share of the stretch in which it was listened to and nothing is known to be missing; absent where nobody kept a
    /// record.
    pub connected_share: Option<f64>,
    /// Event time of its last order in the stretch.
    pub last_event: Option<Millis>,
    /// Known gaps that reach into the stretch.
    pub gaps: u64,
    /// Orders in the stretch.
    pub cnt: u64,
}

/// An exchange, how many orders it has, and the time of the last.
type Counted = (String, u64, Millis);

/// Refuses gaps that say nothing.
pub(super) fn check(gaps: &[Gap]) -> Result<(), ArchiveError> {
    gaps.iter().enumerate().try_for_each(|(row, gap)| {
        check_name("exchange", &gap.exchange)
            .and_then(|()| check_name("reason", &gap.reason))
            .and_then(|()| check_time("start", gap.start))
            .and_then(|()| check_time("end", gap.end))
            .and_then(|()| check_time("recorded_at", gap.recorded_at))
            .and_then(|()| {
                if gap.start < gap.end {
                    Ok(())
                } else {
                    Err(("end", format!("{} is not after {}", gap.end, gap.start)))
                }
            })
            .map_err(|(column, message)| ArchiveError::BadRow {
                table: "gaps",
                column,
                row,
                message,
            })
    })
}

/// Writes a gap down.
///
/// Beside it stands from when nobody had seen that its exchange was being listened to, at the time it was recorded:
/// whoever asked in between could not know of the gap, and knew of no listening either.
pub(super) fn add_gap(journal: &Connection, gap: &Gap) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO gaps (exchange, start, \"end\", reason, recorded_at, silent_from)
             VALUES (?1, ?2, ?3, ?4, ?5,
                     max(?2, coalesce((SELECT max(seen) FROM runs WHERE exchange = ?1 AND started <= ?5), ?2)))
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            gap.exchange,
            gap.start.0,
            gap.end.0,
            gap.reason,
            gap.recorded_at.0
        ])
        .map(drop)
}

/// Writes down a gap that may have been shorter when it was last written down; known it was since then.
pub(super) fn grow_gap(journal: &Connection, gap: &Gap) -> rusqlite::Result<()> {
    let known: Option<i64> = journal
        .prepare_cached(
            "DELETE FROM gaps WHERE exchange = ?1 AND start = ?2 AND \"end\" < ?3 AND reason = ?4
             RETURNING recorded_at",
        )?
        .query_row(
            params![gap.exchange, gap.start.0, gap.end.0, gap.reason],
            |row| row.get(0),
        )
        .optional()?;
    add_gap(
        journal,
        &Gap {
            recorded_at: known.map_or(gap.recorded_at, Millis),
            ..gap.clone()
        },
    )
}

/// Writes down that a run still goes on; it never moves back.
pub(super) fn extend(journal: &Connection, run: RunId, at: Millis) -> rusqlite::Result<()> {
    journal
        .prepare_cached("UPDATE runs SET seen = max(seen, ?2) WHERE id = ?1")?
        .execute([run.0, at.0])
        .map(drop)
}

/// Begins a run; the time since the exchange's last run is a gap, unless one is on record that covers it.
pub(super) fn begin(
    journal: &mut Connection,
    exchange: &str,
    completeness: Completeness,
    at: Millis,
) -> rusqlite::Result<RunId> {
    let transaction = journal.transaction()?;
    let seen: Option<i64> = transaction.query_row(
        "SELECT max(seen) FROM runs WHERE exchange = ?1",
        [exchange],
        |row| row.get(0),
    )?;
    if let Some(seen) = seen.filter(|seen| *seen < at.0) {
        let covered = transaction
            .query_row(
                "SELECT 1 FROM gaps WHERE exchange = ?1 AND start <= ?2 AND \"end\" >= ?3 LIMIT 1",
                params![exchange, seen, at.0],
                |_| Ok(()),
            )
            .optional()?
            .is_some();
        if !covered {
            add_gap(
                &transaction,
                &Gap {
                    exchange: exchange.to_owned(),
                    start: Millis(seen),
                    end: at,
                    reason: SILENT.to_owned(),
                    recorded_at: at,
                },
            )?;
        }
    }
    transaction.execute(
        "INSERT INTO runs (exchange, completeness, started, seen) VALUES (?1, ?2, ?3, ?3)",
        params![exchange, completeness.name(), at.0],
    )?;
    let run = RunId(transaction.last_insert_rowid());
    transaction.commit()?;
    Ok(run)
}

/// The gaps that reach into a stretch and were known at `as_of`.
fn gaps(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<Gap>> {
    journal
        .prepare_cached(
            "SELECT exchange, start, \"end\", reason, recorded_at FROM gaps
             WHERE start < ?2 AND \"end\" > ?1 AND recorded_at <= ?3
             ORDER BY start, exchange, \"end\", reason",
        )?
        .query_map([start.0, end.0, by(as_of)], |row| {
            Ok(Gap {
                exchange: row.get(0)?,
                start: Millis(row.get(1)?),
                end: Millis(row.get(2)?),
                reason: row.get(3)?,
                recorded_at: Millis(row.get(4)?),
            })
        })?
        .collect()
}

/// The stretches of which nobody knew at `as_of` that an exchange was being listened to, although its run went on later.
fn silences(
    journal: &Connection,
    start: Millis,
    end: Millis,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<(String, Millis, Millis)>> {
    journal
        .prepare_cached(
            "SELECT exchange, silent_from, \"end\" FROM gaps
             WHERE silent_from < ?2 AND \"end\" > ?1 AND recorded_at > ?3",
        )?
        .query_map([start.0, end.0, by(as_of)], |row| {
            Ok((row.get(0)?, Millis(row.get(1)?), Millis(row.get(2)?)))
        })?
        .collect()
}

/// The last instant at which something may have become known.
fn by(as_of: Option<Millis>) -> i64 {
    as_of.map_or(i64::MAX, |at| at.0)
}

fn runs(journal: &Connection, start: Millis, end: Millis) -> rusqlite::Result<Vec<Run>> {
    journal
        .prepare_cached(
            "SELECT id, exchange, completeness, started, seen FROM runs WHERE started < ?2 AND seen >= ?1
             ORDER BY started, id",
        )?
        .query_map([start.0, end.0], |row| {
            let completeness =
                word(row.get_ref(2)?.as_str()?).map_err(|source| not_readable(2, source))?;
            Ok(Run {
                id: RunId(row.get(0)?),
                exchange: row.get(1)?,
                completeness,
                started: Millis(row.get(3)?),
                seen: Millis(row.get(4)?),
            })
        })?
        .collect()
}

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
    /// The known gaps that reach into the time from `start` until before `end`, by their start.
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
        self.ask(|journal| gaps(journal, start, end, as_of))
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
        let (gaps, silences, runs, listened_to) = self.ask(|journal| {
            let listened_to = journal
                .prepare_cached("SELECT DISTINCT exchange FROM runs WHERE started <= ?1")?
                .query_map([by(as_of)], |row| row.get::<_, String>(0))?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            Ok((
                gaps(journal, start, end, as_of)?,
                silences(journal, start, end, as_of)?,
                runs(journal, start, end)?,
                listened_to,
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

/// How many rows of each exchange there are, and the time of the last.
pub(super) type Venues = BTreeMap<String, (i64, Millis)>;

/// The exchanges of rows that are from any.
pub(super) fn venues(rows: &[impl Row]) -> Venues {
    let mut venues = Venues::new();
    for row in rows {
        let Some(exchange) = row.exchange() else {
            continue;
        };
        if let Some(venue) = venues.get_mut(exchange) {
            venue.0 += 1;
            venue.1 = venue.1.max(row.timestamp());
        } else {
            venues.insert(exchange.to_owned(), (1, row.timestamp()));
        }
    }
    venues
}

/// Writes down how many rows of each exchange a file holds.
pub(super) fn list_venues(
    journal: &Connection,
    path: &str,
    venues: &Venues,
) -> rusqlite::Result<()> {
    let mut statement = journal.prepare_cached(
        "INSERT INTO part_venues (path, exchange, rows, last) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (exchange, (rows, last)) in venues {
        statement.execute(params![path, exchange, rows, last.0])?;
    }
    Ok(())
}

/// Writes down what a file of orders that is out of use leaves unknown.
pub(super) fn miss_part(
    journal: &Connection,
    path: &str,
    first: Millis,
    last: Millis,
) -> rusqlite::Result<()> {
    let exchanges = journal
        .prepare_cached("SELECT exchange FROM part_venues WHERE path = ?1")?
        .query_map([path], |row| row.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    for exchange in exchanges {
        add_gap(
            journal,
            &Gap {
                exchange,
                start: first,
                end: last.on(1),
                reason: DAMAGED.to_owned(),
                recorded_at: wall_clock(),
            },
        )?;
    }
    Ok(())
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
