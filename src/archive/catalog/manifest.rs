//! The manifest: the list of Parquet segments, with the contents of each.
//!
//! A partition is the rows of one table and day and, for bars, of one bar length; its segments lie in one folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use rusqlite::{Connection, params};
use uuid::{Builder, Uuid};

use crate::archive::catalog::file_versions;
use crate::archive::checksums::file_checksum::{checksum, checksum_of};
use crate::archive::clock::wall_clock;
use crate::archive::files;
use crate::archive::filter::Filter;
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::maps::MapRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::rows::totals::TotalRow;
use crate::archive::sql::table::not_readable;
use crate::model::Millis;

pub(crate) const CREATE: &str = "
    CREATE TABLE manifest (
        path TEXT PRIMARY KEY,
        holds TEXT NOT NULL,
        day INTEGER NOT NULL,
        interval INTEGER NOT NULL,
        state TEXT NOT NULL,
        rows INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL,
        rolled_at INTEGER NOT NULL,
        reason TEXT,
        ingest TEXT
    ) STRICT;
    CREATE INDEX manifest_by_day ON manifest (holds, day);
    CREATE TABLE part_venues (
        path TEXT NOT NULL REFERENCES manifest (path) ON DELETE CASCADE,
        exchange TEXT NOT NULL,
        rows INTEGER NOT NULL,
        last INTEGER NOT NULL,
        PRIMARY KEY (path, exchange)
    ) STRICT;";

/// State of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentState {
    /// The segment is being written and is not read yet.
    Pending,
    /// The segment is complete; reads use it unless it was superseded.
    Active,
    /// The segment is damaged; reads do not use it.
    Quarantined,
}

impl SegmentState {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Active => "active",
            Self::Quarantined => "quarantined",
        }
    }
}

/// A UTC day, as the number of days since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Day(pub(crate) i64);

impl Day {
    pub(crate) fn of(at: Millis) -> Self {
        Self(at.0.div_euclid(Millis::DAY))
    }

    pub(crate) fn start(self) -> Millis {
        Millis(self.0.saturating_mul(Millis::DAY))
    }

    pub(crate) fn end(self) -> Millis {
        self.start().on(Millis::DAY)
    }

    /// The date in ISO format, such as `2026-11-20`.
    pub(crate) fn name(self) -> String {
        self.start().to_string().chars().take(10).collect()
    }
}

/// A partition: one day and, for bars and totals, one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Partition {
    pub(crate) day: Day,
    /// Length of the bars or periods in milliseconds; 0 for other rows.
    pub(crate) interval: i64,
}

impl Partition {
    /// Path of the partition's folder, relative to the archive's folder, with `/` between names.
    pub(crate) fn folder<R: Row>(self) -> String {
        let interval = if R::HAS_INTERVAL {
            format!("interval={}/", interval_name(self.interval))
        } else {
            String::new()
        };
        format!("{}/{interval}date={}", R::TABLE, self.day.name())
    }
}

/// Name of a bar length in a folder name: `1m`, `4h`, `1d`.
fn interval_name(interval: i64) -> String {
    for (unit, name) in [
        (Millis::DAY, "d"),
        (Millis::HOUR, "h"),
        (Millis::MINUTE, "m"),
    ] {
        if interval % unit == 0 {
            return format!("{}{name}", interval / unit);
        }
    }
    format!("{interval}ms")
}

/// Bar length in a segment's path; 0 for rows without a length.
pub(crate) fn interval_in<R: Row>(path: &str) -> Option<i64> {
    if !R::HAS_INTERVAL {
        return Some(0);
    }
    let name = path
        .split('/')
        .find_map(|name| name.strip_prefix("interval="))?;
    let (digits, unit) = [
        ("ms", 1),
        ("d", Millis::DAY),
        ("h", Millis::HOUR),
        ("m", Millis::MINUTE),
    ]
    .into_iter()
    .find_map(|(ending, unit)| Some((name.strip_suffix(ending)?, unit)))?;
    digits.parse::<i64>().ok()?.checked_mul(unit)
}

/// An entry of the manifest: one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SegmentEntry {
    /// Path relative to the archive's folder, with `/` between names.
    pub(crate) path: String,
    pub(crate) holds: String,
    pub(crate) partition: Partition,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    pub(crate) first: Millis,
    pub(crate) last: Millis,
    /// Why the segment is quarantined, if it is.
    pub(crate) reason: Option<String>,
    /// Id of the ingest that stored the rows; `None` for collected rows.
    pub(crate) ingest: Option<String>,
}

