//! The time range in which each segment is valid.
//!
//! A corrected day gets new segments that supersede the old segments. The old segments stay for reads as of an earlier
//! instant. A segment that neither superseded another segment nor was superseded has no entry in this table.

use rusqlite::{Connection, OptionalExtension, params};

use crate::archive::clock::wall_clock;
use crate::model::Millis;

pub(crate) const CREATE: &str = "
    CREATE TABLE generations (
        path TEXT PRIMARY KEY REFERENCES manifest (path) ON DELETE CASCADE,
        since INTEGER,
        superseded_at INTEGER
    ) STRICT;";

/// The columns that the checksum of an entry covers.
pub(crate) const COLUMNS: &str = "path, since, superseded_at";

/// The time range in which a segment is valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Generation {
    /// When this segment superseded older segments; `None` if it superseded none.
    pub(crate) since: Option<Millis>,
    /// When newer segments superseded this one; `None` if it is still valid.
    pub(crate) superseded_at: Option<Millis>,
}

/// SQL condition: a segment of the manifest is valid at the instant in `parameter`.
pub(crate) fn is_valid(parameter: &str) -> String {
    format!(
        "{parameter} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM generations WHERE generations.path = manifest.path
            AND (since > {parameter} OR superseded_at <= {parameter}))"
    )
}

/// Converts `as_of` to the SQL parameter; `None` becomes the latest possible instant.
pub(crate) fn at(as_of: Option<Millis>) -> i64 {
    as_of.map_or(i64::MAX, |at| at.0)
}

/// Reads the time range in which a segment is valid.
pub(crate) fn of(journal: &Connection, path: &str) -> rusqlite::Result<Generation> {
    let found = journal
        .prepare_cached("SELECT since, superseded_at FROM generations WHERE path = ?1")?
        .query_row([path], |line| {
            Ok(Generation {
                since: line.get::<_, Option<i64>>(0)?.map(Millis),
                superseded_at: line.get::<_, Option<i64>>(1)?.map(Millis),
            })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// All time ranges, by path.
pub(crate) fn all(journal: &Connection) -> rusqlite::Result<Vec<(String, Generation)>> {
    journal
        .prepare_cached("SELECT path, since, superseded_at FROM generations ORDER BY path")?
        .query_map([], |line| {
            let generation = Generation {
                since: line.get::<_, Option<i64>>(1)?.map(Millis),
                superseded_at: line.get::<_, Option<i64>>(2)?.map(Millis),
            };
            Ok((line.get(0)?, generation))
        })?
        .collect()
}

/// Paths of the superseded segments.
pub(crate) fn superseded(journal: &Connection) -> rusqlite::Result<Vec<String>> {
    journal
        .prepare_cached(
            "SELECT path FROM generations WHERE superseded_at IS NOT NULL ORDER BY path",
        )?
        .query_map([], |line| line.get(0))?
        .collect()
}

/// Records the time range in which a segment is valid.
///
/// Does nothing if `version` is the default, which a segment without versions has.
pub(crate) fn set(journal: &Connection, path: &str, version: Generation) -> rusqlite::Result<()> {
    if version == Generation::default() {
        return Ok(());
    }
    journal
        .prepare_cached(
            "INSERT INTO generations (path, since, superseded_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (path) DO UPDATE SET since = coalesce(excluded.since, since),
                                              superseded_at = coalesce(superseded_at, excluded.superseded_at)",
        )?
        .execute(params![
            path,
            version.since.map(|at| at.0),
            version.superseded_at.map(|at| at.0)
        ])
        .map(drop)
}

/// Returns an instant for a change that supersedes segments.
///
/// It is later than the instants of all earlier changes, even if the clock was set back.
pub(crate) fn next_instant(journal: &Connection) -> rusqlite::Result<Millis> {
    let last = last(journal)?;
    Ok(last.map_or_else(wall_clock, |last| wall_clock().max(last.on(1))))
}

/// Instant of the last change that superseded segments.
fn last(journal: &Connection) -> rusqlite::Result<Option<Millis>> {
    journal
        .prepare_cached("SELECT max(coalesce(superseded_at, since)) FROM generations")?
        .query_row([], |line| line.get::<_, Option<i64>>(0))
        .map(|at| at.map(Millis))
}
