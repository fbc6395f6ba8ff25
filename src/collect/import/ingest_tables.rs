//! Import of checked tables into an archive ([`Writer::import`](crate::archive::Writer::import)).

use std::collections::HashMap;
use std::path::Path;

use crate::archive::{Archive, ArchiveError, ImportScope, ImportedSession, IngestOrigin, Tables};
use crate::collect::clock::machine;
use crate::collect::import::ingest::{Ingested, LATE, reason};
use crate::collect::import::refused::refuse;

/// For each row of a table to store, its row number in the caller's table; by table name.
pub type TablePlaces = HashMap<&'static str, Vec<usize>>;

/// Stores checked tables in the archive in the folder `path`, which is created if it is missing.
///
/// The sessions of the orders extend `sessions_before`, the sessions of earlier parts of the same table. If
/// `sessions_before` is absent, no sessions are recorded, because earlier parts are still missing. `ingest` is recorded
/// as the origin of the rows. `goes_on` gets the number of finished rows and returns whether to continue; rows that are
/// already stored stay.
///
/// # Errors
///
/// [`ArchiveError`] if another process writes to the archive, or if it cannot be written.
pub fn ingest_tables(
    path: &Path,
    tables: Tables,
    places: &TablePlaces,
    sessions_before: Option<Vec<ImportedSession>>,
    ingest: Option<&IngestOrigin>,
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Ingested, ArchiveError> {
    let rows = tables.rows() as u64;
    if rows == 0 {
        // Without rows, no archive is created.
        return Ok(Ingested::default());
    }
    let mut writer = Archive::create_or_open(path)?;
    let mut sessions = tables.orders.sessions();
    let is_recorded = sessions_before.is_some();
    for before in sessions_before.into_iter().flatten() {
        match sessions
            .iter_mut()
            .find(|session| session.exchange == before.exchange)
        {
            Some(session) => {
                session.start = session.start.min(before.start);
                session.end = session.end.max(before.end);
            }
            None => sessions.push(before),
        }
    }
    // A table is complete between its first and its last order, for each exchange in it.
    let start = sessions.iter().map(|session| session.start).min();
    let end = sessions.iter().map(|session| session.end).max();
    for session in &mut sessions {
        session.start = start.unwrap_or(session.start);
        session.end = end.unwrap_or(session.end);
    }
    let recorded: &[ImportedSession] = if is_recorded { &sessions } else { &[] };
    let scope = ImportScope {
        sessions: recorded,
        until: machine().back(LATE),
        ingest,
    };
    let (imported, is_whole) = writer.import(tables, scope, &mut |done| goes_on(done as u64))?;
    let mut done = Ingested {
        rows,
        new: imported.new,
        repeated: imported.repeated,
        sessions,
        is_interrupted: !is_whole,
        ..Ingested::default()
    };
    for rejected in &imported.rejected {
        let row = places
            .get(rejected.table)
            .and_then(|places| places.get(rejected.row).copied());
        let place = format!("{}:{}", rejected.table, row.unwrap_or(rejected.row));
        refuse(
            &mut done.refused,
            (&reason(rejected), &rejected.message),
            &place,
        );
    }
    if !is_whole {
        let refused = done.refused.iter().map(|refused| refused.count);
        done.rows = done.new + done.repeated + refused.sum::<u64>();
    }
    Ok(done)
}