impl SegmentEntry {
    /// Creates the entry of a new segment. Its content is `bytes`, which encode `rows`.
    pub(crate) fn of<R: Row>(rows: &[R], partition: Partition, bytes: &[u8]) -> Self {
        Self::holding::<R>(rows.len(), ends(rows), partition, bytes)
    }

    /// Creates the entry of an existing segment, if `path` is that of a segment with these rows.
    pub(crate) fn found<R: Row>(rows: &[R], path: &str, bytes: &[u8]) -> Option<Self> {
        let first = rows.first()?;
        let partition = Partition {
            day: Day::of(first.timestamp()),
            interval: first.interval(),
        };
        let entry = Self {
            path: path.to_owned(),
            ..Self::of(rows, partition, bytes)
        };
        id_of(path, R::TABLE, partition).map(|_| entry)
    }

    /// When the segment was written, according to its name.
    pub(crate) fn written_at(&self) -> Millis {
        id_of(&self.path, &self.holds, self.partition).map_or(Millis::default(), written_at)
    }

    /// End of the time range of the rows, exclusive. For bars, this is the close time of the last bar.
    pub(crate) fn end(&self) -> Millis {
        self.last.on(self.partition.interval.max(1))
    }

    /// Whether a row of the segment may be in the time range of a filter.
    pub(crate) fn may_match(&self, filter: &Filter) -> bool {
        filter.start.is_none_or(|start| self.last >= start)
            && filter.end.is_none_or(|end| self.first < end)
    }

    /// As [`SegmentEntry::of`], for rows that are not available as values.
    ///
    /// Takes the number of rows and the times of the first and the last row instead.
    pub(crate) fn holding<R: Row>(
        rows: usize,
        (first, last): (Millis, Millis),
        partition: Partition,
        bytes: &[u8],
    ) -> Self {
        let sha256 = checksum(bytes);
        let id = segment_id(wall_clock(), &sha256);
        Self {
            path: format!("{}/part-{id}.parquet", partition.folder::<R>()),
            holds: R::TABLE.to_owned(),
            partition,
            rows: u64::try_from(rows).unwrap_or(u64::MAX),
            bytes: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
            sha256,
            first,
            last,
            reason: None,
            ingest: None,
        }
    }
}

/// Times of the first and the last row.
fn ends<R: Row>(rows: &[R]) -> (Millis, Millis) {
    let times = || rows.iter().map(Row::timestamp);
    times().min().zip(times().max()).unwrap_or_default()
}

/// Identifier of a segment, from the time in milliseconds and the first digits of the SHA-256 of its file.
///
/// The name of a file thus verifies its content, also if the journal is lost.
fn segment_id(at: Millis, sha256: &str) -> Uuid {
    let digits = sha256.get(..20).unwrap_or_default();
    let digest = u128::from_str_radix(digits, 16).unwrap_or_default();
    let at = u128::try_from(at.0).unwrap_or_default();
    Builder::from_custom_bytes((at << 80 | digest).to_be_bytes()).into_uuid()
}

/// Identifier in the file name of a segment; `None` for another file.
pub(crate) fn id_in_name(path: &Path) -> Option<Uuid> {
    let id = path.file_name()?.to_str()?.strip_prefix("part-")?;
    Uuid::try_parse(id.strip_suffix(".parquet")?).ok()
}

/// Whether the name of a segment stands for a file with this SHA-256.
pub(crate) fn is_named_after(path: &Path, sha256: &str) -> bool {
    id_in_name(path).is_some_and(|id| id == segment_id(written_at(id), sha256))
}

/// Time in the identifier of a segment.
fn written_at(id: Uuid) -> Millis {
    Millis(i64::try_from(id.as_u128() >> 80).unwrap_or_default())
}

