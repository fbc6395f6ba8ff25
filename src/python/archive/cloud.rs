//! Copies archives: exports a journal for a selection of files, and merges several archives.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::archive::{Archive, ArchiveContents, ArchiveError, ExportSelection};
use crate::model::Millis;
use crate::python::error;
use crate::python::runtime::logs;

/// A file: path in the manifest, table of its rows, number of rows, length in bytes, SHA-256, whether it is in use, and
/// its path in the folder.
type File = (String, String, u64, u64, String, bool, String);

/// An archive: id that it shares with its copies, end of the last exported day, files, number of rows in its journal,
/// instant of its snapshot if it is a backup, and number of rows that ever were in its journal.
type ArchiveParts = (u64, Option<i64>, Vec<File>, u64, Option<i64>, u64);

fn listed(lists: ArchiveContents) -> ArchiveParts {
    let files = lists.files.into_iter().map(|file| {
        (
            file.path,
            file.holds,
            file.rows,
            file.bytes,
            file.sha256,
            file.in_use,
            file.place,
        )
    });
    (
        lists.series,
        lists.closed.map(|at| at.0),
        files.collect(),
        lists.journaled,
        lists.backed_up.map(|at| at.0),
        lists.arrived,
    )
}

/// Runs work on archives with the interpreter released.
fn work<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, ArchiveError> + Send,
) -> PyResult<T> {
    let done = py.detach(work);
    logs::deliver(py)?;
    done.map_err(|fault| error::archive(py, &fault))
}

/// Lists the files of the archive at `path`. Only the journal of the archive must exist.
#[pyfunction]
pub(crate) fn archive_lists(py: Python<'_>, path: PathBuf) -> PyResult<ArchiveParts> {
    work(py, move || Archive::to_verify(path)?.catalog().lists()).map(listed)
}

/// Copies the journal of the archive at `path` into the folder `into`, as at one instant. Lists its files.
#[pyfunction]
pub(crate) fn snapshot_journal(
    py: Python<'_>,
    path: PathBuf,
    into: PathBuf,
) -> PyResult<ArchiveParts> {
    work(py, move || Archive::to_verify(path)?.snapshot(&into)).map(listed)
}

/// Exports a journal for a part of the archive at `path` into the folder `into`. Lists the files that belong to that
/// part.
#[pyfunction]
pub(crate) fn export_journal(
    py: Python<'_>,
    path: PathBuf,
    into: PathBuf,
    start: Option<i64>,
    end: Option<i64>,
    kinds: Vec<String>,
) -> PyResult<ArchiveParts> {
    let cut = ExportSelection {
        from: start.map(Millis),
        until: end.map(Millis),
        kinds,
    };
    work(py, move || {
        Archive::to_verify(path)?.export_journal(&into, &cut)
    })
    .map(listed)
}

/// Merges the archives at `paths` into a new archive at `into`. Calls `seen` with the number of merged days and the
/// total.
#[pyfunction]
pub(crate) fn merge_archives(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    into: PathBuf,
    seen: Py<PyAny>,
) -> PyResult<()> {
    let (merged, raised) = work(py, move || {
        let archives = paths.iter().map(Archive::read);
        let archives = archives.collect::<Result<Vec<_>, _>>()?;
        let mut raised = None;
        let merged = Archive::merge(&archives, &into, &mut |done, of| {
            raised = Python::attach(|py| seen.call1(py, (done, of)).map(drop)).err();
            raised.is_none()
        })?;
        Ok((merged, raised))
    })?;
    debug_assert_eq!(merged, raised.is_none());
    raised.map_or(Ok(()), Err)
}
