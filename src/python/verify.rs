//! Holding an archive against what was written, from Python.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use pyo3::prelude::*;

use super::columns::Columns;
use super::rows::Table;
use super::{error, logs};
use crate::archive::{Archive, ArchiveError, Finding, GoesOn};

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
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let looked = Arc::clone(&raised);
    let looks = move |how_far: Option<(usize, usize)>| {
        let mut raised = looked.lock().unwrap_or_else(PoisonError::into_inner);
        // Asked once more, it is still not to go on.
        if raised.is_some() {
            return false;
        }
        let went_on = Python::attach(|py| {
            py.check_signals()?;
            match (&seen, how_far) {
                (Some(seen), Some((read, of))) => seen.call1(py, (read, of)).map(drop),
                _ => Ok(()),
            }
        });
        *raised = went_on.err();
        raised.is_none()
    };
    let found = py.detach(move || findings(&path, repair, &Arc::new(looks)));
    logs::deliver(py)?;
    let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(raised) = raised.take() {
        return Err(raised);
    }
    let found = found.map_err(|fault| error::archive(py, &fault))?;
    Ok(Columns::from(found).into())
}

fn findings<Looks>(
    path: &Path,
    repair: bool,
    looks: &Arc<Looks>,
) -> Result<Vec<Finding>, ArchiveError>
where
    Looks: Fn(Option<(usize, usize)>) -> bool + Send + Sync + 'static,
{
    let looked = Arc::clone(looks);
    let goes_on: GoesOn = Arc::new(move || looked(None));
    let archive = Archive::to_verify(path)?;
    archive.look_while(&goes_on)?;
    let mut found = archive.verify_observed(&mut |read, of| looks(Some((read, of))))?;
    // A repair reads everything again before it moves anything; nothing is done where nothing is wrong.
    if repair && !found.is_sound() && goes_on() {
        drop(archive);
        let mut writer = Archive::create_or_open(path)?;
        writer.look_while(&goes_on)?;
        let repaired = writer.repair_observed(&mut |_, _| goes_on());
        if !goes_on() {
            // What it had done by then is written out where nobody waits.
            let name = "liqdata".to_owned();
            drop(thread::Builder::new().name(name).spawn(|| drop(writer)));
        }
        found = repaired?;
    }
    Ok(found.findings(path))
}