/// Identifier of the segment at a path, if the archive may have generated the path.
fn id_of(path: &str, holds: &str, partition: Partition) -> Option<Uuid> {
    let folder = match holds {
        OrderRow::TABLE => partition.folder::<OrderRow>(),
        BarRow::TABLE => partition.folder::<BarRow>(),
        OpenInterestRow::TABLE => partition.folder::<OpenInterestRow>(),
        MapRow::TABLE => partition.folder::<MapRow>(),
        PositionRow::TABLE => partition.folder::<PositionRow>(),
        TotalRow::TABLE => partition.folder::<TotalRow>(),
        _ => return None,
    };
    let name = path.strip_prefix(folder.as_str())?;
    let id = name.strip_prefix("/part-")?.strip_suffix(".parquet")?;
    let uuid = Uuid::try_parse(id).ok()?;
    (uuid.to_string() == id).then_some(uuid)
}

const COLUMNS: &str =
    "path, holds, day, interval, rows, bytes, sha256, first, last, reason, ingest";

fn part(row: &rusqlite::Row<'_>) -> rusqlite::Result<SegmentEntry> {
    let count = |column| {
        let number: i64 = row.get(column)?;
        u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
    };
    let (path, holds): (String, String) = (row.get(0)?, row.get(1)?);
    let partition = Partition {
        day: Day(row.get(2)?),
        interval: row.get(3)?,
    };
    // A manifest entry with another path is refused, because the path may lead outside the archive.
    if id_of(&path, &holds, partition).is_none() {
        return Err(not_readable(
            0,
            format!("{path:?} is not a valid segment path for table {holds}"),
        ));
    }
    Ok(SegmentEntry {
        path,
        holds,
        partition,
        rows: count(4)?,
        bytes: count(5)?,
        sha256: row.get(6)?,
        first: Millis(row.get(7)?),
        last: Millis(row.get(8)?),
        reason: row.get(9)?,
        ingest: row.get(10)?,
    })
}

/// Reason of a pending segment that exceeded the retention. Its file is to be deleted.
pub(crate) const EXPIRED: &str = "expired";

/// Takes the segments of a table before the day `first` out of use; returns their number of rows.
pub(crate) fn expire(
    journal: &Connection,
    holds: &str,
    first: Day,
    now: Millis,
) -> rusqlite::Result<u64> {
    let of_table = "holds = ?1 AND day < ?2 AND state <> 'pending'";
    let rows: i64 = journal
        .prepare_cached(&format!(
            "SELECT coalesce(sum(rows), 0) FROM manifest WHERE {of_table}"
        ))?
        .query_row(params![holds, first.0], |line| line.get(0))?;
    journal
        .prepare_cached(&format!(
            "UPDATE manifest SET state = 'pending', reason = ?3, rolled_at = ?4 WHERE {of_table}"
        ))?
        .execute(params![holds, first.0, EXPIRED, now.0])?;
    Ok(u64::try_from(rows).unwrap_or_default())
}

/// Paths of the segments that exceeded the retention by `until`.
pub(crate) fn expired(journal: &Connection, until: Millis) -> rusqlite::Result<Vec<String>> {
    journal
        .prepare_cached(
            "SELECT path FROM manifest WHERE state = 'pending' AND reason = ?1 AND rolled_at <= ?2",
        )?
        .query_map(params![EXPIRED, until.0], |line| line.get(0))?
        .collect()
}

/// Whether the manifest has any entry of a partition, in any state.
pub(crate) fn has(
    journal: &Connection,
    holds: &str,
    partition: Partition,
) -> rusqlite::Result<bool> {
    journal
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM manifest WHERE holds = ?1 AND day = ?2 AND interval = ?3)",
        )?
        .query_row(params![holds, partition.day.0, partition.interval], |row| {
            row.get(0)
        })
}

/// Segments of a table, day and state that are valid now, oldest first.
pub(crate) fn of_day(
    journal: &Connection,
    holds: &str,
    day: Day,
    state: SegmentState,
) -> rusqlite::Result<Vec<SegmentEntry>> {
    of_day_at(journal, holds, day, state, None)
}

/// Segments of a table, day and state that are valid at `as_of`, oldest first.
pub(crate) fn of_day_at(
    journal: &Connection,
    holds: &str,
    day: Day,
    state: SegmentState,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<SegmentEntry>> {
    let is_valid = file_versions::is_valid("?4");
    journal
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM manifest WHERE holds = ?1 AND day = ?2 AND state = ?3 AND {is_valid}
             ORDER BY rolled_at, path"
        ))?
        .query_map(
            params![holds, day.0, state.name(), file_versions::at(as_of)],
            part,
        )?
        .collect()
}

