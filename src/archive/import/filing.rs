//! Rows of the past on their way into the archive: those of days that are over go straight into files, past the journal,
//! those of days that are not into the journal, and all of them are there in one transaction, or none is.
//!
//! As in a roll the journal is the judge: a file's name stands in its list as *pending* before the file exists, and one
//! transaction turns every file of a lot into *kept*. What is there already, in a file or in the journal, is left as it was;
//! a row that is there with other values is handed back.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::archive::ArchiveError;
use crate::archive::batch::Batch;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Partition, SegmentEntry, SegmentState, Venues};
use crate::archive::catalog::stats;
use crate::archive::catalog::stats::StatsUpdate;
use crate::archive::clock::wall_clock;
use crate::archive::compaction::compactor::{HEAVY, of_fault};
use crate::archive::coverage::sessions;
use crate::archive::coverage::sessions::ImportedSession;
use crate::archive::files::SegmentStep;
use crate::archive::filter::Filter;
use crate::archive::integrity::segment_check;
use crate::archive::integrity::verify;
use crate::archive::journal::table;
use crate::archive::rows::key_index::KeyIndex;
use crate::archive::rows::row::{Fault, Row, check_name, check_time};
use crate::archive::scan::table_scan;
use crate::archive::segment::atomic_write::AtomicWrites;
use crate::archive::segment::parquet;
use crate::archive::segment::parquet::MOST;
use crate::archive::write_store::WriteStore;
use crate::model::{Cell, Column, FixedPoint, Millis, Value, Visitor};

/// Columns in which the same row may differ: when and how it came and was spelled, and not what happened.
const BESIDE: [&str; 7] = [
    "dedupe_key",
    "received_at",
    "completeness",
    "price_kind",
    "native_id",
    "raw",
    "group_id",
];

/// What became of rows that were handed in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filed {
    /// Rows that are new.
    pub new: u64,
    /// Rows that were there before and stayed as they were, and those that were handed in twice.
    pub repeated: u64,
    /// Rows that were not kept.
    pub unfit: Vec<Unfit>,
    /// Files written.
    pub parts: Vec<PathBuf>,
}

/// A row that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// `orders`, `bars`, `open_interest` or `positions`.
    pub table: &'static str,
    /// Its place among those that were handed in.
    pub row: usize,
    /// The column at fault.
    pub column: &'static str,
    /// What is wrong, with the value and what is allowed.
    pub message: String,
    /// Whether the archive has the row with other values.
    pub differs: bool,
}

/// Implements `Writer::file`.
pub(crate) fn file(
    writer: &mut WriteStore,
    rows: Batch,
    told: &[ImportedSession],
    until: Millis,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Filed>, ArchiveError> {
    file_observed(writer, rows, told, until, goes_on, &mut |_, _| ())
}

/// Implements `Writer::file_observed`.
pub(crate) fn file_observed(
    writer: &mut WriteStore,
    rows: Batch,
    told: &[ImportedSession],
    until: Millis,
    goes_on: &mut dyn FnMut() -> bool,
    done: &mut dyn FnMut(SegmentStep, &Path),
) -> Result<Option<Filed>, ArchiveError> {
    let mut filing = Filing::begin(writer, told, until, goes_on, done)?;
    let kept = filing.all(rows, told);
    filing.end(kept)
}

fn check_told(told: &ImportedSession) -> Result<(), Fault> {
    check_name("exchange", &told.exchange)?;
    check_time("started", told.start)?;
    check_time("seen", told.end)?;
    if told.start <= told.end {
        Ok(())
    } else {
        Err(("seen", format!("{} is before {}", told.end, told.start)))
    }
}

/// A file that is in its place and not in use yet.
struct Made {
    part: SegmentEntry,
    venues: Venues,
}

/// Files that are put into their places together: a wait for the disk is shared, and the next are made meanwhile.
const TOGETHER: usize = 32;

/// A file that is yet to be put into its place.
struct Ready {
    made: Made,
    relative: PathBuf,
    bytes: Vec<u8>,
}

/// A filing under way.
pub(crate) struct Filing<'a> {
    pub(crate) writer: &'a mut WriteStore,
    pub(crate) until: Millis,
    pub(crate) goes_on: &'a mut dyn FnMut() -> bool,
    done: &'a mut dyn FnMut(SegmentStep, &Path),
    ready: Vec<Ready>,
    placing: AtomicWrites,
    made: Vec<Made>,
    /// Rows of days that are not over.
    open: Batch,
    pub(crate) noted: StatsUpdate,
    pub(crate) filed: Filed,
}

