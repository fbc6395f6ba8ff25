//! Merges several archives into a new one.
//!
//! Each row is stored once, and a time range is covered if any of the archives covers it. The segments of a day that
//! only one archive has are hard-linked. A day that several archives have is merged by key and written to new segments.
//! Orders of different sources are merged by their values. Of several rows of one event, the row that was received first is stored. A read as of an instant therefore
//! returns all rows that any archive contained at that instant. The list of ingests is not copied, so no row of a
//! merged archive can be undone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use rusqlite::params;

use crate::archive::ArchiveError;
use crate::archive::catalog::file_versions::Generation;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, Partition, SegmentEntry, SegmentState};
use crate::archive::catalog::manifest_entry;
use crate::archive::catalog::manifest_entry::Listed;
use crate::archive::catalog::stats;
use crate::archive::clock::wall_clock;
use crate::archive::compaction::compactor::{HEAVY, MOST_BYTES, of_fault};
use crate::archive::coverage::intervals;
use crate::archive::coverage::report;
use crate::archive::coverage_log::events;
use crate::archive::coverage_log::events::{
    Counter, CounterKind, GapOutcome, Measurement, TopicGap,
};
use crate::archive::coverage_log::sessions;
use crate::archive::coverage_log::sessions::{Gap, GapHistory, Session};
use crate::archive::files;
use crate::archive::filter::{Filter, MemoryBudget};
use crate::archive::integrity::segment_check;
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::key_index::KeyIndex;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::rows::totals::TotalRow;
use crate::archive::scan::table_scan;
use crate::archive::segment::atomic_write::place;
use crate::archive::segment::parquet;
use crate::archive::segment::parquet::MOST;
use crate::archive::sql::table;
use crate::archive::store::store::Store;
use crate::archive::store::write_store::WriteStore;
use crate::model::{Millis, TimeRange, Vocabulary, sort_small};

/// An archive to merge, with its coverage records.
struct MergeSource<'a> {
    archive: &'a Store,
    sessions: Vec<Session>,
    /// All gaps that were ever recorded.
    gaps: Vec<(Gap, GapHistory)>,
    /// All gaps that reduce coverage, including those of damaged segments.
    missed: Vec<Gap>,
    topic_gaps: Vec<TopicGap>,
    outcomes: Vec<GapOutcome>,
    counters: Vec<Counter>,
    measurements: Vec<Measurement>,
}

