//! A manifest entry with all data that another archive needs to adopt the segment.

use rusqlite::{Connection, params};

use crate::archive::catalog::file_versions;
use crate::archive::catalog::file_versions::Generation;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Day, SegmentEntry, SegmentState, Venues};
use crate::model::Millis;

/// A segment with its state, time of compaction, row counts per exchange and validity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) part: SegmentEntry,
    pub(crate) state: SegmentState,
    pub(crate) rolled_at: Millis,
    pub(crate) venues: Venues,
    pub(crate) generation: Generation,
}

/// Active and quarantined segments of a table and day; includes superseded segments.
pub(crate) fn of_day(journal: &Connection, holds: &str, day: Day) -> rusqlite::Result<Vec<Listed>> {
    let mut found = Vec::new();
    for state in [SegmentState::Active, SegmentState::Quarantined] {
        for part in manifest::of_day_ever(journal, holds, day, state)? {
            found.push(Listed {
                rolled_at: rolled_at(journal, &part.path)?,
                venues: venues(journal, &part.path)?,
                generation: file_versions::of(journal, &part.path)?,
                part,
                state,
            });
        }
    }
    Ok(found)
}

fn rolled_at(journal: &Connection, path: &str) -> rusqlite::Result<Millis> {
    journal
        .prepare_cached("SELECT rolled_at FROM manifest WHERE path = ?1")?
        .query_row([path], |line| line.get(0).map(Millis))
}

fn venues(journal: &Connection, path: &str) -> rusqlite::Result<Venues> {
    journal
        .prepare_cached(
            "SELECT exchange, rows, last FROM part_venues WHERE path = ?1 ORDER BY exchange",
        )?
        .query_map(params![path], |line| {
            Ok((line.get(0)?, (line.get(1)?, Millis(line.get(2)?))))
        })?
        .collect()
}

/// Adds a segment to the manifest of another archive.
pub(crate) fn add(journal: &Connection, listed: &Listed) -> rusqlite::Result<()> {
    let path = &listed.part.path;
    manifest::intend(journal, &listed.part, listed.rolled_at)?;
    manifest::mark(journal, path, listed.state, listed.part.reason.as_deref())?;
    file_versions::set(journal, path, listed.generation)?;
    manifest::list_venues(journal, path, &listed.venues)
}
