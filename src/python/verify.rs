//! Holding an archive against what was written, from Python.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use pyo3::prelude::*;

use super::columns::Columns;
use super::error;
use super::rows::Table;
use super::signals::attended;
use crate::archive::{Archive, ArchiveError, Finding, GoesOn};

/// What is damaged, missing or unexpected in the archive in the folder `path`; `seen` is told after each file how many
/// have been read of how many.
#[pyfunction]
#[pyo3(signature = (path, repair, seen=None))]
pub(super) fn verify(
    py: Python<'_>,
    path: PathBuf,
    repair: bool,
    seen: Option<&Bound<'_, PyAny>>,
) -> PyResult<Table> {
    let (tell, told) = mpsc::channel();
    let is_given_up = Arc::new(AtomicBool::new(false));
    let given_up = Arc::clone(&is_given_up);
    // Who is interrupted waits for no commit: the work ends where it can, and lets the archive go.
    let work = move || {
        let goes_on: GoesOn = Arc::new(move || !given_up.load(Ordering::Relaxed));
        Ok(findings(&path, repair, &goes_on, &|read, of| {
            // Nobody listens where the caller was interrupted.
            let _ = tell.send((read, of));
        }))
    };
    let tell_on = || match seen {
        Some(seen) => told
            .try_iter()
            .try_for_each(|how_far: (usize, usize)| seen.call1(how_far).map(drop)),
        None => Ok(()),
    };
    let found = attended(py, work, tell_on);
    let found = found.and_then(|found| tell_on().map(|()| found));
    is_given_up.store(true, Ordering::Relaxed);
    let found = found?.map_err(|fault| error::archive(py, &fault))?;
    Ok(Columns::from(found).into())
}

fn findings(
    path: &Path,
    repair: bool,
    goes_on: &GoesOn,
    tell: &dyn Fn(usize, usize),
) -> Result<Vec<Finding>, ArchiveError> {
    let archive = Archive::to_verify(path)?;
    archive.look_while(goes_on)?;
    let mut found = archive.verify_observed(&mut |read, of| {
        tell(read, of);
        goes_on()
    })?;
    // A repair reads everything again before it moves anything; nothing is done where nothing is wrong.
    if repair && !found.is_sound() && goes_on() {
        drop(archive);
        let mut writer = Archive::create_or_open(path)?;
        writer.look_while(goes_on)?;
        found = writer.repair_observed(&mut |_, _| goes_on())?;
    }
    Ok(found.findings(path))
}
