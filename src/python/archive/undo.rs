//! Lists and undoes ingests: imports of files or tables into an archive.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;

use crate::archive::{Archive, ArchiveError, IngestOrigin};
use crate::python::error;
use crate::python::rows::columns::Columns;
use crate::python::rows::rows::Table;
use crate::python::runtime::signals::interruptible;

/// Creates an id for a new ingest.
#[pyfunction]
pub(crate) fn new_ingest_id() -> String {
    IngestOrigin::new_id()
}

/// Lists the ingests of the archive at `path`.
#[pyfunction]
pub(crate) fn ingests(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    let found = run(py, move || Archive::read(path)?.catalog().ingests())?;
    Ok(Columns::from(found).into())
}

/// Maps the ids of the ingests of the archive at `path` to their numbers of new rows, or to `None` if rows of the ingest
/// are no longer in the archive. Returns an empty map if there is no archive.
#[pyfunction]
pub(crate) fn ingested_rows(
    py: Python<'_>,
    path: PathBuf,
) -> PyResult<BTreeMap<String, Option<u64>>> {
    run(py, move || {
        let Some(archive) = Archive::read_if_begun(path)? else {
            return Ok(BTreeMap::new());
        };
        let incomplete = archive.catalog().incomplete_ingests()?;
        let ingests = archive.catalog().ingests()?.into_iter();
        Ok(ingests
            .map(|one| {
                let is_whole = !incomplete.contains(&one.id);
                (one.id.clone(), is_whole.then(|| one.rows()))
            })
            .collect())
    })
}

/// Undoes the ingest `id` of the archive at `path`. Lists that ingest, followed by the ingests that must be run again.
#[pyfunction]
pub(crate) fn undo_ingest(py: Python<'_>, path: PathBuf, id: String) -> PyResult<Table> {
    let undone = run(py, move || {
        // Opening an archive for writing would create a missing one, so it is first opened for reading.
        drop(Archive::read(&path)?);
        Archive::create_or_open(&path)?.undo(&id)
    })?;
    Ok(Columns::from(undone).into())
}

/// Runs `work` with the interpreter released, and checks for signals meanwhile.
fn run<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, ArchiveError> + Send + 'static,
) -> PyResult<T> {
    let outcome = interruptible(py, move || Ok(work()))?;
    outcome.map_err(|fault| match &fault {
        ArchiveError::BadRange { parameter, .. } => {
            error::bad_query_said(py, parameter, &fault.to_string())
        }
        _ => error::archive(py, &fault),
    })
}
