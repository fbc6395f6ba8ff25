//! Bringing tables of the past into an archive, by columns ([`Writer::import`](crate::archive::Writer::import)).

use std::path::Path;

use crate::archive::{Archive, ArchiveError, ImportScope, ImportedSession, Tables};
use crate::collect::clock::machine;
use crate::collect::import::ingest::{Ingested, LATE, reason};
use crate::collect::import::refused::refuse;
use crate::collect::import::validation::{latest, sift};

/// Brings tables into the archive in the folder `path`, which is made where it is missing; of which time their orders tell goes on
/// from what was `told_before`, of other parts of the same table, or is not put on record yet, where that is absent: parts between
/// them are still to come. `goes_on` is told how many rows are done with, and says whether to go on; where it did not, what was
/// kept until then stays.
///
/// # Errors
///
/// [`ArchiveError`] where another writes to the archive or it cannot be written.
pub fn ingest_tables(
    path: &Path,
    mut tables: Tables,
    told_before: Option<Vec<ImportedSession>>,
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Ingested, ArchiveError> {
    let mut writer = Archive::create_or_open(path)?;
    let rows = tables.rows() as u64;
    let mut refused = Vec::new();
    let sifted = sift(&mut tables, latest(), &mut refused, &mut || goes_on(0));
    let Some(places) = sifted else {
        return Ok(Ingested {
            is_interrupted: true,
            ..Ingested::default()
        });
    };
    let mut told = tables.orders.sessions();
    let is_recorded = told_before.is_some();
    for before in told_before.into_iter().flatten() {
        match told
            .iter_mut()
            .find(|told| told.exchange == before.exchange)
        {
            Some(told) => {
                told.start = told.start.min(before.start);
                told.end = told.end.max(before.end);
            }
            None => told.push(before),
        }
    }
    let recorded: &[ImportedSession] = if is_recorded { &told } else { &[] };
    let scope = ImportScope {
        sessions: recorded,
        until: machine().back(LATE),
        ingest: None,
    };
    let (filed, is_whole) = writer.import(tables, scope, &mut |done| goes_on(done as u64))?;
    let mut done = Ingested {
        rows,
        new: filed.new,
        repeated: filed.repeated,
        refused,
        told,
        is_interrupted: !is_whole,
        ..Ingested::default()
    };
    for unfit in &filed.rejected {
        let place = format!("{}:{}", unfit.table, places.of(unfit.table, unfit.row));
        refuse(&mut done.refused, (&reason(unfit), &unfit.message), &place);
    }
    if !is_whole {
        let refused = done.refused.iter().map(|refused| refused.count);
        done.rows = done.new + done.repeated + refused.sum::<u64>();
    }
    Ok(done)
}
