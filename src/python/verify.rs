//! Holding an archive against what was written, from Python.

use std::path::PathBuf;

use pyo3::prelude::*;

use super::columns::Columns;
use super::rows::Table;
use super::{error, logs};
use crate::archive::{Archive, ArchiveError, Finding};

/// What is damaged, missing or unexpected in the archive in the folder `path`; `seen` is told after each file how many
/// have been read of how many.
#[pyfunction]
#[pyo3(signature = (path, repair, seen=None))]
pub(super) fn verify(
    py: Python<'_>,
    path: PathBuf,
    repair: bool,
    seen: Option<Py<PyAny>>,
) -> PyResult<Table> {
    let (found, raised) = py.detach(move || {
        let mut raised = None;
        let found = findings(&path, repair, &mut |read, of| {
            // Asked once more, it is still not to go on.
            if raised.is_some() {
                return false;
            }
            let went_on = Python::attach(|py| {
                py.check_signals()?;
                match &seen {
                    Some(seen) => seen.call1(py, (read, of)).map(drop),
                    None => Ok(()),
                }
            });
            raised = went_on.err();
            raised.is_none()
        });
        (found, raised)
    });
    logs::deliver(py)?;
    if let Some(raised) = raised {
        return Err(raised);
    }
    let found = found.map_err(|fault| error::archive(py, &fault))?;
    Ok(Columns::from(found).into())
}

fn findings(
    path: &PathBuf,
    repair: bool,
    goes_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Vec<Finding>, ArchiveError> {
    let archive = Archive::to_verify(path)?;
    let mut found = archive.verify_observed(goes_on)?;
    // A repair reads everything again before it moves anything; nothing is done where nothing is wrong.
    if repair && !found.is_sound() && goes_on(0, 0) {
        drop(archive);
        found = Archive::create_or_open(path)?.repair()?;
    }
    Ok(found.findings(path))
}