/// Segments of a table, day and state, oldest first; includes superseded segments.
pub(crate) fn of_day_ever(
    journal: &Connection,
    holds: &str,
    day: Day,
    state: SegmentState,
) -> rusqlite::Result<Vec<SegmentEntry>> {
    journal
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM manifest WHERE holds = ?1 AND day = ?2 AND state = ?3
             ORDER BY rolled_at, path"
        ))?
        .query_map(params![holds, day.0, state.name()], part)?
        .collect()
}

/// All segments with a state that are valid now.
pub(crate) fn current(
    journal: &Connection,
    state: SegmentState,
) -> rusqlite::Result<Vec<SegmentEntry>> {
    let is_valid = file_versions::is_valid("?2");
    journal
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM manifest WHERE state = ?1 AND {is_valid} ORDER BY holds, day, path"
        ))?
        .query_map(params![state.name(), file_versions::at(None)], part)?
        .collect()
}

/// Segments of an ingest that are valid now; includes quarantined segments.
pub(crate) fn of_ingest(journal: &Connection, ingest: &str) -> rusqlite::Result<Vec<SegmentEntry>> {
    let is_valid = file_versions::is_valid("?2");
    journal
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM manifest WHERE ingest = ?1 AND state <> 'pending' AND {is_valid}
             ORDER BY holds, day, path"
        ))?
        .query_map(params![ingest, file_versions::at(None)], part)?
        .collect()
}

/// Superseded segments of a table that belong to undone ingests, of a day and the days next to it.
pub(crate) fn undone(
    journal: &Connection,
    holds: &str,
    day: Day,
) -> rusqlite::Result<Vec<SegmentEntry>> {
    journal
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM manifest WHERE holds = ?1 AND day BETWEEN ?2 - 1 AND ?2 + 1 AND state = 'active'
             AND ingest IN (SELECT id FROM ingests WHERE undone IS NOT NULL)"
        ))?
        .query_map(params![holds, day.0], part)?
        .collect()
}

/// All segments with a state; includes superseded segments.
pub(crate) fn all(
    journal: &Connection,
    state: SegmentState,
) -> rusqlite::Result<Vec<SegmentEntry>> {
    journal
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM manifest WHERE state = ?1 ORDER BY holds, day, path"
        ))?
        .query_map([state.name()], part)?
        .collect()
}

/// Days with active or quarantined segments of a table, in order.
pub(crate) fn days(journal: &Connection, holds: &str) -> rusqlite::Result<Vec<Day>> {
    journal
        .prepare_cached(
            "SELECT DISTINCT day FROM manifest WHERE holds = ?1 AND state <> 'pending' ORDER BY day",
        )?
        .query_map([holds], |row| row.get(0).map(Day))?
        .collect()
}