/// Implements `Archive::merge`.
pub(crate) fn merge(
    archives: &[&Store],
    into: &Path,
    goes_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<bool, ArchiveError> {
    let sources = archives
        .iter()
        .map(|archive| MergeSource::of(archive))
        .collect::<Result<Vec<_>, _>>()?;
    let mut writer = WriteStore::create_or_open(into)?;
    let mut days = 0;
    days += count::<OrderRow>(&sources)?;
    days += count::<BarRow>(&sources)?;
    days += count::<OpenInterestRow>(&sources)?;
    days += count::<MapRow>(&sources)?;
    days += count::<PositionRow>(&sources)?;
    days += count::<TotalRow>(&sources)?;
    let mut merge = Merge {
        sources: &sources,
        writer: &mut writer,
        done: 0,
        days,
        goes_on,
    };
    let whole = merge.kind::<OrderRow>()?
        && merge.kind::<BarRow>()?
        && merge.kind::<OpenInterestRow>()?
        && merge.kind::<MapRow>()?
        && merge.kind::<PositionRow>()?
        && merge.kind::<TotalRow>()?;
    merge.lists()?;
    Ok(whole)
}

impl<'a> MergeSource<'a> {
    fn of(archive: &'a Store) -> Result<Self, ArchiveError> {
        let TimeRange { start, end } = TimeRange::ALL;
        let gaps = archive.ask(sessions::all_gaps)?;
        Ok(Self {
            archive,
            sessions: report::sessions(archive, start, end)?,
            gaps,
            missed: report::gaps(archive, start, end)?,
            topic_gaps: report::topic_gaps(archive, start, end, None)?,
            outcomes: report::outcomes(archive, start, end, None)?,
            counters: archive.ask(|journal| events::daily_counters(journal, start, end))?,
            measurements: archive.ask(|journal| events::all_measurements(journal, end))?,
        })
    }

    /// Time ranges in which the exchange was connected and has no gap.
    fn connected(&self, exchange: &str) -> Vec<TimeRange> {
        let sessions = self
            .sessions
            .iter()
            .filter(|session| session.exchange == exchange);
        let sessions: Vec<TimeRange> = sessions
            .map(|session| TimeRange::new(session.started, session.seen))
            .collect();
        let missed = self.missed.iter().filter(|gap| gap.exchange == exchange);
        let missed: Vec<TimeRange> = missed
            .map(|gap| TimeRange::new(gap.start, gap.end))
            .collect();
        intervals::without(&sessions, &missed)
    }

    /// Time ranges in which the exchange was connected and the topic has no gap.
    fn topic_connected(&self, exchange: &str, topic: &str) -> Vec<TimeRange> {
        let missed = self.topic_gaps.iter();
        let missed: Vec<TimeRange> = missed
            .filter(|gap| gap.exchange == exchange && gap.topic == topic)
            .map(|gap| TimeRange::new(gap.start, gap.end))
            .collect();
        intervals::without(&self.connected(exchange), &missed)
    }
}

/// Journal rows of a day, and its segments.
fn journal_rows<R: Row>(from: &Store, day: Day) -> Result<(Vec<R>, Vec<Listed>), ArchiveError> {
    let (range, all) = ((day.start(), day.end()), Filter::default());
    let mut room = MemoryBudget::unlimited();
    table_scan::journal_rows::<R, _>(from, range, &all, &mut room, |journal| {
        manifest_entry::of_day(journal, R::TABLE, day)
    })
}

/// Days with rows, each with the indexes of the archives that have rows of the day.
fn days<R: Row>(sources: &[MergeSource<'_>]) -> Result<BTreeMap<Day, Vec<usize>>, ArchiveError> {
    let mut days: BTreeMap<Day, Vec<usize>> = BTreeMap::new();
    for (place, source) in sources.iter().enumerate() {
        for day in table_scan::days_with_rows::<R>(source.archive, &Filter::default())? {
            days.entry(day).or_default().push(place);
        }
    }
    Ok(days)
}

fn count<R: Row>(sources: &[MergeSource<'_>]) -> Result<usize, ArchiveError> {
    Ok(days::<R>(sources)?.len())
}

/// A merge in progress.
struct Merge<'a> {
    sources: &'a [MergeSource<'a>],
    writer: &'a mut WriteStore,
    done: usize,
    days: usize,
    goes_on: &'a mut dyn FnMut(usize, usize) -> bool,
}

impl Merge<'_> {
    /// Merges one table day by day; returns false if `goes_on` stopped it.
    fn kind<R: Row>(&mut self) -> Result<bool, ArchiveError> {
        for (day, owners) in days::<R>(self.sources)? {
            if !(self.goes_on)(self.done, self.days) {
                return Ok(false);
            }
            let sources: Vec<&Store> = owners
                .iter()
                .filter_map(|place| self.sources.get(*place).map(|source| source.archive))
                .collect();
            match sources.as_slice() {
                [alone] => self.take_over::<R>(alone, day)?,
                several => self.join::<R>(several, day)?,
            }
            self.done += 1;
        }
        Ok(true)
    }

    /// Adopts a day of which only one archive has rows.
    ///
    /// Links the segments of the day and copies its journal rows.
    fn take_over<R: Row>(&mut self, from: &Store, day: Day) -> Result<(), ArchiveError> {
        let (rows, mut listed) = journal_rows::<R>(from, day)?;
        for line in &mut listed {
            line.part.ingest = None;
            if line.state == SegmentState::Active {
                link(from.path(), self.writer.store.path(), &line.part.path)?;
            }
        }
        self.writer.change(|journal| {
            let transaction = journal.transaction()?;
            for line in &listed {
                manifest_entry::add(&transaction, line)?;
            }
            table::insert(&transaction, &rows)?;
            transaction.commit()
        })
    }

    /// Merges a day of which several archives have rows.
    fn join<R: Row>(&mut self, several: &[&Store], day: Day) -> Result<(), ArchiveError> {
        let mut total = 0;
        let mut exchanges = BTreeSet::new();
        for archive in several {
            let (journaled, listed) = journal_rows::<R>(archive, day)?;
            for line in &listed {
                total += line.part.rows;
                exchanges.extend(line.venues.keys().cloned());
            }
            total += u64::try_from(journaled.len()).unwrap_or(u64::MAX);
            exchanges.extend(
                journaled
                    .iter()
                    .filter_map(|row| row.exchange().map(str::to_owned)),
            );
        }
        // A day with many rows is merged exchange by exchange, so that only the rows of one exchange are in memory.
        let lots: Vec<Option<String>> = if total <= 4 * HEAVY || exchanges.is_empty() {
            vec![None]
        } else {
            exchanges.into_iter().map(Some).collect()
        };
        for exchange in lots {
            let filter = Filter {
                exchange,
                ..Filter::default()
            };
            let mut first: HashMap<String, R> = HashMap::new();
            for archive in several {
                add_rows(
                    &mut first,
                    table_scan::read_day::<R>(archive, day, &filter)?.rows,
                );
            }
            self.write(day, first.into_values().collect())?;
        }
        // The new manifest lists damaged segments as quarantined.
        for archive in several {
            for mut line in archive.ask(|journal| manifest_entry::of_day(journal, R::TABLE, day))? {
                if let Some(reason) = line
                    .part
                    .reason
                    .clone()
                    .or(segment_check::fault_of(archive, &line.part)?)
                {
                    line.part.reason = Some(reason);
                    line.part.ingest = None;
                    line.state = SegmentState::Quarantined;
                    self.writer.change(|journal| {
                        let transaction = journal.transaction()?;
                        manifest_entry::add(&transaction, &line)?;
                        transaction.commit()
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Writes rows of a day to segments.
    fn write<R: Row>(&mut self, day: Day, mut rows: Vec<R>) -> Result<(), ArchiveError> {
        R::sort_for_file(&mut rows);
        let mut partitions: BTreeMap<i64, Vec<R>> = BTreeMap::new();
        for row in rows {
            partitions.entry(row.interval()).or_default().push(row);
        }
        for (interval, rows) in partitions {
            let mut rest = rows.as_slice();
            while !rest.is_empty() {
                let (some, more) = rest.split_at(fitting(rest));
                self.part(Partition { day, interval }, some)?;
                rest = more;
            }
        }
        Ok(())
    }

    fn part<R: Row>(&mut self, partition: Partition, rows: &[R]) -> Result<(), ArchiveError> {
        let base = self.writer.store.path().to_owned();
        let folder = base.join(partition.folder::<R>());
        let bytes = parquet::bytes(rows).map_err(|fault| of_fault(&folder, fault))?;
        let part = SegmentEntry::of(rows, partition, &bytes);
        place(&base, Path::new(&part.path), &bytes, &mut |_, _| ())?;
        let line = Listed {
            part,
            state: SegmentState::Active,
            rolled_at: wall_clock(),
            venues: manifest::venues(rows),
            generation: Generation::default(),
        };
        self.writer.change(|journal| {
            let transaction = journal.transaction()?;
            manifest_entry::add(&transaction, &line)?;
            transaction.commit()
        })
    }

    /// Merges the sessions, gaps, coins and newest instants of the archives.
    fn lists(&mut self) -> Result<(), ArchiveError> {
        let mut gaps: Vec<(Gap, GapHistory)> = Vec::new();
        for (place, source) in self.sources.iter().enumerate() {
            for (gap, history) in &source.gaps {
                let others: Vec<TimeRange> = (self.sources.iter().enumerate())
                    .filter(|(other, _)| *other != place)
                    .flat_map(|(_, other)| other.connected(&gap.exchange))
                    .collect();
                let missing = [TimeRange::new(gap.start, gap.end)];
                for TimeRange { start, end } in intervals::without(&missing, &others) {
                    let gap = Gap {
                        start,
                        end,
                        ..gap.clone()
                    };
                    let history = GapHistory {
                        silent_from: start.max(history.silent_from),
                        ..*history
                    };
                    gaps.push((gap, history));
                }
            }
        }
        sort_small(&mut gaps, |(one, _), (other, _)| {
            one.recorded_at.cmp(&other.recorded_at)
        });
        let mut sessions: Vec<&Session> = self
            .sources
            .iter()
            .flat_map(|source| &source.sessions)
            .collect();
        sort_small(&mut sessions, |one, other| one.started.cmp(&other.started));
        let topic_gaps = self.topic_gaps();
        let counters = self.counters();
        let sources = self.sources;
        let mut coins = Vec::new();
        let (mut newest, mut closed) = (None, None);
        for source in self.sources {
            coins.extend(source.archive.ask(|journal| stats::coins(journal, None))?);
            newest = newest.max(source.archive.ask(stats::known)?.newest);
            closed = closed.max(source.archive.ask(stats::closed)?);
        }
        self.writer.change(|journal| {
            let transaction = journal.transaction()?;
            for session in sessions {
                transaction.execute(
                    "INSERT INTO sessions (exchange, completeness, started, seen, known_at, late)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    params![
                        session.exchange,
                        session.completeness.name(),
                        session.started.0,
                        session.seen.0,
                        session.known_at.0,
                        session.late
                    ],
                )?;
            }
            for (gap, history) in &gaps {
                sessions::add_gap_as(&transaction, gap, *history)?;
            }
            for coin in &coins {
                stats::note_coin(
                    &transaction,
                    &coin.symbol,
                    coin.known_from.0,
                    coin.last_close.0,
                )?;
            }
            for gap in &topic_gaps {
                events::add_topic_gap(&transaction, gap)?;
            }
            for outcome in sources.iter().flat_map(|source| &source.outcomes) {
                events::add_outcome(&transaction, outcome)?;
            }
            for counter in counters.values() {
                events::add_counter(&transaction, counter)?;
            }
            for measurement in sources.iter().flat_map(|source| &source.measurements) {
                events::add_measurement(&transaction, measurement)?;
            }
            let series = stats::known(&transaction)?.series;
            stats::begin_as(&transaction, series, newest, closed)?;
            transaction.commit()
        })
    }
}

impl Merge<'_> {
    /// Parts of topic gaps that no other archive covers.
    fn topic_gaps(&self) -> Vec<TopicGap> {
        let mut gaps = Vec::new();
        for (place, source) in self.sources.iter().enumerate() {
            for gap in &source.topic_gaps {
                let others: Vec<TimeRange> = (self.sources.iter().enumerate())
                    .filter(|(other, _)| *other != place)
                    .flat_map(|(_, other)| other.topic_connected(&gap.exchange, &gap.topic))
                    .collect();
                let missing = [TimeRange::new(gap.start, gap.end)];
                for TimeRange { start, end } in intervals::without(&missing, &others) {
                    gaps.push(TopicGap {
                        start,
                        end,
                        ..gap.clone()
                    });
                }
            }
        }
        gaps
    }

    /// Merges the daily counters.
    ///
    /// Takes the largest count of each day, because redundant collectors count the same events.
    fn counters(&self) -> BTreeMap<(String, Millis, CounterKind), Counter> {
        let mut most: BTreeMap<(String, Millis, CounterKind), Counter> = BTreeMap::new();
        for counter in self.sources.iter().flat_map(|source| &source.counters) {
            let key = (counter.exchange.clone(), counter.at, counter.kind);
            let known = most.entry(key).or_insert_with(|| counter.clone());
            known.count = known.count.max(counter.count);
        }
        most
    }
}

/// Adds the rows of an archive to those of the archives before it, by key.
///
/// Of two rows with one key, or of two sources with the same values, the row that was received first stays. Sources are
/// matched by count, as in an import.
fn add_rows<R: Row>(first: &mut HashMap<String, R>, rows: Vec<R>) {
    let mut events = KeyIndex::with_capacity(0);
    let mut before: Vec<Option<String>> = Vec::new();
    if R::HAS_SOURCES {
        for (key, row) in &*first {
            events.add(events.hash_event(row));
            before.push(Some(key.clone()));
        }
    }
    let known: BTreeSet<String> = rows.iter().map(Row::key).collect();
    for row in rows {
        let key = row.key();
        let mut same = first.contains_key(&key).then(|| key.clone());
        if same.is_none() && R::HAS_SOURCES {
            let place = events.of(events.hash_event(&row)).find(|place| {
                let other = before.get(*place).and_then(Option::as_ref);
                other.is_some_and(|other| {
                    !known.contains(other)
                        && first
                            .get(other)
                            .is_some_and(|other| other.is_same_event(&row, false))
                })
            });
            same = place.and_then(|place| before.get_mut(place)?.take());
        }
        match same {
            None => drop(first.insert(key, row)),
            Some(same) => {
                if first
                    .get(&same)
                    .is_some_and(|known| row.received_at() < known.received_at())
                {
                    first.remove(&same);
                    first.insert(key, row);
                }
            }
        }
    }
}

/// Number of leading rows that fit into one segment; at least 1.
fn fitting<R: Row>(rows: &[R]) -> usize {
    let mut taken = 0_usize;
    let fit = rows.iter().take(MOST).take_while(|row| {
        let room = taken < MOST_BYTES;
        taken = taken.saturating_add(row.weight());
        room
    });
    fit.count().max(1)
}

/// Hard-links a segment into another archive, or copies it if a hard link is impossible.
///
/// A missing segment is skipped; checks of the new archive report it as damaged.
fn link(from: &Path, into: &Path, segment: &str) -> Result<(), ArchiveError> {
    let moved = files::superseded(segment);
    let is_moved = fs::symlink_metadata(from.join(segment)).is_err();
    let relative = Path::new(if is_moved { moved.as_str() } else { segment });
    files::refuse_link(from, relative)?;
    let (from, to) = (from.join(relative), into.join(relative));
    if let Some(folder) = to.parent() {
        files::make_folder(into, folder)?;
    }
    let made = fs::hard_link(&from, &to).or_else(|fault| match fault.kind() {
        std::io::ErrorKind::NotFound => Err(fault),
        _ => fs::copy(&from, &to).map(drop),
    });
    match made {
        Err(fault) if fault.kind() != std::io::ErrorKind::NotFound => {
            Err(ArchiveError::of_file(&to, fault))
        }
        _ => Ok(()),
    }
}
