//! What moves an archive to another place and brings it back, from Python: the lists that go with its files, and several
//! archives as one.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::archive::{Archive, ArchiveContents, ArchiveError, ExportSelection};
use crate::model::Millis;
use crate::python::error;
use crate::python::runtime::logs;

/// A file as its path, what it holds, its rows, its length, its SHA-256, and whether it is in use.
type File = (String, String, u64, u64, String, bool);

/// An archive's series, the end of its last day where it is a copy, its files, and how many rows its journal has.
type Told = (u64, Option<i64>, Vec<File>, u64);

fn told(lists: ArchiveContents) -> Told {
    let files = lists.files.into_iter().map(|file| {
        (
            file.path,
            file.holds,
            file.rows,
            file.bytes,
            file.sha256,
            file.in_use,
        )
    });
    let closed = lists.closed.map(|at| at.0);
    (lists.series, closed, files.collect(), lists.journaled)
}

/// Does something long with archives, without the interpreter.
fn work<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, ArchiveError> + Send,
) -> PyResult<T> {
    let done = py.detach(work);
    logs::deliver(py)?;
    done.map_err(|fault| error::archive(py, &fault))
}

/// What the archive in the folder `path` consists of; only its journal has to be there.
#[pyfunction]
pub(crate) fn archive_lists(py: Python<'_>, path: PathBuf) -> PyResult<Told> {
    work(py, move || Archive::to_verify(path)?.lists()).map(told)
}

/// Makes a journal in the folder `into` that goes with the files of a part of the archive in the folder `path`, and tells
/// what the copy consists of.
#[pyfunction]
pub(crate) fn export_journal(
    py: Python<'_>,
    path: PathBuf,
    into: PathBuf,
    start: Option<i64>,
    end: Option<i64>,
    kinds: Vec<String>,
) -> PyResult<Told> {
    let cut = ExportSelection {
        from: start.map(Millis),
        until: end.map(Millis),
        kinds,
    };
    work(py, move || {
        Archive::to_verify(path)?.export_journal(&into, &cut)
    })
    .map(told)
}

/// Makes an archive in the folder `into` of those in the folders `paths`; `seen` is told before each day how many are done
/// of how many.
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