/// Lists a segment as pending, before its file is written.
pub(crate) fn intend(
    journal: &Connection,
    part: &SegmentEntry,
    now: Millis,
) -> rusqlite::Result<()> {
    journal
        .prepare_cached(&format!(
            "INSERT INTO manifest ({COLUMNS}, state, rolled_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        ))?
        .execute(params![
            part.path,
            part.holds,
            part.partition.day.0,
            part.partition.interval,
            i64::try_from(part.rows).unwrap_or(i64::MAX),
            i64::try_from(part.bytes).unwrap_or(i64::MAX),
            part.sha256,
            part.first.0,
            part.last.0,
            part.reason,
            part.ingest,
            SegmentState::Pending.name(),
            now.0,
        ])
        .map(drop)
}

/// Changes the state of a segment.
pub(crate) fn mark(
    journal: &Connection,
    path: &str,
    state: SegmentState,
    reason: Option<&str>,
) -> rusqlite::Result<()> {
    journal
        .prepare_cached("UPDATE manifest SET state = ?2, reason = ?3 WHERE path = ?1")?
        .execute(params![path, state.name(), reason])
        .map(drop)
}

/// Whether a segment has the state `state`.
fn is(journal: &Connection, path: &str, state: SegmentState) -> rusqlite::Result<bool> {
    journal
        .prepare_cached("SELECT 1 FROM manifest WHERE path = ?1 AND state = ?2")?
        .exists([path, state.name()])
}

/// Whether a segment is pending: being written, or left unfinished by an interruption.
pub(crate) fn is_pending(journal: &Connection, path: &str) -> rusqlite::Result<bool> {
    is(journal, path, SegmentState::Pending)
}

/// Whether a segment is active.
pub(crate) fn is_active(journal: &Connection, path: &str) -> rusqlite::Result<bool> {
    is(journal, path, SegmentState::Active)
}

/// Removes the manifest entry of a pending segment.
pub(crate) fn forget(journal: &Connection, path: &str) -> rusqlite::Result<()> {
    journal
        .prepare_cached("DELETE FROM manifest WHERE path = ?1 AND state = 'pending'")?
        .execute([path])
        .map(drop)
}

/// Row count and time of the last row, per exchange.
pub(crate) type Venues = BTreeMap<String, (i64, Millis)>;

/// Computes the row count and the time of the last row per exchange.
///
/// Ignores rows without an exchange.
pub(crate) fn venues(rows: &[impl Row]) -> Venues {
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

/// Records the exchanges of a segment, with their row counts and last times.
pub(crate) fn list_venues(
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

/// The exchanges of a segment, sorted by name.
pub(crate) fn exchanges(journal: &Connection, path: &str) -> rusqlite::Result<Vec<String>> {
    journal
        .prepare_cached("SELECT exchange FROM part_venues WHERE path = ?1 ORDER BY exchange")?
        .query_map([path], |row| row.get(0))?
        .collect()
}

/// Fault message for a missing file.
pub(crate) const MISSING: &str = "the file is missing";

/// Checks the length and the checksum of a segment; returns the fault, if any.
///
/// Calls `goes_on` while the file is read.
pub(crate) fn fault_of(
    folder: &Path,
    part: &SegmentEntry,
    goes_on: &mut dyn FnMut() -> bool,
) -> std::io::Result<Option<String>> {
    if let Some(fault) = fault_at(folder, part)? {
        return Ok(Some(fault));
    }
    let mut file = match files::at_segment(folder, &part.path, |path| File::open(path)) {
        Ok(file) => file,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Some(MISSING.to_owned()));
        }
        Err(source) => return Err(source),
    };
    Ok(other_checksum(&checksum_of(&mut file, goes_on)?, part))
}

/// Checks the type and the length of a segment's file without reading it.
///
/// Returns the fault, if any. A link, a pipe or a file with another length is a fault.
pub(crate) fn fault_at(folder: &Path, part: &SegmentEntry) -> std::io::Result<Option<String>> {
    for path in [&part.path, &files::superseded(&part.path)] {
        if let Some(link) = files::link_in(folder, Path::new(path))? {
            return Ok(Some(format!(
                "{} is a link, which is not followed",
                link.strip_prefix(folder).unwrap_or(&link).display()
            )));
        }
    }
    match files::at_segment(folder, &part.path, |path| fs::symlink_metadata(path)) {
        Ok(found) if !found.is_file() => Ok(Some("it is not a regular file".to_owned())),
        Ok(found) => Ok(other_length(found.len(), part)),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(Some(MISSING.to_owned()))
        }
        Err(source) => Err(source),
    }
}

/// Checks the length and the checksum of a segment's bytes.
///
/// Returns the fault, if any.
pub(crate) fn fault_in(bytes: &[u8], part: &SegmentEntry) -> Option<String> {
    let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    other_length(len, part).or_else(|| other_checksum(&checksum(bytes), part))
}

fn other_length(bytes: u64, part: &SegmentEntry) -> Option<String> {
    (bytes != part.bytes).then(|| {
        format!(
            "the file has {bytes} bytes, but was written with {}",
            part.bytes
        )
    })
}

fn other_checksum(found: &str, part: &SegmentEntry) -> Option<String> {
    (found != part.sha256).then(|| {
        format!(
            "the file's SHA-256 is {found}, but was {} when the file was written",
            part.sha256
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::archive::catalog::manifest::*;

    #[test]
    fn a_folder_names_the_largest_unit() {
        for (minutes, name) in [
            (1, "1m"),
            (5, "5m"),
            (60, "1h"),
            (90, "90m"),
            (240, "4h"),
            (1440, "1d"),
        ] {
            assert_eq!(interval_name(minutes * Millis::MINUTE), name);
        }
    }
}