/// Where a batch has rows of a kind.
pub(crate) type Kind<R> = fn(&mut Batch) -> &mut Vec<R>;

impl<'a> Filing<'a> {
    /// A filing of rows that tell of this time.
    pub(crate) fn begin(
        writer: &'a mut WriteStore,
        told: &[ImportedSession],
        until: Millis,
        goes_on: &'a mut dyn FnMut() -> bool,
        done: &'a mut dyn FnMut(SegmentStep, &Path),
    ) -> Result<Self, ArchiveError> {
        for (row, told) in told.iter().enumerate() {
            check_told(told).map_err(|(column, message)| ArchiveError::BadRow {
                table: "runs",
                column,
                row,
                message,
            })?;
        }
        Ok(Self {
            writer,
            until,
            goes_on,
            done,
            ready: Vec::new(),
            placing: AtomicWrites::default(),
            made: Vec::new(),
            open: Batch::default(),
            noted: StatsUpdate::default(),
            filed: Filed::default(),
        })
    }

    /// What became of the rows, where it came to the end; else what is not there yet goes.
    pub(crate) fn end(
        mut self,
        kept: Result<bool, ArchiveError>,
    ) -> Result<Option<Filed>, ArchiveError> {
        if matches!(kept, Ok(true)) {
            return Ok(Some(self.filed));
        }
        self.placing.give_up();
        // What is left of the files goes now, or when the archive is opened next. Whoever said that it is enough waits for no disk.
        let made = mem::take(&mut self.made);
        let made = made.iter().map(|made| made.part.path.as_str());
        let _ = self.writer.unlink(made);
        kept.map(|_| None)
    }

    /// Gives whether it came to the end.
    fn all(&mut self, rows: Batch, told: &[ImportedSession]) -> Result<bool, ArchiveError> {
        let went_on = self.kind(rows.orders, |open| &mut open.orders)?
            && self.kind(rows.bars, |open| &mut open.bars)?
            && self.kind(rows.open_interest, |open| &mut open.open_interest)?
            && self.kind(rows.positions, |open| &mut open.positions)?
            && (self.goes_on)();
        if went_on {
            self.commit(told)?;
        }
        Ok(went_on)
    }

