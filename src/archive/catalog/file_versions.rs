//! Which files are told as of when: those that hold rows read anew take the place of others, which stay, for answers as of
//! before.
//!
//! What is told as of an instant are the files that had come into use by then and were not superseded by then. Most files
//! have no line here: they came with their rows, and nothing took their place.

use rusqlite::{Connection, OptionalExtension, params};

use crate::model::Millis;

pub(crate) const CREATE: &str = "
    CREATE TABLE generations (
        path TEXT PRIMARY KEY REFERENCES manifest (path) ON DELETE CASCADE,
        since INTEGER,
        superseded_at INTEGER
    ) STRICT;";

/// The columns that a line's checksum is of.
pub(crate) const COLUMNS: &str = "path, since, superseded_at";

/// From when until when a file is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Generation {
    /// When it took the place of others, if it did.
    pub(crate) since: Option<Millis>,
    /// When others took its place, if they did.
    pub(crate) superseded_at: Option<Millis>,
}

/// The condition that a file of the manifest is told as of the instant of a parameter.
pub(crate) fn is_told(parameter: &str) -> String {
    format!(
        "{parameter} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM generations WHERE generations.path = manifest.path
            AND (since > {parameter} OR superseded_at <= {parameter}))"
    )
}

/// An instant as a parameter of that condition; now, where there is none.
pub(crate) fn at(as_of: Option<Millis>) -> i64 {
    as_of.map_or(i64::MAX, |at| at.0)
}

/// From when until when a file is told.
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

/// Writes down from when until when a file is told; one that says nothing of it leaves it as it was.
pub(crate) fn set(journal: &Connection, path: &str, told: Generation) -> rusqlite::Result<()> {
    if told == Generation::default() {
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
            told.since.map(|at| at.0),
            told.superseded_at.map(|at| at.0)
        ])
        .map(drop)
}

/// The last instant at which files took the place of others.
pub(crate) fn last(journal: &Connection) -> rusqlite::Result<Option<Millis>> {
    journal
        .prepare_cached("SELECT max(coalesce(superseded_at, since)) FROM generations")?
        .query_row([], |line| line.get::<_, Option<i64>>(0))
        .map(|at| at.map(Millis))
}
