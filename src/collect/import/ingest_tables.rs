//! Import of checked tables into an archive ([`Writer::import`](crate::archive::Writer::import)).

use std::collections::HashMap;
use std::path::Path;

use crate::archive::{Archive, ArchiveError, ImportScope, IngestOrigin, Tables};
use crate::collect::clock::machine;
use crate::collect::import::ingest::{Ingested, LATE, reason};
use crate::collect::import::refused::refuse;

/// For each row of a table to store, its row number in the caller's table; by table name.
pub type TablePlaces = HashMap<&'static str, Vec<usize>>;

/// Stores checked tables in the archive in the folder `path`, which is created if it is missing.
///
/// `ingest` is recorded as the origin of the rows. `should_continue` gets the number of finished rows and returns whether to continue; rows that are
/// already stored stay.
///
/// # Errors
///
/// [`ArchiveError`] if another process writes to the archive, or if it cannot be written.
pub fn ingest_tables(
    path: &Path,
    tables: Tables,
    places: &TablePlaces,
    ingest: Option<&IngestOrigin>,
    should_continue: &mut dyn FnMut(u64) -> bool,
) -> Result<Ingested, ArchiveError> {
    let rows = tables.rows() as u64;
    if rows == 0 {
        // Without rows, no archive is created.
        return Ok(Ingested::default());
    }
    let mut writer = Archive::create_or_open(path)?;
    let sessions = tables.orders.covered_time().of_table().sessions(None);
    let scope = ImportScope {
        sessions: &sessions,
        until: machine().back(LATE),
        ingest,
    };
    let (imported, is_whole) =
        writer.import(tables, scope, &mut |done| should_continue(done as u64))?;
    let mut done = Ingested {
        rows,
        new: imported.new,
        repeated: imported.repeated,
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