    /// Takes rows of a kind; gives whether it came to the end.
    pub(crate) fn kind<R: Row>(
        &mut self,
        rows: Vec<R>,
        open: Kind<R>,
    ) -> Result<bool, ArchiveError> {
        let mut partitions: BTreeMap<Partition, usize> = BTreeMap::new();
        let mut counts: Vec<usize> = Vec::new();
        let mut numbers: Vec<Option<usize>> = Vec::with_capacity(rows.len());
        let mut latest: Option<(Partition, usize)> = None;
        for (place, row) in rows.iter().enumerate() {
            if let Err((column, message)) = row.check() {
                self.hand_back::<R>(place, column, message, false);
                numbers.push(None);
                continue;
            }
            let partition = Partition {
                day: manifest::Day::of(row.timestamp()),
                interval: row.interval(),
            };
            // Rows of a day stand together, most of them.
            let number = match latest {
                Some((of, number)) if of == partition => number,
                _ => *partitions.entry(partition).or_insert(counts.len()),
            };
            latest = Some((partition, number));
            numbers.push(Some(number));
            match counts.get_mut(number) {
                Some(count) => *count += 1,
                None => counts.push(1),
            }
        }
        // Each has the room it needs: rows are large, and are moved once.
        let mut divided: Vec<Vec<(usize, R)>> =
            counts.into_iter().map(Vec::with_capacity).collect();
        for (place, (row, number)) in rows.into_iter().zip(numbers).enumerate() {
            if let Some(rows) = number.and_then(|number| divided.get_mut(number)) {
                rows.push((place, row));
            }
        }
        for (partition, number) in partitions {
            let rows = divided.get_mut(number).map(mem::take).unwrap_or_default();
            if !self.partition(partition, rows, open)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Takes sound rows of a partition, each with its place among those that were handed in; gives whether it came to the
    /// end.
    pub(crate) fn partition<R: Row>(
        &mut self,
        partition: Partition,
        rows: Vec<(usize, R)>,
        open: Kind<R>,
    ) -> Result<bool, ArchiveError> {
        if !(self.goes_on)() {
            return Ok(false);
        }
        let new = self.new_ones(partition, rows)?;
        self.noted.take(&new);
        if partition.day.end() > self.until {
            open(&mut self.open).extend(new);
            return Ok(true);
        }
        for lot in lots(new) {
            if !(self.goes_on)() {
                return Ok(false);
            }
            let (relative, path) = self.named::<R>(partition);
            let bytes = parquet::bytes(&lot).map_err(|fault| of_fault(&path, fault))?;
            let part = SegmentEntry::of(&lot, partition, &relative, &bytes);
            self.part(part, manifest::venues(&lot), relative, bytes)?;
        }
        Ok(true)
    }

    /// Hands back a row that is not kept.
    pub(crate) fn hand_back<R: Row>(
        &mut self,
        row: usize,
        column: &'static str,
        message: String,
        differs: bool,
    ) {
        self.filed.unfit.push(Unfit {
            table: R::TABLE,
            row,
            column,
            message,
            differs,
        });
    }

    /// Those of the rows of a partition that the archive does not have.
    fn new_ones<R: Row>(
        &mut self,
        partition: Partition,
        rows: Vec<(usize, R)>,
    ) -> Result<Vec<R>, ArchiveError> {
        let there = self.there::<R>(partition)?;
        let mut known = KeyIndex::with_capacity(there.len() + rows.len());
        for row in &there {
            known.add(known.hash(row));
        }
        let mut new: Vec<R> = Vec::with_capacity(rows.len());
        for (place, row) in rows {
            let hash = known.hash(&row);
            let before = known
                .of(hash)
                .filter_map(|place| {
                    there
                        .get(place)
                        .or_else(|| new.get(place.checked_sub(there.len())?))
                })
                .find(|before| before.has_key_of(&row));
            // Two spellings that are handed in together are two contracts.
            let before = before.or_else(|| {
                let mut there = known.of(hash).filter_map(|place| there.get(place));
                there.find(|before| before.is_spelled_otherwise(&row))
            });
            let Some(before) = before else {
                known.add(hash);
                new.push(row);
                continue;
            };
            if content(before) == content(&row) {
                self.filed.repeated += 1;
            } else {
                let (symbol, at) = (row.symbol(), row.timestamp());
                let message = format!("the archive has {symbol} at {at} with other values");
                self.hand_back::<R>(place, R::COIN, message, true);
            }
        }
        self.filed.new += u64::try_from(new.len()).unwrap_or(u64::MAX);
        Ok(new)
    }

    /// The rows of a partition that are there. A damaged file is set aside, so that its rows can be kept anew.
    fn there<R: Row>(&mut self, partition: Partition) -> Result<Vec<R>, ArchiveError> {
        let day = partition.day;
        let parts = self
            .writer
            .store
            .ask(|journal| manifest::of_day(journal, R::TABLE, day, SegmentState::Active))?;
        for part in parts {
            if part.partition == partition
                && let Some(reason) = segment_check::fault_of(&self.writer.store, &part)?
            {
                verify::quarantine_segment(self.writer, &part, &reason)?;
            }
        }
        let mut rows = table_scan::read_day::<R>(&self.writer.store, day, &Filter::default())?.rows;
        rows.retain(|row| row.interval() == partition.interval);
        Ok(rows)
    }

    /// The name of a new file of a partition below the archive's folder, and its path.
    pub(crate) fn named<R: Row>(&self, partition: Partition) -> (PathBuf, PathBuf) {
        let relative = partition
            .folder::<R>()
            .join(format!("part-{}.parquet", Uuid::now_v7()));
        let path = self.writer.store.path().join(&relative);
        (relative, path)
    }

    /// Puts a file into its place, with others.
    pub(crate) fn part(
        &mut self,
        part: SegmentEntry,
        venues: Venues,
        relative: PathBuf,
        bytes: Vec<u8>,
    ) -> Result<(), ArchiveError> {
        self.ready.push(Ready {
            made: Made { part, venues },
            relative,
            bytes,
        });
        if self.ready.len() >= TOGETHER {
            self.place()?;
        }
        Ok(())
    }

    /// Begins to put the files that are ready into their places.
    fn place(&mut self) -> Result<(), ArchiveError> {
        let ready = mem::take(&mut self.ready);
        if ready.is_empty() {
            return Ok(());
        }
        let base = self.writer.store.path().to_owned();
        let now = wall_clock();
        self.writer.change(|journal| {
            let transaction = journal.transaction()?;
            for one in &ready {
                manifest::intend(&transaction, &one.made.part, now)?;
            }
            transaction.commit()
        })?;
        let mut files = Vec::with_capacity(ready.len());
        for Ready {
            made,
            relative,
            bytes,
        } in ready
        {
            self.made.push(made);
            (self.done)(SegmentStep::Intended, &base.join(&relative));
            files.push((relative, bytes));
        }
        let files: Vec<(&Path, &[u8])> = files
            .iter()
            .map(|(relative, bytes)| (relative.as_path(), bytes.as_slice()))
            .collect();
        self.placing.write(&base, &files, self.done)
    }

    /// Lets everything be there.
    pub(crate) fn commit(&mut self, told: &[ImportedSession]) -> Result<(), ArchiveError> {
        self.place()?;
        self.placing.finish(self.done)?;
        let (made, open, noted) = (&self.made, &self.open, &self.noted);
        if made.is_empty() && open.is_empty() && told.is_empty() {
            return Ok(());
        }
        self.writer.change(|journal| {
            let transaction = journal.transaction()?;
            for Made { part, venues } in made {
                manifest::mark(&transaction, &part.path, SegmentState::Active, None)?;
                manifest::list_venues(&transaction, &part.path, venues)?;
                stats::skip_ids(&transaction, &part.holds, part.rows)?;
            }
            table::insert(&transaction, &open.orders)?;
            table::insert(&transaction, &open.bars)?;
            table::insert(&transaction, &open.open_interest)?;
            table::insert(&transaction, &open.positions)?;
            noted.write(&transaction)?;
            for told in told {
                sessions::add_imported(&transaction, told)?;
            }
            transaction.commit()
        })?;
        self.open = Batch::default();
        self.noted = StatsUpdate::default();
        for Made { part, .. } in mem::take(&mut self.made) {
            let path = self.writer.store.path().join(&part.path);
            (self.done)(SegmentStep::Committed, &path);
            self.filed.parts.push(path);
        }
        Ok(())
    }
}

/// Rows as they are divided into files, each in its order.
pub(crate) fn lots<R: Row>(mut rows: Vec<R>) -> Vec<Vec<R>> {
    R::sort_for_file(&mut rows);
    if rows.is_empty() {
        return Vec::new();
    }
    if u64::try_from(rows.len()).is_ok_and(|rows| rows <= HEAVY) {
        return vec![rows];
    }
    let mut apart: BTreeMap<String, Vec<R>> = BTreeMap::new();
    for row in rows {
        match apart.get_mut(row.exchange().unwrap_or_default()) {
            Some(rows) => rows.push(row),
            None => {
                apart.insert(row.exchange().unwrap_or_default().to_owned(), vec![row]);
            }
        }
    }
    let mut lots = Vec::new();
    for mut rows in apart.into_values() {
        while rows.len() > MOST {
            let rest = rows.split_off(MOST);
            lots.push(mem::replace(&mut rows, rest));
        }
        lots.push(rows);
    }
    lots
}

/// A number for what a row tells, the same for the same.
fn content<R: Row>(row: &R) -> u64 {
    let mut telling = Telling {
        row,
        hasher: DefaultHasher::new(),
    };
    match R::visit(&mut telling) {
        Ok(()) => telling.hasher.finish(),
        Err(never) => match never {},
    }
}

struct Telling<'a, R> {
    row: &'a R,
    hasher: DefaultHasher,
}

impl<R: Row> Visitor<R> for Telling<'_, R> {
    type Fault = Infallible;

    fn column<T: Value>(
        &mut self,
        column: &'static Column,
        of: impl Fn(&R) -> &T,
    ) -> Result<(), Infallible> {
        if BESIDE.contains(&column.name) {
            return Ok(());
        }
        match of(self.row).cell() {
            Cell::Absent => {}
            Cell::Text(text) => text.hash(&mut self.hasher),
            Cell::Side(side) => side.hash(&mut self.hasher),
            // What was checked fits; the same number has the same units.
            Cell::Decimal(value) => FixedPoint::of(value)
                .ok()
                .map(|value| value.0)
                .hash(&mut self.hasher),
            Cell::Float(value) => value.to_bits().hash(&mut self.hasher),
            Cell::Int(value) => value.hash(&mut self.hasher),
            Cell::Time(at) => at.hash(&mut self.hasher),
            Cell::Bool(truth) => truth.hash(&mut self.hasher),
        }
        Ok(())
    }
}
